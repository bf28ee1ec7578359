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
const writer = new Writer();
/** A lone surrogate, or one of a pair. A string of one-byte characters contains none. */
const SURROGATE = /[\ud800-\udfff]/;
const LONE_SURROGATES = /\p{Surrogate}/gu;

/**
 * Packs plain data. Omits fields that are `undefined`, and any field named `__proto__`, which no
 * reader could have as a field.
 *
 * @throws {TypeError} for other data
 */
export function packPayload(value: unknown): Uint8Array {
  writer.reset();
  write(value);
  const packed = writer.take();
  writer.reset();
  return packed;
}

function write(value: unknown): void {
  switch (typeof value) {
    case "number":
      if (Number.isSafeInteger(value) && value >= 0) writer.uint(value);
      else writer.raw(packr.pack(isBeyondInt32(value) ? BigInt(value) : value));
      return;
    case "string":
      writer.string(SURROGATE.test(value) ? value.replace(LONE_SURROGATES, "\ufffd") : value);
      return;
    case "boolean":
      writer.bool(value);
      return;
    case "object":
      if (value === null) writer.nil();
      else if (Array.isArray(value)) writeArray(value);
      else writeObject(value as Readonly<Record<string, unknown>>);
      return;
    default:
      throw new TypeError(`${typeof value} is not plain data`);
  }
}

/** True of whole numbers below the range of an int32, which msgpackr would write as floats. */
function isBeyondInt32(value: number): boolean {
  return Number.isSafeInteger(value) && value < -(2 ** 31);
}

function writeArray(values: readonly unknown[]): void {
  writer.arrayHeader(values.length);
  for (const value of values) write(value);
}

function writeObject(value: Readonly<Record<string, unknown>>): void {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError("an instance of a class is not plain data");
  }
  const names = Object.keys(value);
  let count = 0;
  for (const name of names) if (isField(name, value[name])) count += 1;
  writer.mapHeader(count);
  for (const name of names) {
    const field = value[name];
    if (!isField(name, field)) continue;
    writer.string(name);
    write(field);
  }
}

function isField(name: string, field: unknown): boolean {
  return field !== undefined && name !== "__proto__";
}
