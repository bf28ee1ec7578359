/**
 * The one rule by which a lease is renewed (semantics.md, 3.3). Nothing else may move the end
 * of a lease: clients compute from the stamps of executed commands how long they may trust theirs.
 */
import type { Session } from "../records/session.js";
import type { TableState } from "../records/state.js";

/** For a command that is executed now, or a keepalive: never for a stored reply that is found. */
export function renewLease(state: TableState, session: Session): void {
  const dueAt = state.stamp + session.ttlMs;
  if (dueAt <= session.dueAt) return;
  session.change().dueAt = dueAt;
  state.due.postponed(session);
}
