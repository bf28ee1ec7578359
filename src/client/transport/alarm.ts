/**
 * The one timer of a client. It is set too early rather than moved: due times usually move later
 * with every answer, and re-arming a timer each time would cost more than a firing without work.
 */
import type { Platform, Timer } from "./platform.js";

/** Timers of all platforms take 31 bits; a longer delay is never needed. */
const DELAY_MS_MAX = 60_000;

export class Alarm {
  readonly #platform: Platform;
  readonly #task: () => void;
  #timer: Timer | undefined;
  #armedForMs = Number.POSITIVE_INFINITY;
  #keepsProcess = false;

  constructor(platform: Platform, task: () => void) {
    this.#platform = platform;
    this.#task = task;
  }

  /**
   * Makes sure that the task runs at `atMs` or earlier; `Infinity` asks for nothing.
   *
   * @param skippedMs how far the clock of `atMs` and `nowMs` is ahead of the monotonic one, on
   *   which timers run
   */
  need(atMs: number, nowMs: number, skippedMs = 0): void {
    const armForMs = atMs - skippedMs;
    if (armForMs >= this.#armedForMs) return;
    this.#timer?.cancel();
    const delayMs = Math.min(Math.max(Math.ceil(atMs - nowMs), 0), DELAY_MS_MAX);
    this.#armedForMs = Math.min(armForMs, nowMs - skippedMs + delayMs);
    this.#timer = this.#platform.setTimer(delayMs, () => {
      this.#timer = undefined;
      this.#armedForMs = Number.POSITIVE_INFINITY;
      this.#task();
    });
    if (this.#keepsProcess) this.#timer.setKeepsProcess(true);
  }

  setKeepsProcess(keeps: boolean): void {
    if (keeps === this.#keepsProcess) return;
    this.#keepsProcess = keeps;
    this.#timer?.setKeepsProcess(keeps);
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#armedForMs = Number.POSITIVE_INFINITY;
  }
}
