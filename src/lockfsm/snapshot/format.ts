/**
 * The format of snapshots, whose version is the version of the model. A snapshot is a sequence of
 * blocks. A chunk that the table produces is one block, but a restore accepts the bytes in any
 * slices.
 *
 *     block     length of the body, checksum; 4 bytes each, the higher byte first; body
 *     checksum  of the body, begun with the block's position in the sequence and the index of the
 *               snapshot: one altered byte of a body is always found, and a block that belongs
 *               elsewhere all but once in four thousand million
 *
 * Bodies are values in the canonical subset of msgpack (`protocol`, `writer.ts`). The first begins:
 *
 *     "holdfast table", version, the fields of `BEGINNING`
 *
 * The rest are records, each a kind and its fields; no record is split between blocks.
 * `record-schema.ts` declares them all. A reader refuses any other version and an unknown kind,
 * because a table that lacks something is not the same table.
 */
import { HoldfastError } from "../../errors/index.js";

export const MAGIC = "holdfast table";

/** What times, tokens and numbers in the records of a snapshot are compared with. */
export interface Moment {
  readonly stamp: number;
  readonly nextToken: number;
  readonly nextNumber: number;
  readonly nextIdentity: number;
  readonly nextCredential: number;
}

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
