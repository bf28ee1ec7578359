/**
 * What sessions, claims and closings take of the table, for the limits `bytesPerSessionMax` and
 * `tableBytesMax`. Names, keys and values are counted by their length in UTF-16 code units, which is
 * their bytes where all is ASCII, and each record by a fixed number, so that many small ones count as
 * well. Every node comes to the same sums. What memory a process uses is never looked at here.
 */
import type { Place } from "./key.js";

/** Of a session, of each key of a claim or closing, of a limit that was set. */
const RECORD_BYTES = 64;

export function bytesOfName(name: string): number {
  return RECORD_BYTES + name.length;
}

interface Described {
  readonly name: string;
  readonly metadata: string;
}

/** Of a session without its claims. */
export function bytesOfSession({ name, metadata }: Described): number {
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
