/**
 * The proof that a holder shows to the resource it writes to: the token of its lock, and how it
 * holds the key. A `Lock` of the client is such a claim; only these three fields are sent over a
 * wire. Must never import the client: a resource can guard itself without being one.
 */

const MODES = ["exclusive", "shared", "permits"] as const;
export type ClaimMode = (typeof MODES)[number];

/** The claim of a lock: `lock` itself if it has one key, otherwise `claimOf(lock, key)`. */
export interface Claim {
  /** `lock.token`, read again for each write: an upgrade replaces it. 1 – 2^53 − 1. */
  readonly token: number;
  readonly mode: ClaimMode;
  /** For permits: the held slots of the semaphore. Ignored for locks. */
  readonly slots?: readonly number[] | undefined;
}

/** The part of the client's `Lock` that `claimOf` reads. */
export interface HeldKeys {
  readonly token: number;
  readonly items: readonly {
    readonly key: string;
    readonly mode: ClaimMode;
    readonly slots: readonly number[];
  }[];
}

/** The largest number of permits in one acquire. */
const SLOTS_MAX = 1_024;
const SLOT_MAX = 999_999;

/**
 * The claim of `lock` on one of its keys, for locks with several keys: each key has its own mode
 * and slots. Throws `RangeError` if the lock does not have the key.
 */
export function claimOf(lock: HeldKeys, key: string): Claim {
  const item = lock.items.find((candidate) => candidate.key === key);
  if (item === undefined) {
    const held = lock.items.map((candidate) => JSON.stringify(candidate.key)).join(", ");
    throw new RangeError(`the lock does not have the key ${JSON.stringify(key)}; it has ${held}`);
  }
  return { token: lock.token, mode: item.mode, slots: item.slots };
}

/**
 * A validated copy, with slots ascending. Throws `TypeError` or `RangeError`: a malformed claim
 * must never pass a gate, nor be treated as merely late.
 */
export function checkedClaim({ token, mode, slots = [] }: Claim): Claim {
  if (typeof token !== "number") throw new TypeError(`token ${String(token)} is not a number`);
  if (!Number.isSafeInteger(token) || token < 1) {
    throw new RangeError(`token ${token} is not a whole number from 1 to 2^53 - 1`);
  }
  if (!MODES.includes(mode)) {
    throw new TypeError(`mode ${JSON.stringify(mode)} is not exclusive, shared or permits`);
  }
  if (mode !== "permits") return { token, mode };
  if (!Array.isArray(slots) || slots.length === 0 || slots.length > SLOTS_MAX) {
    throw new RangeError(`permits need 1 to ${SLOTS_MAX} slots`);
  }
  for (const slot of slots) {
    if (!Number.isInteger(slot) || slot < 0 || slot > SLOT_MAX) {
      throw new RangeError(`slot ${String(slot)} is not a whole number from 0 to ${SLOT_MAX}`);
    }
  }
  const ascending = [...new Set(slots)].sort((one, other) => one - other);
  return { token, mode, slots: ascending };
}
