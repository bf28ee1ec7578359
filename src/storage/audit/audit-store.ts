/**
 * The durable history: records of who held a lock, each written once, under the row of its lock and
 * a number (`audit-rows.ts`). It never claims a record that it does not have: a record that the
 * store lost leaves a hole in the numbers of its row, and every read that passes the hole reports
 * it. Damage never fails a call.
 *
 * The mark says up to where everything was written, and how many records that were. Mark, numbers
 * and records change in one batch. So after a crash the writer continues after the mark, nothing is
 * written twice and nothing is left out; and numbers that alone fell back to an older state do not
 * fit the mark.
 */

import { damageOf } from "../corruption.js";
import { readUint53, writeUint53 } from "../disk-bytes.js";
import type { OrderedStore, StoreOperation } from "../ordered-store.js";
import {
  auditMarkKey,
  auditRecordKey,
  auditRecordNumber,
  auditRowsKey,
  type StoredRevision,
} from "../store-keys.js";
import { type AuditRecord, decodeAuditRecord, encodeAuditRecord } from "./audit-record.js";
import {
  AUDIT_CHUNKS,
  AUDIT_RECORDS_MAX,
  AUDIT_ROWS,
  AuditRows,
  auditRowOf,
  chunkOfRow,
  rowsOfChunk,
} from "./audit-rows.js";

const MARK_BYTES = 5 * 8 + 4;
/** Records that are read at once. */
const WINDOW = 128;
/** Rows that one step of trimming looks at. */
const TRIMMED_ROWS_MAX = 256;
/** Holes that one read reports separately. */
const HOLES_MAX = 16;
const BEGINNING: StoredRevision = Object.freeze({ index: 0, number: 0 });
const NUMBER_MAX = 2 ** 32 - 1;

export interface AuditMark {
  /** There is a record of every tenure that ended up to here, … */
  readonly through: StoredRevision;
  /** … if it ended after this entry. 0: nothing is missing since the cluster was founded. */
  readonly completeAfter: number;
}

/** Records that were written and are lost: at most `count`, between these two, both excluded. */
export interface AuditHole {
  readonly count: number;
  readonly after: StoredRevision;
  readonly before: StoredRevision;
}

export interface AuditFindings {
  /** Newest first. */
  readonly records: readonly AuditRecord[];
  /** Newest first; a lost record may have been of any lock of the row. */
  readonly holes: readonly AuditHole[];
}

export interface AuditTrimming {
  /** `undefined`: nothing was removed. */
  readonly mark: AuditMark | undefined;
  /** Every row was looked at since the last round. */
  readonly isRoundOver: boolean;
}

/** Lost records that leave no hole, because the numbers of their rows were lost with them. */
interface AuditLoss {
  readonly count: number;
  /** They were written before this entry ended. 0: there are none. */
  readonly through: number;
}

interface NumberedRecord {
  readonly number: number;
  readonly record: AuditRecord;
}

const NO_LOSS: AuditLoss = Object.freeze({ count: 0, through: 0 });
const CHUNKS: readonly number[] = Array.from({ length: AUDIT_CHUNKS }, (_, chunk) => chunk);

export class AuditStore {
  readonly #store: OrderedStore;
  #mark: AuditMark | undefined;
  #rows = new AuditRows();
  #loss: AuditLoss = NO_LOSS;
  /** The stored numbers of the rows do not fit the mark: the next batch writes all of them. */
  #areRowsDirty = false;
  /** Records that were missed, by row: the most that any walk has missed. */
  readonly #missed = new Map<number, number>();
  /** The row at which the next step of trimming continues. */
  #trimmedRow = 0;
  /** Messages for operators about the opening. */
  readonly notices: string[] = [];

  /** Knows of no record before `load`. */
  constructor(store: OrderedStore) {
    this.#store = store;
  }

  /** The durable mark; `undefined` if nothing was written or the mark was lost. */
  get mark(): AuditMark | undefined {
    return this.#mark;
  }

  /** Records that are known to be lost. */
  get lostTotal(): number {
    let total = this.#loss.count;
    for (const count of this.#missed.values()) total += count;
    return total;
  }

  /** One batch, durable when it resolves; one at a time. Fails as `OrderedStore.write` does. */
  async write(records: readonly AuditRecord[], mark: AuditMark): Promise<void> {
    const rows = this.#rows.copy();
    const chunks = new Set<number>();
    const operations: StoreOperation[] = [];
    for (const record of records) {
      const row = auditRowOf(record.lockKey);
      const number = rows.lastOf(row) + 1;
      rows.set(row, rows.firstOf(row), number);
      chunks.add(chunkOfRow(row));
      const key = auditRecordKey(row, number);
      operations.push({ type: "put", key, value: encodeAuditRecord(record) });
    }
    await this.#writePlace(operations, mark, rows, chunks);
    this.#rows = rows;
  }

  /**
   * Removes the oldest records of the next rows, some `recordsMax` of them, if they ended before
   * `wallMs`, and notes in the mark that they are missing. Not at the same time as `write`.
   */
  async trim(wallMs: number, recordsMax: number, mark: AuditMark): Promise<AuditTrimming> {
    const before = this.#rows;
    const rows = before.copy();
    const chunks = new Set<number>();
    const operations: StoreOperation[] = [];
    let { completeAfter } = mark;
    let row = this.#trimmedRow;
    for (let looks = 0; row < AUDIT_ROWS && looks < TRIMMED_ROWS_MAX; row += 1) {
      if (before.firstOf(row) > before.lastOf(row)) continue;
      looks += 1;
      for await (const { number, record } of this.#oldestFirst(row)) {
        if (record.endedWallMs >= wallMs || operations.length >= recordsMax) break;
        this.#noteMissed(row, number - rows.firstOf(row));
        operations.push({ type: "remove", key: auditRecordKey(row, number) });
        completeAfter = Math.max(completeAfter, record.index);
        rows.set(row, number + 1, before.lastOf(row));
        chunks.add(chunkOfRow(row));
      }
      // The rest of this row follows in the next step.
      if (operations.length >= recordsMax) break;
    }
    const isRoundOver = row === AUDIT_ROWS;
    this.#trimmedRow = isRoundOver ? 0 : row;
    if (operations.length === 0) return { mark: undefined, isRoundOver };
    const trimmed: AuditMark = { through: mark.through, completeAfter };
    // A read that is under way must not miss records that are removed on purpose.
    this.#rows = rows;
    try {
      await this.#writePlace(operations, trimmed, rows, chunks);
    } catch (error) {
      this.#rows = before;
      throw error;
    }
    return { mark: trimmed, isRoundOver };
  }

  /** Records of a lock up to `through`, at most `limit`, and the losses of that time. */
  async read(lockKey: string, through: StoredRevision, limit: number): Promise<AuditFindings> {
    const records: AuditRecord[] = [];
    const holes: AuditHole[] = [];
    const row = auditRowOf(lockKey);
    const noteHole = (from: number, to: number, after: StoredRevision, before: StoredRevision) => {
      const count = to - Math.max(from, this.#rows.firstOf(row)) + 1;
      if (count <= 0 || !isBefore(after, through)) return;
      addHole(holes, { count, after: placeIn(after), before: placeIn(before) });
    };
    let expected = this.#rows.lastOf(row);
    let oldest = this.#mark?.through ?? through;
    let isFirst = true;
    for await (const { number, record } of this.#newestFirst(row)) {
      noteHole(number + 1, expected, record, oldest);
      expected = number - 1;
      // Records that were written again after the mark had fallen back are there twice.
      if (!isFirst && !isBefore(record, oldest)) continue;
      isFirst = false;
      oldest = record;
      if (record.lockKey !== lockKey || isBefore(through, record)) continue;
      records.push(record);
      if (records.length === limit) break;
    }
    if (records.length < limit) noteHole(this.#rows.firstOf(row), expected, BEGINNING, oldest);
    const missed = holes.reduce((sum, { count }) => sum + count, 0);
    this.#noteMissed(row, missed);
    const { count, through: lossIndex } = this.#loss;
    const isPassed = records.length < limit || oldest.index <= lossIndex;
    if (count > 0 && isPassed) {
      const before = { index: lossIndex, number: NUMBER_MAX };
      addHole(holes, { count, after: BEGINNING, before });
    }
    return { records, holes };
  }

  async #writePlace(
    operations: StoreOperation[],
    mark: AuditMark,
    rows: AuditRows,
    chunks: Iterable<number>,
  ): Promise<void> {
    const loss = mark.completeAfter < this.#loss.through ? this.#loss : NO_LOSS;
    for (const chunk of this.#areRowsDirty ? CHUNKS : chunks) {
      operations.push({ type: "put", key: auditRowsKey(chunk), value: rows.encodeChunk(chunk) });
    }
    const value = encodeMark({ mark, loss, writtenTotal: rows.writtenTotal });
    operations.push({ type: "put", key: auditMarkKey(), value });
    await this.#store.write(operations);
    this.#areRowsDirty = false;
    this.#mark = mark;
    this.#loss = loss;
  }

  /** To be called first. `notices`, `lostTotal` and reads report damage. */
  async load(): Promise<void> {
    const bytes = await this.#getIntact(auditMarkKey());
    const found = bytes === undefined ? undefined : decodeMark(bytes);
    const chunks = await Promise.all(CHUNKS.map((n) => this.#getIntact(auditRowsKey(n))));
    const unread = new Set(CHUNKS);
    for (const [chunk, value] of chunks.entries()) {
      if (value !== undefined && this.#rows.decodeChunk(chunk, value)) unread.delete(chunk);
    }
    const expected = found?.writtenTotal ?? 0;
    this.#mark = found?.mark;
    this.#loss = found?.loss ?? NO_LOSS;
    // A lost chunk is likelier than one that fell back; and it may never have existed.
    await this.#findLast(unread, expected);
    await this.#findLast(CHUNKS, expected);
    const missing = expected - this.#rows.writtenTotal;
    if (found !== undefined && missing > 0) {
      const count = this.#loss.count + missing;
      this.#loss = { count, through: found.mark.through.index };
    }
    if (missing < 0)
      this.notices.push("its mark was lost: the changes that the log still has are written again");
  }

  /** The numbers of these rows were lost or fell back: finds them by the records themselves. */
  async #findLast(chunks: Iterable<number>, expected: number): Promise<void> {
    const missing = expected - this.#rows.writtenTotal;
    if (missing <= 0) return;
    this.#areRowsDirty = true;
    for (const chunk of chunks) {
      for (const row of rowsOfChunk(chunk)) {
        const last = this.#rows.lastOf(row);
        let first = this.#rows.firstOf(row);
        for await (const { number } of this.#walk(row, last + 1, last + missing, 1)) {
          if (this.#rows.lastOf(row) === 0) first = number;
          this.#rows.set(row, first, number);
        }
      }
    }
  }

  #newestFirst(row: number): AsyncIterable<NumberedRecord> {
    return this.#walk(row, this.#rows.lastOf(row), this.#rows.firstOf(row), -1);
  }

  #oldestFirst(row: number): AsyncIterable<NumberedRecord> {
    return this.#walk(row, this.#rows.firstOf(row), this.#rows.lastOf(row), 1);
  }

  /** The existing records among `from` … `to` of a row, upwards or downwards. */
  async *#walk(row: number, from: number, to: number, step: 1 | -1): AsyncIterable<NumberedRecord> {
    let size = WINDOW;
    for (let at = from; (to - at) * step >= 0; ) {
      const end = step > 0 ? Math.min(to, at + size - 1) : Math.max(to, at - size + 1);
      const found = await this.#window(row, Math.min(at, end), Math.max(at, end));
      if (found === undefined) {
        size = WINDOW;
        continue;
      }
      yield* step > 0 ? found : found.reverse();
      // A hole may be larger than any row is long.
      size = found.length > 0 ? WINDOW : size * 2;
      at = end + step;
    }
  }

  /**
   * The remaining records among `from` … `to`, oldest first. `undefined`: there is damage among
   * them, and they are too many to read one by one.
   */
  async #window(row: number, from: number, to: number): Promise<NumberedRecord[] | undefined> {
    const found: NumberedRecord[] = [];
    const keep = (number: number, value: Uint8Array | undefined): void => {
      const record = value === undefined ? undefined : decodeAuditRecord(value);
      if (record !== undefined) found.push({ number, record });
    };
    try {
      const range = { from: auditRecordKey(row, from), to: auditRecordKey(row, to + 1) };
      for await (const { key, value } of this.#store.iterate(range)) {
        keep(auditRecordNumber(key), value);
      }
      return found;
    } catch (error) {
      if (damageOf(error) === undefined) throw error;
    }
    if (to - from >= WINDOW) return undefined;
    found.length = 0;
    for (let number = from; number <= to; number += 1) {
      keep(number, await this.#getIntact(auditRecordKey(row, number)));
    }
    return found;
  }

  /** `undefined` also for an altered value. */
  async #getIntact(key: Uint8Array): Promise<Uint8Array | undefined> {
    try {
      return await this.#store.get(key);
    } catch (error) {
      if (damageOf(error) === undefined) throw error;
      return undefined;
    }
  }

  #noteMissed(row: number, count: number): void {
    if (count > (this.#missed.get(row) ?? 0)) this.#missed.set(row, count);
  }
}

function isBefore(one: StoredRevision, other: StoredRevision): boolean {
  return one.index < other.index || (one.index === other.index && one.number < other.number);
}

function placeIn({ index, number }: StoredRevision): StoredRevision {
  return { index, number };
}

/** If there are too many holes, the oldest ones become one. */
function addHole(holes: AuditHole[], hole: AuditHole): void {
  const last = holes.at(-1);
  if (last === undefined || holes.length < HOLES_MAX) holes.push(hole);
  else holes[HOLES_MAX - 1] = { ...hole, count: last.count + hole.count, before: last.before };
}

interface StoredMark {
  readonly mark: AuditMark;
  readonly loss: AuditLoss;
  readonly writtenTotal: number;
}

function encodeMark({ mark, loss, writtenTotal }: StoredMark): Buffer {
  const { through, completeAfter } = mark;
  const value = Buffer.alloc(MARK_BYTES);
  let at = value.writeUInt32LE(through.number, writeUint53(value, through.index, 0));
  at = writeUint53(value, completeAfter, at);
  at = writeUint53(value, writtenTotal, at);
  at = writeUint53(value, loss.count, at);
  writeUint53(value, loss.through, at);
  return value;
}

/** `undefined` for what `encodeMark` cannot have written. */
function decodeMark(value: Uint8Array): StoredMark | undefined {
  if (value.length !== MARK_BYTES) return undefined;
  const bytes = Buffer.from(value);
  const through = { index: readUint53(bytes, 0), number: bytes.readUInt32LE(8) };
  const completeAfter = readUint53(bytes, 12);
  const writtenTotal = readUint53(bytes, 20);
  const loss = { count: readUint53(bytes, 28), through: readUint53(bytes, 36) };
  const indexes = [through.index, completeAfter, loss.through];
  const isPossible = indexes.every(Number.isSafeInteger) && loss.count <= AUDIT_RECORDS_MAX;
  if (!isPossible || writtenTotal > AUDIT_RECORDS_MAX) return undefined;
  return { mark: { through, completeAfter }, writtenTotal, loss };
}
