/**
 * The payload of an answer: plain data (objects, arrays, strings, numbers, booleans, null), packed
 * by msgpackr as one value. Reads are rare beside commands, so ease wins over speed here.
 *
 * Whole numbers from 2^32 on leave as 64-bit integers, since fencing tokens are among them and a
 * client in another language must get an integer; left alone, msgpackr would make them floats.
 */
import { Packr, Unpackr } from "msgpackr";
import { ProtocolError } from "../../protocol/index.js";
import { plainValueEnd } from "./plain-value.js";

const packr = new Packr({ useRecords: false, variableMapSize: true });
const unpackr = new Unpackr({ useRecords: false, int64AsType: "number" });

/**
 * Packs plain data, without fields that are `undefined` and without any that is named `__proto__`,
 * which no reader could have as a field. Throws `TypeError` for other data.
 */
export function packPayload(value: unknown): Uint8Array {
  return packr.pack(withWideIntegers(value));
}

/** Unpacks one value that fills `bytes`. Throws `ProtocolError` for what is refused. */
export function unpackPayload(bytes: Uint8Array): unknown {
  const end = plainValueEnd(bytes, 0);
  if (end !== bytes.length) throw new ProtocolError("bytes behind the payload", end);
  return unpackr.unpack(bytes);
}

/** A copy in which the integers that msgpackr would write as floats are bigints. */
function withWideIntegers(value: unknown): unknown {
  if (typeof value === "number") {
    const isWide = Number.isSafeInteger(value) && (value >= 2 ** 32 || value < -(2 ** 31));
    return isWide ? BigInt(value) : value;
  }
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (Array.isArray(value)) return value.map(withWideIntegers);
  if (typeof value !== "object") throw new TypeError(`${typeof value} is no plain data`);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError("an instance of a class is no plain data");
  }
  const copy: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    if (field !== undefined && name !== "__proto__") copy[name] = withWideIntegers(field);
  }
  return copy;
}
