/**
 * How long the event loop of this process was held up lately. A node whose loop stands still answers
 * nobody, so this is the first figure to look at when a cluster is slow.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";

/** The loop is looked at so often; a stall is measured to about this. */
const RESOLUTION_MS = 5;
const WINDOW_SECONDS = 10;

export class EventLoopMeter {
  readonly #histogram: IntervalHistogram;
  readonly #timer: NodeJS.Timeout;
  /** The longest stall of each of the last seconds. */
  readonly #maximaMs: number[] = [];

  constructor() {
    this.#histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    this.#histogram.enable();
    this.#timer = setInterval(() => this.#endSecond(), 1_000);
    this.#timer.unref();
  }

  /** The longest stall within the last ten seconds, in milliseconds. */
  get maxMs(): number {
    return Math.max(this.#stallMs(), ...this.#maximaMs);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#histogram.disable();
  }

  #endSecond(): void {
    this.#maximaMs.push(this.#stallMs());
    if (this.#maximaMs.length > WINDOW_SECONDS) this.#maximaMs.shift();
    this.#histogram.reset();
  }

  /** What the longest look of this second came too late. */
  #stallMs(): number {
    return Math.max(0, this.#histogram.max / 1e6 - RESOLUTION_MS);
  }
}
