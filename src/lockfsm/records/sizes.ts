/**
 * The sizes of sessions, claims and cooldowns in the table, for the limits `bytesPerSessionMax`,
 * `bytesPerIdentityMax` and `tableBytesMax`. Names, keys and values count by their length in UTF-16
 * code units, which is their size in bytes if all is ASCII. Each record also counts a fixed number,
 * so that many small ones count too. Every node computes the same sums. They say nothing about the
 * memory that a process uses.
 */
import type { Place } from "./key.js";

/** Counted for a session, for each key of a claim or cooldown, and for a limit that was set. */
const RECORD_BYTES = 64;

/** Counted for an owner: its digest, and the request that it takes by. */
const OWNER_BYTES = 64;

export function bytesOfName(name: string): number {
  return RECORD_BYTES + name.length;
}

interface Described {
  readonly name: string;
  readonly metadata: string;
}

/** The size of a session without its claims. */
export function bytesOfSession({ name, metadata }: Described): number {
  return RECORD_BYTES + name.length + metadata.length;
}

/** The size of the keys of a claim, from `first` on. */
export function bytesOfPlaces(first: Place | undefined): number {
  let bytes = 0;
  for (let place = first; place !== undefined; place = place.sibling) {
    bytes += bytesOfName(place.key.name);
  }
  return bytes;
}

/** What a hold or wait of an owner counts besides. */
export function bytesOfOwner(owner: { readonly name: string } | undefined): number {
  return owner === undefined ? 0 : OWNER_BYTES + owner.name.length;
}

interface Granted {
  readonly name: string;
  readonly credentials: readonly { readonly label: string }[];
  readonly grants: readonly { readonly key: string }[];
}

/** The bytes of an identity with its credentials and grants. */
export function bytesOfIdentity({ name, credentials, grants }: Granted): number {
  let bytes = bytesOfName(name);
  for (const { label } of credentials) bytes += bytesOfName(label);
  for (const { key } of grants) bytes += bytesOfName(key);
  return bytes;
}
