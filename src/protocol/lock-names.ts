/**
 * Maps any string to a key. Programs written for the Web Locks API name their locks by any sequence
 * of UTF-16 code units: empty, with control characters, with lone surrogates. Such a name becomes a
 * key under a reserved prefix, in which units that a key cannot contain are written as `~` and four
 * hex digits. Two names never share a key, and every allowed key under the prefix is the key of one
 * name, so both directions are exact.
 *
 * Which keys are accepted here is replicated behaviour, as in `text-rules.ts`.
 */
import { KEY_BYTES_MAX, LOCK_NAME_PREFIX } from "./limits.js";
import { utf8Length } from "./utf8.js";

const ESCAPE = "~";
const HEX_DIGITS = 4;

/** Bytes of an escaped name: those of a key less the prefix. */
export const LOCK_NAME_BYTES_MAX = KEY_BYTES_MAX - LOCK_NAME_PREFIX.length;

/** The key of a name; `undefined` if it would be longer than a key may be. */
export function keyOfLockName(name: string): string | undefined {
  // Escaping never makes a name shorter.
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

/** The name that has this key; `undefined` if there is none. */
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
  // Units that need not be escaped must not be, so that a name has one key.
  return keyOfLockName(name) === key ? name : undefined;
}

function escaped(unit: number): string {
  return ESCAPE + unit.toString(16).padStart(HEX_DIGITS, "0");
}

/**
 * The number of code units at `i` that can be written as they are: 1, 2 for a pair, or 0 if the
 * unit must be escaped.
 */
function plainWidth(name: string, i: number): number {
  const unit = name.charCodeAt(i);
  if (unit < 0x20 || (unit >= 0x7f && unit < 0xa0) || name[i] === ESCAPE) return 0;
  if (unit < 0xd800 || unit > 0xdfff) return 1;
  const next = name.charCodeAt(i + 1);
  return unit < 0xdc00 && next >= 0xdc00 && next <= 0xdfff ? 2 : 0;
}
