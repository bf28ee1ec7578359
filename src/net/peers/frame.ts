/**
 * The buffer into which the messages of a turn to one peer are encoded, after their checksum.
 *
 * A sent frame must not be touched until the socket has taken its bytes, because nothing copies it
 * on the way. So frames are reused in a cycle: filled, sent, returned by the send callback, filled
 * again. Bytes of log entries are copied exactly once, from their place in memory into the frame.
 */
import { crc32 } from "node:zlib";
import { FRAME_HEADROOM_BYTES } from "../whole-frame.js";
import { FRAME_CHECKSUM_BYTES } from "./format.js";

const INITIAL_BYTES = 64 << 10;
/** A larger frame was needed for a burst and is left to the garbage collector. */
const POOLED_BYTES_MAX = 2 << 20;
const POOLED_FRAMES_MAX = 8;
const TWO_32 = 2 ** 32;

export class PeerFrame {
  /** Bytes written, including the checksum. */
  length = FRAME_CHECKSUM_BYTES;
  /** Set by the sender; called when the socket has taken the bytes. */
  onTaken: ((frame: PeerFrame) => void) | undefined;
  /** One function per frame instead of one per message. */
  readonly sent = (): void => this.onTaken?.(this);
  /** Preceded in memory by space for the WebSocket header that the frame is sent with. */
  #bytes: Uint8Array<ArrayBuffer>;
  #view: DataView;

  constructor(capacity = INITIAL_BYTES) {
    this.#bytes = bytesOf(capacity);
    this.#view = viewOf(this.#bytes);
  }

  /** Bytes of memory that the frame occupies, however little it contains. */
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
    // One long message gets exactly the space it needs; a frame that grows message by message
    // doubles.
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

  /** Writes a whole number up to 2^53 − 1 in 64 bits. */
  uint64(value: number): void {
    this.#view.setUint32(this.length, Math.floor(value / TWO_32));
    this.#view.setUint32(this.length + 4, value >>> 0);
    this.length += 8;
  }

  raw(bytes: Uint8Array): void {
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /**
   * The whole frame with its checksum, not copied: valid until the frame is returned to the pool.
   */
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
