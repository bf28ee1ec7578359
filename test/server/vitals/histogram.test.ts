import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Histogram, quantile, RecentValues } from "../../../src/server/vitals/histogram.js";
import { histogramText } from "../../../src/server/vitals/metric-text.js";

const BOUNDS = [0.1, 1, 10];

function histogram(rows: readonly string[] = [""], shownEmpty?: ReadonlySet<number>): Histogram {
  const shape = { name: "test_seconds", help: "A test.", bounds: BOUNDS, rows };
  return new Histogram(shownEmpty === undefined ? shape : { ...shape, shownEmpty });
}

describe("a histogram", () => {
  test("counts each value in the first bucket whose bound is not below it", () => {
    const measured = histogram();
    for (const value of [0, 0.1, 0.100001, 1, 10, 10.5]) measured.observe(0, value);
    expect([...measured.countsOf(0)]).toEqual([2, 2, 1, 1]);
    expect(measured.sumOf(0)).toBeCloseTo(21.700001);
  });

  test("keeps rows apart", () => {
    const measured = histogram(['a="1"', 'a="2"']);
    measured.observe(1, 0.5);
    expect([...measured.countsOf(0)]).toEqual([0, 0, 0, 0]);
    expect([...measured.total([0, 1])]).toEqual([0, 1, 0, 0]);
  });

  test("is written with buckets that include those before them", () => {
    const measured = histogram(['a="1"']);
    for (const value of [0.05, 0.5, 0.75, 20]) measured.observe(0, value);
    expect(histogramText([measured])).toBe(
      [
        "# HELP holdfast_test_seconds A test.",
        "# TYPE holdfast_test_seconds histogram",
        'holdfast_test_seconds_bucket{a="1",le="0.1"} 1',
        'holdfast_test_seconds_bucket{a="1",le="1"} 3',
        'holdfast_test_seconds_bucket{a="1",le="10"} 3',
        'holdfast_test_seconds_bucket{a="1",le="+Inf"} 4',
        'holdfast_test_seconds_sum{a="1"} 21.3',
        'holdfast_test_seconds_count{a="1"} 4',
        "",
      ].join("\n"),
    );
  });

  test("leaves out rows without a value, except those that are always shown", () => {
    const measured = histogram(['a="1"', 'a="2"', 'a="3"'], new Set([0]));
    measured.observe(2, 1);
    const text = histogramText([measured]);
    expect(text).toContain('_count{a="1"} 0');
    expect(text).not.toContain('a="2"');
    expect(text).toContain('_count{a="3"} 1');
  });

  test("says what was measured since the last look", () => {
    const measured = histogram(['a="1"', 'a="2"']);
    const recent = new RecentValues(measured, [1]);
    measured.observe(0, 0.5);
    measured.observe(1, 5);
    expect([...recent.take()]).toEqual([0, 0, 1, 0]);
    expect([...recent.take()]).toEqual([0, 0, 0, 0]);
    measured.observe(1, 50);
    expect([...recent.take()]).toEqual([0, 0, 0, 1]);
  });
});

describe("a quantile", () => {
  test("of nothing is nothing, and beyond the last bound that bound", () => {
    expect(quantile(Float64Array.of(0, 0, 0, 0), BOUNDS, 0.5)).toBeNull();
    expect(quantile(Float64Array.of(1, 0, 0, 9), BOUNDS, 0.99)).toBe(10);
  });

  test("lies in the bucket of the value that has that rank", () => {
    const values = fc.array(fc.double({ min: 0, max: 9.99, noNaN: true }), { minLength: 1 });
    fc.assert(
      fc.property(values, fc.constantFrom(0.5, 0.9, 0.99), (all, share) => {
        const measured = histogram();
        for (const value of all) measured.observe(0, value);
        const sorted = [...all].sort((a, b) => a - b);
        const ranked = sorted[Math.ceil(share * sorted.length) - 1] as number;
        const upper = BOUNDS.find((bound) => ranked <= bound) as number;
        const lower = [0, ...BOUNDS].filter((bound) => bound < upper).at(-1) as number;
        const estimate = quantile(measured.countsOf(0), BOUNDS, share) as number;
        expect(estimate).toBeGreaterThanOrEqual(lower);
        expect(estimate).toBeLessThanOrEqual(upper);
      }),
    );
  });
});
