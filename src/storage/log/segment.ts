/**
 * One segment that is being written, and the making of a new one. Its base record is durable before
 * the file gets its name, so every visible segment has one, and a damaged one is always damage.
 */
import { type File, type FileSystem, removeIfPresent } from "../file-system.js";
import type { RandomBytes } from "../storage-ports.js";
import type { EncodedRecord, RecordEncoder } from "./record-encoder.js";
import { SALT_BYTES } from "./record-format.js";
import type { SegmentBase } from "./segment-base.js";
import type { ChainLink } from "./segment-scan.js";

/** A file full of zeros, without the name of a segment yet. */
export interface PreparedFile {
  readonly path: string;
  readonly file: File;
  readonly capacityBytes: number;
}

const SEGMENT_NAME = /^(\d{8,})\.seg$/;

export function segmentNameOf(number: number): string {
  return `${String(number).padStart(8, "0")}.seg`;
}

/** The number of a segment by its file's name; `undefined` for other files. */
export function segmentNumberOf(name: string): number | undefined {
  const digits = SEGMENT_NAME.exec(name)?.[1];
  const number = digits === undefined ? undefined : Number(digits);
  return number !== undefined && segmentNameOf(number) === name ? number : undefined;
}

/** Removes segments that the mark does not require any more, one after the other, until stopped. */
export async function removeSegments(
  fileSystem: FileSystem,
  directory: string,
  numbers: readonly number[],
  isStopped: () => boolean,
): Promise<void> {
  if (numbers.length === 0) return;
  for (const number of numbers) {
    if (isStopped()) break;
    await removeIfPresent(fileSystem, `${directory}/${segmentNameOf(number)}`);
  }
  await fileSystem.syncDirectory(directory);
}

export class Segment {
  readonly number: number;
  readonly capacityBytes: number;
  readonly salt: Uint8Array;
  readonly #file: File;
  #position: number;
  #link: ChainLink;

  /** `position` is after the last record, `link`. */
  constructor(
    file: File,
    place: Pick<SegmentBase, "number" | "capacityBytes">,
    salt: Uint8Array,
    position: number,
    link: ChainLink,
  ) {
    this.#file = file;
    this.number = place.number;
    this.capacityBytes = place.capacityBytes;
    this.salt = salt;
    this.#position = position;
    this.#link = link;
  }

  /**
   * Turns a prepared file into the segment `base.number`, durably. `link`: the record before it.
   */
  static async create(
    fileSystem: FileSystem,
    directory: string,
    prepared: PreparedFile,
    base: SegmentBase,
    link: ChainLink,
    ports: { readonly encoder: RecordEncoder; readonly randomBytes: RandomBytes },
  ): Promise<Segment> {
    const salt = Uint8Array.from(ports.randomBytes(SALT_BYTES));
    // The first byte is never zero, so that a header differs from unwritten space.
    salt[0] = (salt[0] ?? 0) | 1;
    const place = { salt, seq: link.seq, previousCrc: link.crc, position: 0 };
    const record = ports.encoder.encodeBase(base, place);
    try {
      await prepared.file.write(record.chunks, 0);
      await fileSystem.rename(prepared.path, `${directory}/${segmentNameOf(base.number)}`);
      await fileSystem.syncDirectory(directory);
    } catch (error) {
      await prepared.file.close();
      throw error;
    }
    const after = { seq: link.seq, crc: record.crc };
    return new Segment(prepared.file, base, salt, record.byteLength, after);
  }

  /** After the last record. */
  get position(): number {
    return this.#position;
  }

  /** The last record. */
  get link(): ChainLink {
    return this.#link;
  }

  get freeBytes(): number {
    return this.capacityBytes - this.#position;
  }

  /** Appends a record that was encoded for this place and has room. One at a time. */
  async append(record: EncodedRecord, seq: number): Promise<void> {
    await this.#file.write(record.chunks, this.#position);
    this.#advance(record, seq);
  }

  /** Whether `appendNow` should be used for a record of this many bytes. */
  isQuickFor(recordBytes: number): boolean {
    return this.#file.isQuickFor(recordBytes);
  }

  /** Like `append`, but done when it returns. */
  appendNow(record: EncodedRecord, seq: number): void {
    this.#file.writeNow(record.chunks, this.#position);
    this.#advance(record, seq);
  }

  /** Writes bytes again that are in the file already, to make sure that they are durable. */
  async rewrite(bytes: Buffer, position: number): Promise<void> {
    await this.#file.write([bytes], position);
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  #advance(record: EncodedRecord, seq: number): void {
    this.#position += record.byteLength;
    this.#link = { seq, crc: record.crc };
  }
}
