/** What a handful of measured values come to. */
export interface Summary {
  readonly median: number;
  readonly max: number;
}

/** Of no values both are 0. The median of an even number lies between the two in the middle. */
export function summaryOf(values: readonly number[]): Summary {
  if (values.length === 0) return { median: 0, max: 0 };
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  const lower = sorted.length % 2 === 1 ? upper : (sorted[middle - 1] ?? 0);
  return { median: tenths((lower + upper) / 2), max: tenths(sorted.at(-1) ?? 0) };
}

/** To one decimal. */
export function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}
