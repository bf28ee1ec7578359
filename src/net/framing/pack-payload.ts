/**
 * Packs the payload of an answer: plain data (objects, arrays, strings, numbers, booleans, null) as
 * one msgpack value. An answer can have thousands of lines, and the node does nothing else while it
 * packs it, so packing takes one pass and copies no data.
 *
 * Whole numbers are written as integers, however large, because a client in another language must
 * receive a fencing token as an integer.
 */
import { Packr } from "msgpackr";
import { Writer } from "../../protocol/index.js";

const packr = new Packr({ useRecords: false });
const own = new Writer();
/** A lone surrogate, or one of a pair. A string of one-byte characters contains none. */
const SURROGATE = /[\ud800-\udfff]/;
const LONE_SURROGATES = /\p{Surrogate}/gu;

/** What `writePayload` writes, as bytes of its own. */
export function packPayload(value: unknown): Uint8Array {
  own.reset();
  writePayload(own, value);
  const packed = own.take();
  own.reset();
  return packed;
}

/**
 * Appends plain data to `to`. Omits fields that are `undefined`, and any field named `__proto__`,
 * which no reader could have as a field.
 *
 * @throws {TypeError} for other data
 */
export function writePayload(to: Writer, value: unknown): void {
  switch (typeof value) {
    case "number":
      if (Number.isSafeInteger(value) && value >= 0) to.uint(value);
      else to.raw(packr.pack(isBeyondInt32(value) ? BigInt(value) : value));
      return;
    case "string":
      to.string(SURROGATE.test(value) ? value.replace(LONE_SURROGATES, "\ufffd") : value);
      return;
    case "boolean":
      to.bool(value);
      return;
    case "object":
      if (value === null) to.nil();
      else if (Array.isArray(value)) writeArray(to, value);
      else writeObject(to, value as Readonly<Record<string, unknown>>);
      return;
    default:
      throw new TypeError(`${typeof value} is not plain data`);
  }
}

/** True of whole numbers below the range of an int32, which msgpackr would write as floats. */
function isBeyondInt32(value: number): boolean {
  return Number.isSafeInteger(value) && value < -(2 ** 31);
}

function writeArray(to: Writer, values: readonly unknown[]): void {
  to.arrayHeader(values.length);
  for (const value of values) writePayload(to, value);
}

function writeObject(to: Writer, value: Readonly<Record<string, unknown>>): void {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError("an instance of a class is not plain data");
  }
  const names = Object.keys(value);
  let count = 0;
  for (const name of names) if (isField(name, value[name])) count += 1;
  to.mapHeader(count);
  for (const name of names) {
    const field = value[name];
    if (!isField(name, field)) continue;
    to.string(name);
    writePayload(to, field);
  }
}

function isField(name: string, field: unknown): boolean {
  return field !== undefined && name !== "__proto__";
}
