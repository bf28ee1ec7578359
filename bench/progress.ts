/** The progress of a long run, as one line on a terminal; nothing anywhere else. */
export class Progress {
  readonly #stream: NodeJS.WriteStream;

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream;
  }

  show(text: string): void {
    if (this.#stream.isTTY) this.#stream.write(`\r\u001b[K${text}`);
  }

  clear(): void {
    this.show("");
  }
}
