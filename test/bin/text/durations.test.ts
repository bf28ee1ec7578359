import fc from "fast-check";
import { expect, test } from "vitest";
import { DURATION_MS_MAX, formatDuration, parseDuration } from "../../../bin/text/durations.js";

test("a duration is a number with a unit", () => {
  expect(parseDuration("250ms")).toBe(250);
  expect(parseDuration("5s")).toBe(5_000);
  expect(parseDuration("1.5m")).toBe(90_000);
  expect(parseDuration("2h")).toBe(7_200_000);
  expect(parseDuration("30d")).toBe(2_592_000_000);
  expect(parseDuration("0s")).toBe(0);
  expect(parseDuration("0.1s")).toBe(100);
  expect(parseDuration(" 5s ")).toBe(5_000);
});

test("a duration may have several parts, the largest unit first, as it is shown", () => {
  expect(parseDuration("1h30m")).toBe(5_400_000);
  expect(parseDuration("2m 05s")).toBe(125_000);
  expect(parseDuration("2d 04h")).toBe(2 * 86_400_000 + 4 * 3_600_000);
  expect(parseDuration("1m1.5s")).toBe(61_500);
  for (const text of ["30m1h", "1h1h", "1.5h30m", "1h30", "1h, 30m", "1h-30m"]) {
    expect(parseDuration(text), text).toBeUndefined();
  }
  fc.assert(
    fc.property(fc.integer({ min: 0, max: DURATION_MS_MAX }), (milliseconds) => {
      expect(parseDuration(formatDuration(milliseconds))).toBeDefined();
    }),
  );
});

test("a bare number, an unknown unit, a sign, a fraction of a millisecond are not durations", () => {
  for (const text of ["", "5", "5 s", "5w", "-5s", "+5s", "s", "1e3s", "0.5ms", ".5s", "5s1"]) {
    expect(parseDuration(text), text).toBeUndefined();
  }
});

test("a sum of durations goes from the largest unit down, with a blank between them or none", () => {
  expect(parseDuration("1h30m")).toBe(5_400_000);
  expect(parseDuration("2m05s")).toBe(125_000);
  expect(parseDuration("2m 05s")).toBe(125_000);
  expect(parseDuration(" 1d 2h 3m 4s 5ms ")).toBe(93_784_005);
  expect(parseDuration("1d0.5s")).toBe(86_400_500);
  expect(parseDuration("1m90s")).toBe(150_000);
});

test("a sum in another order, with a unit twice or a fraction in front is not a duration", () => {
  const texts = [
    "30m1h",
    "1h1h",
    "5ms1s",
    "1.5h30m",
    "1h  30m",
    "1h, 30m",
    "1h30",
    "1h-30m",
    "1h 30",
  ];
  for (const text of texts) expect(parseDuration(text), text).toBeUndefined();
});

test("what is shown of a duration can be typed in again", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: DURATION_MS_MAX }), (milliseconds) => {
      const shown = formatDuration(milliseconds);
      const read = parseDuration(shown, 2 * DURATION_MS_MAX) ?? Number.NaN;
      expect(formatDuration(read)).toBe(shown);
    }),
  );
});

test("a duration beyond the limit is refused, the limit itself is not", () => {
  expect(parseDuration(`${DURATION_MS_MAX}ms`)).toBe(DURATION_MS_MAX);
  expect(parseDuration(`${DURATION_MS_MAX + 1}ms`)).toBeUndefined();
  expect(parseDuration("365d")).toBeUndefined();
  expect(parseDuration("365d", 40_000_000_000)).toBe(31_536_000_000);
});

test("every whole number of milliseconds is read back in each unit that divides it", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_294 }), (seconds) => {
      expect(parseDuration(`${seconds}s`)).toBe(seconds * 1_000);
      expect(parseDuration(`${seconds * 1_000}ms`)).toBe(seconds * 1_000);
      expect(parseDuration(`${(seconds / 1_000).toFixed(3)}s`)).toBe(seconds);
    }),
  );
});
