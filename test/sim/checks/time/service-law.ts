/**
 * What a silent node costs an application, whatever its lease: while a majority serves, each call has its
 * result at most five seconds and an election after the node fell silent, or after the call if that was
 * later (decision 46).
 */
import type { Simulation } from "../../engine/simulation.js";
import { DRIFT_MAX } from "../../world/node/drifting-clock.js";
import type { Fail } from "../violation.js";

const PATIENCE_MS = 5_000;

export class ServiceLaw {
  readonly #simulation: Simulation;
  readonly #fail: Fail;
  #limitMs: number;
  #silentSinceMs = 0;

  /** `queueMs`: what those before it in a queue may take. */
  constructor(simulation: Simulation, queueMs: number, fail: Fail) {
    this.#simulation = simulation;
    this.#limitMs = PATIENCE_MS * (1 + 2 * DRIFT_MAX) + queueMs;
    this.#fail = fail;
  }

  /** A node falls silent now. `electionMs`: until the rest has a leader. */
  onSilence(electionMs: number): void {
    this.#silentSinceMs = this.#simulation.nowMs;
    this.#limitMs += electionMs;
  }

  /** The longest that a call may take. */
  get limitMs(): number {
    return this.#limitMs;
  }

  /** A call is made. Returns what is to be called when it has its result. */
  onCalled(what: string): () => void {
    const call = { what, sinceMs: this.#simulation.nowMs, isOver: false };
    this.#judgeLater(call);
    return () => {
      call.isOver = true;
    };
  }

  #judgeLater(call: { readonly what: string; readonly sinceMs: number; isOver: boolean }): void {
    const simulation = this.#simulation;
    const fromMs = Math.max(call.sinceMs, this.#silentSinceMs);
    simulation.at(fromMs + this.#limitMs, () => {
      if (call.isOver) return;
      // A node fell silent in the meantime.
      if (this.#silentSinceMs > fromMs) this.#judgeLater(call);
      else this.#fail("served in spite of a silent node", `${call.what} takes ${this.#limitMs} ms`);
    });
  }
}
