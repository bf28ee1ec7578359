/**
 * Which records the audit has. Locks are spread over rows by their names, and the records of a row
 * are numbered without gaps, so that a reader of a row notices a lost record. The store cannot say
 * what is lost: `level` silently drops a damaged block, and damaged batches of its journal.
 *
 * Only durable records are counted here; `AuditStore` ensures that.
 */
import { crc32 } from "node:zlib";
import { readUint53, writeUint53 } from "../disk-bytes.js";

/** A read goes through one row: the more rows there are, the shorter they are. */
const LOCK_ROWS = 4_096;
/** The records that belong to no lock: what operators did, and what this node refused. */
export const AUDIT_ACTIONS_ROW = LOCK_ROWS;
const ROWS_PER_CHUNK = 16;
/** The last ones are not used. */
export const AUDIT_ROWS = LOCK_ROWS + ROWS_PER_CHUNK;
const ROW_BYTES = 16;
const CHUNK_BYTES = ROWS_PER_CHUNK * ROW_BYTES;
/** More than any cluster writes: numbers of records can be added without a loss of precision. */
export const AUDIT_RECORDS_MAX = 2 ** 48;
/** Rows are stored in chunks, so that a batch writes little more than the rows it extends. */
export const AUDIT_CHUNKS = AUDIT_ROWS / ROWS_PER_CHUNK;

/** @param lockKey empty for a record that belongs to no lock */
export function auditRowOf(lockKey: string): number {
  return lockKey === "" ? AUDIT_ACTIONS_ROW : crc32(lockKey) % LOCK_ROWS;
}

export function chunkOfRow(row: number): number {
  return Math.floor(row / ROWS_PER_CHUNK);
}

export function rowsOfChunk(chunk: number): readonly number[] {
  return Array.from({ length: ROWS_PER_CHUNK }, (_, at) => chunk * ROWS_PER_CHUNK + at);
}

function isPossible({ first, last }: { readonly first: number; readonly last: number }): boolean {
  return first >= 1 && first <= last + 1 && last <= AUDIT_RECORDS_MAX;
}

export class AuditRows {
  /**
   * The records of a row have the numbers `first` … `last`; in an empty row `last` is `first` − 1.
   */
  readonly #first = new Float64Array(AUDIT_ROWS).fill(1);
  readonly #last = new Float64Array(AUDIT_ROWS);

  firstOf(row: number): number {
    return this.#first[row] as number;
  }

  lastOf(row: number): number {
    return this.#last[row] as number;
  }

  /** Records that were ever written: the sum of all `last`. */
  get writtenTotal(): number {
    return this.#last.reduce((sum, last) => sum + last, 0);
  }

  set(row: number, first: number, last: number): void {
    this.#first[row] = first;
    this.#last[row] = last;
  }

  copy(): AuditRows {
    const copy = new AuditRows();
    copy.#first.set(this.#first);
    copy.#last.set(this.#last);
    return copy;
  }

  encodeChunk(chunk: number): Buffer {
    const value = Buffer.alloc(CHUNK_BYTES);
    let at = 0;
    for (let row = chunk * ROWS_PER_CHUNK; at < CHUNK_BYTES; row += 1) {
      at = writeUint53(value, this.firstOf(row), at);
      at = writeUint53(value, this.lastOf(row), at);
    }
    return value;
  }

  /** Returns whether the value is valid; if not, nothing is changed. */
  decodeChunk(chunk: number, value: Uint8Array): boolean {
    if (value.length !== CHUNK_BYTES) return false;
    const bytes = Buffer.from(value);
    const rows = rowsOfChunk(chunk).map((row, at) => {
      const first = readUint53(bytes, at * ROW_BYTES);
      return { row, first, last: readUint53(bytes, at * ROW_BYTES + 8) };
    });
    if (!rows.every(isPossible)) return false;
    for (const { row, first, last } of rows) this.set(row, first, last);
    return true;
  }
}
