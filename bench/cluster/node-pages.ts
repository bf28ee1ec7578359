/**
 * The pages on which a node reports about itself over HTTP. The bench reads more of `/status` than
 * the SDK promises, so it checks what it reads. `tls`: what a client shows.
 */
import { request as requestPlain } from "node:http";
import { request as requestEncrypted } from "node:https";
import { text } from "node:stream/consumers";
import type { ClientFiles } from "./bench-certificates.js";

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
export async function fetchFigures(
  endpoint: string,
  tls: ClientFiles = {},
): Promise<NodeFigures | undefined> {
  const page = await get(endpoint, "/status", tls);
  if (page?.status !== 200) return undefined;
  const body = JSON.parse(page.body) as Record<string, unknown>;
  if (body["role"] === "starting") return undefined;
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
  tls: ClientFiles = {},
): Promise<Record<Name, number> | undefined> {
  const page = await get(endpoint, "/metrics", tls);
  if (page?.status !== 200) return undefined;
  const lines = page.body.split("\n");
  const values = {} as Record<Name, number>;
  for (const name of names) {
    const line = lines.find((each) => each.startsWith(`${name} `));
    if (line === undefined) throw new Error(`${endpoint}/metrics has no ${name}`);
    values[name] = Number(line.slice(name.length + 1));
  }
  return values;
}

/** Whether the node reports that it is ready for clients. */
export async function isReady(endpoint: string, tls: ClientFiles = {}): Promise<boolean> {
  return (await get(endpoint, "/readyz", tls))?.status === 200;
}

interface Page {
  readonly status: number;
  readonly body: string;
}

/** `undefined`: not running, or just starting. */
function get(endpoint: string, path: string, tls: ClientFiles): Promise<Page | undefined> {
  const url = `${endpoint.replace(/^ws/, "http")}${path}`;
  const request = url.startsWith("https:") ? requestEncrypted : requestPlain;
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    request(url, { ...tls, signal, agent: false }, (response) => {
      text(response).then(
        (body) => resolve({ status: response.statusCode ?? 0, body }),
        () => resolve(undefined),
      );
    })
      .on("error", () => resolve(undefined))
      .end();
  });
}
