/** What the laws of locks carry over into a cluster that was restored. */
import { expect, test } from "vitest";
import { LawHolds } from "./checks/locks/law-holds.js";
import type { LawLease } from "./checks/locks/law-leases.js";
import type { LawClaim } from "./checks/locks/law-records.js";

const STAMP = 100;
const NEVER = Number.POSITIVE_INFINITY;
const PERMIT: LawClaim = { key: "t", mode: "permits", permits: 1, slots: [0] };
const LEASE: LawLease = {
  ...{ owner: "o", person: 0, request: "r", token: 7, claims: [PERMIT], takenAs: "", value: "" },
  ...{ grantedAt: STAMP, maxHoldMs: 0, minHoldMs: 0, lockDelayMs: 0 },
  ...{ endsAt: 5_000, orderedAt: NEVER, revokedAt: [], mayBeGone: false },
};

/** What is wrong with a grant of another permit in a cluster that was restored `afterMs` after that lease. */
function problemAfter(lease: Partial<LawLease>, afterMs = 0): string | undefined {
  const before = new LawHolds();
  before.begin(STAMP);
  before.setLimit("t", 3);
  before.leases.add({ ...LEASE, ...lease });
  before.begin(STAMP + afterMs);
  const restored = new LawHolds();
  restored.outlive(before, LEASE.token, 0);
  return restored.problemOfGrant([{ ...PERMIT, slots: [1] }], undefined);
}

test("a key that a lease keeps closed has its limit", () => {
  expect(problemAfter({ minHoldMs: 50 })).toBeUndefined();
});

test("a key that may be closed after a lease that may be gone may have its limit", () => {
  expect(problemAfter({ mayBeGone: true, lockDelayMs: 200 })).toBeUndefined();
  const revoked = { revokedAt: [STAMP + 10], lockDelayMs: 200, endsAt: STAMP + 20 };
  expect(problemAfter(revoked, 15)).toBeUndefined();
  expect(problemAfter(revoked, 30)).toBeUndefined();
});

test("a key that nothing keeps closed has lost its limit", () => {
  expect(problemAfter({})).toMatch(/of 0/);
  const revoked = { revokedAt: [STAMP + 10], lockDelayMs: 200, endsAt: STAMP + 20 };
  expect(problemAfter(revoked, 300)).toMatch(/of 0/);
});
