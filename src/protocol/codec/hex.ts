/**
 * Nonces are 16 bytes on the wire and 32 lower-case hex digits everywhere else, so that they can be
 * keys of a Map and appear in a log line.
 */
import { assert } from "../../errors/index.js";

const DIGITS = "0123456789abcdef";

/** The bytes of `[start, end)` as lower-case hex digits. */
export function hexOf(bytes: Uint8Array, start: number, end: number): string {
  let hex = "";
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    hex += DIGITS.charAt(byte >> 4) + DIGITS.charAt(byte & 0x0f);
  }
  return hex;
}

/** The bytes of `hex`, pairs of lower-case digits. */
export function bytesOfHex(hex: string): Uint8Array {
  const bytes = new Uint8Array(hex.length >> 1);
  for (let i = 0; i < bytes.length; i++) bytes[i] = digit(hex, 2 * i) * 16 + digit(hex, 2 * i + 1);
  return bytes;
}

function digit(hex: string, index: number): number {
  const value = DIGITS.indexOf(hex.charAt(index));
  assert(value >= 0 && index < hex.length, () => `no lower-case hex digit at ${index}`);
  return value;
}
