/**
 * How many bytes of entries were applied up to which index, so that a compaction can keep a given
 * number of the last bytes of the log. Remembers one index per step of bytes, not every entry.
 */
import { assert } from "../../errors/index.js";

interface Mark {
  /** The last entry counted in `totalBytes`. */
  readonly index: number;
  readonly totalBytes: number;
}

export class AppliedTrail {
  readonly #stepBytes: number;
  #marks: Mark[] = [];
  #index: number;
  #totalBytes = 0;

  /** `index`: the last entry whose effects the table holds at the beginning. */
  constructor(index: number, stepBytes: number) {
    this.#index = index;
    this.#stepBytes = stepBytes;
    this.#marks.push({ index, totalBytes: 0 });
  }

  /** Bytes of all entries applied since the beginning. */
  get totalBytes(): number {
    return this.#totalBytes;
  }

  /** Entries up to `index` were applied, `bytes` in all since the last call. */
  add(index: number, bytes: number): void {
    assert(index >= this.#index, () => `entry ${index} applied after ${this.#index}`);
    this.#index = index;
    this.#totalBytes += bytes;
    const last = this.#marks.at(-1);
    if (last === undefined || this.#totalBytes - last.totalBytes >= this.#stepBytes) {
      this.#marks.push({ index, totalBytes: this.#totalBytes });
    }
  }

  /** The table was replaced: nothing before `index` was ever applied here. */
  restart(index: number): void {
    this.#index = index;
    this.#marks = [{ index, totalBytes: this.#totalBytes }];
  }

  /**
   * The latest remembered index such that at least `bytes` of entries were applied from it on; 0 if
   * the remembered entries have fewer bytes.
   */
  reachingBack(bytes: number): number {
    for (let at = this.#marks.length - 1; at >= 0; at -= 1) {
      const mark = this.#marks[at] as Mark;
      if (this.#totalBytes - mark.totalBytes >= bytes) return mark.index + 1;
    }
    return 0;
  }

  /** Entries before `keepFrom` will not be asked for again. */
  forget(keepFrom: number): void {
    const kept = this.#marks.findIndex((mark) => mark.index + 1 >= keepFrom);
    if (kept > 0) this.#marks.splice(0, kept);
  }
}
