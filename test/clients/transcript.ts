/**
 * A transcript: what a cluster answers, and what a client must have asked and must report. One file
 * in `clients/transcripts` each; `clients/transcripts/README.md` explains the members.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const CLIENTS = fileURLToPath(new URL("../../clients/", import.meta.url));

export type Asked = "take" | "extend" | "giveBack" | "look" | "watch";

export interface WantedLock {
  readonly keys: readonly string[];
  readonly ttlMs: number;
  /** Missing: forever. */
  readonly waitMs?: number | null;
  readonly shared?: boolean;
  readonly permits?: number;
  readonly limit?: number;
}

/** Without `event` only the id, as a sign of life has it. */
export interface WatchEvent {
  readonly id: string;
  readonly event?: string;
  readonly data?: unknown;
}

export interface WantedWatch {
  readonly prefix: string;
  /** After this number of changes the client ends the watch. */
  readonly changes: number;
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Instead of JSON. */
  readonly text?: string;
  /** For a watch, instead of a body; the connection stays open after them unless it breaks "at end". */
  readonly events?: readonly WatchEvent[];
  readonly afterMs?: number;
  readonly breaks?: "at once" | "half way" | "drips" | "never answers" | "at end";
}

export interface Step {
  readonly asks: Asked;
  /** "any": as often as the client wants, or not at all. Default: once. */
  readonly times?: "any";
  /** Which node is asked, compared with the request before. Default: any. */
  readonly node?: "same" | "other";
  /** What the request says besides what `lock` says of it. */
  readonly with?: Readonly<Record<string, unknown>>;
  /** For an extend by hand. Default: the TTL of the lock. */
  readonly ttlMs?: number;
  /** For a take: the owner and the `Idempotency-Key` are new. */
  readonly owner?: "new";
  /** For a watch: the id of the last event. Default: none. */
  readonly after?: string;
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
  readonly watches?: WantedWatch;
  /** Once it has the lock, it extends it by hand, by this TTL. */
  readonly extendsMs?: number;
  /** It is elected with this lock, loses its first term, and ends its second at once. */
  readonly elects?: boolean;
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
