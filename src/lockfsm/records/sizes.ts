/**
 * What sessions, claims and closings take of the table, for the limits `bytesPerSessionMax` and
 * `tableBytesMax`. Names, keys and values are counted by their length in UTF-16 code units, which is
 * their bytes where all is ASCII, and each record by a fixed number, so that many small ones count as
 * well. Every node comes to the same sums. What memory a process uses is never looked at here.
 */
import type { Hold } from "./hold.js";
import type { Place } from "./place.js";
import type { Session } from "./session.js";
import type { TableState } from "./state.js";

/** Of a session, of each key of a claim or closing, of a limit that was set. */
const RECORD_BYTES = 64;

export function bytesOfName(name: string): number {
  return RECORD_BYTES + name.length;
}

/** Of a session without its claims. */
export function bytesOfSession({ name, metadata }: Session): number {
  return RECORD_BYTES + name.length + metadata.length;
}

/** Of the keys of a claim, from `first` on. */
export function bytesOfPlaces(first: Place | undefined): number {
  let bytes = 0;
  for (let place = first; place !== undefined; place = place.sibling) {
    bytes += bytesOfName(place.key.name);
  }
  return bytes;
}

/** Of a hold, or of a lone one with that key. */
export function bytesOfHold(content: Hold | string): number {
  if (typeof content === "string") return bytesOfName(content);
  return bytesOfPlaces(content.firstPlace) + content.value.length;
}

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
