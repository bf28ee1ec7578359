/**
 * Writes the canonical subset of msgpack: every value in its one shortest form, integers from 2^32
 * on as uint64, no floats, no negative numbers, no extensions. A value that cannot be written (a
 * fraction, a lone surrogate) is a broken invariant of the caller and is never adapted.
 *
 * A writer is filled, read and reset, over and over; it belongs to one frame at a time. Source: the
 * msgpack specification, "Serialization: type to format conversion".
 */
import { assert } from "../../errors/index.js";
import { utf8Length, writeUtf8 } from "../utf8.js";

/** Space for the widest array header before a frame whose count is not known yet. */
const FRAME_HEADER_BYTES = 5;
/** The longest scalar: a type byte and eight bytes. */
const SCALAR_BYTES_MAX = 9;
/**
 * `reset` drops a buffer that grew beyond this, so that one large frame does not keep memory for
 * ever.
 */
const RETAINED_BYTES_MAX = 1 << 20;
const TWO_32 = 2 ** 32;

export class Writer {
  readonly #initialBytes: number;
  #bytes: Uint8Array;
  /**
   * The first byte in use: after the headroom, and after the unused part of the space for the
   * header.
   */
  #start = 0;
  /** The end of the last byte written; `#start <= #at <= #bytes.length`. */
  #at = 0;
  /** True between `beginFrame` and `endFrame`. */
  #isFrame = false;

  constructor(initialBytes = 512) {
    this.#initialBytes = initialBytes;
    this.#bytes = new Uint8Array(initialBytes);
  }

  /**
   * Bytes written since `reset`. Until `endFrame` this includes the space that `beginFrame`
   * reserved.
   */
  get length(): number {
    return this.#at - this.#start;
  }

  /** The size of its buffer, in bytes. */
  get capacity(): number {
    return this.#bytes.length;
  }

  /** Forgets everything written. Views returned before will be overwritten. */
  reset(): void {
    this.#start = 0;
    this.#at = 0;
    this.#isFrame = false;
    if (this.#bytes.length > RETAINED_BYTES_MAX) this.#bytes = new Uint8Array(this.#initialBytes);
  }

  /** The bytes written, not copied: valid until the next call that writes. */
  view(): Uint8Array {
    return this.#bytes.subarray(this.#start, this.#at);
  }

  /** A copy of the bytes written, which the caller may keep. */
  take(): Uint8Array {
    return this.#bytes.slice(this.#start, this.#at);
  }

  /**
   * Resets, and reserves space for the array header of a frame whose count is known only at the
   * end.
   *
   * @param headroom bytes that stay free before the whole frame, for its sender
   */
  beginFrame(headroom = 0): void {
    this.reset();
    const room = headroom + FRAME_HEADER_BYTES;
    this.#grow(room);
    this.#start = headroom;
    this.#at = room;
    this.#isFrame = true;
  }

  /**
   * Puts the header for `count` values directly before the bytes written since `beginFrame`. After
   * that, `view` and `take` return the whole frame.
   */
  endFrame(count: number): void {
    assert(this.#isFrame, () => "no frame was begun");
    this.#isFrame = false;
    const end = this.#at;
    this.#start += FRAME_HEADER_BYTES - (count < 16 ? 1 : count < 0x10000 ? 3 : 5);
    this.#at = this.#start;
    this.arrayHeader(count);
    this.#at = end;
  }

  /** An integer of 0 … 2^53 − 1. */
  uint(value: number): void {
    if (this.#at + SCALAR_BYTES_MAX > this.#bytes.length) this.#grow(SCALAR_BYTES_MAX);
    if ((value & 0x7f) === value) this.#bytes[this.#at++] = value;
    else this.#wideUint(value);
  }

  nil(): void {
    this.#byte(0xc0);
  }

  bool(value: boolean): void {
    this.#byte(value ? 0xc3 : 0xc2);
  }

  string(value: string): void {
    const length = value.length;
    this.#grow(5 + length * 3);
    const before = this.#at;
    this.#stringHeader(length);
    const bytes = this.#bytes;
    const at = this.#at;
    for (let i = 0; i < length; i++) {
      const unit = value.charCodeAt(i);
      if (unit >= 0x80) {
        this.#at = before;
        this.#wideString(value);
        return;
      }
      bytes[at + i] = unit;
    }
    this.#at = at + length;
  }

  binary(value: Uint8Array): void {
    const length = value.length;
    this.#grow(5 + length);
    if (length < 0x100) this.#header8(0xc4, length);
    else if (length < 0x10000) this.#header16(0xc5, length);
    else this.#header32(0xc6, length);
    this.#bytes.set(value, this.#at);
    this.#at += length;
  }

  arrayHeader(count: number): void {
    this.#grow(5);
    if (count < 16) this.#bytes[this.#at++] = 0x90 | count;
    else if (count < 0x10000) this.#header16(0xdc, count);
    else this.#header32(0xdd, count);
  }

  /** Begins an array of fewer than 16 values whose count is known only at its end. */
  beginArray(): number {
    this.#byte(0x90);
    return this.#at - 1;
  }

  /**
   * Ends an array.
   * @param start what `beginArray` returned
   */
  endArray(start: number, count: number): void {
    assert(count < 16, () => `an array of ${count} values`);
    this.#bytes[start] = 0x90 | count;
  }

  mapHeader(count: number): void {
    this.#grow(5);
    if (count < 16) this.#bytes[this.#at++] = 0x80 | count;
    else if (count < 0x10000) this.#header16(0xde, count);
    else this.#header32(0xdf, count);
  }

  /** Appends bytes that are already msgpack. */
  raw(value: Uint8Array): void {
    this.#grow(value.length);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
  }

  #byte(value: number): void {
    this.#grow(1);
    this.#bytes[this.#at++] = value;
  }

  #wideUint(value: number): void {
    assert(Number.isSafeInteger(value) && value >= 0, () => `${value} is not an unsigned integer`);
    if (value < 0x100) this.#header8(0xcc, value);
    else if (value < 0x10000) this.#header16(0xcd, value);
    else if (value < TWO_32) this.#header32(0xce, value);
    else {
      this.#header32(0xcf, (value / TWO_32) >>> 0);
      this.#uint32(value >>> 0);
    }
  }

  #wideString(value: string): void {
    const length = utf8Length(value);
    assert(length >= 0, () => "a lone surrogate has no UTF-8 form");
    this.#stringHeader(length);
    this.#at = writeUtf8(value, this.#bytes, this.#at);
  }

  #stringHeader(length: number): void {
    if (length < 32) this.#bytes[this.#at++] = 0xa0 | length;
    else if (length < 0x100) this.#header8(0xd9, length);
    else if (length < 0x10000) this.#header16(0xda, length);
    else this.#header32(0xdb, length);
  }

  #header8(type: number, value: number): void {
    this.#bytes[this.#at++] = type;
    this.#bytes[this.#at++] = value;
  }

  #header16(type: number, value: number): void {
    this.#bytes[this.#at++] = type;
    this.#bytes[this.#at++] = value >>> 8;
    this.#bytes[this.#at++] = value;
  }

  #header32(type: number, value: number): void {
    this.#bytes[this.#at++] = type;
    this.#uint32(value);
  }

  #uint32(value: number): void {
    this.#bytes[this.#at++] = value >>> 24;
    this.#bytes[this.#at++] = value >>> 16;
    this.#bytes[this.#at++] = value >>> 8;
    this.#bytes[this.#at++] = value;
  }

  /** Makes room for `count` more bytes. */
  #grow(count: number): void {
    const needed = this.#at + count;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = grown;
  }
}
