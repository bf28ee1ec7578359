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

/**
 * One histogram, which looks as often as it did from its beginning. It is never given up for a new
 * one: each takes hundreds of kilobytes that only a collection gives back.
 */
class Look {
  readonly resolutionMs: number;
  readonly #histogram: IntervalHistogram;
  #sinceMs = 0;

  constructor(resolutionMs: number) {
    this.resolutionMs = resolutionMs;
    this.#histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  }

  /** What the longest one came too late since `begin`. */
  get stallMs(): number {
    const { count, mean, max } = this.#histogram;
    const measuredMs = count === 0 ? 0 : (count * mean) / 1e6;
    // In front of the first look, from which the next is measured, and behind the last one. A
    // stall at either end of a second is missed by the histogram; two of them are told as one.
    const outsideMs = performance.now() - this.#sinceMs - measuredMs;
    return Math.max(0, max / 1e6 - this.resolutionMs, outsideMs - 2 * this.resolutionMs);
  }

  /** Forgets what it saw, and looks from now on. */
  begin(): void {
    this.#histogram.enable();
    this.#histogram.reset();
    this.#sinceMs = performance.now();
  }

  end(): void {
    this.#histogram.disable();
  }
}

export class EventLoopMeter {
  readonly #timer: NodeJS.Timeout;
  /** The longest stall of each of the last seconds. */
  readonly #maximaMs: number[] = [];
  readonly #often = new Look(RESOLUTION_MS);
  readonly #seldom = new Look(IDLE_RESOLUTION_MS);
  // A process that begins is used.
  #look = this.#often;
  #used = performance.eventLoopUtilization();

  constructor() {
    this.#look.begin();
    this.#timer = setInterval(() => this.#endSecond(), 1_000);
    this.#timer.unref();
  }

  /** The longest stall within the last ten seconds, in milliseconds. */
  get maxMs(): number {
    return Math.max(this.#look.stallMs, ...this.#maximaMs);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#look.end();
  }

  #endSecond(): void {
    this.#maximaMs.push(this.#look.stallMs);
    if (this.#maximaMs.length > WINDOW_SECONDS) this.#maximaMs.shift();
    const used = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(used, this.#used);
    this.#used = used;
    const look = utilization < IDLE_UTILIZATION ? this.#seldom : this.#often;
    if (look !== this.#look) this.#look.end();
    this.#look = look;
    look.begin();
  }
}
