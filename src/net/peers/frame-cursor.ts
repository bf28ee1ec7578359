/**
 * A cursor over bytes of a peer, and the one error for bytes that do not fit. It never reads beyond
 * the message that it is in. Nothing is allocated by a declared length, and only texts are copied
 * out of the bytes.
 */
import { isUtf8 } from "node:buffer";
import { crc32 } from "node:zlib";
import type { NodeId } from "../../raft/index.js";
import {
  type PeerFields,
  type PeerLayout,
  type PeerListLayout,
  PRINTABLE,
  UNREAD,
} from "./peer-fields.js";

/** A peer sent something that this format does not allow. Ends the link on which it came. */
export class PeerFrameError extends Error {
  override readonly name = "PeerFrameError";
  /** Whether the bytes were changed on the way. */
  readonly isDamaged: boolean;

  constructor(reason: string, isDamaged = false) {
    super(reason);
    this.isDamaged = isDamaged;
  }
}

const TWO_32 = 2 ** 32;
/** High halves from here on mean a number beyond 2^53 − 1. */
const SAFE_HIGH_END = 2 ** 21;

export class FrameCursor implements PeerFields {
  /** Offset of the next byte to read. */
  at = 0;
  /** Where the message being read ends. */
  end: number;
  /** The two nodes of the link, which no message names. */
  readonly sender: NodeId;
  readonly receiver: NodeId;
  readonly bytes: Uint8Array;
  readonly view: DataView;

  constructor(bytes: Uint8Array, sender: NodeId, receiver: NodeId) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.end = bytes.length;
    this.sender = sender;
    this.receiver = receiver;
  }

  /** Begins a message of `length` bytes. */
  begin(length: number): void {
    this.end = this.advance(length) + length;
    this.at -= length;
  }

  /** Ends the message that was begun, of which every byte must have been read. */
  finish(): void {
    if (this.at !== this.end) fail(`a message with ${this.end - this.at} bytes too many`);
    this.end = this.bytes.length;
  }

  uint8(): number {
    return this.view.getUint8(this.advance(1));
  }

  uint16(): number {
    return this.view.getUint16(this.advance(2));
  }

  uint32(): number {
    return this.view.getUint32(this.advance(4));
  }

  uint64(): number {
    const at = this.advance(8);
    const high = this.view.getUint32(at);
    if (high >= SAFE_HIGH_END) fail(`number beyond 2^53 at byte ${at}`);
    return high * TWO_32 + this.view.getUint32(at + 4);
  }

  flag(): boolean {
    const value = this.uint8();
    if (value > 1) fail(`${value} instead of a boolean at byte ${this.at - 1}`);
    return value === 1;
  }

  oneOf<T extends string>(_value: T, names: readonly T[]): T {
    const number = this.uint8();
    return names[number] ?? fail(`${number} is none of ${names.join(", ")}`);
  }

  hex(_value: string, bytes: number): string {
    return this.#bufferOf(bytes).toString("hex");
  }

  ascii(_value: string, bytesMax: number): string {
    const length = this.uint16();
    if (length > bytesMax) fail(`text of ${length} bytes, at most ${bytesMax}`);
    const text = this.#bufferOf(length).toString("latin1");
    return PRINTABLE.test(text) ? text : fail(`unprintable characters before byte ${this.at}`);
  }

  block(): Uint8Array {
    return this.raw(this.uint32());
  }

  rest(_value: Uint8Array, bytesMax = Number.MAX_SAFE_INTEGER): Uint8Array {
    return this.raw(this.#restWithin(bytesMax));
  }

  restText(_value: string, bytesMax: number): string {
    const bytes = this.#bufferOf(this.#restWithin(bytesMax));
    return isUtf8(bytes) ? bytes.toString() : fail(`text that is not UTF-8 before byte ${this.at}`);
  }

  cutText(value: string, bytesMax: number): string {
    return this.restText(value, bytesMax);
  }

  list<T>(_values: readonly T[], layout: PeerListLayout<T>, first: number): readonly T[] {
    const values: T[] = [];
    const count = this.uint32();
    for (let at = 0; at < count; at += 1) values.push(layout(this, UNREAD, first + at));
    return values;
  }

  part<T>(_value: T, layout: PeerLayout<T>): T {
    return layout(this, UNREAD);
  }

  implied(_value: number, expected: number): number {
    return expected;
  }

  demand(isAllowed: boolean, problem: string): void {
    if (!isAllowed) fail(problem);
  }

  /** A view of `count` bytes. */
  raw(count: number): Uint8Array {
    const at = this.advance(count);
    return this.bytes.subarray(at, at + count);
  }

  #bufferOf(count: number): Buffer {
    const { buffer, byteOffset } = this.raw(count);
    return Buffer.from(buffer, byteOffset, count);
  }

  #restWithin(bytesMax: number): number {
    const length = this.end - this.at;
    return length > bytesMax ? fail(`${length} bytes, at most ${bytesMax}`) : length;
  }

  /** Passes over `count` bytes. @returns where they begin */
  advance(count: number): number {
    const { at, end } = this;
    if (count > end - at) fail(`cut short at byte ${end}: ${count} wanted at ${at}`);
    this.at = at + count;
    return at;
  }
}

/**
 * A cursor over the messages of a frame, after its checksum.
 * @throws {PeerFrameError} unless the checksum is right
 */
export function openFrame(frame: Uint8Array, sender: NodeId, receiver: NodeId): FrameCursor {
  const cursor = new FrameCursor(frame, sender, receiver);
  if (cursor.uint32() === crc32(frame.subarray(cursor.at))) return cursor;
  throw new PeerFrameError("the checksum of a frame is wrong", true);
}

export function fail(reason: string): never {
  throw new PeerFrameError(reason);
}
