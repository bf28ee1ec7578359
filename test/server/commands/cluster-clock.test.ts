import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { STAMP_MAX } from "../../../src/protocol/index.js";
import { ClusterClock } from "../../../src/server/commands/cluster-clock.js";

const TURN_MS_MAX = 300;
/** Lengths of turns: mostly short and fractional, now and then a pause. */
const turns = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.double({ min: 0, max: 5, noNaN: true }) },
    { weight: 2, arbitrary: fc.double({ min: 0, max: TURN_MS_MAX, noNaN: true }) },
    { weight: 1, arbitrary: fc.double({ min: TURN_MS_MAX, max: 100_000, noNaN: true }) },
  ),
  { maxLength: 200 },
);
const bases = fc.integer({ min: 0, max: 2 ** 45 });
const starts = fc.double({ min: 0, max: 1e9, noNaN: true });

function started(baseStamp: number, nowMs: number): ClusterClock {
  const clock = new ClusterClock(TURN_MS_MAX);
  clock.start(baseStamp, nowMs);
  return clock;
}

describe("the cluster clock", () => {
  test("stands still at the end of cluster time", () => {
    const clock = started(STAMP_MAX - 5, 1_000);
    expect(clock.count(1_003)).toBe(STAMP_MAX - 2);
    expect([clock.count(1_020), clock.count(1_900), clock.count(1_950)]).toEqual(
      Array(3).fill(STAMP_MAX),
    );
    clock.start(STAMP_MAX, 2_000);
    expect(clock.count(2_100)).toBe(STAMP_MAX);
    // A deadline after the end never comes.
    expect(clock.monotonicMsAt(STAMP_MAX + 1)).toBeGreaterThan(2_100);
  });

  test("never falls and shows whole milliseconds", () => {
    fc.assert(
      fc.property(bases, starts, turns, (base, startMs, lengths) => {
        const clock = started(base, startMs);
        let before = base;
        let nowMs = startMs;
        for (const lengthMs of lengths) {
          nowMs += lengthMs;
          const stamp = clock.count(nowMs);
          expect(Number.isSafeInteger(stamp)).toBe(true);
          expect(stamp).toBeGreaterThanOrEqual(before);
          before = stamp;
        }
      }),
    );
  });

  test("never runs faster than the monotonic clock, over any stretch of turns", () => {
    fc.assert(
      fc.property(bases, starts, turns, (base, startMs, lengths) => {
        const clock = started(base, startMs);
        const seen = [{ stamp: base, atMs: startMs }];
        let nowMs = startMs;
        for (const lengthMs of lengths) {
          nowMs += lengthMs;
          seen.push({ stamp: clock.count(nowMs), atMs: nowMs });
        }
        const from = seen[Math.floor(seen.length / 2)] ?? { stamp: base, atMs: startMs };
        const to = seen.at(-1) ?? from;
        // A fraction that was not counted before the stretch is counted within it.
        expect(to.stamp - from.stamp).toBeLessThan(to.atMs - from.atMs + 1);
        expect(to.stamp - base).toBeLessThanOrEqual(nowMs - startMs);
      }),
    );
  });

  test("loses no fraction while turns are shorter than the cap", () => {
    fc.assert(
      fc.property(
        bases,
        fc.array(fc.integer({ min: 0, max: (TURN_MS_MAX - 1) * 8 }), { maxLength: 500 }),
        (base, eighths) => {
          const clock = started(base, 0);
          let now = 0;
          for (const count of eighths) {
            now += count;
            clock.count(now / 8);
          }
          expect(clock.stamp).toBe(base + Math.floor(now / 8));
        },
      ),
    );
  });

  test("counts at most the cap of a pause and never makes up for the rest", () => {
    const clock = started(1_000, 50);
    clock.count(50.75);
    expect(clock.count(60_000)).toBe(1_000 + TURN_MS_MAX);
    expect(clock.count(60_000)).toBe(1_000 + TURN_MS_MAX);
    expect(clock.count(60_010)).toBe(1_000 + TURN_MS_MAX + 10);
  });

  test("goes on from the base it is given, wherever it stood before", () => {
    const clock = started(1_000, 0);
    clock.count(200);
    clock.stop();
    expect(clock.isRunning).toBe(false);
    clock.start(1_050, 90_000);
    expect(clock.count(90_007)).toBe(1_057);
  });

  test("shows a stamp at the time it foretold, and not before", () => {
    fc.assert(
      fc.property(bases, starts, fc.integer({ min: 1, max: 250 }), (base, startMs, aheadMs) => {
        const clock = started(base, startMs);
        clock.count(startMs + 0.4);
        const stamp = clock.stamp + aheadMs;
        expect(clock.monotonicMsAt(stamp) - startMs).toBeCloseTo(aheadMs, 1);
        expect(clock.count(clock.monotonicMsAt(stamp))).toBe(stamp);
      }),
    );
  });

  test("does not count while nobody started it, nor backwards", () => {
    const clock = new ClusterClock(TURN_MS_MAX);
    expect(() => clock.count(1)).toThrow("is not running");
    clock.start(0, 100);
    expect(() => clock.count(99)).toThrow("went back");
  });
});
