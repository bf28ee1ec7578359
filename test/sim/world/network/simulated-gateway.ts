/**
 * The port for clients of one process of a node. Clients that speak the protocol by themselves say
 * messages as objects; those of the SDK send bytes, which the production gateway's code reads and
 * writes behind a socket of the simulator (`node-socket.ts`).
 */

import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import { GatewayConnection, Outbound } from "../../../../src/net/gateway/connection.js";
import { GATEWAY_DEFAULTS } from "../../../../src/net/gateway/options.js";
import { GatewayRequests } from "../../../../src/net/gateway/requests.js";
import type { GatewaySocket } from "../../../../src/net/gateway/socket.js";
import {
  type ClientConnection,
  type ClientGateway,
  type GatewayEvents,
  InputMeter,
} from "../../../../src/net/index.js";
import { AccountedInput } from "../../../../src/net/meter/metered-input.js";
import type { ServerMessage } from "../../../../src/protocol/index.js";
import type { CrashKind } from "../disk/node-disk.js";
import { BROKEN, NodeSocket, type SocketEnding } from "./node-socket.js";
import type { Wire } from "./wire.js";

export class SimulatedGateway implements Pick<ClientGateway, "flush"> {
  readonly #connections = new Set<ServedConnection>();
  readonly #outbound = new Outbound(GATEWAY_DEFAULTS);
  readonly #sockets = new Map<GatewayConnection, NodeSocket>();
  /** Simulated time stands still while a node works, so there is nothing to share. */
  readonly #meter = new InputMeter({
    clock: { nowMs: () => 0, busyMs: () => 0, soon: () => {}, after: () => {} },
  });
  #requests: GatewayRequests | undefined;
  readonly life: ProcessLife;
  events: GatewayEvents | undefined;
  #lastId = 0;

  constructor(life: ProcessLife) {
    this.life = life;
  }

  get nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  add(connection: ServedConnection): void {
    this.#connections.add(connection);
    this.life.deliver(() => this.events?.onConnection(connection));
  }

  remove(connection: ServedConnection): void {
    if (!this.#connections.delete(connection)) return;
    // Never inside a turn of the driver, which may have closed it itself.
    this.life.timeline.after(0, () => {
      this.life.deliver(() => this.events?.onClosed(connection));
    });
  }

  /** A connection of bytes. */
  accept(wire: Wire<Uint8Array | SocketEnding>): GatewayConnection {
    const socket = new NodeSocket(this.life, wire, () => this.left(connection));
    // Of a WebSocket it has what a connection without a handshake uses.
    const asSocket = socket as unknown as GatewaySocket;
    const input = new AccountedInput(this.#meter, "", false);
    const connection = new GatewayConnection(this.nextId, input, asSocket, this.#outbound);
    this.#sockets.set(connection, socket);
    this.life.deliver(() => this.events?.onConnection(connection));
    return connection;
  }

  /** A frame of the client arrived. */
  heard(connection: GatewayConnection, frame: Uint8Array): void {
    this.life.deliver(() => {
      if (this.events === undefined || !connection.isOpen) return;
      this.#requests ??= new GatewayRequests(this.events, () => {});
      // A part of what the socket read, which the system uses again for what comes next.
      const chunk = new Uint8Array(frame.length + 1);
      chunk.set(frame, 1);
      this.#requests.read(connection, chunk.subarray(1), true);
      chunk.fill(0);
    });
  }

  /** Either side ended it. */
  left(connection: GatewayConnection): void {
    if (!this.#sockets.delete(connection)) return;
    // Never inside a turn of the driver, which may have closed it itself.
    this.life.timeline.after(0, () => {
      this.life.deliver(() => {
        connection.leave();
        this.events?.onClosed(connection);
      });
    });
  }

  flush(): void {
    for (const connection of this.#connections) {
      if (connection.hasFrame && this.life.mayAct()) connection.flush();
    }
    this.#outbound.flush();
  }

  end(kind: CrashKind): void {
    for (const socket of this.#sockets.values()) socket.abort(kind);
    this.#sockets.clear();
    for (const connection of this.#connections) connection.abort(kind);
    this.#connections.clear();
  }
}

/** A connection as the node has it. */
export class ServedConnection implements ClientConnection {
  readonly id: number;
  session = 0;
  attachEpoch = 0;
  watchCount = 0;
  readonly certifiedName = undefined;
  readonly isEncrypted = false;
  readonly isLocal = false;
  readonly address = "";
  limitedIdentity = "";
  identity: string | undefined = undefined;
  attachment: unknown = undefined;
  /** What leaves is taken at once. */
  readonly bufferedBytes = 0;
  isOpen = true;
  readonly #gateway: SimulatedGateway;
  readonly #wire: Wire<readonly ServerMessage[] | SocketEnding>;
  #frame: ServerMessage[] = [];

  constructor(gateway: SimulatedGateway, wire: Wire<readonly ServerMessage[] | SocketEnding>) {
    this.id = gateway.nextId;
    this.#gateway = gateway;
    this.#wire = wire;
  }

  get hasFrame(): boolean {
    return this.#frame.length > 0;
  }

  identify(identity: string | undefined): void {
    this.identity = identity;
  }

  send(message: ServerMessage): void {
    if (this.isOpen) this.#frame.push(message);
  }

  flush(): void {
    const frame = this.#frame;
    this.#frame = [];
    if (frame.length > 0) this.#wire.send(frame);
  }

  close(code: number, reason: string): void {
    if (!this.isOpen || !this.#gateway.life.mayAct()) return;
    this.flush();
    this.isOpen = false;
    this.#wire.send({ code, reason });
    this.#gateway.remove(this);
  }

  /** For limits of clients, of which simulated nodes have none. */
  pause(): void {
    throw new Error("a simulated node has no limits of clients");
  }

  resume(): void {}

  /** The process behind it ended: its system says so, unless the power is gone. */
  abort(kind: CrashKind): void {
    this.isOpen = false;
    this.#frame = [];
    if (kind === "power") this.#wire.break();
    else this.#wire.send(BROKEN);
  }
}
