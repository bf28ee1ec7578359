/**
 * One file of the file system in memory: what readers see, what is durable, and the writes in
 * between. A crash keeps any subset of those writes, and of each write any first part or any
 * sectors.
 */
import { SECTOR_BYTES } from "../../src/storage/disk-bytes.js";

/** Returns a number in [0, 1). */
export type CrashRandom = () => number;

export interface PendingWrite {
  readonly position: number;
  readonly bytes: Uint8Array;
  isDurable: boolean;
}

export class MemoryInode {
  /** Its present path. */
  path: string;
  cached: Uint8Array;
  #durable: Uint8Array;
  /** Writes that are not part of `#durable` yet, oldest first. */
  #pending: PendingWrite[] = [];

  constructor(path: string, content: Uint8Array) {
    this.path = path;
    // Not `slice`, because a Buffer's does not copy.
    this.cached = Uint8Array.from(content);
    this.#durable = Uint8Array.from(content);
  }

  /** What every loss of power leaves; a copy. */
  get durable(): Uint8Array {
    return this.#durable.slice();
  }

  /** A copy with the same history: what is not durable here is not durable there. */
  copy(): MemoryInode {
    const copy = new MemoryInode(this.path, this.#durable);
    copy.cached = this.cached.slice();
    copy.#pending = this.#pending.map((write) => ({ ...write }));
    return copy;
  }

  write(chunks: readonly Uint8Array[], position: number): PendingWrite {
    let length = 0;
    for (const chunk of chunks) length += chunk.length;
    const bytes = new Uint8Array(length);
    let at = 0;
    for (const chunk of chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    this.cached = patched(this.cached, bytes, position);
    const write = { position, bytes, isDurable: false };
    this.#pending.push(write);
    return write;
  }

  /** `write` is on the disk now. */
  confirm(write: PendingWrite): void {
    write.isDurable = true;
    const at = this.#pending.indexOf(write);
    // Anything that the disk had of an earlier write to the same place is overwritten.
    this.#pending = this.#pending.filter((other, otherAt) => {
      const isCovered =
        other.position >= write.position &&
        other.position + other.bytes.length <= write.position + write.bytes.length;
      return otherAt >= at || !isCovered;
    });
    while (this.#pending[0]?.isDurable === true) {
      const first = this.#pending.shift();
      if (first !== undefined) this.#durable = patched(this.#durable, first.bytes, first.position);
    }
  }

  /** Flips bit `bit` (0 … 7) of the byte at `offset`, on the disk and for every reader. */
  damage(offset: number, bit: number): void {
    for (const content of [this.cached, this.#durable]) {
      if (offset < content.length) content[offset] = (content[offset] ?? 0) ^ (1 << bit);
    }
  }

  /** What a crash may leave on the disk. */
  crashed(random: CrashRandom): Uint8Array {
    let content: Uint8Array = this.#durable.slice();
    for (const { position, bytes, isDurable } of this.#pending) {
      if (isDurable) content = patched(content, bytes, position);
      else content = torn(content, bytes, position, random);
    }
    return content;
  }
}

function patched(content: Uint8Array, bytes: Uint8Array, position: number): Uint8Array {
  let target = content;
  if (position + bytes.length > content.length) {
    target = new Uint8Array(position + bytes.length);
    target.set(content);
  }
  target.set(bytes, position);
  return target;
}

function torn(
  content: Uint8Array,
  bytes: Uint8Array,
  position: number,
  random: CrashRandom,
): Uint8Array {
  const choice = random();
  if (choice < 0.2) return content;
  if (choice < 0.4) return patched(content, bytes, position);
  if (choice < 0.7) {
    return patched(content, bytes.subarray(0, Math.floor(random() * bytes.length)), position);
  }
  let target = content;
  let at = 0;
  while (at < bytes.length) {
    const end = Math.min(bytes.length, at + SECTOR_BYTES - ((position + at) % SECTOR_BYTES));
    if (random() < 0.5) target = patched(target, bytes.subarray(at, end), position + at);
    at = end;
  }
  return target;
}
