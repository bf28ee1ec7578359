/**
 * The port for clients of one process of a node. Clients that speak the protocol by themselves say
 * messages as objects; clients of the SDK send bytes, which the production gateway's code reads and
 * writes behind a socket of the simulator (`node-socket.ts`).
 */

import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import { GatewayConnection, Outbound } from "../../../../src/net/gateway/connection.js";
import { InProcessSocket } from "../../../../src/net/gateway/in-process-socket.js";
import { GATEWAY_DEFAULTS } from "../../../../src/net/gateway/options.js";
import { GatewayRequests } from "../../../../src/net/gateway/requests.js";
import type { GatewaySocket } from "../../../../src/net/gateway/socket.js";
import {
  type ClientConnection,
  type ClientGateway,
  type GatewayEvents,
  type InProcessCaller,
  type InProcessEvents,
  type InProcessLink,
  InputMeter,
  type MeterClock,
} from "../../../../src/net/index.js";
import { AccountedInput } from "../../../../src/net/meter/metered-input.js";
import type { ServerMessage } from "../../../../src/protocol/index.js";
import type { CrashKind } from "../disk/node-disk.js";
import type { RedisSocket } from "../doors/redis-port.js";
import type { HttpTold, HttpWords, ServedExchange } from "../doors/served-exchange.js";
import { BROKEN, NodeSocket, type SocketEnding } from "./node-socket.js";
import type { Wire } from "./wire.js";

/** By which a caller of a door hears of the end of its connection. */
export type ClosedWire = Pick<Wire<SocketEnding>, "send" | "break">;

/** The doors of a process, as callers reach them. */
export interface GatewayDoors {
  /** A caller of HTTP has connected. */
  connected(wire: ClosedWire): void;
  /** It asks. */
  answer(words: HttpWords, wire: Wire<HttpTold | SocketEnding>): ServedExchange;
  /** A client of Redis has connected. */
  accept(wire: Wire<Uint8Array | SocketEnding>): RedisSocket | undefined;
  left(wire: ClosedWire): void;
  /** The process ended: its system says so, unless the power is gone. */
  end(kind: CrashKind): void;
}

/** Simulated time stands still while a node works, so there is nothing to share. */
export const IDLE_METER_CLOCK: MeterClock = {
  nowMs: () => 0,
  busyMs: () => 0,
  afterPromises: () => {},
  soon: () => {},
  after: () => {},
};

export class SimulatedGateway implements Pick<ClientGateway, "flush"> {
  readonly #connections = new Set<ServedConnection>();
  readonly #outbound = new Outbound(GATEWAY_DEFAULTS);
  readonly #sockets = new Map<GatewayConnection, NodeSocket>();
  /** Sockets of doors of the same process. */
  readonly #inProcess = new Set<GatewayConnection>();
  readonly #meter = new InputMeter({ clock: IDLE_METER_CLOCK });
  #requests: GatewayRequests | undefined;
  readonly life: ProcessLife;
  events: GatewayEvents | undefined;
  /** The doors of the same process, where there are any. */
  doors: GatewayDoors | undefined;
  #lastId = 0;

  constructor(life: ProcessLife) {
    this.life = life;
  }

  get nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  get open(): (ServedConnection | GatewayConnection)[] {
    const all = [...this.#connections, ...this.#sockets.keys(), ...this.#inProcess];
    return all.filter(({ isOpen }) => isOpen);
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
    // It has those parts of a WebSocket that a connection without a handshake uses.
    const asSocket = socket as unknown as GatewaySocket;
    const input = new AccountedInput(this.#meter, "", false);
    const connection = new GatewayConnection(this.nextId, input, asSocket, this.#outbound);
    this.#sockets.set(connection, socket);
    this.life.deliver(() => this.events?.onConnection(connection));
    return connection;
  }

  /** A door of the same process connects, for a caller of its own. */
  connectInProcess(caller: InProcessCaller, events: InProcessEvents): InProcessLink {
    const { address, isLocal } = caller;
    const socket = new InProcessSocket(caller, events, () => {
      const input = new AccountedInput(this.#meter, address, isLocal);
      const connection = new GatewayConnection(this.nextId, input, socket, this.#outbound);
      socket.receive({
        get identity() {
          return input.identity;
        },
        onFrame: (frame) => {
          const { requests } = this;
          if (this.life.isAlive && connection.isOpen) requests?.read(connection, frame, true);
        },
        onPong: () => {},
        onClosed: () => this.#gone(connection),
      });
      this.#inProcess.add(connection);
      this.events?.onConnection(connection);
    });
    return socket.link;
  }

  get requests(): GatewayRequests | undefined {
    if (this.events === undefined) return undefined;
    this.#requests ??= new GatewayRequests(this.events, () => {});
    return this.#requests;
  }

  /** A frame of the client arrived. */
  heard(connection: GatewayConnection, frame: Uint8Array): void {
    this.life.deliver(() => {
      const { requests } = this;
      if (requests === undefined || !connection.isOpen) return;
      // A part of what the socket read, which the system uses again for what comes next.
      const chunk = new Uint8Array(frame.length + 1);
      chunk.set(frame, 1);
      requests.read(connection, chunk.subarray(1), true);
      chunk.fill(0);
    });
  }

  /** Either side ended it. */
  left(connection: GatewayConnection): void {
    if (this.#sockets.delete(connection)) this.#gone(connection);
  }

  #gone(connection: GatewayConnection): void {
    this.#inProcess.delete(connection);
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
    this.doors?.end(kind);
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
