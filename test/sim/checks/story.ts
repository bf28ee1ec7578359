/** The last events of a run as text. Off unless asked for, because text costs time. */
import type { Simulation } from "../engine/simulation.js";

export class Story {
  readonly #simulation: Simulation;
  readonly #linesMax: number;
  readonly #lines: string[] = [];

  /** `linesMax` 0: nothing is recorded. */
  constructor(simulation: Simulation, linesMax: number) {
    this.#simulation = simulation;
    this.#linesMax = linesMax;
  }

  tell(text: () => string): void {
    if (this.#linesMax === 0) return;
    this.#lines.push(`${this.#simulation.nowMs.toFixed(3)} ${text()}`);
    if (this.#lines.length > 2 * this.#linesMax) this.#lines.splice(0, this.#linesMax);
  }

  get lines(): readonly string[] {
    return this.#lines.slice(-this.#linesMax);
  }
}
