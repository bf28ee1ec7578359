/**
 * Snapshots that replace the beginning of the log, taken here, or the whole log if it is too old,
 * sent by a leader (thesis, 5.3). Nothing newer is ever overwritten: entries that the node holds or
 * has committed stay, and no other snapshot comes between an installed one and its durable record
 * (consensus rule 23). The answer says where the leader should continue, and leaves when what it
 * says is durable.
 */
import { assert } from "../errors/index.js";
import { acceptance, acceptLeader } from "./follower.js";
import { isPossibleSnapshot } from "./messages/message-check.js";
import { advanceCommit, restartFromSnapshot, type State } from "./state.js";
import type { InstalledSnapshot, NodeId, SnapshotPoint } from "./types.js";

/** A snapshot taken here is durable, and no one needs entries before `keepFrom`. */
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
      // The log holds all of it: nothing is replaced.
      advanceCommit(state, index);
    } else {
      // Terms never fall along the log of a leader, which contains everything committed here.
      if (snapshot.term < log.term(commitIndex)) return;
      if (!compaction.isResetPending) {
        restartFromSnapshot(state, snapshot);
        state.outbox.restore(snapshot);
      }
    }
  }
  // A snapshot of an entry that was never committed here: nothing is known to match.
  if (index <= commitIndex && index >= log.baseIndex && !log.matches(index, snapshot.term)) return;
  const matchIndex = Math.min(index, state.commitIndex);
  state.outbox.sendDurable(acceptance(state, from, epoch, matchIndex));
}
