/**
 * Writes and reads `append` and `appendReply`, which every command needs, without their layouts: a
 * layout calls a function for each field, and this checks once for all fields of fixed length. Bytes
 * and refusals are the same as by `message-layout.ts`; a test compares the two.
 */
import { assert } from "../../errors/index.js";
import {
  type AppendReply,
  type AppendRequest,
  ENTRY_KINDS,
  type Entry,
  type EntryKind,
} from "../../raft/index.js";
import type { PeerFrame } from "./frame.js";
import { type FrameCursor, fail } from "./frame-cursor.js";

/** Five numbers, and the count of entries. */
const APPEND_BYTES = 44;
/** Kind, term and the length of the data. */
const ENTRY_BYTES = 13;
/** Two numbers, two flags, four numbers. */
const REPLY_BYTES = 50;
const TWO_32 = 2 ** 32;
/** High halves from here on mean a number beyond 2^53 − 1. */
const SAFE_HIGH_END = 2 ** 21;

const NUMBER_OF = Object.fromEntries(ENTRY_KINDS.map((kind, number) => [kind, number])) as Readonly<
  Record<EntryKind, number>
>;

export function writeAppend(frame: PeerFrame, message: AppendRequest): void {
  const { entries, prevLogIndex } = message;
  const { length: count } = entries;
  let size = APPEND_BYTES;
  for (let i = 0; i < count; i += 1) size += ENTRY_BYTES + (entries[i] as Entry).data.length;
  let at = frame.advance(size);
  const { bytes, view } = frame;
  setUint64(view, at, message.term);
  setUint64(view, at + 8, message.epoch);
  setUint64(view, at + 16, prevLogIndex);
  setUint64(view, at + 24, message.prevLogTerm);
  setUint64(view, at + 32, message.commitIndex);
  view.setUint32(at + 40, count);
  at += APPEND_BYTES;
  for (let i = 0; i < count; i += 1) {
    const { index, kind, term, data } = entries[i] as Entry;
    if (index !== prevLogIndex + 1 + i) gap(index, prevLogIndex + 1 + i);
    bytes[at] = NUMBER_OF[kind];
    setUint64(view, at + 1, term);
    view.setUint32(at + 9, data.length);
    bytes.set(data, at + ENTRY_BYTES);
    at += ENTRY_BYTES + data.length;
  }
  assert(prevLogIndex + count <= Number.MAX_SAFE_INTEGER, () => "entries after the last index");
}

export function readAppend(cursor: FrameCursor): AppendRequest {
  const { view, sender: from, receiver: to } = cursor;
  const at = cursor.advance(APPEND_BYTES);
  const term = uint64(view, at);
  const epoch = uint64(view, at + 8);
  const prevLogIndex = uint64(view, at + 16);
  const prevLogTerm = uint64(view, at + 24);
  const commitIndex = uint64(view, at + 32);
  const count = view.getUint32(at + 40);
  const last = prevLogIndex + count;
  if (last > Number.MAX_SAFE_INTEGER) fail("entries after the last index");
  const entries: Entry[] = [];
  for (let index = prevLogIndex + 1; index <= last; index += 1) {
    const entryAt = cursor.advance(ENTRY_BYTES);
    const number = view.getUint8(entryAt);
    const kind = ENTRY_KINDS[number];
    if (kind === undefined) return fail(`${number} is none of ${ENTRY_KINDS.join(", ")}`);
    const entryTerm = uint64(view, entryAt + 1);
    const data = cursor.raw(view.getUint32(entryAt + 9));
    entries.push({ index, kind, term: entryTerm, data });
  }
  const type = "append";
  return { type, from, to, term, epoch, prevLogIndex, prevLogTerm, commitIndex, entries };
}

export function writeAppendReply(frame: PeerFrame, message: AppendReply): void {
  const { success, needsSnapshot } = message;
  assert(!(success && needsSnapshot), () => "a success that needs a snapshot");
  const at = frame.advance(REPLY_BYTES);
  const { bytes, view } = frame;
  setUint64(view, at, message.term);
  setUint64(view, at + 8, message.epoch);
  bytes[at + 16] = success ? 1 : 0;
  bytes[at + 17] = needsSnapshot ? 1 : 0;
  setUint64(view, at + 18, message.matchIndex);
  setUint64(view, at + 26, message.rejectedIndex);
  setUint64(view, at + 34, message.hintIndex);
  setUint64(view, at + 42, message.hintTerm);
}

export function readAppendReply(cursor: FrameCursor): AppendReply {
  const { view, sender: from, receiver: to } = cursor;
  const at = cursor.advance(REPLY_BYTES);
  const success = flag(view, at + 16);
  const needsSnapshot = flag(view, at + 17);
  if (success && needsSnapshot) fail("a success that needs a snapshot");
  return {
    type: "appendReply",
    from,
    to,
    term: uint64(view, at),
    epoch: uint64(view, at + 8),
    success,
    needsSnapshot,
    matchIndex: uint64(view, at + 18),
    rejectedIndex: uint64(view, at + 26),
    hintIndex: uint64(view, at + 34),
    hintTerm: uint64(view, at + 42),
  };
}

/** Apart, so that no entry costs a closure. */
function gap(index: number, expected: number): void {
  assert(false, () => `${index} sent instead of ${expected}`);
}

function setUint64(view: DataView, at: number, value: number): void {
  view.setUint32(at, Math.floor(value / TWO_32));
  view.setUint32(at + 4, value >>> 0);
}

function flag(view: DataView, at: number): boolean {
  const value = view.getUint8(at);
  if (value > 1) fail(`${value} instead of a boolean at byte ${at}`);
  return value === 1;
}

function uint64(view: DataView, at: number): number {
  const high = view.getUint32(at);
  if (high >= SAFE_HIGH_END) fail(`number beyond 2^53 at byte ${at}`);
  return high * TWO_32 + view.getUint32(at + 4);
}
