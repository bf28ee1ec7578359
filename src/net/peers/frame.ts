/**
 * The buffer into which the messages of a turn to one peer are encoded, after their checksum.
 *
 * A sent frame must not be touched until the socket has taken its bytes, because nothing copies it
 * on the way. So frames are reused in a cycle: filled, sent, returned by the send callback, filled
 * again. Bytes of log entries are copied exactly once, from their place in memory into the frame.
 */
import { crc32 } from "node:zlib";
import { assert } from "../../errors/index.js";
import { cutText } from "../cut-text.js";
import { FRAME, FRAME_HEAD_BYTES, writeHead } from "./link-frame.js";
import { type PeerFields, type PeerLayout, type PeerListLayout, PRINTABLE } from "./peer-fields.js";

/** Before the messages. */
export const FRAME_CHECKSUM_BYTES = 4;
/** A frame of this size is full, unless it contains a single longer message. */
export const FRAME_FULL_BYTES = 1 << 20;
const INITIAL_BYTES = 64 << 10;
/** A larger frame was needed for a burst and is left to the garbage collector. */
const POOLED_BYTES_MAX = 2 << 20;
const POOLED_FRAMES_MAX = 8;
const TWO_32 = 2 ** 32;

/** Lower-case, so that the receiver reads the same text. */
const HEX = /^[0-9a-f]*$/;

export class PeerFrame implements PeerFields {
  readonly sender = 0;
  readonly receiver = 0;
  /** Bytes written, including the checksum. */
  length = FRAME_CHECKSUM_BYTES;
  /** Set by the sender; called when the socket has taken the bytes. */
  onTaken: ((frame: PeerFrame) => void) | undefined;
  /** One function per frame instead of one per message. */
  readonly sent = (): void => this.onTaken?.(this);
  /**
   * Preceded in memory by space for the head that the frame is sent with. Another array, and another
   * view, after each `advance` that needs more room.
   */
  bytes: Uint8Array<ArrayBuffer>;
  view: DataView;

  constructor(capacity = INITIAL_BYTES) {
    this.bytes = bytesOf(capacity);
    this.view = viewOf(this.bytes);
  }

  /** Bytes of memory that the frame occupies, however little it contains. */
  get capacity(): number {
    return this.bytes.length;
  }

  get isEmpty(): boolean {
    return this.length === FRAME_CHECKSUM_BYTES;
  }

  /** Forgets everything written. */
  clear(): void {
    this.length = FRAME_CHECKSUM_BYTES;
    this.onTaken = undefined;
  }

  uint8(value: number): void {
    const at = this.advance(1);
    this.bytes[at] = value;
  }

  uint16(value: number): number {
    const at = this.advance(2);
    this.view.setUint16(at, value);
    return value;
  }

  uint32(value: number): number {
    const at = this.advance(4);
    this.view.setUint32(at, value);
    return value;
  }

  uint64(value: number): number {
    const at = this.advance(8);
    this.view.setUint32(at, Math.floor(value / TWO_32));
    this.view.setUint32(at + 4, value >>> 0);
    return value;
  }

  flag(value: boolean): boolean {
    this.uint8(value ? 1 : 0);
    return value;
  }

  oneOf<T extends string>(value: T, names: readonly T[]): T {
    this.uint8(names.indexOf(value));
    return value;
  }

  hex(value: string, bytes: number): string {
    const isWhole = value.length === 2 * bytes && HEX.test(value);
    assert(isWhole, () => `not ${bytes} bytes in hex digits: ${value}`);
    this.#raw(Buffer.from(value, "hex"));
    return value;
  }

  ascii(value: string, bytesMax: number): string {
    const isWithin = value.length <= bytesMax && PRINTABLE.test(value);
    assert(isWithin, () => `not at most ${bytesMax} printable characters: ${value}`);
    this.uint16(value.length);
    this.#raw(Buffer.from(value, "latin1"));
    return value;
  }

  block(value: Uint8Array): Uint8Array {
    this.uint32(value.length);
    return this.#raw(value);
  }

  rest(value: Uint8Array, bytesMax = Number.MAX_SAFE_INTEGER): Uint8Array {
    assert(value.length <= bytesMax, () => `${value.length} bytes, at most ${bytesMax}`);
    return this.#raw(value);
  }

  restText(value: string, bytesMax: number): string {
    this.rest(Buffer.from(value), bytesMax);
    return value;
  }

  cutText(value: string, bytesMax: number): string {
    return this.restText(cutText(value, bytesMax), bytesMax);
  }

  list<T>(values: readonly T[], layout: PeerListLayout<T>, first: number): readonly T[] {
    this.uint32(values.length);
    for (let at = 0; at < values.length; at += 1) layout(this, values[at] as T, first + at);
    return values;
  }

  part<T>(value: T, layout: PeerLayout<T>): T {
    return layout(this, value);
  }

  implied(value: number, expected: number): number {
    assert(value === expected, () => `${value} sent instead of ${expected}`);
    return value;
  }

  demand(isAllowed: boolean, problem: string): void {
    assert(isAllowed, () => problem);
  }

  /**
   * The messages with their checksum, not copied: valid until the frame is returned to the pool.
   */
  finish(): Uint8Array {
    const { bytes, length } = this;
    this.view.setUint32(0, crc32(bytes.subarray(FRAME_CHECKSUM_BYTES, length)));
    return bytes.subarray(0, length);
  }

  /** The same with the head before it: what is sent. */
  finishWhole(): Buffer {
    const { buffer, byteOffset, length } = this.finish();
    const frame = Buffer.from(buffer, byteOffset - FRAME_HEAD_BYTES, FRAME_HEAD_BYTES + length);
    writeHead(frame, FRAME.messages, length);
    return frame;
  }

  /** Writes how many bytes follow the u32 at `at`, now that they are written. */
  endLength(at: number): void {
    this.view.setUint32(at, this.length - at - 4);
  }

  /** Moves what was written from `at` on to the end of another frame. */
  moveFrom(at: number, to: PeerFrame): void {
    to.#raw(this.bytes.subarray(at, this.length));
    this.length = at;
  }

  #raw(bytes: Uint8Array): Uint8Array {
    const at = this.advance(bytes.length);
    this.bytes.set(bytes, at);
    return bytes;
  }

  /**
   * Makes room for `count` more bytes, which begin at the offset that it returns. The buffer may be
   * another one then.
   */
  advance(count: number): number {
    const at = this.length;
    const needed = at + count;
    if (needed > this.bytes.length) this.#grow(needed);
    this.length = needed;
    return at;
  }

  /** A frame that fills up message by message doubles; beyond, it gets the space that it needs. */
  #grow(needed: number): void {
    const least = Math.max(needed, Math.min(this.bytes.length * 2, FRAME_FULL_BYTES));
    const bytes = bytesOf(Math.ceil(least / INITIAL_BYTES) * INITIAL_BYTES);
    bytes.set(this.bytes.subarray(0, this.length));
    this.bytes = bytes;
    this.view = viewOf(bytes);
  }
}

function bytesOf(capacity: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new ArrayBuffer(FRAME_HEAD_BYTES + capacity), FRAME_HEAD_BYTES);
}

function viewOf({ buffer, byteOffset }: Uint8Array<ArrayBuffer>): DataView {
  return new DataView(buffer, byteOffset);
}

/** A pool of unused frames. */
export class PeerFramePool {
  readonly #free: PeerFrame[] = [];

  take(): PeerFrame {
    return this.#free.pop() ?? new PeerFrame();
  }

  give(frame: PeerFrame): void {
    if (frame.capacity > POOLED_BYTES_MAX || this.#free.length >= POOLED_FRAMES_MAX) return;
    frame.clear();
    this.#free.push(frame);
  }
}
