/**
 * One life of a process: from its start until it ends. What comes in reaches it only while it lives,
 * and waits while the process stands still; what it still does after its end reaches nobody.
 */
import type { Simulation } from "../../engine/simulation.js";

export class ProcessLife {
  readonly simulation: Simulation;
  #isAlive = true;
  /** Defined while the process takes nothing in: it stands still, or has its hands full. */
  #backlog: (() => void)[] | undefined;
  #isPaused = false;
  #isBusy = false;
  /** External effects it may still have before it dies in the middle of what it does. */
  #effectsLeft = Number.POSITIVE_INFINITY;
  #onDeath: () => void = () => {};

  constructor(simulation: Simulation) {
    this.simulation = simulation;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  end(): void {
    this.#isAlive = false;
    this.#isPaused = false;
    this.#backlog = undefined;
  }

  /** Input for this process: now, or when it goes on, or never. */
  deliver(task: () => void): void {
    if (!this.#isAlive) return;
    if (this.#backlog === undefined) task();
    else this.#backlog.push(task);
  }

  /** As SIGSTOP does. */
  pause(): void {
    if (!this.#isAlive) return;
    this.#isPaused = true;
    this.#backlog ??= [];
  }

  /** As SIGCONT does: everything that waited is there at once. */
  resume(): void {
    this.#isPaused = false;
    this.#takeIn();
  }

  /** What it does takes so long: whatever comes in meanwhile waits. */
  beBusy(forMs: number): void {
    if (!this.#isAlive || this.#isBusy || forMs === 0) return;
    this.#isBusy = true;
    this.#backlog ??= [];
    this.simulation.after(forMs, () => {
      this.#isBusy = false;
      this.#takeIn();
    });
  }

  #takeIn(): void {
    if (this.#isPaused || this.#isBusy) return;
    const backlog = this.#backlog;
    this.#backlog = undefined;
    for (const task of backlog ?? []) this.deliver(task);
  }

  /** Dies at the effect after `effects` more; `onDeath` is called in an event of its own. */
  dieAfterEffects(effects: number, onDeath: () => void): void {
    this.#effectsLeft = effects;
    this.#onDeath = onDeath;
  }

  /** Whether something the process does has an effect on the world. */
  mayAct(): boolean {
    if (!this.#isAlive) return false;
    if (this.#effectsLeft > 0) {
      this.#effectsLeft -= 1;
      return true;
    }
    this.end();
    this.simulation.after(0, this.#onDeath);
    return false;
  }

  /** Lets a call into the world through, and its answer back; what is dead waits for ever. */
  async through<T>(call: () => Promise<T>): Promise<T> {
    if (!this.mayAct()) return new Promise<T>(() => {});
    try {
      const result = await call();
      await this.#arrival();
      return result;
    } catch (error) {
      await this.#arrival();
      throw error;
    }
  }

  #arrival(): Promise<void> {
    return new Promise((resolve) => {
      this.deliver(() => {
        resolve();
      });
    });
  }
}
