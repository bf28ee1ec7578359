/**
 * The histories of a run on disk: one file of lines for each workload, written during the run, so
 * that a run that ends for any reason leaves its history until then. Waits for the disk instead of
 * buffering lines.
 */
import { createWriteStream, type WriteStream } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import type { HistoryEvent } from "./history-event.js";

const BUFFERED_BYTES_MAX = 1 << 20;

export class HistoryFiles {
  readonly #directory: string;
  readonly #streams = new Map<string, WriteStream>();
  #failure: Error | undefined;
  /** Lines written, by history. */
  readonly lines = new Map<string, number>();

  constructor(directory: string, histories: readonly string[]) {
    this.#directory = directory;
    for (const history of histories) {
      const stream = createWriteStream(this.fileOf(history), {
        highWaterMark: BUFFERED_BYTES_MAX,
      });
      stream.on("error", (error) => {
        this.#failure ??= error;
      });
      this.#streams.set(history, stream);
      this.lines.set(history, 0);
    }
  }

  fileOf(history: string): string {
    return join(this.#directory, `history-${history}.jsonl`);
  }

  get names(): string[] {
    return [...this.#streams.keys()];
  }

  /** Whether the writer should wait for `drained`. */
  get isFull(): boolean {
    return [...this.#streams.values()].some((stream) => stream.writableNeedDrain);
  }

  /** Notes of the nemesis go into every history. */
  write(event: HistoryEvent): void {
    if (this.#failure !== undefined) throw this.#failure;
    const { workload, ...line } = event;
    if (event.process === "nemesis") {
      for (const history of this.#streams.keys()) this.#append(history, line);
    } else {
      this.#append(workload, line);
    }
  }

  /** Resolves when everything is in the files; rejects if something could not be written. */
  async close(): Promise<void> {
    const streams = [...this.#streams.values()];
    await Promise.all(
      streams.map((stream) => {
        stream.end();
        return finished(stream);
      }),
    );
  }

  #append(history: string, line: object): void {
    const stream = this.#streams.get(history);
    if (stream === undefined) throw new RangeError(`there is no history ${history}`);
    stream.write(`${JSON.stringify(line)}\n`);
    this.lines.set(history, (this.lines.get(history) ?? 0) + 1);
  }
}
