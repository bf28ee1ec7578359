/**
 * Reads the parts of requests and separates two kinds of wrong. What breaks the form (a type that
 * does not belong there, a value not in its shortest form) throws `ProtocolError`. A value of the
 * right type that is not allowed (an empty key, a TTL of a year) becomes `problem`, reading goes on
 * behind it, and the request is answered `INVALID_ARGUMENT`.
 *
 * Which values are allowed is replicated behaviour: see `text-rules.ts`.
 */
import type { LockItem, LockMode } from "./commands.js";
import { hexOf } from "./hex.js";
import {
  ACKNOWLEDGED_MAX,
  ITEMS_MAX,
  KEY_BYTES_MAX,
  NONCE_BYTES,
  RESERVED_KEY_PREFIX,
} from "./limits.js";
import { Reader } from "./reader.js";
import { isValidKey } from "./text-rules.js";

/** Shared by all commands that acknowledge nothing, which are most. */
const NO_NUMBERS: readonly number[] = Object.freeze([]);
/** Around a value inside a list or map of a request: that, and the request's own array. */
const DEPTH_IN_REQUEST = 2;

export class RequestReader extends Reader {
  /** The first reason why the request being read is not allowed. */
  problem: string | undefined = undefined;

  /** Notes `reason`, unless something was wrong before. */
  refuse(reason: string): void {
    if (this.problem === undefined) this.problem = reason;
  }

  /** An unsigned integer of `least` … `most`. */
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
    return this.#checked(printable ?? this.text(length), isValidKey, "key");
  }

  /** Any other text; `rule` says whether it is allowed. */
  textUnder(bytesMax: number, rule: (text: string) => string | undefined, what: string): string {
    const length = this.stringHeader();
    if (length > bytesMax) return this.#overlong(length, `${what} exceeds ${bytesMax} bytes`);
    return this.#checked(this.printableText(length) ?? this.text(length), rule, what);
  }

  /** 16 bytes, as 32 hex digits. */
  nonce(): string {
    const length = this.binaryHeader();
    if (length !== NONCE_BYTES) this.refuse(`nonce of ${length} bytes`);
    const start = this.at;
    this.at = start + length;
    return length === NONCE_BYTES ? hexOf(this.bytes, start, start + length) : "";
  }

  acknowledged(): readonly number[] {
    return this.numbers(ACKNOWLEDGED_MAX, "acknowledged");
  }

  /** An array of at most `countMax` unsigned integers. */
  numbers(countMax: number, what: string): readonly number[] {
    const count = this.arrayHeader();
    if (count === 0) return NO_NUMBERS;
    if (count > countMax) this.refuse(`${count} ${what}, at most ${countMax}`);
    const numbers: number[] = [];
    for (let i = 0; i < count; i++) {
      const number = this.uint();
      if (i < countMax) numbers.push(number);
    }
    return numbers;
  }

  items(): readonly LockItem[] {
    const count = this.arrayHeader();
    if (count === 1) return [this.#item()];
    if (count === 0) this.refuse("no items");
    if (count > ITEMS_MAX) this.refuse(`${count} items, at most ${ITEMS_MAX}`);
    const items: LockItem[] = [];
    for (let i = 0; i < count; i++) {
      const item = this.#item();
      if (i >= ITEMS_MAX) continue;
      for (const other of items) if (other.key === item.key) this.refuse("a key stands twice");
      items.push(item);
    }
    return items;
  }

  /** The options of an acquire: none exist yet, so each one is refused by its number. */
  options(): void {
    let previous = -1;
    for (let left = this.mapHeader(); left > 0; left--) {
      previous = this.ascendingKey(previous);
      this.skip(DEPTH_IN_REQUEST);
      this.refuse(`unknown option ${previous}`);
    }
  }

  #item(): LockItem {
    const start = this.at;
    if (this.arrayHeader() !== 2) this.fail("an item has two values", start);
    const key = this.key();
    return { key, mode: this.#mode() };
  }

  #mode(): LockMode {
    const number = this.uint();
    if (number > 1) this.refuse(`unknown mode ${number}`);
    return number === 1 ? "shared" : "exclusive";
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
