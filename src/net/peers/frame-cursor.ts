/**
 * A cursor over a peer's frame, and the one error for bytes that do not fit. Callers must `open`
 * bytes before they read them. Nothing is allocated by a declared length, and only texts are copied
 * out of the frame.
 */
import { isUtf8 } from "node:buffer";

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

/** A cursor. One `open` checks the bounds for the fixed-size reads that follow it. */
export class FrameCursor {
  at = 0;
  readonly #frame: Uint8Array;
  readonly #view: DataView;

  constructor(frame: Uint8Array) {
    this.#frame = frame;
    this.#view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  }

  open(end: number, count: number): void {
    if (count > end - this.at) fail(`cut short at byte ${end}: ${count} wanted at ${this.at}`);
  }

  uint8(): number {
    return this.#view.getUint8(this.at++);
  }

  boolean(): boolean {
    const value = this.uint8();
    if (value > 1) fail(`${value} instead of a boolean`);
    return value === 1;
  }

  uint16(): number {
    const value = this.#view.getUint16(this.at);
    this.at += 2;
    return value;
  }

  uint32(): number {
    const value = this.#view.getUint32(this.at);
    this.at += 4;
    return value;
  }

  uint64(): number {
    const high = this.#view.getUint32(this.at);
    const low = this.#view.getUint32(this.at + 4);
    if (high >= SAFE_HIGH_END) fail(`number beyond 2^53 at byte ${this.at}`);
    this.at += 8;
    return high * TWO_32 + low;
  }

  /** `count` bytes of UTF-8. */
  text(count: number): string {
    const bytes = this.raw(count);
    if (!isUtf8(bytes)) fail(`text that is not UTF-8 before byte ${this.at}`);
    return Buffer.from(bytes.buffer, bytes.byteOffset, count).toString();
  }

  /** `count` bytes as lower-case hex digits. */
  hex(count: number): string {
    const bytes = this.raw(count);
    return Buffer.from(bytes.buffer, bytes.byteOffset, count).toString("hex");
  }

  raw(count: number): Uint8Array {
    const bytes = this.#frame.subarray(this.at, this.at + count);
    this.at += count;
    return bytes;
  }
}

export function fail(reason: string): never {
  throw new PeerFrameError(reason);
}
