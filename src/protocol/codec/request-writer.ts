/**
 * Writes the parts of requests. `writer.ts` determines the form of each kind of value and
 * `schema.ts` its position; `request-reader.ts` reads them again.
 */
import { assert } from "../../errors/index.js";
import {
  ACQUIRE_DEFAULTS,
  ACQUIRE_OPTION,
  type AcquireTerms,
  CLAIM_MODES,
  type Item,
  WAIT_FOREVER,
} from "../commands.js";
import { bytesOfHex } from "./hex.js";
import type { Writer } from "./writer.js";

/** In ascending order of their numbers, as on the wire. */
const OPTIONS = Object.entries(ACQUIRE_OPTION) as readonly (readonly [
  keyof AcquireTerms,
  number,
])[];
const PERMITS_MODE = CLAIM_MODES.indexOf("permits");

export function writeNumbers(writer: Writer, numbers: readonly number[]): void {
  writer.arrayHeader(numbers.length);
  for (let i = 0; i < numbers.length; i++) writer.uint(numbers[i] as number);
}

export function writeItems(writer: Writer, items: readonly Item[]): void {
  writer.arrayHeader(items.length);
  for (let i = 0; i < items.length; i++) {
    const item = items[i] as Item;
    if (item.mode === "permits") {
      writer.arrayHeader(4);
      writer.string(item.key);
      writer.uint(PERMITS_MODE);
      writer.uint(item.permits);
      if (item.limit === undefined) writer.nil();
      else writer.uint(item.limit);
    } else {
      writer.arrayHeader(2);
      writer.string(item.key);
      writer.uint(item.mode === "shared" ? 1 : 0);
    }
  }
}

/** Writes the options that are not the default; their numbers ascend. */
export function writeOptions(writer: Writer, options: AcquireTerms): void {
  let count = 0;
  for (const [name] of OPTIONS) if (options[name] !== ACQUIRE_DEFAULTS[name]) count += 1;
  writer.mapHeader(count);
  for (const [name, number] of OPTIONS) {
    const value = options[name];
    if (value === ACQUIRE_DEFAULTS[name]) continue;
    writer.uint(number);
    if (typeof value === "number") writer.uint(value);
    else if (typeof value === "string") writer.string(value);
    else writer.bool(value);
  }
}

export function writeWait(writer: Writer, waitMs: number): void {
  if (waitMs === WAIT_FOREVER) writer.nil();
  else writer.uint(waitMs);
}

/** Writes a nonce or secret: `bytes` bytes, given as twice as many hex digits. */
export function writeDigits(writer: Writer, digits: string, bytes: number): void {
  assert(digits.length === 2 * bytes, () => `${digits.length} digits for ${bytes} bytes`);
  writer.binary(bytesOfHex(digits));
}
