/**
 * The audit of one node, on the store in memory and on `level`: what is written, that it is written
 * once whatever happens in between, and that a failure is reported and stops nothing else.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { MemoryStoreDisk } from "../../../lab/memory/memory-ordered-store.js";
import { HoldfastError } from "../../../src/errors/index.js";
import { END_REASON } from "../../../src/protocol/index.js";
import { openLevelStore } from "../../../src/storage/level-store.js";
import { descending, KEEP_MS, Life, type OpenStore, tokensOf, WALL_MS } from "./audit-life.js";

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function memoryDisk(): Promise<OpenStore> {
  const disk = new MemoryStoreDisk();
  return async () => disk.open();
}

async function levelDisk(): Promise<OpenStore> {
  const path = await mkdtemp(join(tmpdir(), "holdfast-audit-"));
  cleanUps.push(() => rm(path, { recursive: true }));
  return () => openLevelStore(path);
}

describe.each([
  ["in memory", memoryDisk],
  ["in level", levelDisk],
])("the audit %s", (_where, disk) => {
  test("has every tenure once, though the node restarts and replays its log", async () => {
    const open = await disk();
    const first = await Life.start(open);
    first.apply(1, 700);
    await first.settle();
    first.apply(701, 800);
    // Ends with these in flight or not even begun with.
    first.turn();
    await first.stop();

    const second = await Life.start(open);
    second.apply(1, 900);
    await second.settle();
    expect(second.audit.status.writtenTotal).toBeLessThanOrEqual(400);
    await second.stop();

    const third = await Life.start(open, { snapshotIndex: 850 });
    third.apply(851, 950);
    await third.settle();
    expect(third.audit.status).toMatchObject({ gapsTotal: 0, completeAfter: 0, lag: 0 });
    expect(tokensOf(await third.read("a"))).toEqual(descending(950, 1));
    expect(await third.read("key-420")).toEqual([
      {
        key: "key-420",
        holder: "session",
        mode: "exclusive",
        token: 1_420,
        session: 1,
        sessionName: "s",
        identity: "anonymous",
        task: 1,
        sequence: 840,
        grantedWallMs: WALL_MS + 420 - 5,
        heldMs: 5,
        waitedMs: 3,
        orderedBy: "",
        reason: END_REASON.expired,
      },
    ]);
    expect(third.story).toEqual([]);
    await third.stop();
  });

  test("is trimmed of what is older than it is to be kept", async () => {
    const open = await disk();
    const life = await Life.start(open);
    life.apply(1, 1_100);
    await life.settle();
    life.apply(1_101, 1_200);
    await life.settle();
    life.nowMs += 60_000;
    await life.settle(WALL_MS + KEEP_MS + 1_101);
    expect(tokensOf(await life.read("a"))).toEqual(descending(1_200, 1_101));
    expect(life.audit.mark.completeAfter).toBe(1_100);
    await life.stop();
  });

  test("loses its oldest records when a client in a loop fills it, and says so once an hour", async () => {
    const open = await disk();
    const bytesMax = 200_000;
    const life = await Life.start(open, { bytesMax });
    let last = 0;
    const fill = async () => {
      for (let round = 0; round < 4; round += 1) {
        life.apply(last + 1, last + 400);
        last += 400;
        await life.settle();
        expect(life.audit.status.bytesKept).toBeLessThanOrEqual(bytesMax);
      }
    };
    expect(life.audit.status).toMatchObject({ bytesKept: 0, isSizeLimited: false });
    await fill();
    const { completeAfter, isSizeLimited } = life.audit.status;
    expect(isSizeLimited).toBe(true);
    expect(completeAfter).toBeGreaterThan(0);
    expect(tokensOf(await life.read("a"))).toEqual(descending(last, completeAfter + 1));
    const told = ["warn: the audit has reached its size: records were removed before their age"];
    expect(life.story).toEqual(told);
    life.nowMs += 3_600_000;
    await fill();
    expect(life.story).toEqual([...told, ...told]);
    const { bytesKept } = life.audit.status;
    await life.stop();
    const second = await Life.start(open, { bytesMax, snapshotIndex: last });
    await second.settle();
    expect(second.audit.status).toMatchObject({ bytesKept, gapsTotal: 0 });
    // All that was removed would be too old by now.
    await second.settle(WALL_MS + last + KEEP_MS);
    expect(second.audit.status.isSizeLimited).toBe(false);
    await second.stop();
  });

  test("is trimmed even while there is something to write at each turn", async () => {
    const life = await Life.start(await disk(), { bytesMax: 200_000 });
    let index = 0;
    let bytesMost = 0;
    for (let turn = 0; turn < 12; turn += 1) {
      life.apply(index + 1, index + 600);
      index += 600;
      life.turn();
      await life.idle();
      bytesMost = Math.max(bytesMost, life.audit.status.bytesKept);
    }
    expect(life.audit.status.lag).toBeGreaterThan(0);
    // And one batch.
    expect(bytesMost).toBeLessThanOrEqual(500_000);
    expect(life.audit.status.writtenTotal).toBeGreaterThan(5_000);
    await life.stop();
  });
});

describe("the audit of a node", () => {
  test("logs the head of its chain at its start, each hour if there is more, and at its end", async () => {
    const open = await memoryDisk();
    const first = await Life.start(open);
    first.apply(1, 10);
    await first.settle();
    expect(first.heads).toEqual([]);
    first.nowMs += 3_600_000;
    first.turn();
    expect(first.heads).toHaveLength(1);
    first.nowMs += 3_600_000;
    first.turn();
    expect(first.heads).toHaveLength(1);
    first.apply(11, 20);
    await first.settle();
    await first.stop();
    expect(first.heads.map((head) => head.split(":")[0])).toEqual(["1", "2"]);
    const second = await Life.start(open, { snapshotIndex: 20 });
    second.turn();
    expect(second.heads).toEqual(first.heads.slice(1));
    await second.stop();
  });

  test("that takes a snapshot has its place written, and finds it after the snapshot", async () => {
    const open = await memoryDisk();
    const first = await Life.start(open);
    first.apply(1, 10);
    await first.settle();
    // Entries that end nothing.
    first.index = 500;
    first.turn();
    expect(first.audit.mark.through.index).toBe(10);
    first.turn(true);
    await first.settle();
    expect(first.audit.mark.through.index).toBe(500);
    await first.stop();
    const second = await Life.start(open, { snapshotIndex: 500 });
    await second.settle();
    expect(second.audit.status.gapsTotal).toBe(0);
    await second.stop();
  });

  test("that takes over a snapshot notes the gap, loudly and for good", async () => {
    const open = await memoryDisk();
    const first = await Life.start(open);
    first.apply(1, 10);
    await first.settle();
    first.log.restart(300);
    first.apply(301, 305);
    await first.settle();
    expect(first.audit.status).toMatchObject({ gapsTotal: 1, completeAfter: 300 });
    expect(first.story).toHaveLength(1);
    expect(first.story[0]).toContain("error: the audit has a gap");
    expect(tokensOf(await first.read("a"))).toEqual([
      ...descending(305, 301),
      ...descending(10, 1),
    ]);
    await first.stop();
    const second = await Life.start(open, { snapshotIndex: 305 });
    await second.settle();
    expect(second.audit.status).toMatchObject({ gapsTotal: 0, completeAfter: 300 });
    await second.stop();
  });

  test("whose disk is full says so, tries again, and then has everything", async () => {
    let isFull = false;
    const disk = new MemoryStoreDisk({
      intercept: ({ kind }) => {
        if (isFull && kind === "write") throw new HoldfastError("DISK_FULL", "no space");
      },
    });
    const life = await Life.start(async () => disk.open());
    life.apply(1, 10);
    await life.settle();
    isFull = true;
    life.apply(11, 20);
    await life.settle();
    expect(life.audit.status).toMatchObject({ state: "full", lag: 40 });
    for (let tries = 0; tries < 3; tries += 1) {
      life.nowMs += 2_000;
      await life.settle();
    }
    expect(life.story).toEqual(["error: no room for the audit"]);
    isFull = false;
    life.nowMs += 2_000;
    await life.settle();
    expect(life.audit.status).toMatchObject({ state: "writing", lag: 0, gapsTotal: 0 });
    expect(tokensOf(await life.read("a"))).toEqual(descending(20, 1));
    expect(life.story).toHaveLength(2);
  });

  test("whose store fails says so once and goes on without", async () => {
    const disk = new MemoryStoreDisk({
      intercept: ({ kind }) => {
        if (kind === "write") throw new Error("input/output error");
      },
    });
    const life = await Life.start(async () => disk.open());
    life.apply(1, 10);
    await new Promise<void>((resolve) => {
      life.turn();
      setImmediate(resolve);
    });
    life.turn();
    life.apply(11, 20);
    life.turn();
    expect(life.audit.status).toMatchObject({ state: "failed", lag: 80 });
    expect(life.story).toEqual(["error: the audit is not written any more"]);
    // What memory forgets from now on nobody has.
    expect(life.audit.completeAfter).toBe(0);
    life.log.restart(300);
    expect(life.audit.completeAfter).toBe(300);
  });

  test("whose store is slower than what happens says what it lost, and keeps up again", async () => {
    const limits = { changesMax: 1_024, changeBytesMax: 1 << 30 };
    const life = await Life.start(await memoryDisk(), { limits });
    life.apply(1, 2_000);
    await life.settle();
    const { completeAfter, gapsTotal } = life.audit.status;
    expect(gapsTotal).toBe(1);
    expect(life.story[0]).toContain("error: the audit has a gap");
    expect(completeAfter).toBe(life.log.floor.index);
    const tokens = tokensOf(await life.read("a")).filter((token) => token > completeAfter);
    expect(tokens).toEqual(descending(2_000, completeAfter + 1));
    expect(tokens.length).toBeGreaterThan(250);
  });
});
