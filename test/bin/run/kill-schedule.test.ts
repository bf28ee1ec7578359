import fc from "fast-check";
import { expect, test } from "vitest";
import { hasRoomForGrace, killStep, leaseRoom } from "../../../bin/run/kill-schedule.js";

test("while more than the grace is left, the next look is due when only the grace will be", () => {
  expect(killStep(13_500, 5_000)).toEqual({ action: "wait", forMs: 8_500 });
  expect(killStep(5_001, 5_000)).toEqual({ action: "wait", forMs: 1 });
});

test("when only the grace is left the command is ended, and killed when the lock is given up", () => {
  expect(killStep(5_000, 5_000)).toEqual({ action: "terminate", killAfterMs: 5_000 });
  expect(killStep(1_200, 5_000)).toEqual({ action: "terminate", killAfterMs: 1_200 });
});

test("a lock that is lost already leaves no grace", () => {
  expect(killStep(0, 5_000)).toEqual({ action: "terminate", killAfterMs: 0 });
  expect(killStep(-300, 5_000)).toEqual({ action: "terminate", killAfterMs: 0 });
});

test("SIGKILL never falls behind the end of the lock, and SIGTERM only as far before it as asked", () => {
  const milliseconds = fc.integer({ min: 0, max: 600_000 });
  fc.assert(
    fc.property(milliseconds, milliseconds, (remainingMs, killGraceMs) => {
      const step = killStep(remainingMs, killGraceMs);
      if (step.action === "wait") {
        expect(step.forMs + killGraceMs).toBe(remainingMs);
        expect(killStep(remainingMs - step.forMs, killGraceMs).action).toBe("terminate");
      } else {
        expect(step.killAfterMs).toBeLessThanOrEqual(remainingMs);
        expect(step.killAfterMs).toBeLessThanOrEqual(killGraceMs);
      }
    }),
  );
});

test("the room of a lease is grace, margin and a keepalive interval", () => {
  const room = leaseRoom(15_000, 5_000);
  expect(room).toMatchObject({ marginMs: 1_500, keepaliveMs: 3_750, neededMs: 10_250 });
  expect(hasRoomForGrace(room)).toBe(true);
  expect(leaseRoom(1_000, 0).marginMs).toBe(250);
});

test("a TTL with room is one whose command is not ended right before a renewal", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1_000, max: 600_000 }),
      fc.integer({ min: 0, max: 600_000 }),
      (ttlMs, killGraceMs) => {
        const room = leaseRoom(ttlMs, killGraceMs);
        const leftBeforeRenewalMs = ttlMs - room.marginMs - room.keepaliveMs;
        const step = killStep(leftBeforeRenewalMs, killGraceMs);
        expect(step.action === "wait").toBe(hasRoomForGrace(room));
      },
    ),
  );
});
