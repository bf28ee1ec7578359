/**
 * How long the event loop of this process was held up lately. A node whose loop stands still answers
 * nobody, so this is the first figure to look at when a cluster is slow.
 *
 * Looking wakes the loop up, which is most of what a node does that has nothing to do. So a loop that
 * was hardly used within the last second is looked at less often, and until it is used a stall of it
 * may be told as so much shorter.
 */
import { type IntervalHistogram, monitorEventLoopDelay, performance } from "node:perf_hooks";

/** The loop is looked at so often; a stall is measured to about this. */
const RESOLUTION_MS = 5;
/** … and so often while it is hardly used. */
const IDLE_RESOLUTION_MS = 25;
/** Less than this part of the time in use. */
const IDLE_UTILIZATION = 0.1;
const WINDOW_SECONDS = 10;

/** One histogram, which looks as often as it did from its beginning. */
class Look {
  readonly resolutionMs: number;
  readonly #histogram: IntervalHistogram;

  constructor(resolutionMs: number) {
    this.resolutionMs = resolutionMs;
    this.#histogram = monitorEventLoopDelay({ resolution: resolutionMs });
    this.#histogram.enable();
  }

  /** What the longest one came too late. */
  get stallMs(): number {
    return Math.max(0, this.#histogram.max / 1e6 - this.resolutionMs);
  }

  reset(): void {
    this.#histogram.reset();
  }

  stop(): void {
    this.#histogram.disable();
  }
}

export class EventLoopMeter {
  readonly #timer: NodeJS.Timeout;
  /** The longest stall of each of the last seconds. */
  readonly #maximaMs: number[] = [];
  // A process that begins is used.
  #look = new Look(RESOLUTION_MS);
  #used = performance.eventLoopUtilization();

  constructor() {
    this.#timer = setInterval(() => this.#endSecond(), 1_000);
    this.#timer.unref();
  }

  /** The longest stall within the last ten seconds, in milliseconds. */
  get maxMs(): number {
    return Math.max(this.#look.stallMs, ...this.#maximaMs);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#look.stop();
  }

  #endSecond(): void {
    this.#maximaMs.push(this.#look.stallMs);
    if (this.#maximaMs.length > WINDOW_SECONDS) this.#maximaMs.shift();
    const used = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(used, this.#used);
    this.#used = used;
    const resolutionMs = utilization < IDLE_UTILIZATION ? IDLE_RESOLUTION_MS : RESOLUTION_MS;
    if (resolutionMs === this.#look.resolutionMs) {
      this.#look.reset();
      return;
    }
    this.#look.stop();
    this.#look = new Look(resolutionMs);
  }
}
