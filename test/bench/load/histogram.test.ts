import fc from "fast-check";
import { expect, test } from "vitest";
import { Histogram } from "../../../bench/load/histogram.js";

/** The definition: the smallest recorded value that enough of all recorded ones do not exceed. */
function exactQuantile(values: readonly number[], quantile: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(1, Math.ceil(quantile * sorted.length)) - 1] ?? 0;
}

const micros = fc.oneof(
  fc.integer({ min: 0, max: 300 }),
  fc.integer({ min: 0, max: 100_000 }),
  fc.integer({ min: 0, max: 2 ** 31 - 1 }),
);

test("every quantile lies within 1/128 above the exact one", () => {
  fc.assert(
    fc.property(
      fc.array(micros, { minLength: 1, maxLength: 300 }),
      fc.constantFrom(0, 0.5, 0.9, 0.99, 0.999, 1),
      (values, quantile) => {
        const histogram = new Histogram();
        for (const value of values) histogram.record(value / 1_000);
        const exact = exactQuantile(values, quantile) / 1_000;
        const shown = histogram.quantileMs(quantile);
        expect(shown).toBeGreaterThanOrEqual(exact);
        expect(shown).toBeLessThanOrEqual(exact * (1 + 1 / 128));
        expect(histogram.count).toBe(values.length);
        expect(histogram.maxMs).toBe(Math.max(...values) / 1_000);
      },
    ),
  );
});

test("values below 128 microseconds are kept exactly", () => {
  for (const value of [0, 1, 64, 127]) {
    const histogram = new Histogram();
    histogram.record(value / 1_000);
    histogram.record(10);
    expect(histogram.quantileMs(0.5)).toBe(value / 1_000);
  }
});

test("an empty histogram and one that was cleared show nothing", () => {
  const histogram = new Histogram();
  expect([histogram.count, histogram.quantileMs(0.99), histogram.maxMs]).toEqual([0, 0, 0]);
  histogram.record(5);
  histogram.clear();
  expect([histogram.count, histogram.quantileMs(0.99), histogram.maxMs]).toEqual([0, 0, 0]);
});

test("a value beyond the range counts as the largest and is still the maximum", () => {
  const histogram = new Histogram();
  histogram.record(10_000_000);
  expect(histogram.maxMs).toBe(10_000_000);
  expect(histogram.quantileMs(1)).toBeCloseTo((2 ** 31 - 1) / 1_000, 6);
});
