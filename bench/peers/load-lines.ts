/**
 * The lines that the bench and a load program exchange. The bench writes words to its standard
 * input:
 *
 * - `address HOST:PORT`, `connections N`, `workers N`, `shared yes|no`, `seconds N` (it ends by
 *   itself after that), `key K` for each lock in the order of the workers, then `start`
 * - `reset`: forget all counts except violations
 * - `report`
 * - `stop`, or the end of the input: end at once
 *
 * The program writes one JSON object for each of `start`, `reset` and `report`, with the word as
 * `event`; `failed` with a `message` may come at any time and is its last. A report has what was
 * counted since `reset`: `cycles`, `acquires` as pairs of microseconds and how often they occurred,
 * `maxMicros`, and `errors` by text; and `violations` since the start.
 */
import type { PeerLoad } from "./peer-load.js";

export interface ProgramReport {
  readonly event: "report";
  readonly cycles: number;
  readonly acquires: readonly (readonly [micros: number, count: number])[];
  readonly maxMicros: number;
  readonly errors: Readonly<Record<string, number>>;
  /** Two holders of a lock at once, and tokens that did not rise; 0 where there are no tokens. */
  readonly violations: { readonly overlap: number; readonly token: number };
}

export type ProgramAnswer =
  | { readonly event: "start" | "reset" }
  | { readonly event: "failed"; readonly message: string }
  | ProgramReport;

export function startLines(
  addresses: readonly string[],
  { connections, workers, keys, isShared }: PeerLoad,
  secondsMax: number,
): string {
  const lines = [
    ...addresses.map((address) => `address ${address}`),
    `connections ${connections}`,
    `workers ${workers}`,
    `shared ${isShared ? "yes" : "no"}`,
    `seconds ${secondsMax}`,
    ...keys.map((key) => `key ${key}`),
    "start",
  ];
  return `${lines.join("\n")}\n`;
}

/** @throws Error if it is not an answer */
export function parseAnswer(line: string): ProgramAnswer {
  const answer = parsed(line);
  switch (answer?.["event"]) {
    case "start":
    case "reset":
      return { event: answer["event"] };
    case "failed":
      return { event: "failed", message: String(answer["message"]) };
    case "report":
      if (isReport(answer)) return answer as unknown as ProgramReport;
  }
  throw new Error(`the load program wrote: ${line}`);
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined; // The caller quotes it.
  }
}

function isReport({ cycles, acquires, maxMicros, errors, violations }: Record<string, unknown>) {
  const { overlap, token } = (violations ?? {}) as Record<string, unknown>;
  const arePairs =
    Array.isArray(acquires) &&
    acquires.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every(isCount));
  return arePairs && [cycles, maxMicros, overlap, token].every(isCount) && isRecord(errors);
}

function isCount(value: unknown): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.values(value).every(isCount);
}
