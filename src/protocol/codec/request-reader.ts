/**
 * Reads the parts of requests and distinguishes two kinds of error. A value of the wrong form (an
 * unexpected type, not the shortest form) throws `ProtocolError`. A value of the right type that is
 * not allowed (an empty key, a TTL of a year) sets `problem`; reading continues after it, and the
 * request is answered with `INVALID_ARGUMENT`.
 *
 * Which values are allowed is replicated behaviour: see `text-rules.ts`.
 */
import {
  ACQUIRE_DEFAULTS,
  ACQUIRE_OPTION,
  type AcquireTerms,
  CLAIM_MODES,
  type Item,
  type LockItem,
  type PermitItem,
} from "../commands.js";
import {
  ACKNOWLEDGED_MAX,
  ITEMS_MAX,
  KEY_BYTES_MAX,
  LIMIT_MAX,
  LOCK_DELAY_MS_MAX,
  MAX_HOLD_MS_MIN,
  PERMITS_MAX,
  PRIORITY_MAX,
  RESERVED_KEY_PREFIX,
  VALUE_BYTES_MAX,
  WAIT_MS_MAX,
} from "../limits.js";
import { isValidTableKey, isValidValue } from "../text-rules.js";
import { hexOf } from "./hex.js";
import { Reader } from "./reader.js";

type Changing<T> = { -readonly [Name in keyof T]: T[Name] };

/** Shared by all commands that acknowledge nothing, which are most of them. */
const NO_NUMBERS: readonly number[] = Object.freeze([]);
/**
 * The depth of a value inside a list or map of a request: that one, and the request's own array.
 */
const DEPTH_IN_REQUEST = 2;
/** The mode of an item that has permits. */
const PERMITS = CLAIM_MODES.indexOf("permits");

export class RequestReader extends Reader {
  /** The first reason why the request being read is not allowed. */
  problem: string | undefined = undefined;

  /** Records `reason`, unless there was a problem before. */
  refuse(reason: string): void {
    if (this.problem === undefined) this.problem = reason;
  }

  /** Reads an unsigned integer, which is allowed from `least` to `most`. */
  uintWithin(least: number, most: number, what: string): number {
    const value = this.uint();
    if (value < least || value > most) this.refuse(`${what} ${value} not in ${least}..${most}`);
    return value;
  }

  key(): string {
    const length = this.stringHeader();
    if (length > KEY_BYTES_MAX) return this.#overlong(length, `key exceeds ${KEY_BYTES_MAX} bytes`);
    const printable = this.printableText(length);
    if (printable !== undefined && length > 0 && !printable.startsWith(RESERVED_KEY_PREFIX)) {
      return printable;
    }
    return this.#checked(printable ?? this.text(length), isValidTableKey, "key");
  }

  /** Reads any other text; `rule` says whether it is allowed. */
  textUnder(bytesMax: number, rule: (text: string) => string | undefined, what: string): string {
    const length = this.stringHeader();
    if (length > bytesMax) return this.#overlong(length, `${what} exceeds ${bytesMax} bytes`);
    return this.#checked(this.printableText(length) ?? this.text(length), rule, what);
  }

  /** Reads `bytes` bytes as twice as many hex digits. */
  digits(bytes: number, what: string): string {
    const length = this.binaryHeader();
    if (length !== bytes) this.refuse(`${what} of ${length} bytes`);
    const start = this.at;
    this.at = start + length;
    return length === bytes ? hexOf(this.bytes, start, start + length) : "";
  }

  acknowledged(): readonly number[] {
    return this.numbers(ACKNOWLEDGED_MAX, "acknowledged");
  }

  /** Reads an array of at most `countMax` unsigned integers. */
  numbers(countMax: number, what: string): readonly number[] {
    const count = this.arrayHeader();
    if (count === 0) return NO_NUMBERS;
    if (count === 1) return [this.uint()];
    if (count > countMax) this.refuse(`${count} ${what}, at most ${countMax}`);
    const numbers: number[] = [];
    for (let i = 0; i < count; i++) {
      const number = this.uint();
      if (i < countMax) numbers.push(number);
    }
    return numbers;
  }

  /** Reads 1 … `ITEMS_MAX` keys, none twice. */
  keys(what: string): readonly string[] {
    const count = this.arrayHeader();
    if (count === 1) return [this.key()];
    if (count === 0) this.refuse(`no ${what}`);
    if (count > ITEMS_MAX) this.refuse(`${count} ${what}, at most ${ITEMS_MAX}`);
    const keys: string[] = [];
    for (let i = 0; i < count; i++) {
      const key = this.key();
      if (i >= ITEMS_MAX) continue;
      if (keys.includes(key)) this.refuse("a key occurs twice");
      keys.push(key);
    }
    return keys;
  }

  items(): readonly Item[] {
    const count = this.arrayHeader();
    if (count === 1) return [this.#item()];
    if (count === 0) this.refuse("no items");
    if (count > ITEMS_MAX) this.refuse(`${count} items, at most ${ITEMS_MAX}`);
    const items: Item[] = [];
    let permits = 0;
    for (let i = 0; i < count; i++) {
      const item = this.#item();
      if (i >= ITEMS_MAX) continue;
      for (const other of items) if (other.key === item.key) this.refuse("a key occurs twice");
      if (item.mode === "permits") permits += item.permits;
      items.push(item);
    }
    if (permits > PERMITS_MAX) this.refuse(`${permits} permits, at most ${PERMITS_MAX}`);
    return items;
  }

  /**
   * Reads the options of an acquire; `undefined` if all have their defaults. An option that is
   * present with its default is refused, so that nothing has two encodings.
   */
  options(): AcquireTerms | undefined {
    let left = this.mapHeader();
    if (left === 0) return undefined;
    const options: Changing<AcquireTerms> = { ...ACQUIRE_DEFAULTS };
    let number = -1;
    for (; left > 0; left--) {
      number = this.ascendingKey(number);
      const name = this.#option(number, options);
      if (name !== undefined && options[name] === ACQUIRE_DEFAULTS[name]) {
        this.refuse(`${name} is given its default`);
      }
    }
    return options;
  }

  #option(number: number, options: Changing<AcquireTerms>): keyof AcquireTerms | undefined {
    switch (number) {
      case ACQUIRE_OPTION.priority:
        options.priority = this.uintWithin(0, PRIORITY_MAX, "priority");
        return "priority";
      case ACQUIRE_OPTION.maxHoldMs:
        options.maxHoldMs = this.uintWithin(MAX_HOLD_MS_MIN, WAIT_MS_MAX, "maxHoldMs");
        return "maxHoldMs";
      case ACQUIRE_OPTION.minHoldMs:
        options.minHoldMs = this.uintWithin(0, WAIT_MS_MAX, "minHoldMs");
        return "minHoldMs";
      case ACQUIRE_OPTION.lockDelayMs:
        options.lockDelayMs = this.uintWithin(0, LOCK_DELAY_MS_MAX, "lockDelayMs");
        return "lockDelayMs";
      case ACQUIRE_OPTION.value:
        options.value = this.textUnder(VALUE_BYTES_MAX, isValidValue, "value");
        return "value";
      case ACQUIRE_OPTION.steal:
        options.steal = this.bool();
        return "steal";
      case ACQUIRE_OPTION.detect:
        options.detect = this.bool();
        return "detect";
      default:
        this.skip(DEPTH_IN_REQUEST);
        this.refuse(`unknown option ${number}`);
        return undefined;
    }
  }

  #item(): Item {
    const start = this.at;
    const arity = this.arrayHeader();
    if (arity === 4) return this.#permitItem();
    if (arity !== 2) this.fail("an item has two or four values", start);
    const key = this.key();
    const number = this.uint();
    if (number > 1) this.refuse(number === PERMITS ? "no permits" : `unknown mode ${number}`);
    const item: LockItem = { key, mode: number === 1 ? "shared" : "exclusive" };
    return item;
  }

  #permitItem(): PermitItem {
    const key = this.key();
    const number = this.uint();
    if (number < PERMITS) this.refuse("permits of a lock");
    else if (number > PERMITS) this.refuse(`unknown mode ${number}`);
    const permits = this.uintWithin(1, PERMITS_MAX, "permits");
    const limit = this.takeNil() ? undefined : this.uintWithin(1, LIMIT_MAX, "limit");
    if (limit !== undefined && permits > limit) this.refuse(`${permits} permits of ${limit}`);
    return { key, mode: "permits", permits, limit };
  }

  #overlong(length: number, reason: string): string {
    this.at += length;
    this.refuse(reason);
    return "";
  }

  #checked(
    text: string | undefined,
    rule: (text: string) => string | undefined,
    what: string,
  ): string {
    const reason = text === undefined ? `${what} is not UTF-8` : rule(text);
    if (reason !== undefined) this.refuse(reason);
    return text ?? "";
  }
}
