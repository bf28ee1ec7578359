/**
 * Walks through values that are stored under rising numbers, and leaves out the numbers under which
 * nothing intact is stored. It never fails because of damage, and is quick however large a hole is.
 */
import { damageOf } from "../corruption.js";
import type { OrderedStore } from "../ordered-store.js";
import { numberInKey } from "../store-keys.js";

/** Values that are read at once. */
const WINDOW = 128;

export interface NumberedValue {
  readonly number: number;
  readonly value: Uint8Array;
}

/** The key of a number, which is its last eight bytes (big endian). */
export type KeyOfNumber = (number: number) => Uint8Array;

/** The intact values among the numbers `from` … `to`, upwards or downwards. */
export async function* walkNumbers(
  store: OrderedStore,
  keyOf: KeyOfNumber,
  from: number,
  to: number,
  step: 1 | -1,
): AsyncIterable<NumberedValue> {
  let size = WINDOW;
  for (let at = from; (to - at) * step >= 0; ) {
    const end = step > 0 ? Math.min(to, at + size - 1) : Math.max(to, at - size + 1);
    const found = await window(store, keyOf, Math.min(at, end), Math.max(at, end));
    if (found === undefined) {
      size = WINDOW;
      continue;
    }
    yield* step > 0 ? found : found.reverse();
    // A hole may be larger than any row is long.
    size = found.length > 0 ? WINDOW : size * 2;
    at = end + step;
  }
}

/** `undefined` for an altered value too. */
export async function getIntact(
  store: OrderedStore,
  key: Uint8Array,
): Promise<Uint8Array | undefined> {
  try {
    return await store.get(key);
  } catch (error) {
    if (damageOf(error) === undefined) throw error;
    return undefined;
  }
}

/**
 * The intact values among `from` … `to`, upwards. `undefined`: there is damage among them, and they
 * are too many to read one by one.
 */
async function window(
  store: OrderedStore,
  keyOf: KeyOfNumber,
  from: number,
  to: number,
): Promise<NumberedValue[] | undefined> {
  const found: NumberedValue[] = [];
  try {
    for await (const { key, value } of store.iterate({ from: keyOf(from), to: keyOf(to + 1) })) {
      found.push({ number: numberInKey(key), value });
    }
    return found;
  } catch (error) {
    if (damageOf(error) === undefined) throw error;
  }
  if (to - from >= WINDOW) return undefined;
  found.length = 0;
  for (let number = from; number <= to; number += 1) {
    const value = await getIntact(store, keyOf(number));
    if (value !== undefined) found.push({ number, value });
  }
  return found;
}

/** The highest number under which anything is stored, intact or not; 0 if there is nothing. */
export async function highestNumber(
  store: OrderedStore,
  keyOf: KeyOfNumber,
  numberMax: number,
): Promise<number> {
  let low = 0;
  let high = numberMax;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (await isAnyStored(store, keyOf, middle, numberMax)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Whether anything is stored under the numbers `from` … `to`, intact or not. */
export async function isAnyStored(
  store: OrderedStore,
  keyOf: KeyOfNumber,
  from: number,
  to: number,
): Promise<boolean> {
  const range = { from: keyOf(from), to: keyOf(to + 1), limit: 1 };
  try {
    for await (const _ of store.iterate(range)) return true;
    return false;
  } catch (error) {
    if (damageOf(error) === undefined) throw error;
    return true;
  }
}
