/** The durable history, over the store in memory and over `level` in a temporary directory. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { MemoryStoreDisk } from "../../../lab/memory/memory-ordered-store.js";
import type { AuditRecord } from "../../../src/storage/audit/audit-record.js";
import { AuditRows, auditRowOf, chunkOfRow } from "../../../src/storage/audit/audit-rows.js";
import { type AuditMark, AuditStore } from "../../../src/storage/audit/audit-store.js";
import { verifyAudit } from "../../../src/storage/audit/audit-verification.js";
import { openLevelStore } from "../../../src/storage/level-store.js";
import type { OrderedStore } from "../../../src/storage/ordered-store.js";
import {
  auditBlockKey,
  auditMarkKey,
  auditRowsKey,
  KEY_PREFIX,
  rangeOf,
} from "../../../src/storage/store-keys.js";

const NEWEST = { index: 2 ** 53 - 1, number: 2 ** 32 - 1 };
const ROOMY = Number.POSITIVE_INFINITY;
const NO_MARK: AuditMark = { through: { index: 0, number: 0 }, completeAfter: 0 };

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function inMemory(): Promise<OrderedStore> {
  return new MemoryStoreDisk().open();
}

async function inLevel(): Promise<OrderedStore> {
  const path = await mkdtemp(join(tmpdir(), "holdfast-audit-"));
  closing.push(() => rm(path, { recursive: true }));
  const store = await openLevelStore(path);
  closing.push(() => store.close());
  return store;
}

function record(lockKey: string, index: number, number = 0): AuditRecord {
  const body = new TextEncoder().encode(`${lockKey} ${index}.${number}`);
  return { lockKey, index, number, endedWallMs: 1_000 * index, body };
}

async function loaded(store: OrderedStore): Promise<AuditStore> {
  const audit = new AuditStore(store);
  await audit.load();
  return audit;
}

async function read(audit: AuditStore, key: string, through = NEWEST, limit = 100) {
  const { records, holes } = await audit.read(key, through, limit);
  expect(holes).toEqual([]);
  return records;
}

/** What is really there: keys and values of records and blocks. */
async function bytesIn(store: OrderedStore): Promise<number> {
  let bytes = 0;
  for (const prefix of [KEY_PREFIX.auditRecord, KEY_PREFIX.auditBlock]) {
    for await (const { key, value } of store.iterate(rangeOf(prefix))) {
      bytes += key.length + value.length;
    }
  }
  return bytes;
}

function textsOf(records: readonly { readonly body: Uint8Array }[]): string[] {
  return records.map(({ body }) => new TextDecoder().decode(body));
}

describe.each([
  ["in memory", inMemory],
  ["in level", inLevel],
])("the audit %s", (_where, open) => {
  test("gives the records of a key, the newest first, and of no other key", async () => {
    const audit = await loaded(await open());
    const keys = ["a", "a/", "a/b", "aa", "ä", "b"];
    const records = [1, 2, 255, 256, 70_000, 2 ** 40].flatMap((index) =>
      keys.flatMap((key) => [record(key, index), record(key, index, 3)]),
    );
    await audit.write(records, NO_MARK);
    for (const key of keys) {
      const expected = records.filter(({ lockKey }) => lockKey === key).reverse();
      expect(textsOf(await read(audit, key))).toEqual(textsOf(expected));
      expect(textsOf(await read(audit, key, NEWEST, 2))).toEqual(textsOf(expected.slice(0, 2)));
      const older = await read(audit, key, { index: 256, number: 2 });
      expect(textsOf(older)).toEqual(textsOf(expected.slice(5)));
    }
    expect(await read(audit, "c")).toEqual([]);
  });

  test("remembers its mark", async () => {
    const store = await open();
    const audit = await loaded(store);
    expect(audit.mark).toBeUndefined();
    const mark = { through: { index: 2 ** 50, number: 2 ** 32 - 1 }, completeAfter: 2 ** 45 };
    await audit.write([], mark);
    expect(audit.mark).toEqual(mark);
    expect((await loaded(store)).mark).toEqual(mark);
  });

  test.each([
    [2 ** 48 + 1, 1, 1],
    [Number.MAX_SAFE_INTEGER, 1, 1],
    [2 ** 63, 1, 1],
    [1, 2 ** 63, 2 ** 63],
    [1, 7, 5],
    [1, 0, 4],
  ])("is opened whatever its numbers say: %d, %d, %d", async (written, first, last) => {
    const store = await open();
    const audit = await loaded(store);
    await audit.write([record("a", 1), record("a", 2)], NO_MARK);
    const row = auditRowOf("a");
    const key = auditRowsKey(chunkOfRow(row));
    const rows = new AuditRows();
    rows.set(row, first, last);
    const mark = Buffer.from((await store.get(auditMarkKey())) ?? []);
    mark.writeBigUInt64LE(BigInt(written), 20);
    await store.write([
      { type: "put", key, value: rows.encodeChunk(chunkOfRow(row)) },
      { type: "put", key: auditMarkKey(), value: mark },
    ]);
    const again = await loaded(store);
    await again.write([record("a", 3)], NO_MARK);
    expect(textsOf((await again.read("a", NEWEST, 1)).records)).toEqual(["a 3.0"]);
  });

  test("is trimmed from its oldest, a bounded number at a time, and says so in its mark", async () => {
    const store = await open();
    const audit = await loaded(store);
    const records = Array.from({ length: 10 }, (_, i) => record("a", i + 1));
    for (const one of records) await audit.write([one], NO_MARK);
    const first = await audit.trim({ fromWallMs: 7_000, bytesMax: ROOMY }, 7, NO_MARK);
    expect(first).toMatchObject({ mark: { ...NO_MARK, completeAfter: 4 }, isRoundOver: false });
    expect(textsOf(await read(audit, "a"))).toEqual(textsOf(records.slice(4).reverse()));
    const second = await audit.trim(
      { fromWallMs: 7_000, bytesMax: ROOMY },
      7,
      first.mark as AuditMark,
    );
    expect(second).toMatchObject({ mark: { ...NO_MARK, completeAfter: 6 }, isRoundOver: true });
    const third = await audit.trim(
      { fromWallMs: 7_000, bytesMax: ROOMY },
      7,
      second.mark as AuditMark,
    );
    expect(third).toMatchObject({ mark: undefined, isRoundOver: true, cutRecords: 0 });
    const again = await loaded(store);
    expect(again.mark).toEqual(second.mark);
    expect(textsOf(await read(again, "a"))).toEqual(textsOf(records.slice(6).reverse()));
  });

  test("loses its oldest records before their age when it takes too much, and no others", async () => {
    const store = await open();
    const audit = await loaded(store);
    const records = Array.from({ length: 10 }, (_, i) => record("a", i + 1));
    for (const one of records) await audit.write([one], NO_MARK);
    const bytesMax = Math.floor(audit.bytesKept / 2);
    const trimming = await audit.trim({ fromWallMs: 2_000, bytesMax }, 100, NO_MARK);
    const { completeAfter = 0 } = trimming.mark ?? {};
    // One of them was old.
    expect(trimming).toMatchObject({
      ...{ isRoundOver: true, cutRecords: completeAfter - 1 },
      cutThroughWallMs: 1_000 * completeAfter,
    });
    expect([6, 7]).toContain(completeAfter);
    expect(textsOf(await read(audit, "a"))).toEqual(
      textsOf(records.slice(completeAfter).reverse()),
    );
    expect(audit.bytesKept).toBeLessThanOrEqual(bytesMax);
    const again = await loaded(store);
    expect(again.mark).toEqual(trimming.mark);
    expect(again.bytesKept).toBe(await bytesIn(store));
    expect(await verifyAudit(again, undefined)).toMatchObject({
      ...{ problems: [], trimmed: { number: completeAfter } },
    });
  });
});

test("an audit counts what it stores, and stays within its size and one batch", async () => {
  const step = fc.record({
    // Small ones and large ones.
    records: fc.integer({ min: 0, max: 30 }),
    bodyBytes: fc.constantFrom(0, 10, 400),
    isOld: fc.boolean(),
    isCrash: fc.boolean(),
  });
  const bytesMax = 4_000;
  // Steps of trimming that removed as much as was written, and each left a block of its own.
  const eachStepLeavesABlock = [12, 19, 8, 20, 28, 28].map((records, at) => {
    return { records, bodyBytes: at % 2 === 0 && at < 4 ? 0 : 10, isOld: false, isCrash: false };
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
      const disk = new MemoryStoreDisk();
      let store = disk.open();
      let audit = await loaded(store);
      let index = 0;
      let batchBytesMax = 0;
      const check = async () => {
        const bytes = await bytesIn(store);
        expect(audit.bytesKept).toBe(bytes);
        expect(bytes).toBeLessThanOrEqual(bytesMax + batchBytesMax);
        return bytes;
      };
      const reopen = async () => {
        disk.crash();
        store = disk.open();
        audit = await loaded(store);
        await check();
      };
      for (const { records, bodyBytes, isOld, isCrash } of steps) {
        const before = await check();
        const batch = Array.from({ length: records }, () => {
          index += 1;
          return { ...record(`key-${index % 7}`, index), body: new Uint8Array(bodyBytes) };
        });
        await audit.write(batch, NO_MARK);
        const added = (await bytesIn(store)) - before;
        batchBytesMax = Math.max(batchBytesMax, added);
        await check();
        if (isCrash) await reopen();
        const fromWallMs = isOld ? 1_000 * (index - 5) : 0;
        // A step as small as possible must do.
        await audit.trim({ fromWallMs, bytesMax }, 1, NO_MARK);
        expect(await check()).toBeLessThanOrEqual(bytesMax);
        if (isCrash) await reopen();
      }
      expect((await verifyAudit(audit, undefined)).problems).toEqual([]);
    }),
    { numRuns: 30, examples: [[eachStepLeavesABlock]] },
  );
});

test("an audit that has lost its mark or blocks counts what is left again", async () => {
  const disk = new MemoryStoreDisk();
  const reopened = () => {
    disk.crash();
    return disk.open();
  };
  const audit = await loaded(reopened());
  for (let index = 1; index <= 20; index += 1) await audit.write([record("a", index)], NO_MARK);
  await audit.trim({ fromWallMs: 3_000, bytesMax: ROOMY }, 100, NO_MARK);
  disk.values.delete(Buffer.from(auditMarkKey()).toString("hex"));
  const store = reopened();
  expect((await loaded(store)).bytesKept).toBe(await bytesIn(store));
  // Blocks 3 to 19 are gone, and what they took does not count against the rest.
  for (let block = 3; block <= 19; block += 1) {
    disk.values.delete(Buffer.from(auditBlockKey(block)).toString("hex"));
  }
  const damaged = await loaded(reopened());
  const { bytesKept } = damaged;
  await damaged.trim({ fromWallMs: 0, bytesMax: bytesKept - 1 }, 100, NO_MARK);
  expect(textsOf((await damaged.read("a", NEWEST, 1)).records)).toEqual(["a 20.0"]);
});
