/**
 * Maps any string to a key. Programs written for the Web Locks API name their locks by any sequence
 * of UTF-16 code units: empty, with control characters, with lone surrogates; Redis clients name
 * theirs by a database and any bytes. Such a name becomes a key under a reserved prefix, in which
 * units that a key cannot contain are written as `~` and four hex digits. Two names never share a
 * key, and every allowed key under the prefix is the key of one name, so both directions are exact.
 *
 * Which keys are accepted here is replicated behaviour, as in `text-rules.ts`.
 */
import { KEY_BYTES_MAX, LOCK_NAME_PREFIX, REDIS_NAME_PREFIX } from "./limits.js";
import { utf8Length } from "./utf8.js";

const ESCAPE = "~";
const HEX_DIGITS = 4;
/** Units that stand for themselves in every name, and for one byte each. */
const PLAIN = /^[ -}]*$/;
/** The number of a database and what follows it. */
const IN_DATABASE = /^(0|[1-9][0-9]{0,4})\/(.*)$/s;

/** Bytes of an escaped name: the bytes of a key less the prefix. */
export const LOCK_NAME_BYTES_MAX = KEY_BYTES_MAX - LOCK_NAME_PREFIX.length;

/** A key of Redis: the number of its database, and its name there. */
export interface RedisName {
  /** 0 … 99,999. */
  readonly database: number;
  readonly name: string;
}

/** The key of a name; `undefined` if it would be longer than a key may be. */
export function keyOfLockName(name: string): string | undefined {
  return keyUnder(LOCK_NAME_PREFIX, name);
}

/** The name that has this key; `undefined` if there is none. */
export function lockNameOf(key: string): string | undefined {
  return nameUnder(LOCK_NAME_PREFIX, key);
}

/** The key of a name in a database; `undefined` if it would be longer than a key may be. */
export function keyOfRedisName({ database, name }: RedisName): string | undefined {
  return keyUnder(`${REDIS_NAME_PREFIX}${database}/`, name);
}

/** The name and database that have this key; `undefined` if there are none. */
export function redisNameOf(key: string): RedisName | undefined {
  if (!key.startsWith(REDIS_NAME_PREFIX)) return undefined;
  const [, database = ""] = IN_DATABASE.exec(key.slice(REDIS_NAME_PREFIX.length)) ?? [];
  if (database === "") return undefined;
  const name = nameUnder(`${REDIS_NAME_PREFIX}${database}/`, key);
  return name === undefined ? undefined : { database: Number(database), name };
}

/** Any string as one without control characters and lone surrogates; `unescapeName` reverses it. */
export function escapeName(name: string): string {
  if (PLAIN.test(name)) return name;
  let text = "";
  for (let i = 0; i < name.length; i++) {
    const width = plainWidth(name, i);
    if (width === 0) text += escaped(name.charCodeAt(i));
    else text += name.slice(i, i + width);
    if (width === 2) i += 1;
  }
  return text;
}

/** The string that is escaped so; `undefined` if there is none. */
export function unescapeName(text: string): string | undefined {
  if (PLAIN.test(text)) return text;
  let name = "";
  for (let i = 0; i < text.length; i++) {
    if (text[i] === ESCAPE) {
      const digits = text.slice(i + 1, i + 1 + HEX_DIGITS);
      if (!/^[0-9a-f]{4}$/.test(digits)) return undefined;
      name += String.fromCharCode(Number.parseInt(digits, 16));
      i += HEX_DIGITS;
    } else {
      name += text[i];
    }
  }
  // Units that need not be escaped must not be, so that a name is escaped in one way.
  return escapeName(name) === text ? name : undefined;
}

function keyUnder(prefix: string, name: string): string | undefined {
  // Escaping never makes a name shorter.
  if (name.length > KEY_BYTES_MAX - prefix.length) return undefined;
  const key = prefix + escapeName(name);
  return utf8Length(key) > KEY_BYTES_MAX ? undefined : key;
}

function nameUnder(prefix: string, key: string): string | undefined {
  if (!key.startsWith(prefix) || utf8Length(key) > KEY_BYTES_MAX) return undefined;
  return unescapeName(key.slice(prefix.length));
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
