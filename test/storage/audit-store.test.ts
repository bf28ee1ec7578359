/** The durable history, over the store in memory and over `level` in a temporary directory. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { type AuditMark, type AuditRecord, AuditStore } from "../../src/storage/audit-store.js";
import { openLevelStore } from "../../src/storage/level-store.js";
import { MemoryStoreDisk } from "../../src/storage/memory-ordered-store.js";
import type { OrderedStore } from "../../src/storage/ordered-store.js";

const NEWEST = { index: 2 ** 53 - 1, number: 2 ** 32 - 1 };
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

function textsOf(records: readonly { readonly body: Uint8Array }[]): string[] {
  return records.map(({ body }) => new TextDecoder().decode(body));
}

describe.each([
  ["in memory", inMemory],
  ["in level", inLevel],
])("the audit %s", (_where, open) => {
  test("gives the records of a key, the newest first, and of no other key", async () => {
    const audit = new AuditStore(await open());
    const keys = ["a", "a/", "a/b", "aa", "ä", "b"];
    const records = [1, 2, 255, 256, 70_000, 2 ** 40].flatMap((index) =>
      keys.flatMap((key) => [record(key, index), record(key, index, 3)]),
    );
    await audit.write(records, NO_MARK);
    for (const key of keys) {
      const expected = records.filter(({ lockKey }) => lockKey === key).reverse();
      expect(textsOf(await audit.read(key, NEWEST, 100))).toEqual(textsOf(expected));
      expect(textsOf(await audit.read(key, NEWEST, 2))).toEqual(textsOf(expected.slice(0, 2)));
      const older = await audit.read(key, { index: 256, number: 2 }, 100);
      expect(textsOf(older)).toEqual(textsOf(expected.slice(5)));
    }
    expect(await audit.read("c", NEWEST, 100)).toEqual([]);
  });

  test("remembers its mark", async () => {
    const audit = new AuditStore(await open());
    expect(await audit.readMark()).toBeUndefined();
    const mark = { through: { index: 2 ** 50, number: 2 ** 32 - 1 }, completeAfter: 2 ** 45 };
    await audit.write([], mark);
    expect(await audit.readMark()).toEqual(mark);
  });

  test("is trimmed from its oldest, a bounded number at a time, and says so in its mark", async () => {
    const audit = new AuditStore(await open());
    const records = Array.from({ length: 10 }, (_, i) => record(i % 2 === 0 ? "a" : "b", i + 1));
    await audit.write(records, NO_MARK);
    const first = await audit.trim(7_000, 4, NO_MARK);
    expect(first).toEqual({ ...NO_MARK, completeAfter: 4 });
    expect(textsOf(await audit.read("a", NEWEST, 100))).toEqual(["a 9.0", "a 7.0", "a 5.0"]);
    const second = await audit.trim(7_000, 4, first as AuditMark);
    expect(second).toEqual({ ...NO_MARK, completeAfter: 6 });
    expect(await audit.trim(7_000, 4, second as AuditMark)).toBeUndefined();
    expect(await audit.readMark()).toEqual(second);
    expect(textsOf(await audit.read("b", NEWEST, 100))).toEqual(["b 10.0", "b 8.0"]);
  });
});
