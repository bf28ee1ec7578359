/**
 * The clock by which a client counts its leases: the larger of what the monotonic and the forward
 * wall clock say has passed, since the monotonic one stands still in a suspended machine. It must
 * never run slower than true time; running fast merely ends a lease early. ("What renews a lease".)
 *
 * The wall clock is read in whole milliseconds and slewed, so it crosses the monotonic one back and
 * forth; only what lies beyond `TOLERANCE_MS` is a jump. Adding up every small step would make this
 * clock run at double speed when it is read often.
 */
import type { Platform } from "./platform.js";

/** Far below the smallest margin of a lease (250 ms). */
const TOLERANCE_MS = 5;

export class LeaseClock {
  readonly #platform: Platform;
  /** Wall time that passed while the monotonic clock did not. Never falls. */
  #skippedMs = 0;
  /** The lowest wall − monotonic since the last jump that was counted. */
  #offsetMs: number;

  constructor(platform: Platform) {
    this.#platform = platform;
    this.#offsetMs = platform.wallMs() - platform.monotonicMs();
  }

  /** Milliseconds since no particular time; never falls. */
  read(): number {
    const monotonicMs = this.#platform.monotonicMs();
    const offsetMs = this.#platform.wallMs() - monotonicMs;
    if (offsetMs < this.#offsetMs) {
      this.#offsetMs = offsetMs;
    } else if (offsetMs > this.#offsetMs + TOLERANCE_MS) {
      this.#skippedMs += offsetMs - this.#offsetMs;
      this.#offsetMs = offsetMs;
    }
    return monotonicMs + this.#skippedMs;
  }
}
