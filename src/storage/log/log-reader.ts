/**
 * Reads the whole log at opening, and changes nothing. Every segment that the mark names must
 * exist, be the one of its name, and continue the previous one by sequence and checksum. Only the
 * last record of the last segment may be torn, and only above the mark; anything else is corruption
 * (consensus rule 21). If the first segments were removed, there must be a snapshot for them.
 */
import { corruption } from "../corruption.js";
import { diskFailure, errnoOf, type FileSystem, readWhole } from "../file-system.js";
import type { LogBoot } from "../log-store.js";
import type { Mark } from "../mark/mark-file.js";
import type { LogOutline } from "./log-outline.js";
import { LogReplay } from "./log-replay.js";
import { SALT_BYTES, SECTION } from "./record-format.js";
import { segmentNameOf, segmentNumberOf } from "./segment.js";
import { readSegmentBase, SEGMENT_BASE_BYTES, type SegmentBase } from "./segment-base.js";
import type { SegmentList } from "./segment-list.js";
import {
  type ChainLink,
  type ScanEnd,
  type ScannedRecord,
  scanRecord,
  scanRecords,
} from "./segment-scan.js";
import { refuteTornTail } from "./torn-tail.js";

/**
 * Entries are kept in copies of about this many bytes of a segment, in whole records: a few entries
 * that are kept for long retain no more than that, and opening does not copy each entry separately.
 */
const RUN_BYTES = 256 << 10;

/** The last segment as it was found. */
export interface LastSegment {
  readonly path: string;
  readonly base: SegmentBase;
  readonly salt: Uint8Array;
  /** After its last whole record. */
  readonly end: number;
  /**
   * The records after the mark, which may never have been synced: from here to `end`, as `tail`.
   */
  readonly tailFrom: number;
  readonly tail: Buffer;
  /** Why a torn write after `end` was cut off; `undefined` if nothing was. */
  readonly torn: string | undefined;
}

export interface LogContents {
  readonly boot: LogBoot;
  readonly outline: LogOutline;
  readonly segments: SegmentList;
  readonly link: ChainLink;
  /** `undefined` if no segment was ever made. */
  readonly last: LastSegment | undefined;
  /** Numbers of segments that are garbage: their removal was interrupted. */
  readonly leftovers: readonly number[];
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

export async function readLog(
  fileSystem: FileSystem,
  directory: string,
  mark: Mark,
): Promise<LogContents> {
  const reader = new LogReader(fileSystem, directory, mark);
  const found = await segmentNumbers(fileSystem, directory);
  const lastNumber = Math.max(mark.lastSegment, found.at(-1) ?? 0);
  for (let number = mark.firstSegment; number <= lastNumber; number += 1) {
    await reader.readSegment(number, number === lastNumber);
  }
  const leftovers = found.filter((number) => number < mark.firstSegment);
  return { ...reader.finish(), leftovers };
}

class LogReader {
  readonly #fileSystem: FileSystem;
  readonly #directory: string;
  readonly #mark: Mark;
  #replay: LogReplay | undefined;
  #link: ChainLink = { seq: 0, crc: 0 };
  /** The end of the previous segment, where the damage is if the next one does not continue it. */
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
    replay.segments.begun(number, segment.base.lastIndex);
    this.#link = { seq: segment.seq, crc: segment.crc };
    this.#checkMark();
    let tailFrom = end.position;
    let run = { bytes: segment.bytes, from: 0, to: 0 };
    for (const [at, record] of records.entries()) {
      if (record.bodyTo > run.to) run = runOf(segment.bytes, records, at);
      const { bytes, from } = run;
      const defect = replay.apply(bytes, record.bodyFrom - from, record.bodyTo - from);
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

  finish(): Omit<LogContents, "leftovers"> {
    const replay = this.#replay ?? new LogReplay(undefined);
    const { outline, segments, entries, hardState, snapshot } = replay;
    const { baseIndex, baseTerm } = outline;
    const defect = replay.judgeBase();
    if (defect !== undefined) {
      const first = segmentNameOf(this.#mark.firstSegment);
      throw corruption({ file: `${this.#directory}/${first}`, offset: 0, index: 1 }, defect);
    }
    const { seq: lastSeq } = this.#link;
    const boot = { hardState, baseIndex, baseTerm, entries, snapshot, lastSeq };
    return { boot, outline, segments, link: this.#link, last: this.#last };
  }

  async #open(number: number): Promise<OpenSegment> {
    const path = `${this.#directory}/${segmentNameOf(number)}`;
    let bytes: Buffer;
    try {
      bytes = await readWhole(this.#fileSystem, path);
    } catch (error) {
      const code = errnoOf(error);
      if (code === "ENOENT") throw this.#damaged(path, 0, "the segment is missing");
      if (code === "EIO") throw diskFailure(`EIO: ${path} cannot be read`, error);
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
    // The CRC of the previous record is in bytes 20 – 23 of the header that was just verified.
    const previousCrc = bytes.readUInt32LE(20);
    if (base.number !== number) throw this.#damaged(path, 0, `this is segment ${base.number}`);
    if (base.nodeId !== this.#mark.nodeId || base.clusterId !== this.#mark.clusterId) {
      const node = `node ${base.nodeId} of cluster ${base.clusterId}`;
      throw this.#damaged(path, 0, `the segment belongs to ${node}`);
    }
    if (base.capacityBytes !== bytes.length) {
      const size = `${bytes.length} bytes instead of ${base.capacityBytes}`;
      throw this.#damaged(path, bytes.length, `the file has ${size}`);
    }
    return { path, bytes, base, salt, crc, seq, previousCrc, recordsFrom: bodyTo + 1 };
  }

  /** Checks that a segment continues the previous one. */
  #continue(segment: OpenSegment): LogReplay {
    const { base, seq, previousCrc } = segment;
    if (this.#replay === undefined || this.#end === undefined) {
      this.#replay = new LogReplay(base);
      return this.#replay;
    }
    if (seq !== this.#link.seq || previousCrc !== this.#link.crc) {
      const { path, end } = this.#end;
      const defect = end.defect ?? "records are missing";
      throw this.#damaged(path, end.position, `${defect}, but segment ${base.number} follows`);
    }
    if (!this.#replay.isContinuedBy(base)) {
      throw this.#damaged(segment.path, 0, "its base is not the end of the log");
    }
    return this.#replay;
  }

  /** At the sequence of the mark, the log must end as the mark says. */
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

/** A copy of the records from number `first` on, as many as make a run. */
function runOf(
  segment: Buffer,
  records: readonly ScannedRecord[],
  first: number,
): { readonly bytes: Buffer; readonly from: number; readonly to: number } {
  const from = records[first]?.position ?? 0;
  let to = records[first]?.bodyTo ?? from;
  for (let at = first + 1; at < records.length; at += 1) {
    const end = records[at]?.bodyTo ?? to;
    if (end - from > RUN_BYTES) break;
    to = end;
  }
  const bytes = Buffer.allocUnsafeSlow(to - from);
  segment.copy(bytes, 0, from, to);
  return { bytes, from, to };
}
