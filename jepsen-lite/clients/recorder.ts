/**
 * Writes the history of one client process, line by line, as it happens. The time of an invocation
 * is read before its line is written and before anything is sent; the time of a completion after
 * the answer. So an operation is never recorded as shorter than it was, wherever the process is
 * stopped.
 */
import type { EventType, HistoryEvent } from "../history/history-event.js";
import type { ClientLine } from "./client-messages.js";

const MARK_INTERVAL_MS = 50;

export type EventFields = Omit<HistoryEvent, "time" | "client" | "type" | "workload">;

export class Recorder {
  readonly #client: number;
  readonly #originNs: bigint;
  readonly #marks: NodeJS.Timeout;

  constructor(client: number, originNs: bigint) {
    this.#client = client;
    this.#originNs = originNs;
    this.#marks = setInterval(() => this.#line({ mark: this.now() }), MARK_INTERVAL_MS);
  }

  /** Nanoseconds since the run began. */
  now(): number {
    return Number(process.hrtime.bigint() - this.#originNs);
  }

  event(workload: string, type: EventType, fields: EventFields): void {
    this.#line({ ...fields, type, time: this.now(), workload, client: this.#client });
  }

  ready(): void {
    this.#line({ ready: this.now() });
  }

  failed(error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#line({ failed: text });
  }

  stop(): void {
    clearInterval(this.#marks);
  }

  /** Writing to a pipe is synchronous on systems that have SIGSTOP. */
  #line(line: ClientLine): void {
    process.stdout.write(`${JSON.stringify(line)}\n`);
  }
}
