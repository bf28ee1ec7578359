/**
 * Counts of measured values in fixed buckets, one row of them for each combination of labels.
 * Observing a value allocates nothing and looks nothing up: the caller knows the number of the row.
 * Buckets and rows never change, so that the number of series is known when the node starts.
 */
import { assert } from "../../errors/index.js";

/** With the last one, which has no upper end. */
const BUCKETS_MAX = 10;

export interface HistogramShape {
  /** Without the prefix of all metrics. */
  readonly name: string;
  readonly help: string;
  /** The upper ends of the buckets, ascending, in the unit of the name; at most nine. */
  readonly bounds: readonly number[];
  /** The labels of each row, as they are written: `mode="shared",outcome="granted"`; "" for none. */
  readonly rows: readonly string[];
  /** Rows without a value are left out, except these; default: all rows are shown. */
  readonly shownEmpty?: ReadonlySet<number>;
}

export class Histogram {
  readonly shape: HistogramShape;
  readonly #bounds: Float64Array;
  /** Row by row, one number for each bucket. */
  readonly #counts: Float64Array;
  readonly #sums: Float64Array;
  readonly #width: number;

  constructor(shape: HistogramShape) {
    const { bounds, rows, name } = shape;
    assert(bounds.length < BUCKETS_MAX, () => `${name} has ${bounds.length} bounds`);
    this.shape = shape;
    this.#bounds = Float64Array.from(bounds);
    this.#width = bounds.length + 1;
    this.#counts = new Float64Array(rows.length * this.#width);
    this.#sums = new Float64Array(rows.length);
  }

  observe(row: number, value: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket += 1;
    const at = row * this.#width + bucket;
    this.#counts[at] = (this.#counts[at] as number) + 1;
    this.#sums[row] = (this.#sums[row] as number) + value;
  }

  /** The values of a row that were at most each bound, and in the end all; not cumulative. */
  countsOf(row: number): Float64Array {
    return this.#counts.subarray(row * this.#width, (row + 1) * this.#width);
  }

  sumOf(row: number): number {
    return this.#sums[row] as number;
  }

  /** The counts of these rows, bucket by bucket. */
  total(rows: readonly number[]): Float64Array {
    const total = new Float64Array(this.#width);
    for (const row of rows) {
      for (const [bucket, count] of this.countsOf(row).entries()) {
        total[bucket] = (total[bucket] as number) + count;
      }
    }
    return total;
  }

  /** The row that is labelled so; it must exist. */
  rowOf(labels: string): number {
    const row = this.shape.rows.indexOf(labels);
    assert(row >= 0, () => `${this.shape.name} has no row ${labels}`);
    return row;
  }
}

/** What some rows of a histogram measured since the last look at them. */
export class RecentValues {
  readonly #histogram: Histogram;
  readonly #rows: readonly number[];
  #before: Float64Array;

  constructor(histogram: Histogram, rows: readonly number[]) {
    this.#histogram = histogram;
    this.#rows = rows;
    this.#before = histogram.total(rows);
  }

  /** Counts per bucket since the last call. */
  take(): Float64Array {
    const now = this.#histogram.total(this.#rows);
    const recent = now.map((count, bucket) => count - (this.#before[bucket] as number));
    this.#before = now;
    return recent;
  }
}

/**
 * An estimate of the value below which `share` of the values lie, as if they were spread evenly over
 * their bucket; the highest bound if it is beyond that; `null` without values.
 */
export function quantile(
  counts: Float64Array,
  bounds: readonly number[],
  share: number,
): number | null {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return null;
  let rest = share * all;
  for (const [bucket, upper] of bounds.entries()) {
    const count = counts[bucket] as number;
    if (rest > count) {
      rest -= count;
      continue;
    }
    const lower = bucket === 0 ? 0 : (bounds[bucket - 1] as number);
    return count === 0 ? upper : lower + (upper - lower) * (rest / count);
  }
  return bounds.at(-1) ?? null;
}
