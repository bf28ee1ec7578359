/**
 * The progress of a wait: on a terminal one line that is overwritten and removed at the end,
 * elsewhere a single note, since a log does not need a hundred lines of it.
 */
import { note } from "./terminal.js";

export class ProgressLine {
  readonly #stream: NodeJS.WriteStream;
  #hasShown = false;

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream;
  }

  show(text: string): void {
    if (this.#isTerminal) this.#stream.write(`\r${text}\u001b[K`);
    else if (!this.#hasShown) note(text);
    this.#hasShown = true;
  }

  /** Must be called before anything else is written. */
  end(): void {
    if (this.#hasShown && this.#isTerminal) this.#stream.write("\r\u001b[K");
  }

  get #isTerminal(): boolean {
    return this.#stream.isTTY && process.env["TERM"] !== "dumb";
  }
}
