/** Answers to commands that bring no hold: stored until the client says that it has read them. */
import type { Result } from "../../protocol/index.js";
import { Slot } from "../records/reply-window.js";
import type { Session } from "../records/session.js";
import type { TableState } from "../records/state.js";

/** Stores and tells the answer to the command that was executed last. */
export function store(state: TableState, session: Session, sequence: number, result: Result): void {
  const { stamp, copies } = state;
  session.replies.add(new Slot(sequence, stamp, "reply", result, copies.latest));
  state.reply(session, sequence, result);
}
