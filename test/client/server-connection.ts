/**
 * One connection of a client to a node of a `TableServer`, with the network in between: frames take
 * their time in both directions and never overtake one another.
 */
import type { TransportEvents } from "../../src/client/index.js";
import { ERROR_NUMBERS } from "../../src/errors.js";
import { packPayload } from "../../src/net/framing/index.js";
import {
  decodeFrame,
  isAttachCommand,
  isOperation,
  isQuery,
  MESSAGE,
  OP,
  ProtocolError,
  type Query,
  type Request,
  type ServerMessage,
  STATUS,
  Writer,
  writeServerMessage,
} from "../../src/protocol/index.js";
import type { TableWatch } from "./table-reads.js";
import type { TableServer } from "./table-server.js";

export class ServerConnection {
  readonly #server: TableServer;
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
  session = 0;
  epoch = 0;
  wasAttached = false;
  /** The attach whose answer belongs here. */
  awaited = "";

  constructor(server: TableServer, nodeId: number, events: TransportEvents) {
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

  push(message: ServerMessage): void {
    if (this.#serverSees === "open") this.#messages.push(message);
  }

  flush(): void {
    if (this.#messages.length === 0) return;
    this.#writer.beginFrame();
    for (const message of this.#messages) writeServerMessage(this.#writer, message, packPayload);
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
    const requests: Request[] = [];
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
    for (const request of requests) this.#handle(request);
  }

  #handle(request: Request): void {
    if (isQuery(request)) {
      this.#answer(request);
      return;
    }
    if (isOperation(request)) {
      this.#server.operate(this, request);
      return;
    }
    if (isAttachCommand(request)) {
      this.awaited = `${request.nonce}/${request.attempt}`;
    }
    this.#server.propose(this, request);
  }

  /** Behind each entry. */
  tellWatches(): void {
    for (const [id, watch] of this.#watches) {
      const news = this.#server.reads.next(watch);
      if (news === undefined) continue;
      if (news.status !== STATUS.ok) this.#watches.delete(id);
      this.push({ kind: MESSAGE.changes, id, ...news });
    }
  }

  get watchCount(): number {
    return this.#watches.size;
  }

  #answer(query: Query): void {
    const { id } = query;
    const { faults, reads } = this.#server;
    const isBusy = faults.busy === "everything";
    let payload: unknown = null;
    if (query.op === OP.unwatch) this.#watches.delete(query.watch);
    else if (query.op === OP.watch && !isBusy) {
      const watch = reads.begin(query);
      this.#watches.set(id, watch);
      payload = { revision: watch.told };
    } else if (query.op !== OP.watch) ({ payload } = reads.answer(query));
    const status = isBusy ? ERROR_NUMBERS.BUSY : STATUS.ok;
    this.push({ kind: MESSAGE.answer, id, status, payload });
    this.tellWatches();
    this.flush();
  }

  #closeAtServer(): void {
    this.#serverSees = "closed";
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
