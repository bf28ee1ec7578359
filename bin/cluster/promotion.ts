/**
 * Promotes a learner as soon as it has caught up. The leader alone decides when that is: it is
 * asked repeatedly, and the learner's lag is only shown.
 */
import { setTimeout as delay } from "node:timers/promises";
import { HoldfastError } from "../../src/errors/index.js";
import type { Admin, MemberView } from "../../src/index.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { formatDuration } from "../text/durations.js";

const ASK_AGAIN_MS = 250;

export interface PromotionClock {
  nowMs(): number;
  sleep(forMs: number): Promise<void>;
}

const REAL_CLOCK: PromotionClock = {
  nowMs: () => performance.now(),
  sleep: (forMs) => delay(forMs),
};

/**
 * Resolves when node `id` is a voter. With a `waitMs` of 0, the first refusal is the answer.
 * Otherwise `show` gets what is missing, and the promise rejects with exit code 124 when the time
 * is over.
 */
export async function promoteWhenCaughtUp(
  admin: Pick<Admin, "members" | "promoteMember">,
  id: number,
  waitMs: number,
  show: (text: string) => void,
  clock: PromotionClock = REAL_CLOCK,
): Promise<void> {
  const deadlineMs = clock.nowMs() + waitMs;
  for (;;) {
    try {
      await admin.promoteMember(id);
      return;
    } catch (error) {
      if (waitMs === 0 || !isForNow(error)) throw error;
      const leftMs = deadlineMs - clock.nowMs();
      const { members } = await admin.members();
      const state = stateOf(id, members, error.message);
      if (leftMs <= 0) throw tooLate(id, waitMs, state);
      show(`node ${id} is not a voter yet: ${state} (${formatDuration(leftMs)} left)`);
      await clock.sleep(Math.min(ASK_AGAIN_MS, leftMs));
    }
  }
}

function isForNow(error: unknown): error is HoldfastError {
  return error instanceof HoldfastError && error.code === "BUSY";
}

function stateOf(id: number, members: readonly MemberView[], refusal: string): string {
  const member = members.find((candidate) => candidate.id === id);
  if (member === undefined) return refusal;
  if (!member.isReachable) return "the leader cannot reach it";
  if (member.lagEntries === 0) return refusal;
  return `it is ${member.lagEntries} ${member.lagEntries === 1 ? "entry" : "entries"} behind`;
}

function tooLate(id: number, waitMs: number, state: string): Failure {
  const text = `node ${id} was not promoted within ${formatDuration(waitMs)}: ${state}`;
  return new Failure(EXIT.timedOut, text);
}
