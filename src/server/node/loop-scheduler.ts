/**
 * The scheduler on Node's event loop. It runs tasks in the check phase, after the poll phase.
 * Timers come first in a turn of the event loop, so after a pause of the process a timer that acted
 * at once would not have seen the messages that wait in the sockets.
 */
import type { Scheduler } from "../ports.js";

/** The longest delay of `setTimeout`; a later deadline is armed again on the way. */
const DELAY_MS_MAX = 2 ** 31 - 1;

export class LoopScheduler implements Scheduler {
  readonly #nowMs: () => number;
  #timer: NodeJS.Timeout | undefined;
  /** When `#timer` fires; never later than `#wantedAtMs`. */
  #timerAtMs = 0;
  #wantedAtMs = Number.POSITIVE_INFINITY;
  #task: (() => void) | undefined;

  /** `nowMs`: the monotonic clock that deadlines refer to. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  soon(task: () => void): void {
    setImmediate(task);
  }

  arm(atMs: number, task: () => void): void {
    this.#wantedAtMs = atMs;
    this.#task = task;
    // A deadline is usually moved before it is reached: one timer serves many of them.
    if (this.#timer !== undefined && this.#timerAtMs <= atMs) return;
    this.#setTimer();
  }

  disarm(): void {
    this.#task = undefined;
    this.#wantedAtMs = Number.POSITIVE_INFINITY;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#wantedAtMs === Number.POSITIVE_INFINITY) return;
    const delayMs = Math.min(Math.max(0, this.#wantedAtMs - this.#nowMs()), DELAY_MS_MAX);
    this.#timerAtMs = this.#nowMs() + delayMs;
    this.#timer = setTimeout(this.#onTimer, Math.ceil(delayMs));
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    if (this.#nowMs() < this.#wantedAtMs) this.#setTimer();
    else setImmediate(this.#runTask);
  };

  readonly #runTask = (): void => {
    const task = this.#task;
    // Armed again in the meantime: the task is due later, with a timer of its own.
    if (task === undefined || this.#timer !== undefined) return;
    this.#task = undefined;
    task();
  };
}
