/**
 * What an executed command does to its session: it renews the lease, and its answer is stored, unless it
 * creates a hold.
 */
import type { Result } from "../../protocol/index.js";
import { Slot } from "../records/reply-window.js";
import type { Request, Session } from "../records/session.js";
import type { TableState } from "../records/state.js";

/**
 * Renews a lease. This is the one rule by which that happens (semantics.md, 3.3): for a command
 * that is executed now, or a keepalive, never for a stored reply that is found. Nothing else may
 * move the end of a lease, because clients compute from the stamps of executed commands how long
 * they can trust theirs.
 */
export function renewLease(state: TableState, session: Session): void {
  const dueAt = state.stamp + session.ttlMs;
  const before = session.dueAt;
  if (dueAt <= before) return;
  session.change().dueAt = dueAt;
  state.due.postponed(session, before);
}

/**
 * Sends the answer to the command that was just executed, and stores it until the client says that
 * it has read it.
 */
export function store(state: TableState, session: Session, sequence: number, result: Result): void {
  const { stamp, copies } = state;
  session.replies.add(new Slot<Request>(sequence, stamp, "reply", result, copies.latest));
  state.reply(session, sequence, result);
}
