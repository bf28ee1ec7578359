/**
 * How keys and values of Redis, which are bytes, are named in the cluster. Bytes become text without
 * loss: valid UTF-8 as itself, and each other byte as the surrogate U+DC00 + byte, which is escaped
 * like a control character (`protocol/lock-names.ts`). So both worlds see the same names, tools can
 * show them, and GET gives back the bytes that SET gave.
 */
import { Buffer, isUtf8 } from "node:buffer";
import {
  escapeName,
  keyOfRedisName,
  redisNameOf,
  unescapeName,
  VALUE_BYTES_MAX,
} from "../../protocol/index.js";
import { RefusedCommand } from "./refusals.js";

/** The surrogate of byte 0. Only bytes from 0x80 on are ever no UTF-8. */
const BYTE_SURROGATES = 0xdc00;
const SURROGATE_OF_BYTE = /[\udc80-\udcff]/;

/** The key of the table for a key of a database. Throws `RefusedCommand` if it is too long. */
export function tableKeyOf(database: number, key: Buffer): string {
  const found = keyOfRedisName({ database, name: textOf(key) });
  if (found !== undefined) return found;
  throw new RefusedCommand(
    "a key is too long: 500 bytes at most, fewer if they have to be escaped",
  );
}

/** The key of Redis that has this key in the table; `undefined`: none. */
export function redisKeyOf(tableKey: string): { database: number; key: Buffer } | undefined {
  const found = redisNameOf(tableKey);
  return found && { database: found.database, key: bytesOf(found.name) };
}

/** The value of a lease, as others see it. Throws `RefusedCommand` if it is too long. */
export function leaseValueOf(value: Buffer): string {
  const text = escapeName(textOf(value));
  if (text.length <= VALUE_BYTES_MAX && Buffer.byteLength(text) <= VALUE_BYTES_MAX - 32)
    return text;
  throw new RefusedCommand(
    "a value is too long: 990 bytes at most, fewer if they have to be escaped",
  );
}

/** The bytes that this value of a lease stands for. */
export function redisValueOf(leaseValue: string): Buffer {
  return bytesOf(unescapeName(leaseValue) ?? leaseValue);
}

/** Who holds by that value in that database. */
export function ownerOf(database: number, leaseValue: string): string {
  return `redis/${database}/${leaseValue}`;
}

function textOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  let text = "";
  let at = 0;
  while (at < bytes.length) {
    const length = sequenceLengthAt(bytes, at);
    if (length === 0) text += String.fromCharCode(BYTE_SURROGATES + (bytes[at] as number));
    else text += bytes.toString("utf8", at, at + length);
    at += Math.max(1, length);
  }
  return text;
}

/** The bytes of the UTF-8 sequence that begins there; 0: none does. */
function sequenceLengthAt(bytes: Buffer, at: number): number {
  const lead = bytes[at] as number;
  const length = lead < 0x80 ? 1 : lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  const end = at + length;
  return end <= bytes.length && isUtf8(bytes.subarray(at, end)) ? length : 0;
}

function bytesOf(text: string): Buffer {
  if (!SURROGATE_OF_BYTE.test(text)) return Buffer.from(text, "utf8");
  const parts: Buffer[] = [];
  for (const character of text) {
    const unit = character.codePointAt(0) as number;
    const isByte = unit >= BYTE_SURROGATES + 0x80 && unit <= BYTE_SURROGATES + 0xff;
    parts.push(isByte ? Buffer.of(unit - BYTE_SURROGATES) : Buffer.from(character, "utf8"));
  }
  return Buffer.concat(parts);
}
