/**
 * A transcript: what a cluster answers, and what a client must have asked and must report. One file
 * in `clients/transcripts` each; `clients/transcripts/README.md` explains the members.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const CLIENTS = fileURLToPath(new URL("../../clients/", import.meta.url));

export type Asked = "take" | "extend" | "giveBack" | "look";

export interface WantedLock {
  readonly keys: readonly string[];
  readonly ttlMs: number;
  /** Missing: forever. */
  readonly waitMs?: number | null;
  readonly shared?: boolean;
  readonly permits?: number;
  readonly limit?: number;
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Instead of JSON. */
  readonly text?: string;
  readonly afterMs?: number;
  readonly breaks?: "at once" | "half way" | "drips" | "never answers";
}

export interface Step {
  readonly asks: Asked;
  /** "any": as often as the client wants, or not at all. Default: once. */
  readonly times?: "any";
  /** Which node is asked, compared with the request before. Default: any. */
  readonly node?: "same" | "other";
  /** What the request says besides what `lock` says of it. */
  readonly with?: Readonly<Record<string, unknown>>;
  readonly answer: Answer;
  /** After this answer the client is told to give the lock back. */
  readonly then?: "finish";
}

export interface Transcript {
  readonly name: string;
  readonly title: string;
  /** Clients that cannot do it. */
  readonly not?: readonly string[];
  readonly lock?: WantedLock;
  readonly looks?: string;
  /** Default: it gives back at once. */
  readonly holds?: "until told" | "until lost";
  /** While it holds the lock, it forks, and the child leaves the scope. */
  readonly forks?: boolean;
  /** Nodes that refuse connections, besides three that answer. */
  readonly deadNodes?: number;
  readonly steps: readonly Step[];
  readonly reports: Readonly<Record<string, unknown>>;
}

export function readTranscripts(): Transcript[] {
  const directory = `${CLIENTS}transcripts`;
  const names = readdirSync(directory).filter((name) => name.endsWith(".json"));
  return names.sort().map((name) => {
    const read = JSON.parse(readFileSync(`${directory}/${name}`, "utf8")) as Transcript;
    return { ...read, name: name.slice(0, -".json".length) };
  });
}
