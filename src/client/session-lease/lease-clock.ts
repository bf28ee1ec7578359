/**
 * The clock by which a client counts its leases. The monotonic clock may stand still in a suspended
 * machine, so the time of the suspension is added. This clock must never run slower than true time;
 * if it runs fast, leases merely end early. (semantics.md, 3.4.)
 *
 * A suspension moves the wall clock against the monotonic one, and so does setting the wall clock.
 * If the platform has a clock that counts sleep, it is read to tell them apart, and only then,
 * because it may be slow to read. Without such a clock, each step forward counts as sleep.
 *
 * The wall clock is read in whole milliseconds and slewed, so it crosses the monotonic one back and
 * forth; only a difference beyond `TOLERANCE_MS` is a step. Adding up every small difference would
 * make this clock run at double speed when it is read often.
 */
import type { Platform } from "../transport/platform.js";

/** Far below the smallest margin of a lease (250 ms). */
const TOLERANCE_MS = 5;

export class LeaseClock {
  readonly #platform: Platform;
  #skippedMs = 0;
  /** The lowest difference wall − monotonic since the last step. */
  #offsetMs: number;
  /**
   * The difference between the clock that counts sleep and the monotonic one when this clock began.
   */
  readonly #awakeMs: number;

  constructor(platform: Platform) {
    this.#platform = platform;
    const monotonicMs = platform.monotonicMs();
    this.#offsetMs = platform.wallMs() - monotonicMs;
    this.#awakeMs = (platform.sinceBootMs?.() ?? 0) - monotonicMs;
  }

  /** Time that passed while the monotonic clock stood still. Never falls. */
  get skippedMs(): number {
    return this.#skippedMs;
  }

  /** Milliseconds from an arbitrary origin; never falls. */
  read(): number {
    const monotonicMs = this.#platform.monotonicMs();
    const offsetMs = this.#platform.wallMs() - monotonicMs;
    const stepMs = offsetMs - this.#offsetMs;
    if (stepMs < 0 || stepMs > TOLERANCE_MS) {
      this.#offsetMs = offsetMs;
      if (Math.abs(stepMs) > TOLERANCE_MS) this.#onStep(stepMs, monotonicMs);
    }
    return monotonicMs + this.#skippedMs;
  }

  #onStep(stepMs: number, monotonicMs: number): void {
    const sinceBootMs = this.#platform.sinceBootMs?.();
    if (sinceBootMs === undefined) {
      this.#skippedMs += Math.max(0, stepMs);
    } else {
      // Computed from the start each time, so that the clock's resolution is rounded off only once.
      const skippedMs = sinceBootMs - monotonicMs - this.#awakeMs;
      this.#skippedMs = Math.max(this.#skippedMs, skippedMs);
    }
  }
}
