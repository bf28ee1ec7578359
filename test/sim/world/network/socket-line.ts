/**
 * A client connection as bytes: frames of the production gateway and the production SDK, in order, or
 * not at all once the connection is broken. Between the two only WebSocket's own framing is left out.
 */
import type { GatewayConnection } from "../../../../src/net/gateway/connection.js";
import type { Simulation } from "../../engine/simulation.js";
import { BROKEN, type SocketEnding } from "./node-socket.js";
import type { Paths } from "./paths.js";
import type { SimulatedGateway } from "./simulated-gateway.js";
import { Wire } from "./wire.js";

/** What a client hears. Called only while it listens; `onClosed` at most once. */
export interface SocketEnd {
  readonly host: number;
  onOpen(): void;
  onFrame(frame: Uint8Array): void;
  onClosed(ending: SocketEnding): void;
}

type Down = Uint8Array | SocketEnding;

/** Both ends of one connection; the client's side calls `send` and `leave`. */
export class SocketLine {
  readonly #up: Wire<Uint8Array | "end">;
  readonly #down: Wire<Down>;
  readonly #client: SocketEnd;
  readonly #onEnd: () => void;
  #gateway: SimulatedGateway | undefined;
  #served: GatewayConnection | undefined;
  #isLeft = false;
  #isMuted = false;

  constructor(
    simulation: Simulation,
    paths: Paths,
    node: number,
    client: SocketEnd,
    onEnd: () => void,
  ) {
    const { host } = client;
    this.#client = client;
    this.#onEnd = onEnd;
    this.#up = new Wire(simulation, paths, { from: host, to: node }, (what) => this.#heard(what));
    this.#down = new Wire(simulation, paths, { from: node, to: host }, (what) => {
      if ("code" in what) this.closed(what);
      else if (!this.#isLeft && !this.#isMuted) client.onFrame(what);
    });
  }

  open(gateway: SimulatedGateway): void {
    if (this.#isLeft) return;
    this.#gateway = gateway;
    this.#served = gateway.accept(this.#down);
    this.#client.onOpen();
  }

  /** A copy travels: the caller may use its buffer again at once. */
  send(frame: Uint8Array): void {
    if (!this.#isLeft) this.#up.send(frame.slice());
  }

  leave(): void {
    if (this.#isLeft) return;
    this.#isLeft = true;
    this.#up.send("end");
    this.#down.break();
    if (this.#served === undefined) this.#onEnd();
  }

  /** As a reset does: what is under way in either direction is lost, and both ends hear of it. */
  cut(): void {
    if (this.#isLeft) return;
    this.#down.break();
    this.#up.break();
    if (this.#served !== undefined) this.#gateway?.left(this.#served);
    this.closed(BROKEN);
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

  #heard(what: Uint8Array | "end"): void {
    const served = this.#served;
    if (served === undefined) return;
    if (what !== "end") {
      this.#gateway?.heard(served, what);
      return;
    }
    this.#onEnd();
    this.#gateway?.left(served);
  }
}
