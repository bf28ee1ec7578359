/**
 * Scans the records of one segment by their bytes alone: headers, checksums, the chain. It reports
 * how far the records are whole, and what is there where they end; `torn-tail.ts` and
 * `log-reader.ts` decide whether that end is clean, torn or damaged.
 */
import { crc32 } from "node:zlib";
import {
  HEADER_BYTES,
  isZeroToEnd,
  readHeader,
  recordBytesOf,
  SALT_BYTES,
  TRAILER,
} from "./record-format.js";

/** A whole record; the body is from `bodyFrom` to before `bodyTo`. */
export interface ScannedRecord {
  readonly position: number;
  readonly seq: number;
  readonly crc: number;
  readonly bodyFrom: number;
  readonly bodyTo: number;
}

/** Where the whole records end, and what is wrong there; no defect if only zeros follow. */
export interface ScanEnd {
  readonly position: number;
  readonly defect: string | undefined;
}

/** The last record of the log before a place. */
export interface ChainLink {
  readonly seq: number;
  readonly crc: number;
}

/** The record at `position` that follows `previous`, or what is wrong with it. */
export function scanRecord(
  segment: Buffer,
  position: number,
  salt: Buffer,
  previous: ChainLink | undefined,
): ScannedRecord | string {
  const header = readHeader(segment, position);
  if (header === undefined) return "the header is damaged";
  if (segment.compare(salt, 0, SALT_BYTES, position, position + SALT_BYTES) !== 0) {
    return "the record belongs to another segment";
  }
  const end = position + recordBytesOf(header.bodyBytes);
  if (end > segment.length) return "the record is longer than the file";
  if (previous !== undefined) {
    if (header.seq <= previous.seq) return `sequence ${header.seq} after ${previous.seq}`;
    if (header.previousCrc !== previous.crc) return "it does not follow the previous record";
  }
  const bodyFrom = position + HEADER_BYTES;
  const bodyTo = bodyFrom + header.bodyBytes;
  if (crc32(segment.subarray(bodyFrom, bodyTo)) !== header.bodyCrc) return "the body is damaged";
  if (segment[bodyTo] !== TRAILER) return "the trailer is damaged";
  return { position, seq: header.seq, crc: header.crc, bodyFrom, bodyTo };
}

/** All records after the base record of a segment, up to the first that is not whole. */
export function scanRecords(
  segment: Buffer,
  from: number,
  salt: Buffer,
  base: ChainLink,
): { readonly records: readonly ScannedRecord[]; readonly end: ScanEnd } {
  const records: ScannedRecord[] = [];
  let position = from;
  let previous = base;
  for (;;) {
    const record = scanRecord(segment, position, salt, previous);
    if (typeof record === "string") {
      const defect = isZeroToEnd(segment, position) ? undefined : record;
      return { records, end: { position, defect } };
    }
    records.push(record);
    previous = record;
    position = record.bodyTo + 1;
  }
}
