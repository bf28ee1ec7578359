/**
 * A client that speaks the protocol word by word and decides nothing by itself: tests say when it
 * connects, resumes and repeats.
 */
import {
  type Answer,
  type AttachCommand,
  type Attached,
  type Command,
  type Hello,
  type LockMode,
  MESSAGE,
  OP,
  type Operation,
  type Outcome,
  type Query,
  type Refused,
  type Renewed,
  type Reply,
  type ServerMessage,
  WAIT_FOREVER,
  Writer,
  writeRequest,
} from "../../../src/protocol/index.js";
import { encodeCommand } from "../../protocol/command-bytes.js";
import type { ConnectionPeer, MemoryConnection, MemoryGateway, Shown } from "./memory-gateway.js";
import type { WorldTime } from "./world-time.js";

/** Where it can connect to. */
interface Node {
  readonly gateway: MemoryGateway;
}

/** Queries are not encoded here. */
const QUERY_BYTES = 16;

let lastNonce = 0;

export class TestClient {
  readonly received: ServerMessage[] = [];
  readonly nonce: string;
  session = 0;
  epoch = 0;
  attempt = 0;
  closed: { readonly code: number; readonly reason: string } | undefined;
  lastSequence = 0;
  readonly #world: WorldTime;
  #connection: MemoryConnection | undefined;
  #gateway: MemoryGateway | undefined;
  #lastNumber = 0;
  /** The lowest number without a reply, and those above it that have one. */
  #mark = 1;
  readonly #answered = new Set<number>();

  constructor(world: WorldTime) {
    this.#world = world;
    lastNonce += 1;
    this.nonce = lastNonce.toString(16).padStart(32, "0");
  }

  connect(node: Node, shown: Shown = {}): void {
    this.closed = undefined;
    this.#gateway = node.gateway;
    const peer: ConnectionPeer = {
      onMessage: (message) => {
        if (this.#connection === connection) this.#take(message);
      },
      onClosed: (code, reason) => {
        if (this.#connection === connection) this.closed = { code, reason };
      },
    };
    const connection: MemoryConnection = node.gateway.connect(peer, shown);
    this.#connection = connection;
  }

  disconnect(): void {
    this.#connection?.leave();
    this.#connection = undefined;
  }

  /** Opens or, once there is a session, resumes. */
  attach(ttlMs = 15_000): void {
    this.attempt += 1;
    const { nonce, attempt, session } = this;
    const command: AttachCommand =
      session === 0
        ? { op: OP.open, nonce, attempt, ttlMs, name: `client-${nonce}`, metadata: "" }
        : { op: OP.resume, session, nonce, attempt };
    const bytes = encodeCommand(command);
    this.#say((events, connection) => events.onAttach(connection, command, bytes), bytes.length);
  }

  /** Connects, attaches and waits until it is attached. */
  async start(node: Node, ttlMs = 15_000): Promise<void> {
    this.connect(node);
    this.attach(ttlMs);
    const { attempt } = this;
    await this.#world.until("attached", () => this.attached(attempt) !== undefined);
  }

  acquire(key: string, waitMs: number = WAIT_FOREVER, mode: LockMode = "exclusive"): number {
    const head = this.#head();
    this.send({ op: OP.acquire, ...head, task: 1, items: [{ key, mode }], waitMs });
    return head.sequence;
  }

  /** Gives back what that acquire brought, or its wait. */
  end(target: number): number {
    const head = this.#head();
    this.send({ op: OP.end, ...head, target });
    return head.sequence;
  }

  keepalive(): number {
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    this.send({ op: OP.keepalive, number, mark: 1, acknowledged: [] });
    return number;
  }

  query(query: Query): void {
    this.#say((events, connection) => events.onQuery(connection, query));
  }

  /** Asks for something of the cluster itself. */
  operate(operation: Operation): void {
    const writer = new Writer();
    writeRequest(writer, operation);
    const bytes = writer.take();
    this.#say(
      (events, connection) => events.onOperation(connection, operation, bytes),
      bytes.length,
    );
  }

  send(command: Exclude<Command, { readonly nonce: string }>): void {
    const bytes = encodeCommand(command);
    this.#say((events, connection) => events.onCommand(connection, command, bytes), bytes.length);
  }

  /** As if `bytes` waited that the client does not read. */
  set bufferedBytes(bytes: number) {
    if (this.#connection !== undefined) this.#connection.bufferedBytes = bytes;
  }

  get hello(): Hello | undefined {
    return this.received.find((message) => message.kind === MESSAGE.hello);
  }

  attached(attempt: number): Attached | undefined {
    return this.received.find(
      (message) => message.kind === MESSAGE.attached && message.attempt === attempt,
    ) as Attached | undefined;
  }

  reply(sequence: number): Reply | undefined {
    return this.received.find(
      (message) => message.kind === MESSAGE.reply && message.sequence === sequence,
    ) as Reply | undefined;
  }

  outcome(sequence: number): Outcome | undefined {
    return this.received.find(
      (message) => message.kind === MESSAGE.outcome && message.sequence === sequence,
    ) as Outcome | undefined;
  }

  renewed(number: number): Renewed | undefined {
    return this.received.find(
      (message) => message.kind === MESSAGE.renewed && message.number === number,
    ) as Renewed | undefined;
  }

  answer(id: number): Answer | undefined {
    return this.received.find((message) => message.kind === MESSAGE.answer && message.id === id) as
      | Answer
      | undefined;
  }

  /** The token of a granted acquire, in whichever message it came; 0 for none. */
  token(sequence: number): number {
    const result = (this.outcome(sequence) ?? this.reply(sequence))?.result;
    return result !== undefined && "token" in result ? result.token : 0;
  }

  async untilReply(sequence: number): Promise<Reply> {
    await this.#world.until(`reply ${sequence}`, () => this.reply(sequence) !== undefined);
    return this.reply(sequence) as Reply;
  }

  /** The error with which a node refused it, or the status of its reply. */
  async untilStatus(sequence: number): Promise<number> {
    const from = this.received.length;
    const refusal = (): Refused | undefined =>
      this.received
        .slice(from)
        .find((message) => message.kind === MESSAGE.refused && message.sequence === sequence) as
        | Refused
        | undefined;
    const isAnswered = () => this.reply(sequence) !== undefined || refusal() !== undefined;
    await this.#world.until(`an answer to ${sequence}`, isAnswered);
    return refusal()?.status ?? (this.reply(sequence) as Reply).result.status;
  }

  #head(): { sequence: number; mark: number; acknowledged: readonly number[] } {
    this.lastSequence += 1;
    while (this.#answered.delete(this.#mark)) this.#mark += 1;
    return { sequence: this.lastSequence, mark: this.#mark, acknowledged: [] };
  }

  #say(
    what: (events: NonNullable<MemoryGateway["events"]>, connection: MemoryConnection) => void,
    bytes = QUERY_BYTES,
  ): void {
    const connection = this.#connection;
    if (connection === undefined) throw new Error("not connected");
    this.#gateway?.say((events) => connection.hear(events, () => what(events, connection), bytes));
  }

  #take(message: ServerMessage): void {
    this.received.push(message);
    if (message.kind === MESSAGE.attached && message.status === 0) {
      this.session = message.session;
      this.epoch = message.epoch;
      this.lastSequence = message.highestSequence;
      this.#mark = message.highestSequence + 1;
      this.#answered.clear();
    } else if (message.kind === MESSAGE.reply) this.#answered.add(message.sequence);
    // What was sent after it is dropped: the numbers are used again.
    else if (message.kind === MESSAGE.refused) this.lastSequence = message.sequence - 1;
  }
}
