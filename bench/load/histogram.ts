/**
 * A compact histogram of durations: linear up to 256 microseconds, then 128 buckets for each
 * doubling, so that a value is kept within 1/128 of itself from a microsecond to half an hour in
 * 25 KiB. Recording is a few integer operations and allocates nothing.
 */
const SUB_BUCKETS = 128;
const SUB_BUCKET_BITS = 7;
/** 2^31 − 1 microseconds, about 36 minutes; longer durations are counted as that. */
const MICROS_MAX = 2 ** 31 - 1;
const BUCKETS = bucketOf(MICROS_MAX) + 1;

export class Histogram {
  readonly #counts = new Float64Array(BUCKETS);
  #count = 0;
  #maxMs = 0;

  get count(): number {
    return this.#count;
  }

  /** The largest value, exactly as recorded. */
  get maxMs(): number {
    return this.#maxMs;
  }

  /** `count`: how often it occurred. */
  record(milliseconds: number, count = 1): void {
    const micros = Math.min(MICROS_MAX, Math.max(0, Math.round(milliseconds * 1_000)));
    const bucket = bucketOf(micros);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count;
    this.#count += count;
    if (milliseconds > this.#maxMs) this.#maxMs = milliseconds;
  }

  /**
   * The smallest value that at least `quantile` (0 … 1) of all recorded values do not exceed, at
   * most 1/128 too large. 0 if nothing was recorded.
   */
  quantileMs(quantile: number): number {
    const wanted = Math.max(1, Math.ceil(quantile * this.#count));
    let seen = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      seen += this.#counts[bucket] ?? 0;
      if (seen >= wanted) return Math.min(largestIn(bucket) / 1_000, this.#maxMs);
    }
    return 0;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#count = 0;
    this.#maxMs = 0;
  }
}

function bucketOf(micros: number): number {
  if (micros < SUB_BUCKETS) return micros;
  const shift = 31 - Math.clz32(micros) - SUB_BUCKET_BITS;
  return (shift << SUB_BUCKET_BITS) + (micros >>> shift);
}

/** The largest whole number of microseconds in a bucket. */
function largestIn(bucket: number): number {
  const shift = Math.max(0, (bucket >>> SUB_BUCKET_BITS) - 1);
  const mantissa = bucket - (shift << SUB_BUCKET_BITS);
  return (mantissa + 1) * 2 ** shift - 1;
}
