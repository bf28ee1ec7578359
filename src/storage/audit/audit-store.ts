/**
 * The durable history: records of who held a lock and of what operators did, each written once,
 * under the row of its lock and a number (`audit-rows.ts`). It never claims a record that it does
 * not have: a record that the store lost leaves a hole in the numbers of its row, and every read
 * that passes the hole reports it. Damage never fails a call.
 *
 * Each write with records adds a block to a chain (`audit-block.ts`), and removing old blocks from
 * the front adds one too. `audit-verification.ts` checks the chain; nothing here rests on it. The
 * chain also counts bytes, so that the bytes that are kept are known without a look at them.
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
  auditBlockKey,
  auditMarkKey,
  auditRecordKey,
  auditRowsKey,
  KEY_PREFIX,
  rangeOf,
  type StoredRevision,
} from "../store-keys.js";
import {
  type AuditBlock,
  type AuditPlace,
  auditBlockBytes,
  CHAIN_PLACE_BYTES,
  type ChainPlace,
  decodeAuditBlock,
  digestOfBlock,
  encodeAuditBlock,
  NO_BLOCK,
  NO_DIGEST,
  RecordsDigest,
  readChainPlace,
  writeChainPlace,
} from "./audit-block.js";
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
import {
  getIntact,
  highestNumber,
  isAnyStored,
  type KeyOfNumber,
  walkNumbers,
} from "./numbered-values.js";

const CHAIN_AT = 5 * 8 + 4;
const MARK_BYTES = CHAIN_AT + 2 * CHAIN_PLACE_BYTES + 8;
const TRIMMING_BLOCK_BYTES = auditBlockKey(0).length + auditBlockBytes(0);
/** Records of lost blocks that one removed record takes along. */
const STRAYS_MAX = 1_024;
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
  /** Newest first; a lost record may have belonged to any lock of the row. */
  readonly holes: readonly AuditHole[];
}

/** What is kept. */
export interface AuditLimits {
  /** Records that ended before this wall time are removed. */
  readonly fromWallMs: number;
  /** The oldest records are removed while records and blocks take more, keys and values. */
  readonly bytesMax: number;
}

export interface AuditTrimming {
  /** `undefined`: nothing was removed. */
  readonly mark: AuditMark | undefined;
  /** Nothing is left that is to be removed. */
  readonly isRoundOver: boolean;
  /** Records of blocks that were removed for room alone, … */
  readonly cutRecords: number;
  /** … and when the newest of them ended; 0: there are none. */
  readonly cutThroughWallMs: number;
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

/** Both ends of the chain of blocks. */
interface AuditChain {
  /** The newest block; all blocks up to `trimmed` were removed for their age or for room. */
  readonly head: ChainPlace;
  readonly trimmed: ChainPlace;
  /** The number that the next record gets in the sequence of all records. */
  readonly nextRecord: number;
}

export interface StoredBlock {
  readonly block: AuditBlock;
  readonly digest: string;
}

/** Changes that one batch makes besides its records. */
interface AuditPlaces {
  readonly mark: AuditMark;
  readonly rows: AuditRows;
  readonly chunks: Iterable<number>;
  readonly chain: AuditChain;
}

const NO_CHAIN: AuditChain = Object.freeze({ head: NO_BLOCK, trimmed: NO_BLOCK, nextRecord: 1 });
const NO_LOSS: AuditLoss = Object.freeze({ count: 0, through: 0 });
const CHUNKS: readonly number[] = Array.from({ length: AUDIT_CHUNKS }, (_, chunk) => chunk);

export class AuditStore {
  readonly #store: OrderedStore;
  #mark: AuditMark | undefined;
  #rows = new AuditRows();
  #loss: AuditLoss = NO_LOSS;
  #chain: AuditChain = NO_CHAIN;
  /** The stored numbers of the rows do not fit the mark: the next batch writes all of them. */
  #areRowsDirty = false;
  /** Records that were missed, by row: the most that any walk has missed. */
  readonly #missed = new Map<number, number>();
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

  /** The newest block. */
  get head(): ChainPlace {
    return this.#chain.head;
  }

  /** Blocks up to this one were removed for their age or for room. */
  get trimmed(): ChainPlace {
    return this.#chain.trimmed;
  }

  /** What the kept records and blocks take: keys and values. Lost ones are counted, too. */
  get bytesKept(): number {
    return this.#chain.head.bytes - this.#chain.trimmed.bytes;
  }

  /** The records that were ever written, lost ones included. */
  get recordsTotal(): number {
    return this.#chain.nextRecord - 1;
  }

  /** One batch, durable when it resolves; one at a time. Fails as `OrderedStore.write` does. */
  async write(records: readonly AuditRecord[], mark: AuditMark): Promise<void> {
    const rows = this.#rows.copy();
    const chunks = new Set<number>();
    const operations: StoreOperation[] = [];
    const places: AuditPlace[] = [];
    const digest = new RecordsDigest();
    for (const record of records) {
      const row = auditRowOf(record.lockKey);
      const number = rows.lastOf(row) + 1;
      rows.set(row, rows.firstOf(row), number);
      chunks.add(chunkOfRow(row));
      const value = encodeAuditRecord(record);
      operations.push({ type: "put", key: auditRecordKey(row, number), value });
      places.push({ row, number });
      digest.add({ row, number }, value);
    }
    let chain = this.#chain;
    if (records.length > 0) {
      const times = records.map(({ endedWallMs }) => endedWallMs);
      chain = addBlock(operations, chain, {
        places,
        lastIndex: Math.max(...records.map(({ index }) => index)),
        oldestWallMs: Math.min(...times),
        newestWallMs: Math.max(...times),
        recordsDigest: digest.end(),
      });
    }
    await this.#writePlaces(operations, { mark, rows, chunks, chain });
    this.#rows = rows;
  }

  /**
   * Removes the oldest blocks if all of their records are too old, or if what is kept takes too
   * much, and notes in the mark that they are missing. A block of its own says up to where they were
   * removed. One step removes some `recordsMin` records, and at least as many bytes as the newest
   * block and its own have, so that a step after each write keeps up with the writes. Not at the same time as
   * `write`.
   */
  async trim(limits: AuditLimits, recordsMin: number, mark: AuditMark): Promise<AuditTrimming> {
    const before = this.#rows;
    const rows = before.copy();
    const chunks = new Set<number>();
    const operations: StoreOperation[] = [];
    let { trimmed } = this.#chain;
    let { completeAfter } = mark;
    let hasRecords = false;
    let isRoundOver = true;
    let cutRecords = 0;
    let cutThroughWallMs = 0;
    const enough = trimmed.bytes + (await this.#bytesOfNewest()) + TRIMMING_BLOCK_BYTES;
    const bytesAfter = this.head.bytes + TRIMMING_BLOCK_BYTES;
    for await (const { block, digest } of this.blocks(trimmed.number + 1, this.head.number, 1)) {
      const isOld = block.places.length === 0 || block.newestWallMs < limits.fromWallMs;
      if (!isOld && bytesAfter - block.bytesBefore <= limits.bytesMax) break;
      if (operations.length >= recordsMin && trimmed.bytes >= enough) {
        isRoundOver = false;
        break;
      }
      if (!isOld) {
        cutRecords += block.places.length;
        cutThroughWallMs = Math.max(cutThroughWallMs, block.newestWallMs);
      }
      for (const place of block.places) {
        await this.#removeRecord(operations, rows, place);
        chunks.add(chunkOfRow(place.row));
        hasRecords = true;
      }
      completeAfter = Math.max(completeAfter, block.lastIndex);
      operations.push({ type: "remove", key: auditBlockKey(block.number) });
      trimmed = { number: block.number, digest, bytes: block.bytesBefore + block.bytes };
    }
    // Blocks without records are not worth one more.
    if (!hasRecords) return { mark: undefined, isRoundOver, cutRecords, cutThroughWallMs };
    const after: AuditMark = { through: mark.through, completeAfter };
    const chain = addBlock(operations, { ...this.#chain, trimmed }, NO_RECORDS);
    // A read that is under way must not miss records that are removed on purpose.
    this.#rows = rows;
    try {
      await this.#writePlaces(operations, { mark: after, rows, chunks, chain });
    } catch (error) {
      this.#rows = before;
      throw error;
    }
    return { mark: after, isRoundOver, cutRecords, cutThroughWallMs };
  }

  /** 0 if it cannot be read. */
  async #bytesOfNewest(): Promise<number> {
    const { number } = this.head;
    for await (const { block } of this.blocks(number, number, 1)) return block.bytes;
    return 0;
  }

  /** Removes a record and, in its row, the ones before it, which belonged to lost blocks. */
  async #removeRecord(
    operations: StoreOperation[],
    rows: AuditRows,
    { row, number }: AuditPlace,
  ): Promise<void> {
    const first = rows.firstOf(row);
    if (number < first || number > rows.lastOf(row)) return;
    let missed = number - first;
    for (let stray = Math.max(first, number - STRAYS_MAX); stray < number; stray += 1) {
      const key = auditRecordKey(row, stray);
      if ((await getIntact(this.#store, key)) !== undefined) missed -= 1;
      operations.push({ type: "remove", key });
    }
    this.#noteMissed(row, missed);
    operations.push({ type: "remove", key: auditRecordKey(row, number) });
    rows.set(row, number + 1, rows.lastOf(row));
  }

  /** The intact blocks among the numbers `from` … `to`, upwards or downwards. */
  async *blocks(from: number, to: number, step: 1 | -1): AsyncIterable<StoredBlock> {
    for await (const { number, value } of walkNumbers(this.#store, auditBlockKey, from, to, step)) {
      const block = decodeAuditBlock(value);
      if (block?.number === number) yield { block, digest: digestOfBlock(value) };
    }
  }

  /** `undefined` if it is lost, or altered so that it cannot be read. */
  async recordAt(place: AuditPlace): Promise<AuditRecord | undefined> {
    const value = await this.valueAt(place);
    return value === undefined ? undefined : decodeAuditRecord(value);
  }

  /** The bytes of a record, of which the digest is made. */
  valueAt({ row, number }: AuditPlace): Promise<Uint8Array | undefined> {
    return getIntact(this.#store, auditRecordKey(row, number));
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

  async #writePlaces(operations: StoreOperation[], places: AuditPlaces): Promise<void> {
    const { mark, rows, chunks, chain } = places;
    const loss = mark.completeAfter < this.#loss.through ? this.#loss : NO_LOSS;
    for (const chunk of this.#areRowsDirty ? CHUNKS : chunks) {
      operations.push({ type: "put", key: auditRowsKey(chunk), value: rows.encodeChunk(chunk) });
    }
    const value = encodeMark({ mark, loss, writtenTotal: rows.writtenTotal, chain });
    operations.push({ type: "put", key: auditMarkKey(), value });
    await this.#store.write(operations);
    this.#areRowsDirty = false;
    this.#mark = mark;
    this.#loss = loss;
    this.#chain = chain;
  }

  /** To be called first. `notices`, `lostTotal` and reads report damage. */
  async load(): Promise<void> {
    const bytes = await getIntact(this.#store, auditMarkKey());
    const found = bytes === undefined ? undefined : decodeMark(bytes);
    const chunks = await Promise.all(CHUNKS.map((n) => getIntact(this.#store, auditRowsKey(n))));
    const unread = new Set(CHUNKS);
    for (const [chunk, value] of chunks.entries()) {
      if (value !== undefined && this.#rows.decodeChunk(chunk, value)) unread.delete(chunk);
    }
    const expected = found?.writtenTotal ?? 0;
    this.#mark = found?.mark;
    this.#loss = found?.loss ?? NO_LOSS;
    this.#chain = await this.#findChain(found?.chain ?? NO_CHAIN);
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

  /** The mark may have been lost, or have fallen back to an older state than the blocks. */
  async #findChain(marked: AuditChain): Promise<AuditChain> {
    const { number } = marked.head;
    const isMore = await isAnyStored(this.#store, auditBlockKey, number + 1, AUDIT_RECORDS_MAX);
    if (!isMore) return marked;
    const newest = await highestNumber(this.#store, auditBlockKey, AUDIT_RECORDS_MAX);
    this.notices.push(`its mark does not know of block ${newest}, the last one of the chain`);
    for await (const { block, digest } of this.blocks(newest, 1, -1)) {
      const bytes = Math.max(marked.head.bytes, block.bytesBefore + block.bytes);
      const trimmed = block.trimmed.number > marked.trimmed.number ? block.trimmed : marked.trimmed;
      const isNewest = block.number === newest;
      return {
        // If it cannot be read, the next block cannot say what it follows.
        head: { number: newest, digest: isNewest ? digest : NO_DIGEST, bytes },
        trimmed,
        nextRecord: Math.max(marked.nextRecord, block.firstRecord + block.places.length),
      };
    }
    return { ...marked, head: { ...marked.head, number: newest, digest: NO_DIGEST } };
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

  /** The existing records among `from` … `to` of a row, upwards or downwards. */
  async *#walk(row: number, from: number, to: number, step: 1 | -1): AsyncIterable<NumberedRecord> {
    const keyOf: KeyOfNumber = (number) => auditRecordKey(row, number);
    for await (const { number, value } of walkNumbers(this.#store, keyOf, from, to, step)) {
      const record = decodeAuditRecord(value);
      if (record !== undefined) yield { number, record };
    }
  }

  /** Whether reads of the row pass this place. */
  isCounted({ row, number }: AuditPlace): boolean {
    return (
      row < AUDIT_ROWS && number >= this.#rows.firstOf(row) && number <= this.#rows.lastOf(row)
    );
  }

  /** How many intact values are stored under keys of records, whether a block names them or not. */
  async countStored(): Promise<number> {
    let count = 0;
    try {
      for await (const _ of this.#store.iterate(rangeOf(KEY_PREFIX.auditRecord))) count += 1;
      return count;
    } catch (error) {
      if (damageOf(error) === undefined) throw error;
    }
    count = 0;
    for (let row = 0; row < AUDIT_ROWS; row += 1) {
      const keyOf: KeyOfNumber = (number) => auditRecordKey(row, number);
      if (!(await isAnyStored(this.#store, keyOf, 0, AUDIT_RECORDS_MAX))) continue;
      const last = await highestNumber(this.#store, keyOf, AUDIT_RECORDS_MAX);
      for await (const _ of walkNumbers(this.#store, keyOf, 0, last, 1)) count += 1;
    }
    return count;
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

const NO_RECORDS: NewBlock = Object.freeze({
  places: [],
  lastIndex: 0,
  oldestWallMs: 0,
  newestWallMs: 0,
  recordsDigest: new RecordsDigest().end(),
});

type NewBlock = Pick<
  AuditBlock,
  "places" | "lastIndex" | "oldestWallMs" | "newestWallMs" | "recordsDigest"
>;

/** Adds the next block to a batch that puts its records, and returns the chain with it. */
function addBlock(operations: StoreOperation[], chain: AuditChain, block: NewBlock): AuditChain {
  const { head, trimmed, nextRecord } = chain;
  const number = head.number + 1;
  const key = auditBlockKey(number);
  let bytes = key.length + auditBlockBytes(block.places.length);
  for (const put of operations) {
    if (put.type === "put") bytes += put.key.length + put.value.length;
  }
  const value = encodeAuditBlock({
    ...{ ...block, number, trimmed, bytesBefore: head.bytes, bytes },
    ...{ firstRecord: nextRecord, previous: head.digest },
  });
  operations.push({ type: "put", key, value });
  return {
    head: { number, digest: digestOfBlock(value), bytes: head.bytes + bytes },
    trimmed,
    nextRecord: nextRecord + block.places.length,
  };
}

interface StoredMark {
  readonly mark: AuditMark;
  readonly chain: AuditChain;
  readonly loss: AuditLoss;
  readonly writtenTotal: number;
}

function encodeMark({ mark, loss, writtenTotal, chain }: StoredMark): Buffer {
  const { through, completeAfter } = mark;
  const value = Buffer.alloc(MARK_BYTES);
  let at = value.writeUInt32LE(through.number, writeUint53(value, through.index, 0));
  at = writeUint53(value, completeAfter, at);
  at = writeUint53(value, writtenTotal, at);
  at = writeUint53(value, loss.count, at);
  at = writeUint53(value, loss.through, at);
  at = writeChainPlace(value, chain.trimmed, writeChainPlace(value, chain.head, at));
  writeUint53(value, chain.nextRecord, at);
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
  const head = readChainPlace(bytes, CHAIN_AT);
  const trimmed = readChainPlace(bytes, CHAIN_AT + CHAIN_PLACE_BYTES);
  const nextRecord = readUint53(bytes, CHAIN_AT + 2 * CHAIN_PLACE_BYTES);
  if (head === undefined || trimmed === undefined || trimmed.number > head.number) return undefined;
  if (trimmed.bytes > head.bytes) return undefined;
  if (nextRecord < 1 || nextRecord > AUDIT_RECORDS_MAX) return undefined;
  const chain: AuditChain = { head, trimmed, nextRecord };
  return { mark: { through, completeAfter }, writtenTotal, loss, chain };
}
