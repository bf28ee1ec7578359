/** What a budget by the second gives, by a clock that stands still unless a test moves it. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TokenBucket } from "../../../src/server/limits/token-bucket.js";

/** How many of `wanted` it gives, asked as `Limits` does. */
function takeMany(bucket: TokenBucket, wanted: number, nowMs: number): number {
  let taken = 0;
  for (let i = 0; i < wanted; i += 1) {
    if (bucket.take(1)) taken += 1;
    else {
      bucket.fill(nowMs);
      if (bucket.take(1)) taken += 1;
    }
  }
  return taken;
}

describe("a budget by the second", () => {
  test("gives one second's worth at once, and then as much as time passes", () => {
    const bucket = new TokenBucket(100, 5_000);
    expect(takeMany(bucket, 500, 5_000)).toBe(100);
    expect(takeMany(bucket, 500, 5_010)).toBe(1);
    expect(takeMany(bucket, 500, 5_260)).toBe(25);
  });

  test("does not save up more than two seconds' worth, however long nothing was spent", () => {
    const bucket = new TokenBucket(100, 0);
    expect(takeMany(bucket, 500, 3_600_000)).toBe(200);
    expect(takeMany(bucket, 500, 3_600_000)).toBe(0);
  });

  test("lets one cost more than it has, and waits until that is earned", () => {
    const bucket = new TokenBucket(100, 0);
    expect(bucket.take(150)).toBe(true);
    expect(bucket.take(1)).toBe(false);
    bucket.fill(400);
    expect(bucket.take(1)).toBe(false);
    bucket.fill(600);
    expect(bucket.take(1)).toBe(true);
  });

  test("forgets a debt beyond a second's worth", () => {
    const bucket = new TokenBucket(100, 0);
    bucket.charge(1_000_000);
    bucket.fill(1_000);
    expect(bucket.take(1)).toBe(false);
    bucket.fill(1_010);
    expect(bucket.take(1)).toBe(true);
  });

  test("without a limit gives everything, at any time", () => {
    const bucket = new TokenBucket(Number.POSITIVE_INFINITY, 0);
    bucket.charge(1e9);
    bucket.fill(0);
    expect(takeMany(bucket, 1_000, 0)).toBe(1_000);
    expect(bucket.isFull).toBe(true);
  });

  test("never gives more in any time than that time is worth and two seconds", () => {
    const step = fc.record({ waitMs: fc.nat(500), wanted: fc.nat(200) });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.array(step), (perSecond, steps) => {
        const bucket = new TokenBucket(perSecond, 0);
        let nowMs = 0;
        let taken = 0;
        for (const { waitMs, wanted } of steps) {
          nowMs += waitMs;
          taken += takeMany(bucket, wanted, nowMs);
          expect(taken).toBeLessThanOrEqual(perSecond * (2 + nowMs / 1_000) + 1);
        }
      }),
    );
  });
});
