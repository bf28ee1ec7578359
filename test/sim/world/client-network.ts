/**
 * Connections of clients to nodes: a frame of messages in each direction, in order, with the times
 * and cuts of the ways between the two hosts.
 */
import type { ClientConnection, ClientGateway, GatewayEvents } from "../../../src/net/index.js";
import type { ServerMessage } from "../../../src/protocol/index.js";
import type { Simulation } from "../engine/simulation.js";
import type { CrashKind } from "./node-disk.js";
import type { Paths } from "./paths.js";
import type { ProcessLife } from "./process-life.js";
import { Wire } from "./wire.js";

/** What a client hears. Called only while it listens; `onClosed` at most once. */
export interface ClientEnd {
  readonly host: number;
  onOpen(): void;
  onFrame(messages: readonly ServerMessage[]): void;
  onClosed(): void;
}

export type Saying = (events: GatewayEvents, connection: ClientConnection) => void;

/** A client's side of a connection. */
export interface ClientLine {
  say(what: Saying): void;
  leave(): void;
}

/** The port for clients of one process of a node. */
export class SimulatedGateway implements Pick<ClientGateway, "flush"> {
  readonly #connections = new Set<ServedConnection>();
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
    this.life.simulation.after(0, () => {
      this.life.deliver(() => this.events?.onClosed(connection));
    });
  }

  flush(): void {
    for (const connection of this.#connections) {
      if (connection.hasFrame && this.life.mayAct()) connection.flush();
    }
  }

  end(kind: CrashKind): void {
    for (const connection of this.#connections) connection.abort(kind);
    this.#connections.clear();
  }
}

export class ClientNetwork {
  readonly #simulation: Simulation;
  readonly #paths: Paths;
  readonly #gateways = new Map<number, SimulatedGateway>();
  readonly #lines = new Set<Line>();

  constructor(simulation: Simulation, paths: Paths) {
    this.#simulation = simulation;
    this.#paths = paths;
    paths.onChange((from, to, isOpen) => {
      if (isOpen) for (const line of this.#lines) line.resume(from, to);
    });
  }

  listen(node: number, gateway: SimulatedGateway): void {
    this.#gateways.set(node, gateway);
  }

  leave(node: number, kind: CrashKind): void {
    this.#gateways.get(node)?.end(kind);
    this.#gateways.delete(node);
  }

  connect(node: number, client: ClientEnd): ClientLine {
    const line = new Line(this.#simulation, this.#paths, node, client, () => {
      this.#lines.delete(line);
    });
    this.#lines.add(line);
    const { host } = client;
    const latencyMs = this.#paths.latencyMs(host, node) + this.#paths.latencyMs(node, host);
    this.#simulation.after(latencyMs, () => {
      // Into a cut nobody answers, not even with a refusal.
      if (!this.#paths.isOpenBothWays(host, node)) return;
      const gateway = this.#gateways.get(node);
      if (gateway === undefined) line.closed();
      else line.open(gateway);
    });
    return line;
  }
}

class Line implements ClientLine {
  readonly #up: Wire<Saying | "end">;
  readonly #down: Wire<readonly ServerMessage[] | "end">;
  readonly #client: ClientEnd;
  readonly #onEnd: () => void;
  #gateway: SimulatedGateway | undefined;
  #served: ServedConnection | undefined;
  #isLeft = false;

  constructor(
    simulation: Simulation,
    paths: Paths,
    node: number,
    client: ClientEnd,
    onEnd: () => void,
  ) {
    const { host } = client;
    this.#client = client;
    this.#onEnd = onEnd;
    this.#up = new Wire(simulation, paths, { from: host, to: node }, (what) => this.#heard(what));
    this.#down = new Wire(simulation, paths, { from: node, to: host }, (frame) => {
      if (frame === "end") this.closed();
      else if (!this.#isLeft) client.onFrame(frame);
    });
  }

  open(gateway: SimulatedGateway): void {
    if (this.#isLeft) return;
    this.#gateway = gateway;
    this.#served = new ServedConnection(gateway, this.#down);
    gateway.add(this.#served);
    this.#client.onOpen();
  }

  say(what: Saying): void {
    if (!this.#isLeft) this.#up.send(what);
  }

  leave(): void {
    if (this.#isLeft) return;
    this.#isLeft = true;
    this.#up.send("end");
    this.#down.break();
    if (this.#served === undefined) this.#onEnd();
  }

  closed(): void {
    this.#onEnd();
    if (this.#isLeft) return;
    this.#isLeft = true;
    this.#up.break();
    this.#client.onClosed();
  }

  resume(from: number, to: number): void {
    for (const wire of [this.#up, this.#down]) {
      if (wire.from === from && wire.to === to) wire.resume();
    }
  }

  #heard(what: Saying | "end"): void {
    const served = this.#served;
    const gateway = this.#gateway;
    if (served === undefined || gateway === undefined) return;
    if (what === "end") {
      this.#onEnd();
      served.isOpen = false;
      gateway.remove(served);
      return;
    }
    gateway.life.deliver(() => {
      if (served.isOpen && gateway.events !== undefined) what(gateway.events, served);
    });
  }
}

/** A connection as the node has it. */
export class ServedConnection implements ClientConnection {
  readonly id: number;
  session = 0;
  attachEpoch = 0;
  /** What leaves is taken at once. */
  readonly bufferedBytes = 0;
  isOpen = true;
  readonly #gateway: SimulatedGateway;
  readonly #wire: Wire<readonly ServerMessage[] | "end">;
  #frame: ServerMessage[] = [];

  constructor(gateway: SimulatedGateway, wire: Wire<readonly ServerMessage[] | "end">) {
    this.id = gateway.nextId;
    this.#gateway = gateway;
    this.#wire = wire;
  }

  get hasFrame(): boolean {
    return this.#frame.length > 0;
  }

  send(message: ServerMessage): void {
    if (this.isOpen) this.#frame.push(message);
  }

  flush(): void {
    const frame = this.#frame;
    this.#frame = [];
    if (frame.length > 0) this.#wire.send(frame);
  }

  close(): void {
    if (!this.isOpen || !this.#gateway.life.mayAct()) return;
    this.flush();
    this.isOpen = false;
    this.#wire.send("end");
    this.#gateway.remove(this);
  }

  /** The process behind it ended: its system says so, unless the power is gone. */
  abort(kind: CrashKind): void {
    this.isOpen = false;
    this.#frame = [];
    if (kind === "power") this.#wire.break();
    else this.#wire.send("end");
  }
}
