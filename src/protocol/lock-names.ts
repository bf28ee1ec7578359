/**
 * Any string as a key. Programs written for the Web Locks API name their locks by any sequence of
 * UTF-16 code units: empty, with control characters, with lone surrogates. Such a name becomes a key
 * under a reserved prefix; what a key cannot hold is written as `~` and four hex digits. Two names
 * never share a key, and every key under the prefix that is allowed stands for one name, so both
 * directions are exact.
 *
 * What is accepted here is replicated behaviour, as in `text-rules.ts`.
 */
import { KEY_BYTES_MAX, LOCK_NAME_PREFIX } from "./limits.js";
import { utf8Length } from "./utf8.js";

const ESCAPE = "~";
const HEX_DIGITS = 4;

/** Bytes of an escaped name: a key less the prefix. */
export const LOCK_NAME_BYTES_MAX = KEY_BYTES_MAX - LOCK_NAME_PREFIX.length;

/** The key of a name; `undefined` when that would be longer than keys may be. */
export function keyOfLockName(name: string): string | undefined {
  // Nothing gets shorter by being escaped.
  if (name.length > LOCK_NAME_BYTES_MAX) return undefined;
  let key = LOCK_NAME_PREFIX;
  for (let i = 0; i < name.length; i++) {
    const width = plainWidth(name, i);
    if (width === 0) key += escaped(name.charCodeAt(i));
    else key += name.slice(i, i + width);
    if (width === 2) i += 1;
  }
  return utf8Length(key) > KEY_BYTES_MAX ? undefined : key;
}

/** The name whose key this is; `undefined` when it is none's. */
export function lockNameOf(key: string): string | undefined {
  if (!key.startsWith(LOCK_NAME_PREFIX)) return undefined;
  let name = "";
  for (let i = LOCK_NAME_PREFIX.length; i < key.length; i++) {
    if (key[i] === ESCAPE) {
      const digits = key.slice(i + 1, i + 1 + HEX_DIGITS);
      if (!/^[0-9a-f]{4}$/.test(digits)) return undefined;
      name += String.fromCharCode(Number.parseInt(digits, 16));
      i += HEX_DIGITS;
    } else {
      name += key[i];
    }
  }
  // What need not be escaped must not be: a name has one key.
  return keyOfLockName(name) === key ? name : undefined;
}

function escaped(unit: number): string {
  return ESCAPE + unit.toString(16).padStart(HEX_DIGITS, "0");
}

/** Code units at `i` that stand for themselves: 1, 2 of a pair, 0 when it must be escaped. */
function plainWidth(name: string, i: number): number {
  const unit = name.charCodeAt(i);
  if (unit < 0x20 || (unit >= 0x7f && unit < 0xa0) || name[i] === ESCAPE) return 0;
  if (unit < 0xd800 || unit > 0xdfff) return 1;
  const next = name.charCodeAt(i + 1);
  return unit < 0xdc00 && next >= 0xdc00 && next <= 0xdfff ? 2 : 0;
}
