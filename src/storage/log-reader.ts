/**
 * Reads the whole log at opening, and changes nothing. Every segment the mark names must be there,
 * be the one its name says, and continue the one before it by sequence and checksum. Only the last
 * record of the last segment may be torn, and only above the mark; all else is corruption.
 */
import { corruption } from "./corruption.js";
import { errnoOf, type FileSystem, readWhole } from "./file-system.js";
import { LogOutline } from "./log-outline.js";
import { LogReplay } from "./log-replay.js";
import type { LogBoot } from "./log-store.js";
import type { Mark } from "./mark-file.js";
import { SALT_BYTES, SECTION } from "./record-format.js";
import { segmentNameOf, segmentNumberOf } from "./segment.js";
import { readSegmentBase, SEGMENT_BASE_BYTES, type SegmentBase } from "./segment-base.js";
import { type ChainLink, type ScanEnd, scanRecord, scanRecords } from "./segment-scan.js";
import { refuteTornTail } from "./torn-tail.js";

/** The last segment as it was found. */
export interface LastSegment {
  readonly path: string;
  readonly base: SegmentBase;
  readonly salt: Uint8Array;
  /** Behind its last whole record. */
  readonly end: number;
  /** What lies behind the mark and was perhaps never synced: from here to `end`, as `tail`. */
  readonly tailFrom: number;
  readonly tail: Buffer;
  /** What a torn write left behind `end`: why it was cut; `undefined` when there is nothing. */
  readonly torn: string | undefined;
}

export interface LogContents {
  readonly boot: LogBoot;
  readonly outline: LogOutline;
  readonly link: ChainLink;
  /** `undefined`: no segment was ever made. */
  readonly last: LastSegment | undefined;
}

interface OpenSegment {
  readonly path: string;
  readonly bytes: Buffer;
  readonly base: SegmentBase;
  readonly salt: Buffer;
  readonly crc: number;
  readonly seq: number;
  readonly previousCrc: number;
  readonly recordsFrom: number;
}

/** Numbers of the segments in a directory, rising. */
async function segmentNumbers(fileSystem: FileSystem, directory: string): Promise<number[]> {
  const numbers: number[] = [];
  for (const name of await fileSystem.list(directory)) {
    const number = segmentNumberOf(name);
    if (number !== undefined) numbers.push(number);
  }
  return numbers.sort((a, b) => a - b);
}

export async function hasSegments(fileSystem: FileSystem, directory: string): Promise<boolean> {
  return (await segmentNumbers(fileSystem, directory)).length > 0;
}

export async function readLog(
  fileSystem: FileSystem,
  directory: string,
  mark: Mark,
): Promise<LogContents> {
  const reading = new LogReading(fileSystem, directory, mark);
  const found = await segmentNumbers(fileSystem, directory);
  const lastNumber = Math.max(mark.lastSegment, found.at(-1) ?? 0);
  for (let number = mark.firstSegment; number <= lastNumber; number += 1) {
    await reading.readSegment(number, number === lastNumber);
  }
  return reading.finish();
}

class LogReading {
  readonly #fileSystem: FileSystem;
  readonly #directory: string;
  readonly #mark: Mark;
  #replay: LogReplay | undefined;
  #link: ChainLink = { seq: 0, crc: 0 };
  /** Where the segment before ended, to be blamed when the next does not continue it. */
  #end: { readonly path: string; readonly end: ScanEnd } | undefined;
  #last: LastSegment | undefined;

  constructor(fileSystem: FileSystem, directory: string, mark: Mark) {
    this.#fileSystem = fileSystem;
    this.#directory = directory;
    this.#mark = mark;
  }

  async readSegment(number: number, isLast: boolean): Promise<void> {
    const segment = await this.#open(number);
    const replay = this.#continue(segment);
    const { records, end } = scanRecords(segment.bytes, segment.recordsFrom, segment.salt, {
      seq: segment.seq,
      crc: segment.crc,
    });
    const source = this.#retained(segment, end.position);
    this.#link = { seq: segment.seq, crc: segment.crc };
    this.#checkMark();
    let tailFrom = end.position;
    for (const record of records) {
      const defect = replay.apply(source, record.bodyFrom, record.bodyTo);
      if (defect !== undefined) throw this.#damaged(segment.path, record.position, defect);
      if (this.#link.seq < this.#mark.seq && record.seq > this.#mark.seq) {
        throw this.#damaged(segment.path, record.position, "no record ends at the durable mark");
      }
      this.#link = record;
      this.#checkMark();
      if (record.seq > this.#mark.seq) tailFrom = Math.min(tailFrom, record.position);
    }
    this.#end = { path: segment.path, end };
    if (isLast) this.#last = this.#judge(segment, end, tailFrom);
  }

  finish(): LogContents {
    const replay = this.#replay ?? this.#newReplay(undefined);
    const { outline, entries, hardState } = replay;
    const { baseIndex, baseTerm } = outline;
    const boot = { hardState, baseIndex, baseTerm, entries, lastSeq: this.#link.seq };
    return { boot, outline, link: this.#link, last: this.#last };
  }

  async #open(number: number): Promise<OpenSegment> {
    const path = `${this.#directory}/${segmentNameOf(number)}`;
    let bytes: Buffer;
    try {
      bytes = await readWhole(this.#fileSystem, path);
    } catch (error) {
      if (errnoOf(error) === "ENOENT") throw this.#damaged(path, 0, "the segment is missing");
      throw error;
    }
    const salt = Buffer.from(bytes.subarray(0, SALT_BYTES));
    const record = scanRecord(bytes, 0, salt, undefined);
    if (typeof record === "string") throw this.#damaged(path, 0, `first record: ${record}`);
    const { bodyFrom, bodyTo, crc, seq } = record;
    if (bodyTo - bodyFrom !== 1 + SEGMENT_BASE_BYTES || bytes[bodyFrom] !== SECTION.base) {
      throw this.#damaged(path, 0, "the first record is not a segment's base");
    }
    const base = readSegmentBase(bytes, bodyFrom + 1);
    // The CRC of the previous record stands in bytes 20 – 23 of the header just verified.
    const previousCrc = bytes.readUInt32LE(20);
    if (base.number !== number) throw this.#damaged(path, 0, `this is segment ${base.number}`);
    if (base.nodeId !== this.#mark.nodeId || base.clusterId !== this.#mark.clusterId) {
      const owner = `node ${base.nodeId} of cluster ${base.clusterId}`;
      throw this.#damaged(path, 0, `the segment belongs to ${owner}`);
    }
    if (base.capacityBytes !== bytes.length) {
      const size = `${bytes.length} bytes instead of ${base.capacityBytes}`;
      throw this.#damaged(path, bytes.length, `the file has ${size}`);
    }
    return { path, bytes, base, salt, crc, seq, previousCrc, recordsFrom: bodyTo + 1 };
  }

  /** Checks that a segment goes on where the one before it ended. */
  #continue(segment: OpenSegment): LogReplay {
    const { base, seq, previousCrc } = segment;
    if (this.#replay === undefined || this.#end === undefined) {
      if (base.lastIndex !== base.baseIndex) {
        throw this.#damaged(segment.path, 0, "the segments before it are missing");
      }
      this.#replay = this.#newReplay(base);
      return this.#replay;
    }
    if (seq !== this.#link.seq || previousCrc !== this.#link.crc) {
      const { path, end } = this.#end;
      const defect = end.defect ?? "records are missing";
      throw this.#damaged(path, end.position, `${defect}, and segment ${base.number} goes on`);
    }
    const { hardState, outline } = this.#replay;
    const isSame =
      base.hardState.term === hardState.term &&
      base.hardState.vote === hardState.vote &&
      base.baseIndex === outline.baseIndex &&
      base.baseTerm === outline.baseTerm &&
      base.lastIndex === outline.lastIndex &&
      base.lastTerm === outline.lastTerm;
    if (!isSame) throw this.#damaged(segment.path, 0, "its base is not where the log stands");
    return this.#replay;
  }

  #newReplay(base: SegmentBase | undefined): LogReplay {
    const outline = new LogOutline(base?.baseIndex ?? 0, base?.baseTerm ?? 0);
    return new LogReplay(outline, base?.hardState ?? { term: 0, vote: 0 });
  }

  /** The buffer the entries will share: a copy when most of the segment is empty. */
  #retained({ bytes }: OpenSegment, usedBytes: number): Buffer {
    return usedBytes < bytes.length / 2 ? Buffer.from(bytes.subarray(0, usedBytes)) : bytes;
  }

  /** At the sequence of the mark the log must be what the mark says it was. */
  #checkMark(): void {
    const { seq, index, term } = this.#mark;
    const outline = this.#replay?.outline;
    if (outline === undefined || this.#link.seq !== seq) return;
    if (outline.lastIndex === index && outline.lastTerm === term) return;
    const marked = `entry ${index} of term ${term}`;
    const found = `entry ${outline.lastIndex} of term ${outline.lastTerm}`;
    throw this.#damaged(
      this.#directory,
      0,
      `at sequence ${seq} it ends with ${found}, not ${marked}`,
    );
  }

  #judge(segment: OpenSegment, end: ScanEnd, tailFrom: number): LastSegment {
    const { bytes, path, base, salt } = segment;
    if (this.#link.seq < this.#mark.seq) {
      const defect = end.defect ?? "records are missing";
      throw this.#damaged(path, end.position, `${defect}, below the durable mark`);
    }
    if (end.defect !== undefined) {
      const refutation = refuteTornTail(bytes, end.position, salt, this.#link);
      if (refutation !== undefined) {
        throw this.#damaged(path, end.position, `${end.defect}, and ${refutation}`);
      }
    }
    const tail = bytes.subarray(tailFrom, end.position);
    return { path, base, salt, end: end.position, tailFrom, tail, torn: end.defect };
  }

  #damaged(file: string, offset: number, reason: string): Error {
    const lastIndex = this.#replay?.outline.lastIndex ?? 0;
    return corruption({ file, offset, index: lastIndex + 1 }, reason);
  }
}
