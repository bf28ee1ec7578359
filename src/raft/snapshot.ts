/**
 * Snapshots in place of the log's beginning, taken here, or in place of the whole log that is too
 * far behind, sent by a leader (thesis, 5.3). Nothing newer is ever overwritten: what the node
 * holds or has committed stays, and between an installed snapshot and its durable record there is
 * no other (consensus rule 23). The answer tells the leader where to go on, and leaves when what it
 * says is durable.
 */
import { assert } from "../assert.js";
import { acceptance, acceptLeader } from "./follower.js";
import { isPossibleSnapshot } from "./messages/message-check.js";
import { advanceCommit, restartFromSnapshot, type State } from "./state.js";
import type { InstalledSnapshot, NodeId, SnapshotPoint } from "./types.js";

/** A snapshot taken here is durable, and entries before `keepFrom` are needed by nobody. */
export function compact(state: State, snapshot: SnapshotPoint, keepFrom: number): void {
  const { compaction, log, appliedIndex } = state;
  const { index, term } = snapshot;
  assert(
    Number.isSafeInteger(keepFrom) && keepFrom > 0 && keepFrom <= index + 1,
    () => `snapshot ${index}, kept from ${keepFrom}`,
  );
  if (!compaction.isNewer(snapshot)) return;
  assert(index <= appliedIndex, () => `snapshot ${index}, applied ${appliedIndex}`);
  assert(log.matches(index, term), () => `snapshot ${index} of term ${term} is not in the log`);
  compaction.request(snapshot, keepFrom, false);
}

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
      if (!compaction.isResetPending) {
        restartFromSnapshot(state, snapshot);
        state.outbox.restore(snapshot);
      }
    }
  }
  const matchIndex = Math.min(index, state.commitIndex);
  state.outbox.sendDurable(acceptance(state, from, epoch, matchIndex));
}
