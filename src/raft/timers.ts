/**
 * Time, as far as the core knows it: ticks hand it in, `take` acts on what is due. A turn that
 * comes later than its timer by more than a heartbeat interval is a pause of this process and no
 * silence of others. Deadlines are looked at only after everything that arrived was seen.
 */
import { assert } from "../assert.js";
import { onElectionTimeout } from "./election.js";
import { checkLeadership } from "./leadership.js";
import { ballotOutcome } from "./quorum.js";
import { broadcastHeartbeat } from "./replication.js";
import { restartElectionTimer, type State } from "./state.js";

export function advanceTime(state: State, nowMs: number): void {
  assert(nowMs >= state.nowMs, () => `time fell from ${state.nowMs} to ${nowMs}`);
  if (state.hasTime) {
    if (nowMs > nextDeadlineMs(state) + state.config.heartbeatIntervalMs) state.isLate = true;
    state.nowMs = nowMs;
    return;
  }
  state.hasTime = true;
  state.nowMs = nowMs;
  restartElectionTimer(state);
  // Who decides alone has nobody to wait for.
  const decidesAlone = ballotOutcome(state.configuration, (id) => id === state.id) === "won";
  if (decidesAlone) state.electionDeadlineMs = nowMs;
}

export function runTimers(state: State): void {
  if (!state.hasTime) return;
  const { leadership, nowMs } = state;
  if (leadership === undefined) {
    if (nowMs >= state.electionDeadlineMs) onElectionTimeout(state);
  } else {
    if (nowMs >= leadership.checkDeadlineMs) checkLeadership(state, leadership);
    const stillLeads = state.leadership !== undefined;
    if (stillLeads && nowMs >= leadership.heartbeatDeadlineMs) {
      broadcastHeartbeat(state, leadership);
    }
  }
  state.isLate = false;
}

/** When the next tick is due at the latest; always finite. Before the first tick: at once. */
export function nextDeadlineMs(state: State): number {
  if (!state.hasTime) return 0;
  const { leadership } = state;
  if (leadership === undefined) return state.electionDeadlineMs;
  return Math.min(leadership.heartbeatDeadlineMs, leadership.checkDeadlineMs);
}
