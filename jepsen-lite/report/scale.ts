/** The position of a time on the chart, and the format of numbers. */
export class TimeScale {
  readonly startMs: number;
  readonly endMs: number;

  constructor(startMs: number, endMs: number) {
    this.startMs = startMs;
    this.endMs = Math.max(endMs, startMs + 1);
  }

  /** Percent of the width, with a unit: charts stretch without being drawn again. */
  at(timeMs: number): string {
    return `${this.percent(timeMs)}%`;
  }

  /** The width from one time to another; never too narrow to be visible. */
  span(startMs: number, endMs: number, leastPercent = 0.04): string {
    const width = this.percent(endMs) - this.percent(startMs);
    return `${Math.max(leastPercent, round(width))}%`;
  }

  percent(timeMs: number): number {
    const within = Math.min(Math.max(timeMs, this.startMs), this.endMs);
    return round(((within - this.startMs) / (this.endMs - this.startMs)) * 100);
  }
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

/** `412 µs`, `7.3 ms`, `1.25 s`, `3 min 5 s`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1) return `${Math.round(milliseconds * 1_000)} µs`;
  if (milliseconds < 100) return `${Math.round(milliseconds * 10) / 10} ms`;
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${Math.round(milliseconds / 10) / 100} s`;
  const minutes = Math.floor(milliseconds / 60_000);
  return `${minutes} min ${Math.round((milliseconds % 60_000) / 1_000)} s`;
}

/** `12,345`. */
export function count(value: number): string {
  return value.toLocaleString("en-US");
}

/** A moment of the run: `+12.345 s`. */
export function moment(timeMs: number): string {
  return `+${(timeMs / 1_000).toFixed(3)} s`;
}

/** Convenient distances between marks. */
const STEPS_S = [0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200];

/** The times of about that many marks, in milliseconds. */
export function marksOf({ startMs, endMs }: TimeScale, about: number): number[] {
  const seconds = (endMs - startMs) / 1_000;
  const step = STEPS_S.find((each) => seconds / each <= about) ?? 14_400;
  const marks: number[] = [];
  for (let mark = Math.ceil(startMs / 1_000 / step) * step; mark * 1_000 <= endMs; mark += step) {
    marks.push(mark * 1_000);
  }
  return marks;
}
