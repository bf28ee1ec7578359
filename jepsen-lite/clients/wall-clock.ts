/**
 * The wall clock of this client process, which a fault may move forwards and backwards: every use
 * of `Date` in the process, including the SDK's, sees it. The monotonic clock is not changed.
 */
export class WallClock {
  #offsetMs = 0;

  constructor() {
    const trueNow = Date.now;
    Date.now = () => trueNow() + this.#offsetMs;
  }

  /** `offsetMs`: from the true time, not from the clock's present time. */
  jump(offsetMs: number): void {
    this.#offsetMs = offsetMs;
  }
}
