/** Summaries of a few measured values. */
export interface Summary {
  readonly median: number;
  readonly max: number;
}

/** Both are 0 if there are no values. */
export function summaryOf(values: readonly number[]): Summary {
  return { median: tenths(medianOf(values)), max: tenths(Math.max(0, ...values)) };
}

/** The mean of the two in the middle if their number is even; 0 if there are none. */
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

/** To three decimals. */
export function thousandths(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

/** To two decimals. */
export function hundredths(value: number): number {
  return Math.round(value * 100) / 100;
}
