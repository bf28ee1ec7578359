/** What a handful of measured values come to. */
export interface Summary {
  readonly median: number;
  readonly max: number;
}

/** Of no values both are 0. */
export function summaryOf(values: readonly number[]): Summary {
  return { median: tenths(medianOf(values)), max: tenths(Math.max(0, ...values)) };
}

/** Of an even number it lies between the two in the middle; of none it is 0. */
export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  const lower = sorted.length % 2 === 1 ? upper : (sorted[middle - 1] ?? 0);
  return (lower + upper) / 2;
}

/** To one decimal. */
export function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

/** To two decimals. */
export function hundredths(value: number): number {
  return Math.round(value * 100) / 100;
}
