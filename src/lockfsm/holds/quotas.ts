/** The limits on the holds and bytes of sessions and of the table; see `sizes.ts`. */
import type { Session } from "../records/session.js";
import type { TableState } from "../records/state.js";

/** Whether the session may not make the table larger. Its present claims may still change. */
export function isOverfull(state: TableState, session: Session): boolean {
  return session.bytes >= state.settings.bytesPerSessionMax || isTableFull(state);
}

/** Whether the session may hold nothing more. Its closings count as holds. */
export function hasAllHolds({ settings }: TableState, session: Session): boolean {
  return session.holdCount + session.closingCount >= settings.holdsPerSessionMax;
}

export function isTableFull(state: TableState): boolean {
  return state.bytes >= state.settings.tableBytesMax;
}
