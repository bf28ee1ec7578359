/**
 * The durable history: records of who held a lock, by lock and revision, each written once. What they
 * say is the writer's matter; here they are bytes with a place, a lock and an age.
 *
 * The mark says up to where everything was written, and is part of every batch: after a crash the
 * writer goes on behind it, so that nothing is written twice and nothing is left out.
 */
import { corruption } from "./corruption.js";
import type { OrderedStore, StoreOperation } from "./ordered-store.js";
import { readUint53, writeUint53 } from "./record-format.js";
import {
  auditAgeKey,
  auditAgeRevision,
  auditMarkKey,
  auditRange,
  auditRecordKey,
  auditRecordRevision,
  KEY_PREFIX,
  rangeOf,
  type StoredRevision,
} from "./store-keys.js";

const UINT53_BYTES = 8;
const MARK_BYTES = 2 * UINT53_BYTES + 4;

export interface AuditRecord extends StoredRevision {
  readonly lockKey: string;
  /** Milliseconds since 1970: what decides when it is old. */
  readonly endedWallMs: number;
  readonly body: Uint8Array;
}

export interface AuditMark {
  /** Of everything up to here there is a record, */
  readonly through: StoredRevision;
  /** if it came behind this entry. 0: nothing is missing since the cluster was founded. */
  readonly completeAfter: number;
}

export class AuditStore {
  readonly #store: OrderedStore;

  constructor(store: OrderedStore) {
    this.#store = store;
  }

  /** `undefined` while nothing was ever written. */
  async readMark(): Promise<AuditMark | undefined> {
    const value = await this.#store.get(auditMarkKey());
    if (value === undefined) return undefined;
    if (value.length !== MARK_BYTES) throw damaged("the mark of the audit");
    const bytes = Buffer.from(value);
    const through = { index: readUint53(bytes, 0), number: bytes.readUInt32LE(UINT53_BYTES) };
    return { through, completeAfter: readUint53(bytes, UINT53_BYTES + 4) };
  }

  /** One batch, durable when it resolves. Fails as `OrderedStore.write` does. */
  write(records: readonly AuditRecord[], mark: AuditMark): Promise<void> {
    const operations: StoreOperation[] = [];
    for (const record of records) {
      const { lockKey, endedWallMs, body } = record;
      operations.push(
        { type: "put", key: auditRecordKey(lockKey, record), value: body },
        { type: "put", key: auditAgeKey(record), value: ageValue(endedWallMs, lockKey) },
      );
    }
    operations.push({ type: "put", key: auditMarkKey(), value: markValue(mark) });
    return this.#store.write(operations);
  }

  /**
   * Removes the oldest, at most `recordsMax`, as far as they ended before `wallMs`, and notes in the
   * mark that they are missing. Resolves to the mark if anything was removed.
   */
  async trim(wallMs: number, recordsMax: number, mark: AuditMark): Promise<AuditMark | undefined> {
    const operations: StoreOperation[] = [];
    let last: StoredRevision | undefined;
    const range = { ...rangeOf(KEY_PREFIX.auditAge), limit: recordsMax };
    for await (const { key, value } of this.#store.iterate(range)) {
      const bytes = Buffer.from(value);
      if (bytes.length < UINT53_BYTES) throw damaged("the age of a record of the audit");
      if (readUint53(bytes, 0) >= wallMs) break;
      last = auditAgeRevision(key);
      const lockKey = bytes.toString("utf8", UINT53_BYTES);
      operations.push(
        { type: "remove", key: auditRecordKey(lockKey, last) },
        { type: "remove", key },
      );
    }
    if (last === undefined) return undefined;
    const completeAfter = Math.max(mark.completeAfter, last.index);
    const trimmed: AuditMark = { through: mark.through, completeAfter };
    operations.push({ type: "put", key: auditMarkKey(), value: markValue(trimmed) });
    await this.#store.write(operations);
    return trimmed;
  }

  /** Records of a lock up to `through`, the newest first, at most `limit`. */
  async read(lockKey: string, through: StoredRevision, limit: number): Promise<StoredRecord[]> {
    const found: StoredRecord[] = [];
    const range = { ...auditRange(lockKey, through), limit };
    for await (const { key, value } of this.#store.iterate(range)) {
      found.push({ ...auditRecordRevision(key), body: value });
    }
    return found;
  }
}

export interface StoredRecord extends StoredRevision {
  readonly body: Uint8Array;
}

function ageValue(endedWallMs: number, lockKey: string): Buffer {
  const value = Buffer.alloc(UINT53_BYTES + Buffer.byteLength(lockKey, "utf8"));
  value.write(lockKey, writeUint53(value, endedWallMs, 0), "utf8");
  return value;
}

function markValue({ through, completeAfter }: AuditMark): Buffer {
  const value = Buffer.alloc(MARK_BYTES);
  const at = value.writeUInt32LE(through.number, writeUint53(value, through.index, 0));
  writeUint53(value, completeAfter, at);
  return value;
}

function damaged(what: string): Error {
  return corruption({ file: "store", offset: 0, index: 0 }, `${what} is cut short`);
}
