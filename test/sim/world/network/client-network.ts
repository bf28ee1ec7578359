/**
 * Connections of clients to nodes: a frame of messages in each direction, in order, with the times
 * and cuts of the ways between the two hosts. Connections of the SDK pass bytes (`socket-line.ts`).
 * What is at the node's end is `simulated-gateway.ts`.
 */
import type { ServerMessage } from "../../../../src/protocol/index.js";
import type { Simulation } from "../../engine/simulation.js";
import type { CrashKind } from "../disk/node-disk.js";
import { HttpLine, RedisLine } from "../doors/door-lines.js";
import type { HttpTold } from "../doors/served-exchange.js";
import { MessageLine } from "./message-line.js";
import type { LineEnd } from "./network-line.js";
import type { Paths } from "./paths.js";
import type { SimulatedGateway } from "./simulated-gateway.js";
import { SocketLine } from "./socket-line.js";

/** A line of any kind. */
type AnyLine = Pick<SocketLine, "open" | "closed" | "mute" | "resume">;

export class ClientNetwork {
  readonly #simulation: Simulation;
  readonly #paths: Paths;
  readonly #gateways = new Map<number, SimulatedGateway>();
  readonly #lines = new Set<AnyLine>();

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

  connect(node: number, client: LineEnd<readonly ServerMessage[]>): MessageLine {
    const line = new MessageLine(this.#simulation, this.#paths, node, client, () => {
      this.#lines.delete(line);
    });
    this.#dial(node, client.host, line);
    return line;
  }

  connectSocket(node: number, client: LineEnd<Uint8Array>): SocketLine {
    const line = new SocketLine(this.#simulation, this.#paths, node, client, () => {
      this.#lines.delete(line);
    });
    this.#dial(node, client.host, line);
    return line;
  }

  /** To the HTTP door, for one request. */
  connectHttp(node: number, client: LineEnd<HttpTold>): HttpLine {
    const line = new HttpLine(this.#simulation, this.#paths, node, client, () => {
      this.#lines.delete(line);
    });
    this.#dial(node, client.host, line);
    return line;
  }

  /** To the Redis door. */
  connectRedis(node: number, client: LineEnd<Uint8Array>): RedisLine {
    const line = new RedisLine(this.#simulation, this.#paths, node, client, () => {
      this.#lines.delete(line);
    });
    this.#dial(node, client.host, line);
    return line;
  }

  #dial(node: number, host: number, line: AnyLine): void {
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
