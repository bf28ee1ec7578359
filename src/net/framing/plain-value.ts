/**
 * Finds the end of one msgpack value without decoding it, and refuses input that must not reach a
 * general decoder: extension types (msgpackr reads record definitions, which compile code, even if
 * records are off), the unused type, deep nesting, and lengths beyond the bytes present.
 *
 * It is used for the payloads of answers and for messages of newer servers. It accepts more than
 * the canonical form of `protocol`: floats, negative numbers and any map keys.
 */
import { ProtocolError } from "../../protocol/index.js";

/** The deepest nesting of arrays and maps in a payload or an unknown message. */
const PLAIN_NESTING_MAX = 32;

/** Bytes of the length or number after a type byte of 0xc0 or more; -1 for refused types. */
const TAIL_BYTES: readonly number[] = [
  0, -1, 0, 0, 1, 2, 4, -1, -1, -1, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, -1, -1, -1, -1, -1, 1, 2, 4, 2, 4,
  2, 4,
];

/**
 * The offset after the value that begins at `at`.
 * @throws {ProtocolError} when the value is cut off, nested too deeply or of a refused type
 */
export function plainValueEnd(bytes: Uint8Array, at: number, depth = 0): number {
  const type = bytes[at];
  if (type === undefined) throw new ProtocolError("cut off", at);
  if (type < 0x80 || type >= 0xe0) return at + 1;
  if (type < 0x90) return entriesEnd(bytes, at, at + 1, 2 * (type & 0x0f), depth);
  if (type < 0xa0) return entriesEnd(bytes, at, at + 1, type & 0x0f, depth);
  if (type < 0xc0) return within(bytes, at, at + 1 + (type & 0x1f));
  const tail = TAIL_BYTES[type - 0xc0] as number;
  if (tail < 0) throw new ProtocolError(`type 0x${type.toString(16)} is not in use`, at);
  const after = within(bytes, at, at + 1 + tail);
  if (type >= 0xde) return entriesEnd(bytes, at, after, 2 * number(bytes, at + 1, tail), depth);
  if (type >= 0xdc) return entriesEnd(bytes, at, after, number(bytes, at + 1, tail), depth);
  const hasContent = type >= 0xd9 || (type >= 0xc4 && type <= 0xc6);
  return hasContent ? within(bytes, at, after + number(bytes, at + 1, tail)) : after;
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
