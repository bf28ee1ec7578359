/** The limits of what sessions and the table take and hold; see `sizes.ts`. */
import type { Session } from "../records/session.js";
import type { TableState } from "../records/state.js";

/** Whether the session may not enlarge the table any more. What it has may still change. */
export function isOverfull(state: TableState, session: Session): boolean {
  return session.bytes >= state.settings.bytesPerSessionMax || isTableFull(state);
}

/** Whether the session may hold nothing more. What it left closed counts as if it were held. */
export function hasAllHolds({ settings }: TableState, session: Session): boolean {
  return session.holdCount + session.closingCount >= settings.holdsPerSessionMax;
}

export function isTableFull(state: TableState): boolean {
  return state.bytes >= state.settings.tableBytesMax;
}
