/**
 * Time in the core: ticks bring it, `take` acts on what is due. A turn that is late by more than a
 * heartbeat interval is a pause of this process and not a silence of others. Deadlines are checked
 * only after everything that arrived was seen. What was measured across a smaller pause does not
 * measure others either (`majority-first.ts`).
 */
import { assert } from "../errors/index.js";
import { isVoter } from "./configuration/configuration.js";
import { ballotOutcome } from "./configuration/quorum.js";
import { onElectionTimeout } from "./election.js";
import { checkLeadership, confirmReads, isReadRoundDue } from "./leader.js";
import { broadcastHeartbeat } from "./replication.js";
import {
  endElectionTimer,
  type Leadership,
  restartElectionTimer,
  type State,
  settleLateness,
  takeTime,
} from "./state.js";
import { abandonTransfer } from "./transfer.js";

export function advanceTime(state: State, nowMs: number): void {
  assert(nowMs >= state.nowMs, () => `time fell from ${state.nowMs} to ${nowMs}`);
  const isFirst = !state.hasTime;
  takeTime(state, nowMs, isFirst ? 0 : nowMs - nextDeadlineMs(state));
  if (!isFirst) return;
  restartElectionTimer(state);
  // A voter that decides alone has nothing to wait for.
  const { configuration, id: self } = state;
  const decidesAlone =
    isVoter(configuration, self) && ballotOutcome(configuration, (id) => id === self) === "won";
  if (decidesAlone) endElectionTimer(state);
}

export function runTimers(state: State): void {
  if (!state.hasTime) return;
  const { leadership, nowMs } = state;
  if (leadership === undefined) {
    if (nowMs >= state.electionDeadlineMs) onElectionTimeout(state);
  } else {
    if (nowMs >= leadership.checkDeadlineMs) checkLeadership(state, leadership);
    // Heartbeats keep others from an election, so only a leader may send them.
    if (state.leadership !== undefined) runLeaderTimers(state, leadership);
  }
  settleLateness(state);
}

/** The reads of this turn need a round that begins now; the periodic one serves if it is due. */
function runLeaderTimers(state: State, leadership: Leadership): void {
  const { nowMs } = state;
  const { transfer, reads } = leadership;
  if (transfer !== undefined && nowMs >= transfer.deadlineMs) abandonTransfer(state, leadership);
  const isReadRound = isReadRoundDue(state, leadership);
  if (!isReadRound && nowMs < leadership.heartbeatDeadlineMs) return;
  broadcastHeartbeat(state, leadership);
  if (isReadRound) reads.begin(leadership.round, state.commitIndex);
  // A voter that decides alone needs no answer.
  confirmReads(state, leadership);
}

/** The latest time of the next tick; always finite. Before the first tick: at once. */
export function nextDeadlineMs(state: State): number {
  if (!state.hasTime) return 0;
  const { leadership } = state;
  if (leadership === undefined) return state.electionDeadlineMs;
  const { heartbeatDeadlineMs, checkDeadlineMs, transfer, frontsDeadlineMs } = leadership;
  const deadlineMs = Math.min(heartbeatDeadlineMs, checkDeadlineMs, frontsDeadlineMs);
  return transfer === undefined ? deadlineMs : Math.min(deadlineMs, transfer.deadlineMs);
}
