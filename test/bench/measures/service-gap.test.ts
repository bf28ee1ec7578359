import fc from "fast-check";
import { expect, test } from "vitest";
import { longestGapMs, merged } from "../../../bench/measures/service-gap.js";

test("the gap at the fault counts from the last success before it", () => {
  expect(longestGapMs([10, 20, 90, 95], 25, 100)).toBe(70);
});

test("a success that arrives after the fault shortens the gap", () => {
  expect(longestGapMs([10, 20, 26, 90, 95], 25, 100)).toBe(64);
});

test("gaps before the fault do not count, later ones do", () => {
  expect(longestGapMs([0, 80, 100, 105, 160, 161], 101, 162)).toBe(55);
});

test("a gap that is not over counts up to the end", () => {
  expect(longestGapMs([10, 20], 25, 1_000)).toBe(980);
  expect(longestGapMs([10, 20, 1_500], 25, 1_000)).toBe(980);
});

test("without any success it is the time that was watched", () => {
  expect(longestGapMs([], 25, 1_000)).toBe(975);
});

test("it is the longest of all stretches between neighbours that reach past the fault", () => {
  const times = fc.array(fc.integer({ min: 0, max: 1_000 }), { maxLength: 40 });
  fc.assert(
    fc.property(times, fc.nat(900), fc.nat(100), (unsorted, faultMs, watchedMs) => {
      const successes = merged([unsorted]);
      const untilMs = faultMs + watchedMs;
      const seen = successes.filter((time) => time <= untilMs);
      const before = seen.filter((time) => time <= faultMs).at(-1) ?? faultMs;
      const points = [before, ...seen.filter((time) => time > faultMs), untilMs];
      const stretches = points.slice(1).map((time, index) => time - (points[index] ?? 0));
      expect(longestGapMs(successes, faultMs, untilMs)).toBe(Math.max(...stretches));
    }),
  );
});

test("several clients are one service", () => {
  const [one, other] = [
    [10, 50, 90],
    [30, 70],
  ];
  expect(merged([one ?? [], other ?? []])).toEqual([10, 30, 50, 70, 90]);
});
