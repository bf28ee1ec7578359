/**
 * Connections of clients to nodes: a frame of messages in each direction, in order, with the times
 * and cuts of the ways between the two hosts. Those of the SDK pass bytes (`socket-line.ts`). What is
 * at the node's end is `simulated-gateway.ts`.
 */
import type { ClientConnection, GatewayEvents } from "../../../../src/net/index.js";
import type { ServerMessage } from "../../../../src/protocol/index.js";
import type { Simulation } from "../../engine/simulation.js";
import type { CrashKind } from "../disk/node-disk.js";
import { BROKEN, type SocketEnding } from "./node-socket.js";
import type { Paths } from "./paths.js";
import { ServedConnection, type SimulatedGateway } from "./simulated-gateway.js";
import { type SocketEnd, SocketLine } from "./socket-line.js";
import { Wire } from "./wire.js";

/** What a client hears. Called only while it listens; `onClosed` at most once. */
export interface ClientEnd {
  readonly host: number;
  onOpen(): void;
  onFrame(messages: readonly ServerMessage[]): void;
  onClosed(ending: SocketEnding): void;
}

export type Saying = (events: GatewayEvents, connection: ClientConnection) => void;

/** A client's side of a connection. */
export interface ClientLine {
  say(what: Saying): void;
  leave(): void;
}

/** Of either kind, as the network has it. */
interface NetworkLine {
  open(gateway: SimulatedGateway): void;
  closed(ending?: SocketEnding): void;
  /** The client hears nothing more that was said on it, but learns that it is closed. */
  mute(): void;
  /** The way opened again. */
  resume(from: number, to: number): void;
}

export class ClientNetwork {
  readonly #simulation: Simulation;
  readonly #paths: Paths;
  readonly #gateways = new Map<number, SimulatedGateway>();
  readonly #lines = new Set<NetworkLine>();

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

  /** Another cluster begins: what is still under way from the nodes of the one before is lost. */
  mute(): void {
    for (const line of this.#lines) line.mute();
  }

  connect(node: number, client: ClientEnd): ClientLine {
    const line = new Line(this.#simulation, this.#paths, node, client, () => {
      this.#lines.delete(line);
    });
    this.#dial(node, client.host, line);
    return line;
  }

  connectSocket(node: number, client: SocketEnd): SocketLine {
    const line = new SocketLine(this.#simulation, this.#paths, node, client, () => {
      this.#lines.delete(line);
    });
    this.#dial(node, client.host, line);
    return line;
  }

  #dial(node: number, host: number, line: NetworkLine): void {
    this.#lines.add(line);
    const latencyMs = this.#paths.latencyMs(host, node) + this.#paths.latencyMs(node, host);
    this.#simulation.after(latencyMs, () => {
      // Into a cut nobody answers, not even with a refusal.
      if (!this.#paths.isOpenBothWays(host, node)) return;
      const gateway = this.#gateways.get(node);
      if (gateway === undefined) line.closed();
      else line.open(gateway);
    });
  }
}

class Line implements ClientLine, NetworkLine {
  readonly #up: Wire<Saying | "end">;
  readonly #down: Wire<readonly ServerMessage[] | SocketEnding>;
  readonly #client: ClientEnd;
  readonly #onEnd: () => void;
  #gateway: SimulatedGateway | undefined;
  #served: ServedConnection | undefined;
  #isLeft = false;
  #isMuted = false;

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
      if ("code" in frame) this.closed(frame);
      else if (!this.#isLeft && !this.#isMuted) client.onFrame(frame);
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

  closed(ending: SocketEnding = BROKEN): void {
    this.#onEnd();
    if (this.#isLeft) return;
    this.#isLeft = true;
    this.#up.break();
    this.#client.onClosed(ending);
  }

  mute(): void {
    this.#isMuted = this.#served !== undefined;
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
