/**
 * Finds the end of one msgpack value without decoding it, and refuses what must not reach a general
 * decoder: extension types (msgpackr reads record definitions, which compile code, even where
 * records are off), the unused type, deep nesting, lengths beyond the bytes that are there.
 *
 * This is for answers' payloads and for what a newer server may say; it is laxer than the
 * canonical form of `protocol`: floats, negative numbers and any map keys pass.
 */
import { ProtocolError } from "../../protocol/index.js";

/** Arrays and maps around a value, in a payload or an unknown message. */
const PLAIN_NESTING_MAX = 32;

/** Bytes of the length or number behind a type byte from 0xc0 on; -1 for types that are refused. */
const TAIL_BYTES: readonly number[] = [
  0, -1, 0, 0, 1, 2, 4, -1, -1, -1, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, -1, -1, -1, -1, -1, 1, 2, 4, 2, 4,
  2, 4,
];

/** The offset behind the value that begins at `at`. Throws `ProtocolError` for what is refused. */
export function plainValueEnd(bytes: Uint8Array, at: number, depth = 0): number {
  const type = bytes[at];
  if (type === undefined) throw new ProtocolError("cut off", at);
  if (type < 0x80 || type >= 0xe0) return at + 1;
  if (type < 0x90) return entriesEnd(bytes, at, at + 1, 2 * (type & 0x0f), depth);
  if (type < 0xa0) return entriesEnd(bytes, at, at + 1, type & 0x0f, depth);
  if (type < 0xc0) return within(bytes, at, at + 1 + (type & 0x1f));
  const tail = TAIL_BYTES[type - 0xc0] as number;
  if (tail < 0) throw new ProtocolError(`type 0x${type.toString(16)} is not in use`, at);
  const behind = within(bytes, at, at + 1 + tail);
  if (type >= 0xde) return entriesEnd(bytes, at, behind, 2 * number(bytes, at + 1, tail), depth);
  if (type >= 0xdc) return entriesEnd(bytes, at, behind, number(bytes, at + 1, tail), depth);
  const hasContent = type >= 0xd9 || (type >= 0xc4 && type <= 0xc6);
  return hasContent ? within(bytes, at, behind + number(bytes, at + 1, tail)) : behind;
}

function entriesEnd(
  bytes: Uint8Array,
  at: number,
  first: number,
  count: number,
  depth: number,
): number {
  if (depth >= PLAIN_NESTING_MAX) throw new ProtocolError("nested too deeply", at);
  let end = first;
  for (let left = count; left > 0; left--) end = plainValueEnd(bytes, end, depth + 1);
  return end;
}

function within(bytes: Uint8Array, at: number, end: number): number {
  if (end > bytes.length) throw new ProtocolError("cut off", at);
  return end;
}

function number(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let i = 0; i < width; i++) value = value * 256 + (bytes[at + i] as number);
  return value;
}
