/**
 * The longest time that things may take, from the settings of the cluster and the longest delays
 * of its links, disks and turns. All figures are milliseconds of true time.
 */
import type { NodeTuning } from "../../../../src/server/index.js";
import type { SimPlan } from "../../plan/plan.js";
import { DRIFT_MAX } from "../../world/node/drifting-clock.js";

export interface TimeBounds {
  /** From an entry in the log of a leader that goes on leading until it is committed. */
  readonly commitMs: number;
  /** From the end of a leader whose connections are closed to the first commit of the next one. */
  readonly closedMs: number;
  /** The same from the moment in which nothing of the leader is heard any more. */
  readonly silentMs: number;
  /** From the beginning of a hand-over to the first commit of the next leader. */
  readonly handOverMs: number;
  /** From the start of all processes, on new disks, to the first commit. */
  readonly startMs: number;
  /** From the first commit of a leader until everybody it reaches follows it. */
  readonly settledMs: number;
}

/**
 * A process opens its directory and makes its first files in this many operations, one after the
 * other.
 */
const BOOT_OPERATIONS = 60;
/** Besides a read the mark is opened, and both its copies are written. */
const MARK_OPERATIONS = 3;
const READ_MS = 0.05;

export function timeBoundsOf(plan: SimPlan, tuning: NodeTuning): TimeBounds {
  const { pathTimes, diskTimes, pace } = plan;
  const { electionTimeoutMs, closedPeerDelayMs, spareDelayMs } = tuning;
  // A turn may be under way, with another one waiting, when something comes in.
  const waitMs = 2 * pace.turnMs;
  const hopMs = pathTimes.latencyMs + pathTimes.jitterMs * pathTimes.stragglerFactor + waitMs;
  const operationMs = diskTimes.writeMs + diskTimes.jitterMs * diskTimes.stragglerFactor;
  // A record waits for the one that is being written, which goes first.
  const writeMs = 2 * operationMs + waitMs;
  // A vote is in the mark as well (decision 27), behind the one that is being written.
  const voteMs = writeMs + 2 * (MARK_OPERATIONS * operationMs + READ_MS) + waitMs;
  // By the slowest clock; and what comes in is looked at first.
  const timer = (ms: number): number => ms * (1 + 2 * DRIFT_MAX) + pace.timerLateMs + waitMs;

  // There, on disk, and back. The leader's own record is on disk no later than the others'.
  const entryMs = hopMs + writeMs + hopMs;
  // Whatever stops or stalls, nobody lacks an answering voter for longer than a spare waits.
  const commitMs = timer(spareDelayMs) + entryMs;
  // Pre-votes there and back; the candidate's own vote on disk; votes there, on disk and back.
  const votesMs = voteMs + hopMs + voteMs + hopMs;
  const electionMs = 2 * hopMs + votesMs;
  // Votes that were split, or a candidate whose log was too short, cost another election each: at
  // the latest two delays later, since a node that voted lets no other stand for one delay, and a
  // candidate that could not win draws from the delay after that. Twice, as in
  // `test/raft/failover.property.test.ts`.
  const againMs = timer(2 * closedPeerDelayMs) + electionMs;
  const electedMs = electionMs + 2 * againMs;
  // The end is heard of over a link; the first to stand does so within the delay.
  const closedMs = hopMs + timer(closedPeerDelayMs) + electedMs + entryMs;
  // The last word of the leader may still be under way; the timers are drawn from [1, 2).
  const silentMs = hopMs + timer(2 * electionTimeoutMs) + electedMs + entryMs;
  // The target catches up, is asked to stand, puts its vote on disk and is voted for, without
  // pre-votes.
  const handOverMs = entryMs + hopMs + votesMs + entryMs;
  return {
    commitMs,
    closedMs,
    silentMs,
    handOverMs,
    startMs: BOOT_OPERATIONS * operationMs + silentMs,
    // An answer under way, a vote that was being written, and the leader's first entry.
    settledMs: hopMs + voteMs + hopMs,
  };
}
