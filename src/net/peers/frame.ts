/**
 * The buffer that the messages of a turn to one peer are encoded into, after a checksum of them.
 *
 * A frame that was sent must not be touched until the socket took its bytes (nothing copies it on
 * the way), so frames go round: filled, sent, given back by the send callback, filled again. Bytes
 * of log entries are copied exactly once, from where they lie into the frame.
 */
import { crc32 } from "node:zlib";
import { FRAME_HEADROOM_BYTES } from "../whole-frame.js";
import { FRAME_CHECKSUM_BYTES } from "./format.js";

const INITIAL_BYTES = 64 << 10;
/** Larger ones were a burst and are left to the collector. */
const POOLED_BYTES_MAX = 2 << 20;
const POOLED_FRAMES_MAX = 8;
const TWO_32 = 2 ** 32;

export class PeerFrame {
  /** Of what was written, the checksum included. */
  length = FRAME_CHECKSUM_BYTES;
  /** Set by the sender; called when the socket took the bytes. */
  onTaken: ((frame: PeerFrame) => void) | undefined;
  /** One function per frame, not one per message. */
  readonly sent = (): void => this.onTaken?.(this);
  /** Behind room for the header with which it leaves. */
  #bytes: Uint8Array<ArrayBuffer>;
  #view: DataView;

  constructor(capacity = INITIAL_BYTES) {
    this.#bytes = bytesOf(capacity);
    this.#view = viewOf(this.#bytes);
  }

  /** What it occupies, however little is in it. */
  get capacity(): number {
    return this.#bytes.length;
  }

  get isEmpty(): boolean {
    return this.length === FRAME_CHECKSUM_BYTES;
  }

  clear(): void {
    this.length = FRAME_CHECKSUM_BYTES;
    this.onTaken = undefined;
  }

  /** Makes room for `count` more bytes. The writes below rely on it. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.#bytes.length) return;
    // One long message gets what it needs; what grows message by message doubles.
    const least = this.isEmpty ? needed : Math.max(needed, this.#bytes.length * 2);
    const bytes = bytesOf(Math.ceil(least / INITIAL_BYTES) * INITIAL_BYTES);
    bytes.set(this.#bytes.subarray(0, this.length));
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
  }

  uint8(value: number): void {
    this.#bytes[this.length] = value;
    this.length += 1;
  }

  uint16(value: number): void {
    this.#view.setUint16(this.length, value);
    this.length += 2;
  }

  uint32(value: number): void {
    this.#view.setUint32(this.length, value);
    this.length += 4;
  }

  /** A whole number up to 2^53 − 1, as 64 bits. */
  uint64(value: number): void {
    this.#view.setUint32(this.length, Math.floor(value / TWO_32));
    this.#view.setUint32(this.length + 4, value >>> 0);
    this.length += 8;
  }

  raw(bytes: Uint8Array): void {
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** All of it with its checksum, not copied: valid until the frame is given back. */
  finish(): Uint8Array {
    this.#view.setUint32(0, crc32(this.#bytes.subarray(FRAME_CHECKSUM_BYTES, this.length)));
    return this.#bytes.subarray(0, this.length);
  }
}

function bytesOf(capacity: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new ArrayBuffer(FRAME_HEADROOM_BYTES + capacity), FRAME_HEADROOM_BYTES);
}

function viewOf({ buffer, byteOffset }: Uint8Array<ArrayBuffer>): DataView {
  return new DataView(buffer, byteOffset);
}

/** Frames that are not in use. */
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
