/**
 * The part of DER that certificates need (ITU-T X.690, 8 and 10): writes elements, and splits bytes
 * into elements. Strangers make the bytes that are read, so the reader must accept only the one form
 * that DER has for each value, and must never throw.
 */
import { assert } from "../errors/index.js";

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectId: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** Added to the number of a context-specific tag: with a plain value, and with elements inside. */
export const CONTEXT = 0x80;
export const CONTEXT_CONSTRUCTED = 0xa0;

/** The low bits of the first byte of a tag that has more than one. */
const LONG_TAG = 0x1f;
const LENGTH_BYTES_MAX = 4;

export function element(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const content = Buffer.concat(parts);
  return Buffer.concat([Uint8Array.of(tag), lengthBytes(content.length), content]);
}

export function sequence(...parts: readonly Uint8Array[]): Uint8Array {
  return element(TAG.sequence, ...parts);
}

/** A number of 0 or more, given as bytes with the highest first. */
export function unsignedInteger(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first < 0 ? Uint8Array.of(0) : bytes.subarray(first);
  const isHigh = (digits[0] ?? 0) >= 0x80;
  return element(TAG.integer, isHigh ? Uint8Array.of(0) : Uint8Array.of(), digits);
}

/** `2.5.29.17` */
export function objectId(text: string): Uint8Array {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  return element(TAG.objectId, Uint8Array.from([first * 40 + second, ...rest].flatMap(base128)));
}

/** In whole seconds, as RFC 5280, 4.1.2.5 requires: until 2049 the year has two digits. */
export function time(at: Date): Uint8Array {
  const year = at.getUTCFullYear();
  assert(
    year >= 1950 && year <= 9999,
    () => `a certificate cannot have a time in the year ${year}`,
  );
  const digits = `${at.toISOString().replace(/[-:T]/g, "").slice(0, 14)}Z`;
  if (year < 2050) return element(TAG.utcTime, Buffer.from(digits.slice(2)));
  return element(TAG.generalizedTime, Buffer.from(digits));
}

/** `unused`: how many bits of the last byte do not count. */
export function bitString(bytes: Uint8Array, unused = 0): Uint8Array {
  return element(TAG.bitString, Uint8Array.of(unused), bytes);
}

export interface Element {
  readonly tag: number;
  readonly content: Uint8Array;
  /** With tag and length. */
  readonly whole: Uint8Array;
}

/** The elements that `bytes` consist of; `undefined` if they are not DER. */
export function elementsIn(bytes: Uint8Array): Element[] | undefined {
  const elements: Element[] = [];
  for (let rest = bytes; rest.length > 0; ) {
    const next = firstElement(rest);
    if (next === undefined) return undefined;
    elements.push(next);
    rest = rest.subarray(next.whole.length);
  }
  return elements;
}

/** The elements inside the only element of `bytes`; `undefined` if that has another tag. */
export function insideOf(bytes: Uint8Array, tag: number): Element[] | undefined {
  const [only, ...others] = elementsIn(bytes) ?? [];
  if (only?.tag !== tag || others.length > 0) return undefined;
  return elementsIn(only.content);
}

function firstElement(bytes: Uint8Array): Element | undefined {
  const [tag = LONG_TAG, short = 0x80] = bytes;
  if ((tag & LONG_TAG) === LONG_TAG) return undefined;
  const count = short < 0x80 ? 0 : short - 0x80;
  // A count of 0 is the indefinite length, which only BER has.
  if (short >= 0x80 && (count === 0 || count > LENGTH_BYTES_MAX)) return undefined;
  const digits = bytes.subarray(2, 2 + count);
  const length = count === 0 ? short : digits.reduce((value, byte) => value * 256 + byte, 0);
  const isShortest = count === 0 || (length >= 0x80 && digits[0] !== 0);
  const end = 2 + count + length;
  if (!isShortest || digits.length < count || end > bytes.length) return undefined;
  return { tag, content: bytes.subarray(2 + count, end), whole: bytes.subarray(0, end) };
}

function lengthBytes(length: number): Uint8Array {
  if (length < 0x80) return Uint8Array.of(length);
  const digits: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  return Uint8Array.of(0x80 + digits.length, ...digits);
}

function base128(value: number): number[] {
  const digits = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) {
    digits.unshift((rest % 128) + 128);
  }
  return digits;
}
