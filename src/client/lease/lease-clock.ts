/**
 * The clock by which a client counts its leases. The monotonic clock may stand still in a suspended
 * machine, so what passed meanwhile is added. It must never run slower than true time; running fast
 * merely ends a lease early. (semantics.md, 3.4.)
 *
 * A sleep moves the wall clock against the monotonic one, and so does whoever sets the wall clock.
 * Where the platform has a clock that counts sleep, that one is asked what it was, and only then:
 * it may be slow to read. Where it has none, each step forward counts as sleep.
 *
 * The wall clock is read in whole milliseconds and slewed, so it crosses the monotonic one back and
 * forth; only what lies beyond `TOLERANCE_MS` is a step. Adding up every small one would make this
 * clock run at double speed when it is read often.
 */
import type { Platform } from "../transport/platform.js";

/** Far below the smallest margin of a lease (250 ms). */
const TOLERANCE_MS = 5;

export class LeaseClock {
  readonly #platform: Platform;
  #skippedMs = 0;
  /** The lowest wall − monotonic since the last step. */
  #offsetMs: number;
  /** The clock that counts sleep − monotonic, when this one began. */
  readonly #awakeMs: number;

  constructor(platform: Platform) {
    this.#platform = platform;
    const monotonicMs = platform.monotonicMs();
    this.#offsetMs = platform.wallMs() - monotonicMs;
    this.#awakeMs = (platform.sinceBootMs?.() ?? 0) - monotonicMs;
  }

  /** Time that passed while the monotonic clock did not. Never falls. */
  get skippedMs(): number {
    return this.#skippedMs;
  }

  /** Milliseconds since no particular time; never falls. */
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
      // All of it anew: what the clock's resolution takes off is taken off once.
      const skippedMs = sinceBootMs - monotonicMs - this.#awakeMs;
      this.#skippedMs = Math.max(this.#skippedMs, skippedMs);
    }
  }
}
