import fc from "fast-check";
import { expect, test } from "vitest";
import { DURATION_MS_MAX, formatDuration, parseDuration } from "../../bin/durations.js";

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

test("a bare number, an unknown unit, a sign, a fraction of a millisecond are no durations", () => {
  for (const text of ["", "5", "5 s", "5w", "-5s", "+5s", "s", "1e3s", "0.5ms", ".5s", "5s1"]) {
    expect(parseDuration(text), text).toBeUndefined();
  }
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

test("a duration is shown with as much as a person needs", () => {
  expect(formatDuration(0)).toBe("0ms");
  expect(formatDuration(-5)).toBe("0ms");
  expect(formatDuration(999.4)).toBe("999ms");
  expect(formatDuration(1_000)).toBe("1s");
  expect(formatDuration(3_240)).toBe("3.2s");
  expect(formatDuration(59_949)).toBe("59.9s");
  expect(formatDuration(59_951)).toBe("1m 00s");
  expect(formatDuration(125_000)).toBe("2m 05s");
  expect(formatDuration(3_599_600)).toBe("1h 00m");
  expect(formatDuration(3 * 3_600_000 + 7 * 60_000)).toBe("3h 07m");
  expect(formatDuration(2 * 86_400_000 + 4 * 3_600_000)).toBe("2d 04h");
});
