/** A Redis door on a free port of this machine, over locks in memory, and connections to it. */
import { connect, type Socket } from "node:net";
import {
  type Caller,
  type DoorNode,
  RedisDoor,
  type RedisDoorOptions,
} from "../../../../src/doors/redis/index.js";
import { HoldfastError } from "../../../../src/errors.js";
import { MemoryLocks } from "./memory-locks.js";

/** The state of a node, which a test may change. */
export type NodeState = { -readonly [Name in keyof DoorNode]: DoorNode[Name] };

export class DoorWorld implements AsyncDisposable {
  readonly locks = new MemoryLocks();
  readonly log: string[] = [];
  /** What each connection has shown that asked for a client. */
  readonly callers: Caller[] = [];
  readonly node: NodeState;
  readonly door: RedisDoor;
  readonly #clients: RespClient[] = [];

  private constructor(options: Partial<RedisDoorOptions>, node: Partial<DoorNode>) {
    this.node = {
      ...{ id: 1, version: "1.0.0", clusterName: "holdfast", isServing: true, isOpen: true },
      ...{ leader: 1, redisAddresses: new Map(), electionTimeoutMs: 600 },
      ...node,
    };
    const defaults: RedisDoorOptions = {
      listen: { host: "127.0.0.1", port: 0 },
      ...{ tls: undefined, connectionsMax: 64, addressConnectionsMax: 64 },
      ...{ allowsEndless: false, allowsUnproven: false, isFair: false },
      log: (level, message, fields) =>
        this.log.push(`${level} ${message} ${JSON.stringify(fields)}`),
      nowMs: () => performance.now(),
    };
    this.door = new RedisDoor({ ...defaults, ...options }, this.node, {
      clientOf: async (caller) => {
        this.callers.push(caller);
        const { token } = caller;
        if (token === undefined) return this.locks.held();
        if (token.startsWith("hf_")) return this.locks.held(token.slice(3));
        throw new HoldfastError("UNAUTHENTICATED", "unknown token");
      },
    });
  }

  static async open(
    options: Partial<RedisDoorOptions> = {},
    node: Partial<DoorNode> = {},
  ): Promise<DoorWorld> {
    const world = new DoorWorld(options, node);
    await world.door.start();
    world.node.redisAddresses = new Map([[1, `127.0.0.1:${world.door.port}`]]);
    world.door.serve();
    return world;
  }

  async connect(): Promise<RespClient> {
    const client = await RespClient.open(this.door.port);
    this.#clients.push(client);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.door.close();
  }
}

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
    for (;;) {
      const found = replyAt(this.#bytes, 0);
      if (found !== undefined) {
        this.#bytes = this.#bytes.slice(found.end);
        return found.text;
      }
      if (this.isClosed) return "closed";
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Resolves when the other side has closed the connection. */
  async closed(): Promise<void> {
    while (!this.isClosed) await new Promise<void>((resolve) => this.#waiting.push(resolve));
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
