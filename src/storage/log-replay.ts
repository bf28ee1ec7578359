/**
 * Replays the bodies of records, in their order, into what the log holds. Checks everything that
 * the CRCs cannot: that entries follow each other without a gap and terms do not fall. Entry data
 * are views of the segment's buffer, shared by all entries of that segment.
 */
import type { Entry, EntryKind, HardState } from "../raft/index.js";
import type { LogOutline } from "./log-outline.js";
import { readUint53, SECTION } from "./record-format.js";

const KINDS: readonly (EntryKind | undefined)[] = [undefined, "noop", "command", "configuration"];

export class LogReplay {
  readonly outline: LogOutline;
  readonly entries: Entry[] = [];
  #hardState: HardState;

  constructor(outline: LogOutline, hardState: HardState) {
    this.outline = outline;
    this.#hardState = hardState;
  }

  get hardState(): HardState {
    return this.#hardState;
  }

  /**
   * Applies the body that lies from `from` to before `to`. Returns what is wrong with it, after
   * which the replay is of no more use, or `undefined`.
   */
  apply(source: Buffer, from: number, to: number): string | undefined {
    let at = from;
    try {
      while (at < to) {
        const tag = source.readUInt8(at);
        if (tag === SECTION.hardState) at = this.#applyHardState(source, at + 1);
        else if (tag === SECTION.truncate) at = this.#applyTruncation(source, at + 1);
        else if (tag === SECTION.batch) at = this.#applyBatch(source, at + 1);
        else throw new RangeError(`unknown section ${tag}`);
      }
    } catch (error) {
      if (error instanceof RangeError) return error.message;
      throw error;
    }
    return at === to ? undefined : "the last section is longer than the record";
  }

  #applyHardState(source: Buffer, at: number): number {
    const hardState = { term: readUint53(source, at), vote: source.readUInt32LE(at + 8) };
    if (!Number.isSafeInteger(hardState.term) || hardState.term < this.#hardState.term) {
      throw new RangeError(`term ${hardState.term} after ${this.#hardState.term}`);
    }
    this.#hardState = hardState;
    return at + 12;
  }

  #applyTruncation(source: Buffer, at: number): number {
    const from = readUint53(source, at);
    if (!this.outline.canTruncateFrom(from)) {
      throw new RangeError(`truncation from ${from} of a log to ${this.outline.lastIndex}`);
    }
    this.outline.truncateFrom(from);
    this.entries.length = from - 1 - this.outline.baseIndex;
    return at + 8;
  }

  #applyBatch(source: Buffer, from: number): number {
    const first = readUint53(source, from);
    const term = readUint53(source, from + 8);
    const count = source.readUInt32LE(from + 16);
    if (!this.outline.canAppend(first, term) || !Number.isSafeInteger(term) || count === 0) {
      const { lastIndex, lastTerm } = this.outline;
      const batch = `${count} entries from ${first} of term ${term}`;
      throw new RangeError(`${batch} after entry ${lastIndex} of term ${lastTerm}`);
    }
    let at = from + 20;
    for (let index = first; index < first + count; index += 1) {
      const kind = KINDS[source.readUInt8(at)];
      const length = source.readUInt32LE(at + 1);
      at += 5;
      if (kind === undefined || at + length > source.length) {
        throw new RangeError(`entry ${index} has a wrong kind or length`);
      }
      const data = new Uint8Array(source.buffer, source.byteOffset + at, length);
      this.entries.push({ index, term, kind, data });
      this.outline.append(index, term);
      at += length;
    }
    return at;
  }
}
