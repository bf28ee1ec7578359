/** What is said of a revoke. */
import { expect, test } from "vitest";
import { revokedText } from "../../src/views/index.js";

const NOTHING = { revoked: 0, opened: 0, endsInMs: 0, leasesLeft: 0 };

test("a revoke says what ended, what was asked to end, and until when", () => {
  expect([
    revokedText(NOTHING),
    revokedText({ ...NOTHING, opened: 1 }),
    revokedText({ ...NOTHING, revoked: 2 }),
    revokedText({ ...NOTHING, revoked: 1, endsInMs: 14_900 }),
    revokedText({ ...NOTHING, endsInMs: 14_900 }),
  ]).toEqual([
    "not held",
    "not held, opened",
    "2 holds ended",
    "1 hold asked to end, at the latest in 14.9s",
    "asked to end before, at the latest in 14.9s",
  ]);
});

test("a revoke says that the owner of a lease is not told", () => {
  expect(revokedText({ revoked: 3, opened: 0, endsInMs: 598_000, leasesLeft: 1 })).toBe(
    "3 holds asked to end, at the latest in 9m 58s; 1 lease among them, whose owner is not told",
  );
});
