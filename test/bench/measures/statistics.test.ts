import { expect, test } from "vitest";
import { hundredths, medianOf, summaryOf, tenths } from "../../../bench/measures/statistics.js";

test("the median is the middle one, or lies between the two in the middle", () => {
  expect(summaryOf([3, 100, 1])).toEqual({ median: 3, max: 100 });
  expect(summaryOf([4, 1, 2, 9])).toEqual({ median: 3, max: 9 });
  expect(summaryOf([7.77])).toEqual({ median: 7.8, max: 7.8 });
});

test("numbers are compared as numbers", () => {
  expect(summaryOf([9, 10, 100])).toEqual({ median: 10, max: 100 });
});

test("nothing measured is 0", () => {
  expect(summaryOf([])).toEqual({ median: 0, max: 0 });
  expect(medianOf([])).toBe(0);
});

test("figures have one decimal, ratios two", () => {
  expect(hundredths(1.4961)).toBe(1.5);
  expect([tenths(0.04), tenths(0.05), tenths(12.349)]).toEqual([0, 0.1, 12.3]);
});
