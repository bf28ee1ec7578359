/**
 * Reads the history of updates of the guarded store and finds those that were lost: two accepted
 * writes that replaced the same value, so that neither read the other. Needs no knowledge of locks
 * or tokens; an update of unknown outcome is never counted.
 */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { HistoryEvent } from "../history/history-event.js";

/** The effect of one update, as `workloads/guarded.ts` records it. */
interface Update {
  readonly from: number;
  readonly to: number;
  readonly token: number;
  readonly isWritten: boolean;
}

export interface AcceptedUpdate {
  readonly process: number | string;
  readonly from: number;
  readonly to: number;
  readonly token: number;
  readonly startMs: number;
  readonly endMs: number;
}

/** `later` overwrote the value that `earlier` had written, without having read it. */
export interface LostUpdate {
  readonly key: string;
  readonly earlier: AcceptedUpdate;
  readonly later: AcceptedUpdate;
}

export interface UpdatesResult {
  readonly accepted: number;
  /** Writes that the store refused because of their token. */
  readonly refused: number;
  readonly lost: number;
  /** The first few. */
  readonly examples: readonly LostUpdate[];
}

const NANOSECONDS = 1_000_000;
const EXAMPLES_MAX = 5;

export async function findLostUpdates(file: string): Promise<UpdatesResult> {
  const finder = new LostUpdateFinder();
  for await (const line of createInterface({ input: createReadStream(file) })) {
    finder.event(JSON.parse(line) as HistoryEvent);
  }
  return finder.result;
}

export class LostUpdateFinder {
  readonly #startMs = new Map<number | string, number>();
  /** By key and the value that was replaced. Memory: one record for each accepted write. */
  readonly #byReplaced = new Map<string, AcceptedUpdate>();
  readonly #examples: LostUpdate[] = [];
  #accepted = 0;
  #refused = 0;
  #lost = 0;

  get result(): UpdatesResult {
    const [accepted, refused, lost] = [this.#accepted, this.#refused, this.#lost];
    return { accepted, refused, lost, examples: this.#examples };
  }

  event({ process, type, f, key, value, time }: HistoryEvent): void {
    if (f !== "update" || key === undefined) return;
    const timeMs = time / NANOSECONDS;
    if (type === "invoke") this.#startMs.set(process, timeMs);
    if (type !== "ok") return;
    const { from, to, token, isWritten } = value as Update;
    if (!isWritten) {
      this.#refused += 1;
      return;
    }
    this.#accepted += 1;
    const startMs = this.#startMs.get(process) ?? timeMs;
    const update: AcceptedUpdate = { process, from, to, token, startMs, endMs: timeMs };
    const other = this.#byReplaced.get(`${key} ${from}`);
    if (other === undefined) {
      this.#byReplaced.set(`${key} ${from}`, update);
      return;
    }
    this.#lost += 1;
    if (this.#examples.length < EXAMPLES_MAX) {
      this.#examples.push({ key, earlier: other, later: update });
    }
  }
}
