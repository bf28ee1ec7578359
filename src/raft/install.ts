/**
 * A leader's snapshot in place of a log that is too far behind (thesis, 5.3). Nothing newer is ever
 * overwritten: what the node holds or has committed stays, and between an installed snapshot and
 * its durable record there is no other (consensus rule 23). The answer tells the leader where to go
 * on, and leaves when what it says is durable.
 */
import { acceptance, acceptLeader } from "./follower.js";
import { isPossibleSnapshot } from "./messages/message-check.js";
import { advanceCommit, restartFromSnapshot, type State } from "./state.js";
import type { InstalledSnapshot, NodeId } from "./types.js";

/** `snapshot` is durable here; the leader `from` of `term` sent it on its connection `epoch`. */
export function onSnapshotReceived(
  state: State,
  from: NodeId,
  term: number,
  epoch: number,
  snapshot: InstalledSnapshot,
): void {
  if (!isPossibleSnapshot(snapshot, from, term, epoch, state.id, state.knownTerm)) return;
  if (term < state.term) return;
  if (!acceptLeader(state, from, term)) return;
  const { log, commitIndex, compaction } = state;
  const { index } = snapshot;
  if (index > commitIndex) {
    if (log.matches(index, snapshot.term)) {
      // The log holds all of it: nothing to replace.
      advanceCommit(state, index);
    } else {
      // Terms never fall along the log of a leader, which holds what is committed here.
      if (snapshot.term < log.term(commitIndex)) return;
      if (!compaction.isResetPending) reset(state, snapshot);
    }
  }
  const matchIndex = Math.min(index, state.commitIndex);
  state.outbox.sendDurable(acceptance(state, from, epoch, matchIndex));
}

function reset(state: State, snapshot: InstalledSnapshot): void {
  const { log, configurations, durability, compaction, outbox } = state;
  const { index, term, configuration } = snapshot;
  log.reset(index, term);
  configurations.reset(index, configuration);
  durability.onReset();
  compaction.request(snapshot, index + 1, true);
  restartFromSnapshot(state, index);
  outbox.restore(snapshot);
}
