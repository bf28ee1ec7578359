/**
 * The port of an ordered store: keys in the order of their bytes, and batches that are atomic and
 * durable when they resolve, one of them in flight. It contains snapshots and history, never the
 * log. Production uses `level`, the simulator a store in memory.
 *
 * Every value is kept with a checksum over key and value, because the store underneath does not
 * notice when its files change: reading an altered value fails with a corruption error.
 */
import { crc32 } from "node:zlib";
import { HoldfastError } from "../errors/index.js";
import { corruption } from "./corruption.js";
import { isNoSpace } from "./file-system.js";

export type StoreOperation =
  | { readonly type: "put"; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly type: "remove"; readonly key: Uint8Array };

/** Keys from `from` to before `to`, in rising order, at most `limit` of them. */
export interface StoreRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
  readonly limit?: number;
}

export interface StoreEntry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

export interface OrderedStore {
  /**
   * One atomic, durable batch; batches take effect in the order of the calls. A batch that fails
   * because the disk is full (`DISK_FULL`) has no effect. After any other failure every later batch
   * fails too: the effect of the failed one is known only after the store is opened again.
   */
  write(operations: readonly StoreOperation[]): Promise<void>;
  /** `undefined` if there is no such key. */
  get(key: Uint8Array): Promise<Uint8Array | undefined>;
  /** A view of one moment. */
  iterate(range: StoreRange): AsyncIterable<StoreEntry>;
  /** Waits for the batches that were handed over. */
  close(): Promise<void>;
}

const CHECKSUM_BYTES = 4;

/** `value` followed by the checksum of key and value. */
export function sealValue(key: Uint8Array, value: Uint8Array): Buffer {
  const sealed = Buffer.allocUnsafe(value.length + CHECKSUM_BYTES);
  sealed.set(value, 0);
  sealed.writeUInt32LE(crc32(value, crc32(key)), value.length);
  return sealed;
}

/** The reverse, a view of `sealed`. Fails with `INTERNAL` if the checksum does not match. */
export function openValue(key: Uint8Array, sealed: Uint8Array): Uint8Array {
  const valueBytes = sealed.length - CHECKSUM_BYTES;
  if (valueBytes >= 0) {
    const value = sealed.subarray(0, valueBytes);
    const view = new DataView(sealed.buffer, sealed.byteOffset, sealed.length);
    if (view.getUint32(valueBytes, true) === crc32(value, crc32(key))) return value;
  }
  const name = Buffer.from(key).toString("hex");
  const place = { file: "store", offset: 0, index: 0 };
  throw corruption(place, `the stored value of key ${name} was altered`);
}

/**
 * Runs one write at a time, in the order of the calls, and none after a failed one, unless that
 * failed because the disk is full: such a batch has no effect, and the next one may find space.
 */
export class WriteLine {
  #tail: Promise<void> = Promise.resolve();
  #failure: unknown;

  run(write: () => Promise<void>): Promise<void> {
    const done = this.#tail.then(() => this.#attempt(write));
    // The caller has `done`; the line itself must not count as unhandled.
    this.#tail = done.catch(() => {});
    return done;
  }

  /** Resolves when no write is under way, even if one failed. */
  settled(): Promise<void> {
    return this.#tail;
  }

  async #attempt(write: () => Promise<void>): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      await write();
    } catch (error) {
      if (!isOutOfSpace(error)) this.#failure = error;
      throw error;
    }
  }
}

/** Whether a write failed because the disk is full, and may be tried again. */
export function isOutOfSpace(error: unknown): boolean {
  return isNoSpace(error) || (error instanceof HoldfastError && error.code === "DISK_FULL");
}
