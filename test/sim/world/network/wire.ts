/**
 * One direction of one connection: what is sent arrives in order, or not at all once the connection
 * is broken. While the way is cut everything waits where it is.
 */
import type { Simulation } from "../../engine/simulation.js";
import type { Paths } from "./paths.js";

export class Wire<T> {
  readonly from: number;
  readonly to: number;
  readonly #simulation: Simulation;
  readonly #paths: Paths;
  readonly #arrive: (payload: T) => void;
  readonly #underWay: T[] = [];
  #lastArrivalMs = 0;
  #isBroken = false;
  /** Arrivals that found the way cut; they are made up for when it opens. */
  #stalled = 0;

  constructor(
    simulation: Simulation,
    paths: Paths,
    ends: { readonly from: number; readonly to: number },
    arrive: (payload: T) => void,
  ) {
    this.#simulation = simulation;
    this.#paths = paths;
    this.from = ends.from;
    this.to = ends.to;
    this.#arrive = arrive;
  }

  send(payload: T): void {
    if (this.#isBroken) return;
    this.#underWay.push(payload);
    this.#planArrival();
  }

  /** What is under way is lost, and whatever is sent later. */
  break(): void {
    this.#isBroken = true;
    this.#underWay.length = 0;
  }

  /** How much waits because the way is cut. */
  get stalledCount(): number {
    return this.#stalled;
  }

  /** The way opened again. */
  resume(): void {
    for (; this.#stalled > 0; this.#stalled -= 1) this.#planArrival();
  }

  #planArrival(): void {
    const { nowMs } = this.#simulation;
    const atMs = nowMs + this.#paths.latencyMs(this.from, this.to);
    this.#lastArrivalMs = Math.max(this.#lastArrivalMs, atMs);
    this.#simulation.at(this.#lastArrivalMs, () => {
      if (this.#isBroken) return;
      if (!this.#paths.isOpen(this.from, this.to)) {
        this.#stalled += 1;
        return;
      }
      const payload = this.#underWay.shift();
      if (payload !== undefined) this.#arrive(payload);
    });
  }
}
