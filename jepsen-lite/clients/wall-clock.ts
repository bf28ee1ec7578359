/**
 * The wall clock of this client process, which a fault may turn forwards and backwards: every look
 * at `Date` in the process, the SDK's included, sees it. The monotonic clock stays what it is.
 */
export class WallClock {
  #offsetMs = 0;

  constructor() {
    const trueNow = Date.now;
    Date.now = () => trueNow() + this.#offsetMs;
  }

  /** `offsetMs`: from the true time, not from what the clock says now. */
  jump(offsetMs: number): void {
    this.#offsetMs = offsetMs;
  }
}
