/** A connection that speaks the protocol of Redis, and nothing else. */
import { connect, type Socket } from "node:net";

/** Sends commands, and hands out whole replies as the lines of the protocol that they are. */
export class RespClient {
  readonly #socket: Socket;
  #bytes = "";
  readonly #waiting: (() => void)[] = [];
  isClosed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk) => {
      this.#bytes += chunk.toString("latin1");
      this.#wake();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.isClosed = true;
      this.#wake();
    });
  }

  /** Over a connection of another kind. */
  static over(socket: Socket): RespClient {
    return new RespClient(socket);
  }

  static async open(port: number): Promise<RespClient> {
    const socket = connect(port, "127.0.0.1");
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
    return new RespClient(socket);
  }

  /** Sends one command and resolves to its reply. */
  call(...words: readonly (string | Buffer)[]): Promise<string> {
    this.send(...words);
    return this.reply();
  }

  /** Arguments are UTF-8. */
  send(...words: readonly (string | Buffer)[]): void {
    this.write(commandBytes(words));
  }

  write(bytes: Buffer | string): void {
    this.#socket.write(bytes);
  }

  /**
   * The next reply: `+OK`, `:1`, `-ERR …`; a bulk string as its text, `nil` for none; elements of an
   * array or map in brackets.
   */
  async reply(): Promise<string> {
    return (await this.#next())?.text ?? "closed";
  }

  /** The bytes of the next reply. */
  async replyBytes(): Promise<string> {
    return (await this.#next())?.bytes ?? "closed";
  }

  async #next(): Promise<{ text: string; bytes: string } | undefined> {
    for (;;) {
      const found = replyAt(this.#bytes, 0);
      if (found !== undefined) {
        const bytes = this.#bytes.slice(0, found.end);
        this.#bytes = this.#bytes.slice(found.end);
        return { text: found.text, bytes };
      }
      if (this.isClosed) return;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Resolves when the other side has closed the connection. */
  async closed(): Promise<void> {
    while (!this.isClosed) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** From now on replies are counted and not kept. */
  discard(onBytes: (count: number) => void): void {
    this.#socket.removeAllListeners("data");
    this.#socket.on("data", ({ length }) => onBytes(length));
  }

  resume(): void {
    this.#socket.resume();
  }

  pause(): void {
    this.#socket.pause();
  }

  close(): void {
    this.#socket.destroy();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

export function commandBytes(words: readonly (string | Buffer)[]): Buffer {
  const parts = words.flatMap((word) => {
    const bytes = Buffer.from(word);
    return [Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from("\r\n")];
  });
  return Buffer.concat([Buffer.from(`*${words.length}\r\n`), ...parts]);
}

export function replyAt(bytes: string, at: number): { text: string; end: number } | undefined {
  const lineEnd = bytes.indexOf("\r\n", at);
  if (lineEnd < 0) return undefined;
  const mark = bytes[at];
  const line = bytes.slice(at + 1, lineEnd);
  let end = lineEnd + 2;
  if (mark === "$") {
    const length = Number(line);
    if (length < 0) return { text: "nil", end };
    if (bytes.length < end + length + 2) return undefined;
    return { text: bytes.slice(end, end + length), end: end + length + 2 };
  }
  if (mark === "=") {
    // Text with its format before it.
    const length = Number(line);
    if (bytes.length < end + length + 2) return undefined;
    return { text: bytes.slice(end + "txt:".length, end + length), end: end + length + 2 };
  }
  if (mark === "_") return { text: "nil", end };
  if (mark === "*" || mark === "%" || mark === ">") {
    if (line === "-1") return { text: "nil", end };
    const count = Number(line) * (mark === "%" ? 2 : 1);
    const elements: string[] = [];
    for (let element = 0; element < count; element++) {
      const found = replyAt(bytes, end);
      if (found === undefined) return undefined;
      elements.push(found.text);
      end = found.end;
    }
    return { text: `[${elements.join(", ")}]`, end };
  }
  return { text: `${mark}${line}`, end };
}
