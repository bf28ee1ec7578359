import { describe, expect, it } from "vitest";
import { distributionOf, distributionText } from "../../../dashboard/views/lock/distribution.js";
import { type HeldTenure, tenureBars } from "../../../dashboard/views/lock/tenure-bars.js";

describe("a distribution", () => {
  it("counts each time in one range, of which the fullest is whole", () => {
    const times = [0, 10, 11, 100, 1_000, 10_000, 60_000, 600_000, 600_001, 5];
    const { ranges, count, longestMs } = distributionOf(times);
    expect(ranges.map((one) => one.count)).toEqual([3, 2, 1, 1, 1, 1, 1]);
    expect(ranges[0]?.share).toBe(1);
    expect([count, longestMs]).toEqual([10, 600_001]);
  });

  it("is a sentence too, of none, one, some and many", () => {
    const text = (times: readonly number[]): string =>
      distributionText(distributionOf(times), "hold");
    expect(text([])).toBe("No hold is known that has ended.");
    expect(text([1_500])).toBe("One hold is known: it took 1.5s.");
    expect(text([5, 10, 40])).toBe("Of 3 holds, half took at most 10ms, the longest 40ms.");
    const many = Array.from({ length: 100 }, (_, i) => i + 1);
    expect(text(many)).toBe(
      "Of 100 holds, half took at most 50ms, nine of ten at most 90ms, the longest 100ms.",
    );
  });
});

describe("bars of owners over time", () => {
  const period = (session: number, grantedWallMs: number, heldMs: number, isHeld = false) =>
    ({
      session,
      sessionName: `w${session}`,
      identity: "",
      holder: "session",
      token: grantedWallMs,
      mode: "exclusive",
      grantedWallMs,
      heldMs,
      reason: isHeld ? undefined : "released",
    }) satisfies HeldTenure;

  it("have a lane for each holder, and what is held reaches until now", () => {
    const { lanes, beginWallMs, endWallMs } = tenureBars(
      [period(2, 1_600, 100, true), period(1, 1_400, 100), period(2, 1_000, 400)],
      2_000,
    );
    expect([beginWallMs, endWallMs]).toEqual([1_000, 2_000]);
    expect(lanes.map(({ holder }) => holder?.session)).toEqual([2, 1]);
    expect(lanes[0]?.bars.map(({ from, width }) => [from, width])).toEqual([
      [0.6, 0.4],
      [0, 0.4],
    ]);
  });

  it("stay visible and within the picture, however short, many or strangely timed", () => {
    const many = Array.from({ length: 40 }, (_, i) => period(i, 5_000 - i, 0));
    const { lanes } = tenureBars([period(99, 9_000, 5), ...many], 100);
    expect(lanes).toHaveLength(9);
    expect(lanes.at(-1)?.holder).toBeUndefined();
    expect(lanes.flatMap(({ bars }) => bars)).toHaveLength(41);
    for (const { from, width } of lanes.flatMap(({ bars }) => bars)) {
      expect(from).toBeGreaterThanOrEqual(0);
      expect(width).toBeGreaterThan(0);
      expect(from).toBeLessThan(1);
    }
    expect(tenureBars([], 5)).toMatchObject({ lanes: [] });
  });
});
