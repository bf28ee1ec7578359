/** The chain of the audit: what a check of it finds, and how it goes on after damage. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MemoryStoreDisk } from "../../../lab/memory/memory-ordered-store.js";
import { type AuditHead, NO_BLOCK } from "../../../src/storage/audit/audit-block.js";
import type { AuditRecord } from "../../../src/storage/audit/audit-record.js";
import { AUDIT_ACTIONS_ROW, auditRowOf } from "../../../src/storage/audit/audit-rows.js";
import { type AuditMark, AuditStore } from "../../../src/storage/audit/audit-store.js";
import { verifyAudit } from "../../../src/storage/audit/audit-verification.js";
import { sealValue } from "../../../src/storage/ordered-store.js";
import {
  auditBlockKey,
  auditMarkKey,
  auditRecordKey,
  KEY_PREFIX,
} from "../../../src/storage/store-keys.js";

const ROOMY = Number.POSITIVE_INFINITY;
const NO_MARK: AuditMark = { through: { index: 0, number: 0 }, completeAfter: 0 };
const CHECKSUM_BYTES = 4;

function record(lockKey: string, index: number): AuditRecord {
  const body = new TextEncoder().encode(`${lockKey} ${index}`);
  return { lockKey, index, number: 0, endedWallMs: 1_000 * index, body };
}

async function opened(disk: MemoryStoreDisk): Promise<AuditStore> {
  disk.crash();
  const audit = new AuditStore(disk.open());
  await audit.load();
  return audit;
}

async function verified(disk: MemoryStoreDisk, expected?: AuditHead) {
  return verifyAudit(await opened(disk), expected);
}

async function problemsIn(disk: MemoryStoreDisk) {
  return (await verified(disk)).problems;
}

/** Blocks 1 to 6 with the records 1 to 12; the first two blocks are trimmed, which is block 7. */
async function sound(): Promise<MemoryStoreDisk> {
  const disk = new MemoryStoreDisk();
  const audit = await opened(disk);
  let index = 0;
  for (const count of [1, 2, 1, 5, 1, 2]) {
    const records = Array.from({ length: count }, () => {
      index += 1;
      return record(["a", "b", "c/1", ""][index % 4] as string, index);
    });
    await audit.write(records, { ...NO_MARK, through: { index, number: 0 } });
  }
  await audit.trim({ fromWallMs: 3_001, bytesMax: ROOMY }, 100, audit.mark ?? NO_MARK);
  return disk;
}

/** As somebody would who knows the format: with the right checksum of the store. */
function put(disk: MemoryStoreDisk, name: string, value: Uint8Array): void {
  disk.values.set(name, sealValue(Uint8Array.from(Buffer.from(name, "hex")), value));
}

function contentOf(disk: MemoryStoreDisk, name: string): Buffer {
  const sealed = Buffer.from(disk.values.get(name) ?? []);
  return Buffer.from(sealed.subarray(0, sealed.length - CHECKSUM_BYTES));
}

function namesOf(disk: MemoryStoreDisk, ...prefixes: number[]): string[] {
  const starts = prefixes.map((prefix) => prefix.toString(16));
  return [...disk.values.keys()].filter((name) => starts.includes(name.slice(0, 2))).sort();
}

const CHAINED = [KEY_PREFIX.auditRecord, KEY_PREFIX.auditBlock];
const hex = (key: Uint8Array): string => Buffer.from(key).toString("hex");

describe("a check of the audit", () => {
  test("finds everything in order, and says what there is", async () => {
    const disk = await sound();
    const report = await verified(disk);
    expect(report).toMatchObject({
      ...{ blocks: 5, records: 9, problems: [], problemsTotal: 0 },
      ...{ first: { block: 3, record: 4, wallMs: 4_000 } },
      ...{ last: { block: 6, record: 12, wallMs: 12_000 } },
    });
    expect(report.head.number).toBe(7);
    expect(report.trimmed.number).toBe(2);
  });

  test("finds an audit in order into which nothing was ever written", async () => {
    const report = await verified(new MemoryStoreDisk());
    expect(report).toMatchObject({ head: NO_BLOCK, blocks: 0, problems: [], first: undefined });
  });

  test("finds every bit that was flipped, even with a right checksum", async () => {
    const disk = await sound();
    const bits = namesOf(disk, ...CHAINED).flatMap((name) =>
      Array.from({ length: 8 * contentOf(disk, name).length }, (_, bit) => [name, bit] as const),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...bits), fc.boolean(), async ([name, bit], isSealed) => {
        const copy = disk.copy();
        const value = contentOf(copy, name);
        value[bit >> 3] = (value[bit >> 3] as number) ^ (1 << (bit & 7));
        if (isSealed) put(copy, name, value);
        else copy.damage(name, bit);
        expect(await problemsIn(copy)).not.toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  test("finds every record and block that was removed", async () => {
    const disk = await sound();
    for (const name of namesOf(disk, ...CHAINED)) {
      const copy = disk.copy();
      copy.values.delete(name);
      expect({ name, problems: await problemsIn(copy) }).not.toEqual({ name, problems: [] });
    }
  });

  test("finds any two records or blocks that changed places", async () => {
    const disk = await sound();
    const names = namesOf(disk, ...CHAINED);
    for (const [at, one] of names.entries()) {
      for (const other of names.slice(at + 1)) {
        const copy = disk.copy();
        put(copy, one, contentOf(disk, other));
        put(copy, other, contentOf(disk, one));
        expect({ one, other, problems: await problemsIn(copy) }).not.toMatchObject({
          problems: [],
        });
      }
    }
  });

  test("finds a record that was put in next to the chain", async () => {
    const disk = await sound();
    for (const [row, number] of [
      [auditRowOf("a"), 9],
      [auditRowOf("other"), 1],
      [AUDIT_ACTIONS_ROW, 50],
    ] as const) {
      const copy = disk.copy();
      const name = hex(auditRecordKey(row, number));
      put(copy, name, contentOf(disk, namesOf(disk, KEY_PREFIX.auditRecord)[0] as string));
      expect(await problemsIn(copy)).toMatchObject([{ kind: "unnamed", records: 1 }]);
    }
  });

  test("finds blocks that were removed from the front as if they had been trimmed", async () => {
    const disk = await sound();
    const before = await verified(disk);
    const third = namesOf(disk, KEY_PREFIX.auditBlock)[0] as string;
    const mark = contentOf(disk, hex(auditMarkKey()));
    const second = Buffer.from(before.trimmed.digest, "hex");
    const at = mark.indexOf(second);
    const { createHash } = await import("node:crypto");
    createHash("sha256").update(contentOf(disk, third)).digest().copy(mark, at);
    mark.writeUInt32LE(3, at - 8);
    put(disk, hex(auditMarkKey()), mark);
    disk.values.delete(third);
    const kinds = (await problemsIn(disk)).map(({ kind }) => kind);
    expect(kinds).toContain("truncated");
  });

  test("says which blocks are lost, with how many records, and between which times", async () => {
    const disk = await sound();
    disk.values.delete(hex(auditBlockKey(4)));
    disk.values.delete(hex(auditBlockKey(5)));
    expect(await problemsIn(disk)).toEqual([
      {
        ...{ kind: "lost", fromBlock: 4, toBlock: 5, records: 6 },
        ...{ afterWallMs: 4_000, beforeWallMs: 11_000 },
      },
      { kind: "unnamed", fromBlock: 0, toBlock: 0, records: 6, afterWallMs: 0, beforeWallMs: 0 },
    ]);
  });
});

describe("a head that was kept elsewhere", () => {
  test("is found again, however much was written after it", async () => {
    const disk = await sound();
    const { head } = await verified(disk);
    expect((await verified(disk, head)).expected).toBe("same");
    const audit = await opened(disk);
    await audit.write([record("a", 20)], NO_MARK);
    expect((await verified(disk, head)).expected).toBe("same");
    expect((await verified(disk, { ...head, digest: "f".repeat(64) })).expected).toBe("different");
    expect((await verified(disk, { ...head, number: 9 })).expected).toBe("missing");
    expect((await verified(disk, { ...head, number: 1 })).expected).toBe("removed");
  });

  test("gives away a chain that was rewritten from any block on", async () => {
    const disk = await sound();
    const { head } = await verified(disk);
    for (const kept of [2, 3, 4, 5, 6]) {
      const forged = new MemoryStoreDisk();
      const audit = await opened(forged);
      let index = 0;
      for (const count of [1, 2, 1, 5, 1, 2]) {
        const isKept = index < kept;
        const records = Array.from({ length: count }, () => {
          index += 1;
          return record(["a", "b", "c/1", ""][(index + (isKept ? 0 : 1)) % 4] as string, index);
        });
        await audit.write(records, { ...NO_MARK, through: { index, number: 0 } });
      }
      await audit.trim({ fromWallMs: 3_001, bytesMax: ROOMY }, 100, audit.mark ?? NO_MARK);
      const report = await verified(forged, head);
      expect(report.problems).toEqual([]);
      expect(report.expected).toBe("different");
    }
  });
});

describe("the chain goes on", () => {
  test("after its mark is lost, with the number after the last block", async () => {
    const disk = await sound();
    disk.values.delete(hex(auditMarkKey()));
    const audit = await opened(disk);
    expect(audit.notices[0]).toContain("block 7");
    await audit.write([record("a", 30)], NO_MARK);
    const report = await verified(disk);
    expect(report).toMatchObject({ head: { number: 8 }, trimmed: { number: 2 }, problems: [] });
    expect(report.last).toEqual({ block: 8, record: 13, wallMs: 30_000 });
  });

  test("after its mark and its last block are lost, and says where it began again", async () => {
    const disk = await sound();
    disk.values.delete(hex(auditMarkKey()));
    disk.damage(hex(auditBlockKey(7)), 40);
    const audit = await opened(disk);
    await audit.write([record("a", 30)], NO_MARK);
    const kinds = (await problemsIn(disk)).map(({ kind, fromBlock }) => [kind, fromBlock]);
    expect(kinds).toContainEqual(["lost", 7]);
  });

  test("through any crash between two writes", async () => {
    const crashes = fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.boolean()), {
      minLength: 1,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(
        crashes,
        fc.infiniteStream(fc.double({ min: 0, max: 0.999 })),
        async (writes, random) => {
          const disk = new MemoryStoreDisk();
          let index = 0;
          for (const [count, isTrimming] of writes) {
            const audit = await opened(disk);
            for (let write = 0; write < count; write += 1) {
              index += 1;
              const calling = audit.write([record("a", index), record("", index)], NO_MARK);
              // The last one is under way when the process dies.
              if (write < count - 1) await calling;
              else calling.catch(() => {});
            }
            if (isTrimming && count === 0)
              await audit.trim({ fromWallMs: 1_000 * index - 1_500, bytesMax: ROOMY }, 4, NO_MARK);
            disk.crash(() => random.next().value as number);
          }
          expect(await problemsIn(disk)).toEqual([]);
        },
      ),
      { numRuns: 40 },
    );
  });

  test("with times of trimming of damaged blocks, and leaves nothing of them", async () => {
    const disk = await sound();
    disk.values.delete(hex(auditBlockKey(4)));
    const audit = await opened(disk);
    await audit.write(
      [record("a", 40), record("b", 40), record("c/1", 40), record("", 40)],
      NO_MARK,
    );
    await audit.write([record("a", 90)], NO_MARK);
    const { isRoundOver } = await audit.trim({ fromWallMs: 50_000, bytesMax: ROOMY }, 100, NO_MARK);
    expect(isRoundOver).toBe(true);
    expect(await verified(disk)).toMatchObject({ records: 1, problems: [] });
    expect(namesOf(disk, KEY_PREFIX.auditRecord)).toHaveLength(1);
  });
});
