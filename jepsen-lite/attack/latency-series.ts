/**
 * Rate and latency over time, in slices of equal length: how many operations ended in each, with
 * which outcome, and how long they took. Memory is limited by the number of slices; durations are
 * counted on a logarithmic scale.
 */

/** Eight steps per doubling: a value is known to within 9 %. */
const STEPS = 8;
const SLICES_MAX = 600;
const SLICE_MS_MIN = 250;

export interface SliceView {
  readonly ok: number;
  readonly fail: number;
  readonly info: number;
  /** Milliseconds, of successful operations; `null` if there were none. */
  readonly p50: number | null;
  readonly p99: number | null;
  readonly max: number | null;
}

interface Slice {
  ok: number;
  fail: number;
  info: number;
  maxMs: number;
  /** Counts by step; made when first needed. */
  steps: Map<number, number>;
}

export class LatencySeries {
  readonly sliceMs: number;
  readonly #slices: Slice[] = [];

  /** `durationMs`: the planned length of the run with all phases. */
  constructor(durationMs: number) {
    this.sliceMs = Math.max(SLICE_MS_MIN, Math.ceil(durationMs / SLICES_MAX));
  }

  add(endMs: number, outcome: "ok" | "fail" | "info", latencyMs: number): void {
    const slice = this.#slice(endMs);
    slice[outcome] += 1;
    if (outcome !== "ok") return;
    const step = Math.round(Math.log2(Math.max(latencyMs, 0.01)) * STEPS);
    slice.steps.set(step, (slice.steps.get(step) ?? 0) + 1);
    slice.maxMs = Math.max(slice.maxMs, latencyMs);
  }

  view(): SliceView[] {
    return this.#slices.map(({ ok, fail, info, maxMs, steps }) => ({
      ok,
      fail,
      info,
      p50: ok === 0 ? null : quantile(steps, ok, 0.5),
      p99: ok === 0 ? null : Math.min(maxMs, quantile(steps, ok, 0.99)),
      max: ok === 0 ? null : maxMs,
    }));
  }

  #slice(timeMs: number): Slice {
    const index = Math.max(0, Math.floor(timeMs / this.sliceMs));
    while (this.#slices.length <= index) {
      this.#slices.push({ ok: 0, fail: 0, info: 0, maxMs: 0, steps: new Map() });
    }
    return this.#slices[index] as Slice;
  }
}

function quantile(steps: ReadonlyMap<number, number>, total: number, share: number): number {
  let rest = total * share;
  let value = 0;
  for (const step of [...steps.keys()].sort((a, b) => a - b)) {
    value = 2 ** (step / STEPS);
    rest -= steps.get(step) ?? 0;
    if (rest <= 0) break;
  }
  return value;
}
