/** A client over a real WebSocket that decides nothing by itself: the test says what it sends. */
import { randomBytes } from "node:crypto";
import { type ClientOptions, WebSocket } from "ws";
import { decodeServerFrame } from "../../../src/net/framing/index.js";
import {
  type Answer,
  type Attached,
  type ClientRequest,
  MESSAGE,
  OP,
  type Reply,
  type SequencedCommand,
  type ServerMessage,
  SUBPROTOCOL,
  Writer,
  writeRequest,
} from "../../../src/protocol/index.js";

export class SocketClient {
  readonly nonce: string;
  attempt: number;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  readonly #socket: WebSocket;
  readonly #received: ServerMessage[] = [];
  readonly #looks = new Set<() => void>();
  readonly #unanswered = new Set<number>();
  readonly #writer = new Writer(1_024);

  /** Resolves once the node has said hello, before which a client sends nothing, or has closed. */
  static async connect(
    endpoint: string,
    nonce = randomBytes(16).toString("hex"),
    attempt = 0,
    options: ClientOptions = {},
  ): Promise<SocketClient> {
    const socket = new WebSocket(`${endpoint}/v1`, SUBPROTOCOL, {
      ...options,
      perMessageDeflate: false,
    });
    const client = new SocketClient(socket, nonce, attempt);
    await new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("error", reject);
    });
    await Promise.race([client.find(({ kind }) => kind === MESSAGE.hello), client.closed]);
    return client;
  }

  private constructor(socket: WebSocket, nonce: string, attempt: number) {
    this.#socket = socket;
    this.nonce = nonce;
    this.attempt = attempt;
    socket.on("message", (data: Buffer) => {
      this.#received.push(...decodeServerFrame(data));
      for (const look of [...this.#looks]) look();
    });
    this.closed = new Promise((resolve) => {
      socket.once("close", (code, reason) => resolve({ code, reason: reason.toString() }));
    });
  }

  /** The first message that fits, past or future. */
  find(fits: (message: ServerMessage) => boolean): Promise<ServerMessage> {
    return new Promise((resolve) => {
      const look = (): void => {
        const found = this.#received.find(fits);
        if (found === undefined) return;
        this.#looks.delete(look);
        resolve(found);
      };
      this.#looks.add(look);
      look();
    });
  }

  /** Opens a session, or resumes the one that is named. */
  async attach(to: { readonly ttlMs: number } | { readonly session: number }): Promise<Attached> {
    this.attempt += 1;
    const { nonce, attempt } = this;
    if ("session" in to) {
      this.#send({ op: OP.resume, session: to.session, nonce, attempt });
    } else this.#send({ op: OP.open, nonce, attempt, ttlMs: to.ttlMs, name: "test", metadata: "" });
    return (await this.find(
      (message) => message.kind === MESSAGE.attached && message.attempt === attempt,
    )) as Attached;
  }

  acquire(key: string, sequence: number, waitMs = 0): Promise<Reply> {
    const items = [{ key, mode: "exclusive" }] as const;
    const rest = { acknowledged: [], task: 1, items, waitMs };
    return this.#command(sequence, {
      op: OP.acquire,
      mark: this.#markAt(sequence),
      sequence,
      ...rest,
    });
  }

  end(target: number, sequence: number): Promise<Reply> {
    const head = { sequence, mark: this.#markAt(sequence), acknowledged: [] };
    return this.#command(sequence, { op: OP.end, ...head, target });
  }

  /** Gives an order without a session, under a number of its own. */
  order(command: SequencedCommand): Promise<Reply> {
    return this.#command(command.sequence, command);
  }

  async inspect(key: string): Promise<Answer> {
    this.#send({ op: OP.inspect, id: 1, key });
    return (await this.find((message) => message.kind === MESSAGE.answer)) as Answer;
  }

  close(): void {
    this.#socket.close();
  }

  /** The lowest number whose reply was not read. */
  #markAt(sequence: number): number {
    return Math.min(sequence, ...this.#unanswered);
  }

  async #command(sequence: number, command: ClientRequest): Promise<Reply> {
    this.#unanswered.add(sequence);
    this.#send(command);
    const reply = await this.find(
      (message) => message.kind === MESSAGE.reply && message.sequence === sequence,
    );
    this.#unanswered.delete(sequence);
    return reply as Reply;
  }

  #send(request: ClientRequest): void {
    this.#writer.beginFrame();
    writeRequest(this.#writer, request);
    this.#writer.endFrame(1);
    this.#socket.send(this.#writer.take());
  }
}
