/**
 * The format of snapshots, whose version is that of the model. A snapshot is a sequence of blocks.
 * A chunk that the table produces is one block, but a restore accepts the bytes in any slices.
 *
 *     block     length of the body, checksum; 4 bytes each, the higher byte first; body
 *     checksum  of the body, begun with the block's position in the sequence and the index of the
 *               snapshot: one altered byte of a body is always found, and a block that belongs
 *               elsewhere all but once in four thousand million
 *
 * Bodies are values in the canonical subset of msgpack (`protocol`, `writer.ts`). The first begins:
 *
 *     "holdfast table", version, index, stamp, next token, next number, left at, quiet rest,
 *     [settings, in their order],
 *     next identity, next credential, revision of access, count of orders of admins, of limits,
 *     [sessions, holds, requests, items of the work queue, closings, semaphores,
 *     identities, grants, credentials, ended leases]
 *
 * *Left at* is the wall clock from which on the cluster that this one was restored from may have
 * given tokens from the next token on; 0 once that is settled. *Quiet rest* is how long no session
 * can be opened.
 *
 * The rest are records, each a kind and its fields; no record is split between blocks. *Ago* means
 * the stamp of the snapshot less that of the field, *back* means its next token less the token, and
 * *or 0* means 0 if there is none.
 *
 *     1 session     id, digest of its nonce, name, metadata, identity, credential, node and
 *                   address of its origin, ttlMs, dueAt, attempt, attachEpoch, attachedAt ago,
 *                   attachedSequence, highestSequence, mark, reason of its end + 1 and who
 *                   ordered it or 0, forced end (dueAt, number, reason, who) or 0, count of losses, (sequence, back, reason) of each
 *     2 of          id: the session of the slots, holds and requests that follow, until the next
 *                   record of kind 1 or 2; its own record comes before. 0: holds of owners
 *     3 slot        sequence, stamp ago, state, result
 *     4 hold        back, owner, sequence, grantedAt ago, flags (1 contended, 2 extras), waitedMs,
 *                   extras if there are any, items; or flag 4 and the name of the one lock held exclusively
 *     5 request     number, kind, (rank below enqueuedAt, options) of an acquire or a take, (digest of
 *                   its owner, request, name, ttlMs, identity and its name, number in its session, stamp ago of its slot) of a take, or the sequence of
 *                   the hold of an upgrade, owner, sequence, enqueuedAt ago, waitMs + 1 or 0
 *                   without end, 1 if it may be refused, 1 if it is unchecked, items; the slot of
 *                   its sequence, which is waiting, is not stored
 *     6 work key    name, number of the first request not reached or 0, where to continue refusing
 *                   oversized ones (rank above the lowest, number) or 0
 *     7 work session: id of one whose record came before
 *     8 end         count of slots; nothing follows
 *     9 closing     token back, session of its hold or 0, identity + 1 or 0, number, dueAt, items
 *    10 semaphore   name, limit, 1 if it was set
 *    11 work request: id of its session, sequence. Records 6, 7 and 11 are in the order of the work
 *                   queue
 *
 *    12 identity   number, name, 1 if it was removed and its sessions are being swept
 *    13 grant      key, 1 if it is a prefix, level; of the last identity
 *    14 credential number, label, kind, digest or "", expiresWallMs, createdWallMs; of the last
 *                  identity
 *    15 work identity: number of one that was removed, who removed it
 *    16 ended lease key, identity + 1 or 0 of a bearer, digest of its owner, request that was given back or "",
 *                  reason, endedAt ago; in the order of their ends
 *
 *     items         count, then for each its mode and its key, and of a semaphore the permits
 *                   wanted, or the slots held
 *     extras        value, maxHoldMs, minHoldMs, lockDelayMs, revokedAt or 0, its reason,
 *                   who revoked it or "", lease (1, or 2 of a bearer, digest of its owner, request
 *                   or "", name, ttlMs, identity and its name, endsAt or 0, session and sequence of
 *                   its last take or 0) or 0, number of its due time or 0
 *     options       0, or 1 and all of them in the order of their numbers on the wire
 *     result        status and its fields, tokens as back
 *
 * Apart from this, records can be in any order. Data that follow from the rest are not stored:
 * keys, the order of queues, which requests were reached, due times, sums, free slots, owners, what
 * counts against a session or an identity, and which session a nonce finds. No secret is stored
 * (`src/protocol/sha256.ts`), because any client may save a snapshot.
 *
 * Any addition, whether a field of a record, a kind or a setting, must raise the version
 * (`model-version.ts`). A reader refuses any other version and an unknown kind, because a table
 * that lacks something is not the same table.
 */
import { HoldfastError } from "../../errors/index.js";

export const MAGIC = "holdfast table";

export const KIND = {
  session: 1,
  of: 2,
  slot: 3,
  hold: 4,
  request: 5,
  workKey: 6,
  workSession: 7,
  end: 8,
  closing: 9,
  semaphore: 10,
  workRequest: 11,
  identity: 12,
  grant: 13,
  credential: 14,
  workIdentity: 15,
  endedLease: 16,
} as const;

/** The states of stored slots, by their numbers. */
export const SLOT_STATES = ["reply", "outcome"] as const;

/** Statuses from here on are `ERROR_NUMBERS`. */
export const REFUSALS_FROM = 16;

/** Whose lease it is. */
export const LEASE_OF_IDENTITY = 1;
export const LEASE_OF_BEARER = 2;

export const HOLD_CONTENDED = 1;
export const HOLD_EXTRAS = 2;
/**
 * A hold with this flag has, instead of its items, the name of the one lock that it holds
 * exclusively.
 */
export const HOLD_LONE = 4;

export const REQUEST_ACQUIRE = 0;
export const REQUEST_UPGRADE = 1;
export const REQUEST_TAKE = 2;
/** No rank is lower. */
export const RANK_LOWEST = -(2 ** 52);

/** Bytes of length and checksum. */
export const BLOCK_HEAD_BYTES = 8;
/** A longer body is damage. */
export const BODY_BYTES_MAX = 16 << 20;

/**
 * Each step maps different states to different states, and therefore different bytes to different
 * sums.
 */
export function checksumOf(body: Uint8Array, ordinal: number, index: number): number {
  let sum = mix(mix(mix(0x811c_9dc5, ordinal), index >>> 0), Math.floor(index / 0x1_0000_0000));
  const { length } = body;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    const high = ((body[at] as number) << 24) | ((body[at + 1] as number) << 16);
    const low = ((body[at + 2] as number) << 8) | (body[at + 3] as number);
    sum = mix(sum, high | low);
  }
  for (; at < length; at += 1) sum = mix(sum, body[at] as number);
  return mix(sum, length) >>> 0;
}

function mix(sum: number, word: number): number {
  const mixed = Math.imul(sum ^ word, 0x9e37_79b1);
  return mixed ^ (mixed >>> 15);
}

/** The error for bytes that are not a snapshot, or not all of one. `what` says where they fail. */
export function corruptSnapshot(what: string): HoldfastError {
  return new HoldfastError("INTERNAL", `corrupt snapshot of the lock table: ${what}`, {
    details: { corrupt: true, reason: what },
  });
}
