/**
 * The log on disk: one ordered stream of records in segment files, one writer, one write in flight.
 * Records that are handed over while a write is under way become one record. A small record that
 * finds a quick disk idle is written and synced before `append` returns. Segments that a durable
 * snapshot made superfluous are removed in the background, after a mark that does not require them
 * any more.
 *
 * A failed write or sync is final: it is reported once, and nothing is written or tried again after
 * it (consensus rule 22; Rebello et al., Can Applications Recover from fsync Failures?, ATC '20).
 */
import { assert, HoldfastError } from "../../errors/index.js";
import type { Write } from "../../raft/index.js";
import { type FileSystem, isDiskFailure, isNoSpace } from "../file-system.js";
import type { LogBoot, LogEvents, LogStore, LogWrites } from "../log-store.js";
import type { MarkFile } from "../mark/mark-file.js";
import { type DurablePoint, MarkSchedule } from "../mark/mark-schedule.js";
import type { StoragePorts } from "../storage-ports.js";
import type { LogOutline } from "./log-outline.js";
import { bodyBytesOf, type EncodedRecord, type RecordEncoder } from "./record-encoder.js";
import { recordBytesOf } from "./record-format.js";
import { removeSegments, Segment } from "./segment.js";
import { SEGMENT_BASE_BYTES } from "./segment-base.js";
import type { SegmentList } from "./segment-list.js";
import type { SegmentPreparer } from "./segment-preparer.js";
import type { ChainLink } from "./segment-scan.js";
import { WriteCheck } from "./write-check.js";

/** Waiting writes beyond this many bytes go into another record. */
const RECORD_BODY_BYTES_MAX = 4 << 20;
/** The base record of a segment. */
const BASE_RECORD_BYTES = recordBytesOf(1 + SEGMENT_BASE_BYTES);

export interface FileLogParts {
  readonly fileSystem: FileSystem;
  /** Contains the segments. */
  readonly directory: string;
  readonly mark: MarkFile;
  readonly preparer: SegmentPreparer;
  /** The size of a segment, unless one record needs a larger one. */
  readonly segmentBytes: number;
  readonly encoder: RecordEncoder;
  readonly ports: StoragePorts;
  readonly boot: LogBoot;
  /** The outline of `boot`; the log continues it. */
  readonly outline: LogOutline;
  /** The existing segments; the log continues it. */
  readonly segments: SegmentList;
  readonly link: ChainLink;
  /** The last segment; `undefined` if there is none yet. */
  readonly segment: Segment | undefined;
  /** Whether a torn tail ends the last segment, so that it takes no more records. */
  readonly isSealed: boolean;
}

/** A write that was handed over, and the end of the log after it. */
interface Waiting {
  readonly write: Write;
  readonly bodyBytes: number;
  readonly lastIndex: number;
  readonly lastTerm: number;
}

export class FileLog implements LogStore {
  readonly boot: LogBoot;
  readonly #parts: FileLogParts;
  readonly #outline: LogOutline;
  readonly #writeCheck: WriteCheck;
  readonly #segments: SegmentList;
  /** Also keeps the peers, which must not be lost either. */
  readonly mark: MarkSchedule;
  #events: LogEvents | undefined;
  #segment: Segment | undefined;
  #durable: DurablePoint;
  #waiting: Waiting[] = [];
  #pendingBytes = 0;
  #recordsWritten = 0;
  #bytesWritten = 0;
  /** The loop that writes, while there is anything to write; settles without failing on I/O. */
  #writing: Promise<void> | undefined;
  /** The removal of segments, while there are any to remove; settles without failing. */
  #removing: Promise<void> | undefined;
  #failure: Error | undefined;
  #closing: Promise<void> | undefined;

  private constructor(parts: FileLogParts) {
    const { boot, outline, segments, mark, ports } = parts;
    this.boot = boot;
    this.#parts = parts;
    this.#outline = outline;
    this.#segments = segments;
    this.#segment = parts.segment;
    this.#writeCheck = new WriteCheck(boot, outline);
    this.#durable = {
      seq: boot.lastSeq,
      lastIndex: outline.lastIndex,
      lastTerm: outline.lastTerm,
      hardState: boot.hardState,
      snapshot: boot.snapshot,
    };
    const durable = (): DurablePoint => this.#durable;
    const failure = (): Error | undefined => this.#failure;
    this.mark = new MarkSchedule(mark, ports.timer, {
      get durable(): DurablePoint {
        return durable();
      },
      get failure(): Error | undefined {
        return failure();
      },
      fail: (error) => this.#fail(error),
    });
  }

  /**
   * Resolves when there is a segment to write to and the mark is at the end of the log. Owns the
   * segment from here on, and the mark once it resolves.
   */
  static async open(parts: FileLogParts): Promise<FileLog> {
    const log = new FileLog(parts);
    const { segment, isSealed } = parts;
    try {
      if (segment === undefined || isSealed) await log.#roll(0);
      else await log.mark.move({ seq: log.#durable.seq, lastSegment: segment.number });
      return log;
    } catch (error) {
      await parts.preparer.close();
      await log.#segment?.close();
      throw error;
    }
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  get freeBytes(): number {
    return Math.max(0, (this.#segment?.freeBytes ?? 0) - this.#pendingBytes);
  }

  get writes(): LogWrites {
    return { records: this.#recordsWritten, bytes: this.#bytesWritten };
  }

  start(events: LogEvents): void {
    assert(this.#events === undefined, () => "the log was started twice");
    this.#events = events;
    this.#parts.preparer.start({
      onSpace: (error) => events.onSpace?.(error),
      onFailure: (error) => this.#fail(error),
    });
    this.#parts.preparer.follow(this.#segment?.position ?? 0);
    this.mark.start();
    this.#removeSuperfluous();
  }

  append(write: Write, isDiskBusy = false): boolean {
    assert(this.#events !== undefined, () => "the log was not started");
    assert(this.#closing === undefined, () => "the log is closed");
    if (this.#failure !== undefined) return false;
    this.#writeCheck.take(write);
    const bodyBytes = bodyBytesOf(write);
    const { lastIndex, lastTerm } = this.#outline;
    const waiting = { write, bodyBytes, lastIndex, lastTerm };
    this.#pendingBytes += bodyBytes;
    if (this.#writing === undefined && !isDiskBusy) {
      const segment = this.#quickSegment(recordBytesOf(bodyBytes));
      if (segment !== undefined) return this.#writeNow(segment, waiting);
    }
    this.#waiting.push(waiting);
    this.#writing ??= this.#writeWaiting();
    return false;
  }

  async syncMark(): Promise<void> {
    await this.mark.settle();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** The segment, if a record of this size should be written to it at once. */
  #quickSegment(recordBytes: number): Segment | undefined {
    const segment = this.#segment;
    if (segment === undefined || segment.freeBytes < recordBytes) return undefined;
    return segment.isQuickFor(recordBytes) ? segment : undefined;
  }

  /** Returns whether the write is durable; a failure is reported after the caller has returned. */
  #writeNow(segment: Segment, waiting: Waiting): boolean {
    const group = [waiting];
    const { seq } = waiting.write;
    const { nowMs } = this.#parts.ports;
    try {
      const record = this.#encode(segment, group, seq);
      const beganMs = nowMs();
      segment.appendNow(record, seq);
      this.#events?.onSynced?.(nowMs() - beganMs);
    } catch (error) {
      this.#writing = Promise.resolve().then(() => {
        this.#fail(error as Error);
        this.#writing = undefined;
      });
      return false;
    }
    this.#wrote(segment, waiting.bodyBytes);
    this.#becameDurable(group, waiting, waiting.bodyBytes);
    return true;
  }

  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0 && this.#failure === undefined) {
      const group = this.#takeGroup();
      const last = group.at(-1);
      if (last === undefined) break;
      let bodyBytes = 0;
      for (const waiting of group) bodyBytes += waiting.bodyBytes;
      try {
        await this.#writeRecord(group, last.write.seq, bodyBytes);
      } catch (error) {
        this.#fail(error as Error);
        break;
      }
      // The mark or the next segment has failed meanwhile: the node is stopping.
      if (this.#failure !== undefined) break;
      this.#becameDurable(group, last, bodyBytes);
      this.#events?.onDurable(last.write.seq);
    }
    this.#writing = undefined;
  }

  /** The waiting writes of the next record: as many as fit, at least one. */
  #takeGroup(): readonly Waiting[] {
    const waiting = this.#waiting;
    const overheadBytes = recordBytesOf(0);
    const firstBytes = waiting[0]?.bodyBytes ?? 0;
    const freeBytes = (this.#segment?.freeBytes ?? 0) - overheadBytes;
    const emptyBytes = this.#parts.segmentBytes - BASE_RECORD_BYTES - overheadBytes;
    const groupBytesMax = Math.min(
      firstBytes <= freeBytes ? freeBytes : emptyBytes,
      RECORD_BODY_BYTES_MAX,
    );
    let bytes = firstBytes;
    let count = 1;
    for (; count < waiting.length; count += 1) {
      bytes += waiting[count]?.bodyBytes ?? 0;
      if (bytes > groupBytesMax) break;
    }
    this.#waiting = waiting.length === count ? [] : waiting.slice(count);
    waiting.length = count;
    return waiting;
  }

  async #writeRecord(group: readonly Waiting[], seq: number, bodyBytes: number): Promise<void> {
    const recordBytes = recordBytesOf(bodyBytes);
    let segment = this.#segment;
    if (segment === undefined || segment.freeBytes < recordBytes) {
      segment = await this.#roll(recordBytes);
    }
    const record = this.#encode(segment, group, seq);
    const { nowMs } = this.#parts.ports;
    const beganMs = nowMs();
    await segment.append(record, seq);
    this.#events?.onSynced?.(nowMs() - beganMs);
    this.#wrote(segment, bodyBytes);
  }

  #encode(segment: Segment, group: readonly Waiting[], seq: number): EncodedRecord {
    const { salt, position, link } = segment;
    const writes = group.map(({ write }) => write);
    const place = { salt, seq, previousCrc: link.crc, position };
    return this.#parts.encoder.encodeWrites(writes, place);
  }

  #wrote(segment: Segment, bodyBytes: number): void {
    this.#recordsWritten += 1;
    this.#bytesWritten += recordBytesOf(bodyBytes);
    this.#parts.preparer.follow(segment.position);
  }

  /** Makes the segment after the last one, and the mark that names it. */
  async #roll(recordBytes: number): Promise<Segment> {
    const { fileSystem, directory, preparer, encoder, ports } = this.#parts;
    const { nodeId, clusterId, lastSegment } = this.mark.current;
    const { hardState, lastIndex, lastTerm, snapshot } = this.#durable;
    const number = 1 + Math.max(lastSegment, this.#segment?.number ?? 0);
    const link = this.#segment?.link ?? this.#parts.link;
    const prepared = await preparer.take(BASE_RECORD_BYTES + recordBytes);
    const { capacityBytes } = prepared;
    const where = { hardState, lastIndex, lastTerm, snapshot };
    const base = { nodeId, clusterId, number, capacityBytes, ...where };
    const through = { encoder, randomBytes: ports.randomBytes };
    const next = await Segment.create(fileSystem, directory, prepared, base, link, through);
    const previous = this.#segment;
    this.#segment = next;
    await previous?.close();
    // Nothing in the new segment is reported as durable before the mark requires the segment.
    await this.mark.move({ seq: this.#durable.seq, lastSegment: number });
    this.#segments.begun(number, lastIndex);
    return next;
  }

  #becameDurable(group: readonly Waiting[], last: Waiting, bodyBytes: number): void {
    let { hardState, snapshot } = this.#durable;
    let stands = false;
    for (const { write } of group) {
      hardState = write.hardState ?? hardState;
      if (write.snapshot !== undefined) {
        const { index, term, checksum } = write.snapshot;
        snapshot = { index, term, checksum };
        stands = true;
      }
      this.#segments.note(write);
    }
    const { lastIndex, lastTerm } = last;
    const { seq } = last.write;
    this.#durable = { seq, lastIndex, lastTerm, hardState, snapshot };
    this.#pendingBytes -= bodyBytes;
    this.mark.follow();
    if (stands) this.#removeSuperfluous();
  }

  /** Removes superfluous segments while writing continues. */
  #removeSuperfluous(): void {
    this.#removing ??= this.#removeSegments()
      .catch((error: Error) => this.#fail(error))
      .then(() => {
        this.#removing = undefined;
      });
  }

  async #removeSegments(): Promise<void> {
    const { fileSystem, directory } = this.#parts;
    const isEnding = (): boolean => this.#failure !== undefined || this.#closing !== undefined;
    for (;;) {
      const from = this.mark.current.firstSegment;
      const firstSegment = this.#segments.firstNeeded ?? 0;
      if (firstSegment <= from || isEnding()) return;
      // The sequence moves with it: a mark without these segments must not stand before the
      // snapshot.
      await this.mark.move({ seq: this.#durable.seq, firstSegment });
      this.#segments.dropBefore(firstSegment);
      const numbers = Array.from({ length: firstSegment - from }, (_, at) => from + at);
      await removeSegments(fileSystem, directory, numbers, isEnding);
    }
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error instanceof HoldfastError ? error : unwritable(error);
    this.#waiting = [];
    this.mark.stop();
    this.#events?.onFailure(this.#failure);
  }

  async #close(): Promise<void> {
    await this.#writing;
    this.mark.stop();
    await this.#removing;
    try {
      if (this.#failure === undefined) await this.syncMark();
      // After a failure there may still be a write of the mark under way.
      else await this.mark.settled();
    } finally {
      await this.#closeFiles();
    }
  }

  /** Closes each file, even if closing another one fails. */
  async #closeFiles(): Promise<void> {
    const { preparer, mark } = this.#parts;
    try {
      await preparer.close();
    } finally {
      try {
        await this.#segment?.close();
      } finally {
        await mark.close();
      }
    }
  }
}

function unwritable(error: Error): HoldfastError {
  const hasDiskFailed = isDiskFailure(error);
  const code = isNoSpace(error) ? "DISK_FULL" : hasDiskFailed ? "UNAVAILABLE" : "INTERNAL";
  const words = `the log cannot be written any more: ${error.message}`;
  const message = hasDiskFailed ? `the disk failed: ${words}` : words;
  return new HoldfastError(code, message, { cause: error });
}
