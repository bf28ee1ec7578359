/**
 * One connection of a client to a node as the network has it: a wire in each direction, dialed,
 * answered or not, and left or ended by either side. What travels on it, and what stands at the
 * node's end, its kinds say.
 */
import type { Simulation } from "../../engine/simulation.js";
import { BROKEN, type SocketEnding } from "./node-socket.js";
import type { Paths } from "./paths.js";
import type { SimulatedGateway } from "./simulated-gateway.js";
import { Wire } from "./wire.js";

/** What a client hears. Called only while it listens; `onClosed` at most once. */
export interface LineEnd<Down> {
  readonly host: number;
  onOpen(): void;
  onFrame(frame: Down): void;
  onClosed(ending: SocketEnding): void;
}

export abstract class NetworkLine<Up, Down extends object, Served> {
  protected readonly up: Wire<Up | "end">;
  protected readonly down: Wire<Down | SocketEnding>;
  /** The node's end, once it is there. */
  protected end: { readonly gateway: SimulatedGateway; readonly served: Served } | undefined;
  protected isLeft = false;
  #isMuted = false;
  readonly #client: LineEnd<Down>;
  readonly #onEnd: () => void;

  constructor(
    simulation: Simulation,
    paths: Paths,
    node: number,
    client: LineEnd<Down>,
    onEnd: () => void,
  ) {
    const { host } = client;
    this.#client = client;
    this.#onEnd = onEnd;
    this.up = new Wire(simulation, paths, { from: host, to: node }, (what) => this.#heard(what));
    this.down = new Wire(simulation, paths, { from: node, to: host }, (what) => {
      if ("code" in what) this.closed(what);
      else if (!this.isLeft && !this.#isMuted) client.onFrame(what);
    });
  }

  open(gateway: SimulatedGateway): void {
    if (this.isLeft) return;
    this.end = { gateway, served: this.serve(gateway) };
    this.#client.onOpen();
  }

  leave(): void {
    if (this.isLeft) return;
    this.isLeft = true;
    this.up.send("end");
    this.down.break();
    if (this.end === undefined) this.#onEnd();
  }

  closed(ending: SocketEnding = BROKEN): void {
    this.#onEnd();
    if (this.isLeft) return;
    this.isLeft = true;
    this.up.break();
    this.#client.onClosed(ending);
  }

  /** The client hears nothing more that was said on it, but learns that it is closed. */
  mute(): void {
    this.#isMuted = this.end !== undefined;
  }

  /** The way opened again. */
  resume(from: number, to: number): void {
    for (const wire of [this.up, this.down]) {
      if (wire.from === from && wire.to === to) wire.resume();
    }
  }

  /** Makes the node's end. */
  protected abstract serve(gateway: SimulatedGateway): Served;

  /** Something reached the node. */
  protected abstract heard(gateway: SimulatedGateway, served: Served, what: Up): void;

  /** The client's leaving reached the node. */
  protected abstract left(gateway: SimulatedGateway, served: Served): void;

  #heard(what: Up | "end"): void {
    if (this.end === undefined) return;
    const { gateway, served } = this.end;
    if (what !== "end") {
      this.heard(gateway, served, what);
      return;
    }
    this.#onEnd();
    this.left(gateway, served);
  }
}
