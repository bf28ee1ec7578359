/**
 * The bytes of a command entry, and of its records, which nodes forward.
 *
 * entry   = version of the model u8, stamp u64, wallMs u64, count u32, record × count   (big endian)
 * record  = session u64, epoch u32, length u32, command bytes
 *
 * A record of no session (session 0: commands that attach, and orders) has the number of its
 * connection's credential in place of the epoch. After the bytes of a command that attaches comes
 * its origin, as its client cannot know it ("codec/origin.ts"). The node sets all of these; no client
 * can.
 *
 * A follower forwards records. The leader puts the records of many nodes after one header without
 * reading them. `stamp` is the cluster clock; `wallMs` is the leader's wall clock, for display and
 * for the first token of a new cluster. An entry without records only carries time.
 */
import { assert } from "../errors/index.js";
import { STAMP_MAX } from "./cluster-time.js";
import { WALL_MS_MAX } from "./limits.js";
import { MODEL_VERSION } from "./model-version.js";

export const BATCH_HEADER_BYTES = 21;
export const RECORD_HEADER_BYTES = 16;

export interface BatchHeader {
  readonly stamp: number;
  readonly wallMs: number;
  readonly count: number;
}

const TWO_32 = 2 ** 32;
/** High halves from here on mean a number beyond 2^53 − 1. */
const SAFE_HIGH_END = 2 ** 21;

/**
 * Writes one record at `offset`, where the caller must have made room. Returns the end of the
 * record.
 */
export function writeRecord(
  target: Uint8Array,
  view: DataView,
  offset: number,
  session: number,
  epoch: number,
  bytes: Uint8Array,
): number {
  view.setUint32(offset, Math.floor(session / TWO_32));
  view.setUint32(offset + 4, session >>> 0);
  view.setUint32(offset + 8, epoch);
  view.setUint32(offset + 12, bytes.length);
  target.set(bytes, offset + RECORD_HEADER_BYTES);
  return offset + RECORD_HEADER_BYTES + bytes.length;
}

/** Writes the header alone: callers lay out an entry themselves, to copy its records only once. */
export function writeBatchHeader(
  view: DataView,
  stamp: number,
  wallMs: number,
  count: number,
): void {
  view.setUint8(0, MODEL_VERSION);
  writeUint64(view, 1, stamp);
  writeUint64(view, 9, wallMs);
  view.setUint32(17, count);
}

/**
 * How many records there are from `offset` to the end of `bytes`; −1 unless these are whole
 * records, one after the other, with valid session numbers. The contents of the records are not
 * read.
 */
export function countRecords(bytes: Uint8Array, offset: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let count = 0;
  let at = offset;
  while (at + RECORD_HEADER_BYTES <= bytes.length) {
    if (view.getUint32(at) >= SAFE_HIGH_END) return -1;
    at += RECORD_HEADER_BYTES + view.getUint32(at + 12);
    count += 1;
  }
  return at === bytes.length ? count : -1;
}

/**
 * The header of an entry that another node sent; `undefined` unless an entry of these bytes can be
 * applied. The commands in it do not matter: one that cannot be decoded has no effect, on any node
 * of this model.
 */
export function checkBatch(bytes: Uint8Array): BatchHeader | undefined {
  if (bytes.length < BATCH_HEADER_BYTES || bytes[0] !== MODEL_VERSION) return undefined;
  const header = decodeBatchHeader(bytes);
  const { stamp, wallMs, count } = header;
  if (stamp === 0 || stamp > STAMP_MAX || wallMs > WALL_MS_MAX) return undefined;
  return countRecords(bytes, BATCH_HEADER_BYTES) === count ? header : undefined;
}

/**
 * Reads the header of an entry of the log. Bytes from another node must have been checked before.
 */
export function decodeBatchHeader(bytes: Uint8Array): BatchHeader {
  assert(bytes.length >= BATCH_HEADER_BYTES, () => `batch of ${bytes.length} bytes`);
  assert(bytes[0] === MODEL_VERSION, () => `an entry of model ${bytes[0]}, not ${MODEL_VERSION}`);
  // Without a view, which costs more than reading the few numbers.
  return { stamp: uint64At(bytes, 1), wallMs: uint64At(bytes, 9), count: uint32At(bytes, 17) };
}

/** A copy of the records of `bytes` for whose number, counted from 0, `keeps` returns true. */
export function selectRecords(bytes: Uint8Array, keeps: (number: number) => boolean): Uint8Array {
  const kept = new Uint8Array(bytes.length);
  let length = 0;
  let number = 0;
  forEachRecord(bytes, 0, (_session, _epoch, start, end) => {
    if (keeps(number)) {
      kept.set(bytes.subarray(start - RECORD_HEADER_BYTES, end), length);
      length += RECORD_HEADER_BYTES + end - start;
    }
    number += 1;
  });
  return kept.slice(0, length);
}

/**
 * Visits the records from `offset` to the end of `bytes`; for an entry pass `BATCH_HEADER_BYTES`.
 * The command is in `[start, end)`.
 */
export function forEachRecord(
  bytes: Uint8Array,
  offset: number,
  visit: (session: number, epoch: number, start: number, end: number) => void,
): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = offset;
  while (at < bytes.length) {
    assert(at + RECORD_HEADER_BYTES <= bytes.length, () => `record header cut at ${at}`);
    const session = readUint64(view, at);
    const epoch = view.getUint32(at + 8);
    const length = view.getUint32(at + 12);
    const start = at + RECORD_HEADER_BYTES;
    assert(start + length <= bytes.length, () => `record of ${length} bytes cut at ${start}`);
    visit(session, epoch, start, start + length);
    at = start + length;
  }
}

function writeUint64(view: DataView, offset: number, value: number): void {
  view.setUint32(offset, Math.floor(value / TWO_32));
  view.setUint32(offset + 4, value >>> 0);
}

function uint64At(bytes: Uint8Array, offset: number): number {
  return uint32At(bytes, offset) * TWO_32 + uint32At(bytes, offset + 4);
}

function uint32At(bytes: Uint8Array, offset: number): number {
  const high = ((bytes[offset] as number) << 8) | (bytes[offset + 1] as number);
  const low = ((bytes[offset + 2] as number) << 8) | (bytes[offset + 3] as number);
  return ((high << 16) | low) >>> 0;
}

function readUint64(view: DataView, offset: number): number {
  return view.getUint32(offset) * TWO_32 + view.getUint32(offset + 4);
}
