/**
 * Reads the canonical subset of msgpack that `writer.ts` writes: the one shortest form of unsigned
 * integers up to 2^53 − 1, strings, binaries, arrays, maps with ascending unsigned keys, booleans
 * and nil. Anything else throws `ProtocolError`, so no two byte strings read as the same value.
 *
 * It must never allocate by a declared length, read past its end, or recurse deeper than
 * `NESTING_MAX`. It keeps nothing of the bytes except the view it was given.
 */
import { ProtocolError } from "../protocol-error.js";
import { readUtf8 } from "../utf8.js";

/** The deepest nesting of arrays and maps, including the request's own array. */
export const NESTING_MAX = 8;
const TWO_32 = 2 ** 32;
/** The high half of 2^53 − 1. */
const HIGH_WORD_MAX = 0x1fffff;
/** The longest text that `printableText` handles, because it joins all units in one call. */
const PRINTABLE_BYTES_MAX = 4_096;

/**
 * Recently read texts, by a hash of their bytes. The same few names occur again and again. A name
 * that is found here is the same object as last time, whose hash the engine has already computed.
 */
const RECENT_TEXTS: string[] = new Array<string>(4_096).fill("");
const RECENT_MASK = RECENT_TEXTS.length - 1;
/** Longer texts are not remembered. */
const RECENT_BYTES_MAX = 64;

export class Reader {
  readonly bytes: Uint8Array;
  /** Offset of the next byte to read. */
  at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** Fails at `offset`, which defaults to the current position. */
  fail(what: string, offset = this.at): never {
    throw new ProtocolError(what, offset);
  }

  /** Whether everything has been read. */
  get isAtEnd(): boolean {
    return this.at === this.bytes.length;
  }

  uint(): number {
    const at = this.at;
    if (at < this.bytes.length) {
      const type = this.bytes[at] as number;
      if (type < 0x80) {
        this.at = at + 1;
        return type;
      }
    }
    return this.#wideUint();
  }

  /** Consumes nil if it is the next value. */
  takeNil(): boolean {
    if (this.#peek() !== 0xc0) return false;
    this.at += 1;
    return true;
  }

  bool(): boolean {
    const type = this.#peek();
    if (type !== 0xc2 && type !== 0xc3) this.fail("expected a boolean");
    this.at += 1;
    return type === 0xc3;
  }

  /** Reads an array's header. The count is not trusted beyond the bytes that follow. */
  arrayHeader(): number {
    const type = this.#peek();
    if (type >= 0x90 && type < 0xa0) {
      this.at += 1;
      return type & 0x0f;
    }
    if (type === 0xdc) return this.#shortest(this.#tail16(), 16);
    if (type === 0xdd) return this.#shortest(this.#tail32(), 0x10000);
    return this.fail("expected an array");
  }

  /**
   * Like `arrayHeader`, but accepts a wider form than needed: for frames, which are not replicated.
   */
  frameHeader(): number {
    const type = this.#peek();
    if (type === 0xdc) return this.#tail16();
    if (type === 0xdd) return this.#tail32();
    return this.arrayHeader();
  }

  mapHeader(): number {
    const type = this.#peek();
    if (type >= 0x80 && type < 0x90) {
      this.at += 1;
      return type & 0x0f;
    }
    if (type === 0xde) return this.#shortest(this.#tail16(), 16);
    if (type === 0xdf) return this.#shortest(this.#tail32(), 0x10000);
    return this.fail("expected a map");
  }

  /** Reads a string's header and returns its length in bytes, all of which are present. */
  stringHeader(): number {
    const type = this.#peek();
    if (type >= 0xa0 && type < 0xc0) {
      this.at += 1;
      return this.#present(type & 0x1f);
    }
    if (type === 0xd9) return this.#present(this.#shortest(this.#tail8(), 32));
    if (type === 0xda) return this.#present(this.#shortest(this.#tail16(), 0x100));
    if (type === 0xdb) return this.#present(this.#shortest(this.#tail32(), 0x10000));
    return this.fail("expected a string");
  }

  /** Reads a binary's header and returns its length in bytes, all of which are present. */
  binaryHeader(): number {
    const type = this.#peek();
    if (type === 0xc4) return this.#present(this.#tail8());
    if (type === 0xc5) return this.#present(this.#shortest(this.#tail16(), 0x100));
    if (type === 0xc6) return this.#present(this.#shortest(this.#tail32(), 0x10000));
    return this.fail("expected a binary");
  }

  /**
   * The next `length` bytes as text if all are printable ASCII and there are not too many;
   * otherwise `undefined`, and nothing is consumed. It takes one pass and makes one flat string,
   * because nearly all names are like that.
   */
  printableText(length: number): string | undefined {
    if (length > PRINTABLE_BYTES_MAX) return undefined;
    const bytes = this.bytes;
    const start = this.at;
    let hash = length;
    for (let at = start; at < start + length; at++) {
      const byte = bytes[at] as number;
      if (byte < 0x20 || byte >= 0x7f) return undefined;
      hash = Math.imul(hash ^ byte, 0x0100_0193);
    }
    this.at = start + length;
    return length > RECENT_BYTES_MAX
      ? joined(bytes, start, length)
      : recentText(bytes, start, length, (hash ^ (hash >>> 15)) & RECENT_MASK);
  }

  /**
   * The next `length` bytes as text; `undefined` if they are not UTF-8. Consumes them in either
   * case.
   */
  text(length: number): string | undefined {
    const start = this.at;
    this.at = start + length;
    return readUtf8(this.bytes, start, start + length);
  }

  /** Skips one value and checks its form. `depth` is the number of arrays and maps around it. */
  skip(depth: number): void {
    const type = this.#peek();
    if (type < 0x80 || (type >= 0xcc && type <= 0xcf)) {
      this.uint();
    } else if ((type >= 0x90 && type < 0xa0) || type === 0xdc || type === 0xdd) {
      this.#enter(depth);
      for (let left = this.arrayHeader(); left > 0; left--) this.skip(depth + 1);
    } else if (type < 0x90 || type === 0xde || type === 0xdf) {
      this.#enter(depth);
      this.#skipEntries(this.mapHeader(), depth);
    } else if (type < 0xc0 || (type >= 0xd9 && type <= 0xdb)) {
      const length = this.stringHeader();
      if (this.text(length) === undefined) this.fail("not UTF-8", this.at - length);
    } else if (type >= 0xc4 && type <= 0xc6) {
      const length = this.binaryHeader();
      this.at += length;
    } else if (type === 0xc0 || type === 0xc2 || type === 0xc3) {
      this.at += 1;
    } else {
      this.fail(`type 0x${type.toString(16)} is not in use`);
    }
  }

  #skipEntries(count: number, depth: number): void {
    let previous = -1;
    for (let left = count; left > 0; left--) {
      previous = this.ascendingKey(previous);
      this.skip(depth + 1);
    }
  }

  /** The next key of a map, which must be above `previous`. */
  ascendingKey(previous: number): number {
    const start = this.at;
    const key = this.uint();
    if (key <= previous) this.fail("map keys must ascend", start);
    return key;
  }

  #enter(depth: number): void {
    if (depth >= NESTING_MAX) this.fail("nested too deeply");
  }

  #wideUint(): number {
    const type = this.#peek();
    if (type === 0xcc) return this.#shortest(this.#tail8(), 0x80);
    if (type === 0xcd) return this.#shortest(this.#tail16(), 0x100);
    if (type === 0xce) return this.#shortest(this.#tail32(), 0x10000);
    if (type !== 0xcf) return this.fail("expected an unsigned integer");
    const high = this.#tail32();
    this.at -= 1;
    const low = this.#tail32();
    if (high > HIGH_WORD_MAX) this.fail("integer beyond 2^53 - 1", this.at - 9);
    return this.#shortest(high * TWO_32 + low, TWO_32);
  }

  /** The type byte of the next value. */
  #peek(): number {
    if (this.at >= this.bytes.length) this.fail("cut off");
    return this.bytes[this.at] as number;
  }

  /**
   * Returns `value` if its header has the shortest width, which is so from `least` on; otherwise
   * fails.
   */
  #shortest(value: number, least: number): number {
    if (value < least) this.fail("not in its shortest form");
    return value;
  }

  #present(length: number): number {
    if (length > this.bytes.length - this.at) this.fail("cut off");
    return length;
  }

  /** Each `tail` method reads the big-endian number after a type byte. */
  #tail8(): number {
    const at = this.#advance(2);
    return this.bytes[at + 1] as number;
  }

  #tail16(): number {
    const bytes = this.bytes;
    const at = this.#advance(3);
    return ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
  }

  #tail32(): number {
    const bytes = this.bytes;
    const at = this.#advance(5);
    const high = ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
    return high * 0x10000 + (((bytes[at + 3] as number) << 8) | (bytes[at + 4] as number));
  }

  #advance(count: number): number {
    const at = this.at;
    if (at + count > this.bytes.length) this.fail("cut off");
    this.at = at + count;
    return at;
  }
}

function recentText(bytes: Uint8Array, start: number, length: number, slot: number): string {
  const recent = RECENT_TEXTS[slot] as string;
  if (recent.length === length) {
    let at = 0;
    while (at < length && recent.charCodeAt(at) === bytes[start + at]) at += 1;
    if (at === length) return recent;
  }
  const text = joined(bytes, start, length);
  RECENT_TEXTS[slot] = text;
  return text;
}

/** Makes a text from bytes that are ASCII characters. */
function joined(bytes: Uint8Array, start: number, length: number): string {
  const units = new Array<number>(length);
  for (let i = 0; i < length; i++) units[i] = bytes[start + i] as number;
  return String.fromCharCode.apply(String, units);
}
