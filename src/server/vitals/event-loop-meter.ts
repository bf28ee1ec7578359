/**
 * How long the event loop of this process was blocked lately. A node whose loop is blocked answers
 * nothing, so this is the first figure to look at when a cluster is slow.
 *
 * Each measurement wakes the loop, which on an idle node is most of the work. So a loop that was
 * hardly used in the last second is measured less often, and a stall in it may be reported shorter
 * by the longer interval.
 */
import { type IntervalHistogram, monitorEventLoopDelay, performance } from "node:perf_hooks";
import { Histogram } from "./histogram.js";
import type { LoopLag } from "./process-meter.js";

/** The interval of measurements; a stall is measured to about this precision. */
const RESOLUTION_MS = 5;
/** The interval while the loop is hardly used. */
const IDLE_RESOLUTION_MS = 25;
/** The loop is hardly used below this share of the time. */
const IDLE_UTILIZATION = 0.1;
const WINDOW_SECONDS = 10;
const LAG_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1];

/**
 * One histogram with a fixed interval. It is never replaced by a new one, because each takes
 * hundreds of kilobytes that only a garbage collection returns.
 */
class Sampler {
  readonly resolutionMs: number;
  readonly #histogram: IntervalHistogram;
  #sinceMs = 0;

  constructor(resolutionMs: number) {
    this.resolutionMs = resolutionMs;
    this.#histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  }

  /** The largest delay of a measurement since `begin`. */
  get stallMs(): number {
    const { count, mean, max } = this.#histogram;
    const measuredMs = count === 0 ? 0 : (count * mean) / 1e6;
    // Add the time before the first measurement and after the last one. The histogram misses a
    // stall at either end of a second; two of them count as one.
    const outsideMs = performance.now() - this.#sinceMs - measuredMs;
    return Math.max(0, max / 1e6 - this.resolutionMs, outsideMs - 2 * this.resolutionMs);
  }

  /** The lag in the measurements since `begin`. */
  get lag(): LoopLag {
    const { min, max, mean, stddev, count } = this.#histogram;
    const late = (ns: number): number =>
      count === 0 ? 0 : Math.max(0, ns / 1e6 - this.resolutionMs) / 1_000;
    return {
      ...{ min: late(min), max: late(max), mean: late(mean) },
      stddev: count === 0 ? 0 : stddev / 1e9,
      p50: late(this.#histogram.percentile(50)),
      p90: late(this.#histogram.percentile(90)),
      p99: late(this.#histogram.percentile(99)),
    };
  }

  /** Discards earlier measurements and starts measuring. */
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
  /** One value a second. */
  readonly stalls = new Histogram({
    name: "event_loop_lag_seconds",
    help: "Longest stall of the event loop in each second.",
    bounds: LAG_SECONDS,
    rows: [""],
  });
  readonly #timer: NodeJS.Timeout;
  /** The longest stall of each of the last seconds. */
  readonly #maximaMs: number[] = [];
  readonly #often = new Sampler(RESOLUTION_MS);
  readonly #seldom = new Sampler(IDLE_RESOLUTION_MS);
  #lag: LoopLag | undefined;
  // A process that starts counts as used.
  #sampler = this.#often;
  #used = performance.eventLoopUtilization();

  constructor() {
    this.#sampler.begin();
    this.#timer = setInterval(() => this.#endSecond(), 1_000);
    this.#timer.unref();
  }

  /** The lag in the last whole second; `undefined` before the first is over. */
  get lag(): LoopLag | undefined {
    return this.#lag;
  }

  /** The longest stall within the last ten seconds, in milliseconds. */
  get maxMs(): number {
    return Math.max(this.#sampler.stallMs, ...this.#maximaMs);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#sampler.end();
  }

  #endSecond(): void {
    const stallMs = this.#sampler.stallMs;
    this.#lag = this.#sampler.lag;
    this.stalls.observe(0, stallMs / 1_000);
    this.#maximaMs.push(stallMs);
    if (this.#maximaMs.length > WINDOW_SECONDS) this.#maximaMs.shift();
    const used = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(used, this.#used);
    this.#used = used;
    const sampler = utilization < IDLE_UTILIZATION ? this.#seldom : this.#often;
    if (sampler !== this.#sampler) this.#sampler.end();
    this.#sampler = sampler;
    sampler.begin();
  }
}
