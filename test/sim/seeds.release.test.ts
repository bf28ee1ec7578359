/** As many seeds as fit next to the other tests, and what must have happened in them. */
import "../low-priority.js";
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors/index.js";
import { BLOCKED_BY, END_REASON, OP, STATUS } from "../../src/protocol/index.js";
import { SIGHTINGS } from "./clients/sightings.js";
import type { BatchSummary } from "./run/run-batch.js";
import { explained, runRange } from "./run/run-seeds.js";

const SEEDS = 200;
const TIMEOUT_MS = 1_200_000;

/** What every batch of seeds must have seen at least once. */
const OUTCOMES = [
  [OP.acquire, STATUS.granted],
  [OP.acquire, STATUS.queued],
  [OP.acquire, ERROR_NUMBERS.LOCK_HELD],
  [OP.acquire, ERROR_NUMBERS.LOCK_TIMEOUT],
  [OP.acquire, ERROR_NUMBERS.DEADLOCK],
  [OP.acquire, ERROR_NUMBERS.QUEUE_FULL],
  [OP.acquire, ERROR_NUMBERS.LIMIT_MISMATCH],
  [OP.acquire, ERROR_NUMBERS.INVALID_ARGUMENT],
  [OP.acquire, ERROR_NUMBERS.QUOTA],
  [OP.end, STATUS.released],
  [OP.end, STATUS.notReleased],
  [OP.end, STATUS.ok],
  [OP.close, STATUS.ok],
  [OP.downgrade, STATUS.ok],
  [OP.upgrade, STATUS.upgraded],
  [OP.upgrade, STATUS.queued],
  [OP.upgrade, ERROR_NUMBERS.LOCK_TIMEOUT],
  [OP.upgrade, ERROR_NUMBERS.DEADLOCK],
  [OP.upgrade, ERROR_NUMBERS.NOT_HELD],
  [OP.upgrade, ERROR_NUMBERS.CANCELLED],
  [OP.upgrade, ERROR_NUMBERS.INVALID_ARGUMENT],
  [OP.update, STATUS.ok],
  [OP.revoke, STATUS.revoked],
  [OP.endSession, STATUS.ok],
  [OP.setLimit, STATUS.ok],
  [OP.changeSetting, STATUS.ok],
  [OP.handOver, STATUS.leased],
  [OP.adopt, STATUS.adopted],
  [OP.adopt, ERROR_NUMBERS.NOT_HELD],
  [OP.inspect, STATUS.ok],
  [OP.transfer, STATUS.ok],
  [OP.changeMember, STATUS.ok],
] as const;

/** What must have happened besides, which is not an answer to a command. */
const DEMANDED = [
  SIGHTINGS.slots,
  SIGHTINGS.countedUp,
  SIGHTINGS.contended,
  SIGHTINGS.revoking,
  SIGHTINGS.revokingSession,
  SIGHTINGS.departed,
  SIGHTINGS.wentOn,
  SIGHTINGS.cameLate,
  SIGHTINGS.refused(ERROR_NUMBERS.BUSY),
  SIGHTINGS.refused(ERROR_NUMBERS.DISK_FULL),
  SIGHTINGS.blockedBy(BLOCKED_BY.holds),
  SIGHTINGS.blockedBy(BLOCKED_BY.waiters),
  SIGHTINGS.blockedBy(BLOCKED_BY.closing),
  SIGHTINGS.lost(END_REASON.maxHold),
  SIGHTINGS.lost(END_REASON.revoked),
  SIGHTINGS.lost(END_REASON.stolen),
  SIGHTINGS.ended(END_REASON.revoked),
  SIGHTINGS.restored,
  SIGHTINGS.watchBegun,
  SIGHTINGS.watchTold,
  ...["granted", "none", "aborted", "LOCK_HELD", "LOCK_TIMEOUT", "DEADLOCK", "SESSION_EXPIRED"].map(
    SIGHTINGS.callEnded,
  ),
] as const;

let firstBatch: Promise<BatchSummary> | undefined;

/** Run once for all tests that look at it. */
function firstSeeds(): Promise<BatchSummary> {
  firstBatch ??= runRange(1, SEEDS);
  return firstBatch;
}

describe("whole clusters on lying disks, broken networks and drifting clocks", () => {
  test(
    `keep every promise through ${SEEDS} seeds, and do in them what clients can do`,
    async () => {
      const summary = await firstSeeds();
      expect(summary.failures.map(explained)).toEqual([]);
      expect(summary.seeds).toBe(SEEDS);
      for (const [op, status] of OUTCOMES) {
        expect(summary.outcomes[`${op}/${status}`], `op ${op} with ${status}`).toBeGreaterThan(0);
      }
      for (const what of DEMANDED) expect(summary.outcomes[what] ?? 0, what).toBeGreaterThan(0);
      // A harness that never sees these proves nothing about them.
      expect(summary.quarantines).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  // Unless a paused holder that forgets its deadline is seen together with the next one, the check
  // of exclusion sees nothing.
  test(
    "see that two hold at once who do not look at their deadline",
    async () => {
      expect((await firstSeeds()).overlapsWithoutDeadline).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  // What is stolen or revoked at once is still counted on by the client that had it.
  test(
    "see what only fencing covers, and writes that it refuses",
    async () => {
      const { overlapsWithoutFence, refusedWrites } = await firstSeeds();
      expect(overlapsWithoutFence).toBeGreaterThan(0);
      expect(refusedWrites).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});
