/**
 * One life of a process in simulated time, from its start to its end. Input reaches the process
 * only while it lives, and waits while the process is paused or busy. Nothing that it does after
 * its end may have an effect.
 */
import type { Timeline } from "./timeline.js";

export class ProcessLife {
  readonly timeline: Timeline;
  #isAlive = true;
  /** The input that waits; defined while the process is paused or busy. */
  #backlog: (() => void)[] | undefined;
  #isPaused = false;
  #isBusy = false;
  /**
   * The number of external effects that it may still have before it dies in the middle of a turn.
   */
  #effectsLeft = Number.POSITIVE_INFINITY;
  #onDeath: () => void = () => {};

  constructor(timeline: Timeline) {
    this.timeline = timeline;
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

  /** Runs `task` as input of this process: now, when it is resumed, or never if it has ended. */
  deliver(task: () => void): void {
    if (!this.#isAlive) return;
    if (this.#backlog === undefined) task();
    else this.#backlog.push(task);
  }

  /**
   * Delivers `task` after `delayMs` of simulated time. Returns a function that cancels the timer.
   */
  timer(delayMs: number, task: () => void): () => void {
    let isArmed = true;
    this.timeline.after(delayMs, () => {
      this.deliver(() => {
        if (isArmed) task();
      });
    });
    return () => {
      isArmed = false;
    };
  }

  /** Pauses the process, like SIGSTOP. */
  pause(): void {
    if (!this.#isAlive) return;
    this.#isPaused = true;
    this.#backlog ??= [];
  }

  /** Resumes the process, like SIGCONT: all input that waited arrives at once. */
  resume(): void {
    this.#isPaused = false;
    this.#takeIn();
  }

  /** Keeps the process busy for `forMs`; input that arrives in between waits. */
  beBusy(forMs: number): void {
    if (!this.#isAlive || this.#isBusy || forMs === 0) return;
    this.#isBusy = true;
    this.#backlog ??= [];
    this.timeline.after(forMs, () => {
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

  /**
   * The process dies at the effect after the next `effects`; `onDeath` is called in its own event.
   */
  dieAfterEffects(effects: number, onDeath: () => void): void {
    this.#effectsLeft = effects;
    this.#onDeath = onDeath;
  }

  /** Whether the process may have an effect on the world now. Counts one effect. */
  mayAct(): boolean {
    if (!this.#isAlive) return false;
    if (this.#effectsLeft > 0) {
      this.#effectsLeft -= 1;
      return true;
    }
    this.end();
    this.timeline.after(0, this.#onDeath);
    return false;
  }

  /** Makes a call to the world and delivers its answer. A dead process waits for it forever. */
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
