/**
 * The pages on which a node reports about itself over HTTP. The bench reads more of `/status` than
 * the SDK promises, so it checks what it reads.
 */
const ANSWER_MS_MAX = 5_000;

const NUMBERS = [
  "id",
  "term",
  "leader",
  "commitIndex",
  "appliedIndex",
  "snapshotIndex",
  "loopDelayMaxMs",
  "holds",
  "sessions",
  "waiters",
] as const;

export type NodeFigures = Readonly<Record<(typeof NUMBERS)[number], number>> & {
  readonly role: string;
};

/** `undefined` if the node does not answer or is still reading its log. */
export async function fetchFigures(endpoint: string): Promise<NodeFigures | undefined> {
  const response = await get(endpoint, "/status");
  if (response?.ok !== true) return undefined;
  const body = (await response.json().catch(() => undefined)) as
    | Record<string, unknown>
    | undefined;
  if (body === undefined || body["role"] === "starting") return undefined;
  for (const name of NUMBERS) {
    if (typeof body[name] !== "number") throw new Error(`${endpoint}/status has no ${name}`);
  }
  return body as NodeFigures;
}

/**
 * Figures of `/metrics` without labels, by name; `undefined` if the node does not answer.
 *
 * @throws Error if there is no metric with one of these names
 */
export async function fetchMetrics<Name extends string>(
  endpoint: string,
  names: readonly Name[],
): Promise<Record<Name, number> | undefined> {
  const response = await get(endpoint, "/metrics");
  if (response?.ok !== true) return undefined;
  const lines = (await response.text().catch(() => "")).split("\n");
  const values = {} as Record<Name, number>;
  for (const name of names) {
    const line = lines.find((each) => each.startsWith(`${name} `));
    if (line === undefined) throw new Error(`${endpoint}/metrics has no ${name}`);
    values[name] = Number(line.slice(name.length + 1));
  }
  return values;
}

/** Whether the node reports that it is ready for clients. */
export async function isReady(endpoint: string): Promise<boolean> {
  const response = await get(endpoint, "/readyz");
  await response?.arrayBuffer().catch(() => undefined);
  return response?.status === 200;
}

async function get(endpoint: string, path: string): Promise<Response | undefined> {
  try {
    return await fetch(`${endpoint.replace(/^ws/, "http")}${path}`, {
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
  } catch {
    // Not running, or just starting: that is the answer.
    return undefined;
  }
}
