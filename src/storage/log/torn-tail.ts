/**
 * Distinguishes a torn tail from damage. A power cut may leave any subset of the sectors of the one
 * write that was under way, and changes nothing else. So the record at the end of the log is torn
 * only if nothing valid follows it and some of it was visibly never written. The caller checks that
 * it is above the durable mark. (Alagappan et al., Protocol-Aware Recovery, FAST '18.)
 */
import { SECTOR_BYTES } from "../disk-bytes.js";
import {
  countZeroSectors,
  HEADER_BYTES,
  isZero,
  isZeroToEnd,
  type RecordHeader,
  readHeader,
  recordBytesOf,
  SALT_BYTES,
} from "./record-format.js";
import type { ChainLink } from "./segment-scan.js";

/** Why the record at `position` cannot be a torn write; `undefined` if it can. */
export function refuteTornTail(
  segment: Buffer,
  position: number,
  salt: Buffer,
  previous: ChainLink,
): string | undefined {
  const next = findRecordAfter(segment, position, salt, previous.seq);
  if (next !== undefined) return `a valid record follows it, at byte ${next}`;
  const header = readOwnHeader(segment, position, salt);
  if (header === undefined) {
    return isHeaderWhollyWritten(segment, position) ? "all of its header was written" : undefined;
  }
  // The checksum of the header is right, so its fields were written like this, torn or not.
  if (header.seq <= previous.seq || header.previousCrc !== previous.crc) {
    return "it does not follow the previous record";
  }
  return isWhollyWritten(segment, position, header) ? "every sector of it was written" : undefined;
}

/** The position of a valid header with a sequence above `lastSeq`, after `position`. */
function findRecordAfter(
  segment: Buffer,
  position: number,
  salt: Buffer,
  lastSeq: number,
): number | undefined {
  let at = segment.indexOf(salt, position + 1);
  while (at >= 0) {
    const header = readHeader(segment, at);
    if (header !== undefined && header.seq > lastSeq) return at;
    at = segment.indexOf(salt, at + 1);
  }
  return undefined;
}

function readOwnHeader(segment: Buffer, position: number, salt: Buffer): RecordHeader | undefined {
  const header = readHeader(segment, position);
  if (header === undefined) return undefined;
  const isOwn = segment.compare(salt, 0, SALT_BYTES, position, position + SALT_BYTES) === 0;
  return isOwn ? header : undefined;
}

/**
 * The length is known: checks the trailer, and compares the zero sectors with the announced ones.
 */
function isWhollyWritten(segment: Buffer, position: number, header: RecordHeader): boolean {
  const end = position + recordBytesOf(header.bodyBytes);
  if (end > segment.length) return true;
  if (segment[end - 1] === 0) return false;
  return countZeroSectors([segment.subarray(position, end)], position) <= header.zeroSectors;
}

/**
 * The length is unknown. The trailer is certainly zero if zeros follow the header to the end of the
 * file. A sector with a part of the header contains the first byte of the salt or the first tag of
 * the body, neither of which is ever zero: if all of it is zero, it was not written.
 */
function isHeaderWhollyWritten(segment: Buffer, position: number): boolean {
  const tagEnd = position + HEADER_BYTES + 1;
  if (tagEnd > segment.length) return true;
  if (isZeroToEnd(segment, position + HEADER_BYTES)) return false;
  const boundary = (Math.floor(position / SECTOR_BYTES) + 1) * SECTOR_BYTES;
  if (boundary >= tagEnd) return !isZero(segment, position, tagEnd);
  return !isZero(segment, position, boundary) && !isZero(segment, boundary, tagEnd);
}
