/**
 * One connection of a client to a node of a `TableServer`, with the network in between: frames take
 * their time in both directions and never overtake one another. It knows which command comes next
 * and what the node keeps of those that it admitted; whether there is room is the server's to say.
 */
import { createHash } from "node:crypto";
import type { TransportEvents } from "../../../src/client/index.js";
import { ERROR_NUMBERS, type ErrorNumber } from "../../../src/errors/index.js";
import type { Credential, LockTable, TableCommand } from "../../../src/lockfsm/index.js";
import { writePayload } from "../../../src/net/framing/index.js";
import {
  type Attached,
  attachKeyOf,
  type ClientRequest,
  type Command,
  decodeFrame,
  type Hello,
  IN_FLIGHT_MAX,
  isAttachCommand,
  isOperation,
  isOrder,
  isQuery,
  MESSAGE,
  OP,
  type Operation,
  ProtocolError,
  type Query,
  type SequencedCommand,
  type ServerMessage,
  type SignInQuery,
  STATUS,
  Writer,
  writeServerMessage,
} from "../../../src/protocol/index.js";
import { accessProblem } from "../../../src/server/reads/read-rights.js";
import type { ServerFaults } from "./server-faults.js";
import type { SimulatedWorld } from "./simulated-world.js";
import type { TableReads, TableWatch } from "./table-reads.js";

/** A command that a node admitted, on its way into the log. */
export interface Admitted extends TableCommand {
  readonly connection: ServerConnection;
  readonly command: Command;
}

/** What a connection needs of the server at its other end. */
interface Server {
  readonly world: SimulatedWorld;
  readonly faults: ServerFaults;
  readonly reads: TableReads;
  readonly table: LockTable;
  /** Every token that was shown, in order. */
  readonly shown: { readonly nodeId: number; readonly token: string; readonly atMs: number }[];
  hasExpired(credential: Credential): boolean;
  readonly connections: Set<ServerConnection>;
  /** A time between these two. */
  between(range: readonly [number, number]): number;
  hello(nodeId: number): Hello;
  /** A command reached a node. */
  propose(connection: ServerConnection, command: Command): void;
  /** An operation reached a node, which passes it on to the leader. */
  operate(connection: ServerConnection, operation: Operation): void;
}

export class ServerConnection {
  readonly #server: Server;
  readonly nodeId: number;
  readonly #events: TransportEvents;
  readonly #writer = new Writer();
  /** By the number that the client gave them. */
  readonly #watches = new Map<number, TableWatch>();
  #messages: ServerMessage[] = [];
  #clientSees: "opening" | "open" | "closed" = "opening";
  #serverSees: "open" | "closed" = "closed";
  /** Messages in both directions vanish, and nobody notices. */
  isBlackhole = false;
  /** The node takes what the client says and does nothing with it. */
  isDeaf = false;
  #lastToClientMs = 0;
  #lastToServerMs = 0;
  /** The number of what it has shown; 0: nothing. */
  credential = 0;
  #hasAsked = false;
  #isReadOnly = false;
  session = 0;
  epoch = 0;
  wasAttached = false;
  /** The attach whose answer belongs here; "" when none is awaited. */
  awaited = "";
  /** The only sequence that can be admitted. */
  #expected = 1;
  /** Since `#expected` was refused: what comes with other sequences was sent before that was heard. */
  #isRefusing = false;
  /** What was admitted and is not known to have been applied, in order. */
  readonly kept = new Set<Admitted>();

  constructor(server: Server, nodeId: number, events: TransportEvents) {
    this.#server = server;
    this.nodeId = nodeId;
    this.#events = events;
  }

  accept(): void {
    this.#serverSees = "open";
    this.#server.connections.add(this);
    this.#toClient(() => {
      this.#clientSees = "open";
      this.#events.onOpen();
    });
    this.push(this.#server.hello(this.nodeId));
    this.flush();
  }

  refuse(): void {
    this.#toClient(() => this.#closeAtClient(1006, "connection refused"));
  }

  /** The table attached this connection to a session. */
  bind({ session, epoch, highestSequence }: Attached): void {
    this.session = session;
    this.epoch = epoch;
    this.wasAttached = true;
    this.#expected = highestSequence + 1;
    this.#isRefusing = false;
    this.kept.clear();
  }

  /** The session is no more. */
  unbind(): void {
    this.session = 0;
    this.kept.clear();
  }

  /**
   * Whether the command is the one that comes next; what was sent after a refused one is dropped.
   * Anything else no correct client sends.
   */
  expects({ sequence, mark }: SequencedCommand): boolean {
    if (this.awaited !== "") throw new Error(`the SDK sent ${sequence} before it was attached`);
    if (sequence - mark >= IN_FLIGHT_MAX) throw new Error(`the SDK sent ${sequence} above ${mark}`);
    if (sequence === this.#expected) return true;
    if (sequence > this.#expected && this.#isRefusing) return false;
    throw new Error(`the SDK sent ${sequence} in place of ${this.#expected}`);
  }

  noteAdmitted(sequence: number): void {
    this.#isRefusing = false;
    this.#expected = sequence + 1;
  }

  /** The table executed everything up to `sequence`. */
  settle(sequence: number): void {
    for (const each of this.kept) {
      if ("sequence" in each.command && each.command.sequence <= sequence) this.kept.delete(each);
    }
  }

  /** A keepalive or recall that is refused is simply not answered. */
  refuseCommand(command: Command, status: ErrorNumber): void {
    if (isAttachCommand(command)) {
      this.push({
        kind: MESSAGE.attached,
        key: attachKeyOf(command),
        attempt: command.attempt,
        status,
        session: 0,
        epoch: 0,
        highestSequence: 0,
        stamp: 0,
        ttlMs: 0,
        index: 0,
      });
    } else if ("sequence" in command) {
      this.#isRefusing = true;
      this.push({ kind: MESSAGE.refused, sequence: command.sequence, status });
    }
    this.flush();
  }

  push(message: ServerMessage): void {
    if (this.#serverSees === "open") this.#messages.push(message);
  }

  flush(): void {
    if (this.#messages.length === 0) return;
    this.#writer.beginFrame();
    for (const message of this.#messages) writeServerMessage(this.#writer, message, writePayload);
    this.#writer.endFrame(this.#messages.length);
    this.#messages = [];
    const frame = this.#writer.take();
    this.#toClient(() => {
      if (this.#clientSees === "open") this.#events.onFrame(frame);
    });
  }

  /** The client sends a frame. */
  toServer(frame: Uint8Array): void {
    if (this.#clientSees !== "open") return;
    this.#toServer(() => {
      if (this.#serverSees === "open" && !this.isDeaf) this.#receive(frame);
    });
  }

  closedByClient(code: number): void {
    if (this.#clientSees === "closed") return;
    this.#clientSees = "closed";
    this.#toServer(() => this.#closeAtServer());
    this.#server.world.after(1, () => this.#events.onClose(code, ""));
  }

  /** The node closes. */
  close(code: number, reason: string): void {
    if (this.#serverSees === "closed") return;
    this.flush();
    this.#closeAtServer();
    this.#toClient(() => this.#closeAtClient(code, reason));
  }

  /** The connection breaks at once: whatever is on its way, in either direction, is lost. */
  cut(): void {
    this.#closeAtServer();
    this.isBlackhole = true;
    this.#server.world.after(0, () => this.#closeAtClient(1006, ""));
  }

  #receive(frame: Uint8Array): void {
    const requests: ClientRequest[] = [];
    try {
      decodeFrame(frame, {
        request: (request) => requests.push(request),
        invalid: (op, id, reason) => {
          throw new Error(`the SDK sent an invalid request ${op} ${id}: ${reason}`);
        },
      });
    } catch (error) {
      if (error instanceof ProtocolError) throw new Error(`the SDK broke the protocol: ${error}`);
      throw error;
    }
    for (const request of requests) if (this.#serverSees === "open") this.#handle(request);
  }

  #handle(request: ClientRequest): void {
    if (isQuery(request) && request.op === OP.signIn) {
      this.#signIn(request);
      return;
    }
    this.#hasAsked = true;
    if (isQuery(request) && request.op === OP.readOnly) {
      this.#isReadOnly = true;
      this.push({ kind: MESSAGE.answer, id: request.id, status: STATUS.ok, payload: null });
      this.flush();
      return;
    }
    if (isQuery(request) && request.op === OP.ping) {
      this.push({ kind: MESSAGE.answer, id: request.id, status: STATUS.ok, payload: null });
      this.flush();
      return;
    }
    if (isQuery(request)) {
      this.#answer(request);
      return;
    }
    if (this.#isReadOnly && request.op !== OP.members) {
      this.#refuseChange(request);
      return;
    }
    if (isOperation(request)) {
      this.#server.operate(this, request);
      return;
    }
    this.#server.propose(this, request);
  }

  #refuseChange(request: Command | Operation): void {
    const status = ERROR_NUMBERS.FORBIDDEN;
    if (isOperation(request)) {
      const payload = { message: "this connection may only read" };
      this.push({ kind: MESSAGE.answer, id: request.id, status, payload });
    } else {
      if (!isOrder(request)) throw new Error(`the SDK sent ${request.op} to only read`);
      const { sequence } = request;
      this.push({ kind: MESSAGE.reply, sequence, stamp: 0, result: { status } });
    }
    this.flush();
  }

  /** After each entry. */
  tellWatches(): void {
    for (const [id, watch] of this.#watches) {
      const news = this.#server.reads.next(watch);
      if (news === undefined) continue;
      if (news.status !== STATUS.ok) this.#watches.delete(id);
      this.push({ kind: MESSAGE.changes, id, ...news });
    }
  }

  /** The rules of a node: once, before anything else, and only the digest is looked for. */
  #signIn({ id, token }: SignInQuery): void {
    if (this.#hasAsked) throw new Error("the SDK signed in after another request");
    this.#hasAsked = true;
    const { world, shown, faults, table } = this.#server;
    shown.push({ nodeId: this.nodeId, token, atMs: world.nowMs });
    if (faults.signIn === "closed") {
      this.close(1013, "try again later");
      return;
    }
    const digest = createHash("sha256").update(token).digest("hex");
    const credential = table.findToken(digest);
    const isKnown = credential !== undefined && !this.#server.hasExpired(credential);
    const refusal = faults.signIn === "busy" ? ERROR_NUMBERS.BUSY : ERROR_NUMBERS.UNAUTHENTICATED;
    const isSignedIn = isKnown && faults.signIn === "works";
    const payload = { message: credential === undefined ? "unknown credential" : "expired" };
    if (isSignedIn) {
      this.credential = credential.number;
      this.push(this.#server.hello(this.nodeId));
    } else this.push({ kind: MESSAGE.answer, id, status: refusal, payload });
    this.flush();
    if (!isSignedIn && faults.signIn === "works") this.close(1008, payload.message);
  }

  get watchCount(): number {
    return this.#watches.size;
  }

  #answer(query: Query): void {
    const { id } = query;
    const { faults, reads, table } = this.#server;
    const isBusy = faults.busy === "everything";
    const viewer = table.findCredential(this.credential)?.identity;
    const problem = accessProblem(viewer, query);
    if (viewer === undefined || problem !== undefined) {
      const status = problem ?? ERROR_NUMBERS.UNAUTHENTICATED;
      this.push({ kind: MESSAGE.answer, id, status, payload: null });
      this.flush();
      return;
    }
    let payload: unknown = null;
    if (query.op === OP.unwatch) this.#watches.delete(query.watch);
    else if (query.op === OP.watch && !isBusy) {
      const watch = reads.begin(query);
      this.#watches.set(id, watch);
      payload = { revision: watch.told };
    } else if (query.op !== OP.watch) ({ payload } = reads.answer(query, viewer));
    const status = isBusy ? ERROR_NUMBERS.BUSY : STATUS.ok;
    this.push({ kind: MESSAGE.answer, id, status, payload });
    this.tellWatches();
    this.flush();
  }

  #closeAtServer(): void {
    this.#serverSees = "closed";
    this.kept.clear();
    this.#server.connections.delete(this);
  }

  #closeAtClient(code: number, reason: string): void {
    if (this.#clientSees === "closed") return;
    this.#clientSees = "closed";
    this.#events.onClose(code, reason);
  }

  #toClient(task: () => void): void {
    const { world, faults } = this.#server;
    const atMs = Math.max(
      world.nowMs + this.#server.between(faults.latencyMs),
      this.#lastToClientMs,
    );
    this.#lastToClientMs = atMs;
    world.at(atMs, () => {
      if (!this.isBlackhole) task();
    });
  }

  #toServer(task: () => void): void {
    const { world, faults } = this.#server;
    const atMs = Math.max(
      world.nowMs + this.#server.between(faults.latencyMs),
      this.#lastToServerMs,
    );
    this.#lastToServerMs = atMs;
    world.at(atMs, () => {
      if (!this.isBlackhole) task();
    });
  }
}
