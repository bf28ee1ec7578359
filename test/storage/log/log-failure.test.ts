/** What the log does when its disk fails, is full, or hangs. */
import * as fs from "node:fs";
import { describe, expect, it } from "vitest";
import { type FileOperation, MemoryFileSystem } from "../../../lab/memory/memory-file-system.js";
import { MemoryStoreDisk } from "../../../lab/memory/memory-ordered-store.js";
import { HoldfastError } from "../../../src/errors/index.js";
import { damageOf } from "../../../src/storage/corruption.js";
import { isNoSpace } from "../../../src/storage/file-system.js";
import { openDataDirectory } from "../../../src/storage/index.js";
import { fileSystemSyncedBy, nodeFileSystem } from "../../../src/storage/node-file-system.js";
import {
  entryOf,
  HandTimer,
  memoryDisk,
  OpenLog,
  realDisk,
  standsOn,
  storeSnapshot,
  writeOf,
} from "./log-harness.js";

function failing(isHit: (operation: FileOperation) => boolean, code = "EIO"): MemoryFileSystem {
  return new MemoryFileSystem(undefined, {
    intercept: (operation) => {
      if (isHit(operation)) throw Object.assign(new Error(`${code}, as told`), { code });
    },
  });
}

/** A disk on which room gets short when a test says so. */
class BoundedFiles extends MemoryFileSystem {
  capacityBytes = Number.POSITIVE_INFINITY;

  constructor() {
    super(undefined, { capacityBytes: () => this.capacityBytes });
  }

  get usedBytes(): number {
    return [...this.sizes().values()].reduce((sum, bytes) => sum + bytes, 0);
  }
}

async function expectRoomAgain(log: OpenLog, hand: HandTimer): Promise<void> {
  while (log.space.length < 2) {
    hand.fire();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(log.space[1]).toBeUndefined();
}

describe("a log whose disk fails", () => {
  it("reports a failed write once, and takes and reports nothing after it", async () => {
    let isBroken = false;
    let writes = 0;
    const fileSystem = failing(({ kind, path }) => {
      if (!isBroken || kind !== "write" || !path.endsWith(".seg")) return false;
      writes += 1;
      return true;
    });
    const log = await OpenLog.open(memoryDisk(fileSystem));
    await log.write(writeOf(1, [entryOf(1, 1)]));
    isBroken = true;
    log.append(writeOf(2, [entryOf(2, 1)]), writeOf(3, [entryOf(3, 1)]));
    await expect(log.untilDurable(3)).rejects.toThrow(/cannot be written any more: EIO/);
    isBroken = false;
    log.append(writeOf(4, [entryOf(4, 1)]));
    await expect(log.directory.log.syncMark()).rejects.toThrow(/EIO/);
    await log.close();
    expect(log.durable).toEqual([1]);
    expect(log.failures.length).toBe(1);
    expect(log.failures[0]).toMatchObject({ code: "UNAVAILABLE" });
    expect(writes).toBe(1);
  });

  it("reports a mark that cannot be synced, to the log and to who asked for it", async () => {
    let isBroken = false;
    const fileSystem = failing(
      ({ kind, path }) => isBroken && kind === "write" && /mark$/.test(path),
    );
    const log = await OpenLog.open(memoryDisk(fileSystem), { timer: new HandTimer().timer });
    await log.write(writeOf(1, [entryOf(1, 1)]));
    isBroken = true;
    await expect(log.directory.log.syncMark()).rejects.toThrow(/EIO/);
    await expect(log.directory.log.syncMark()).rejects.toThrow(/EIO/);
    expect(log.failures.length).toBe(1);
    await log.close();
  });

  it("reports a failure of the idle mark", async () => {
    let isBroken = false;
    const fileSystem = failing(
      ({ kind, path }) => isBroken && kind === "write" && /mark$/.test(path),
    );
    const hand = new HandTimer();
    const log = await OpenLog.open(memoryDisk(fileSystem), { timer: hand.timer });
    await log.write(writeOf(1, [entryOf(1, 1)]));
    isBroken = true;
    hand.fire();
    await log.until(() => log.failures.length > 0);
    expect(log.failures[0]).toBeInstanceOf(HoldfastError);
    await log.close();
  });

  it("reports nothing as durable while a write hangs", async () => {
    let release: (() => void) | undefined;
    const fileSystem = new MemoryFileSystem(undefined, {
      intercept: ({ kind, path, position }) => {
        const isRecord = path.endsWith(".seg") && position > 0;
        if (kind !== "write" || !isRecord || release) return undefined;
        return new Promise((resolve) => {
          release = resolve;
        });
      },
    });
    const log = await OpenLog.open(memoryDisk(fileSystem));
    log.append(writeOf(1, [entryOf(1, 1)]));
    await new Promise((resolve) => setImmediate(resolve));
    log.append(writeOf(2, [entryOf(2, 1)]));
    await new Promise((resolve) => setImmediate(resolve));
    expect(log.durable).toEqual([]);
    expect(log.directory.log.pendingBytes).toBeGreaterThan(0);
    release?.();
    await log.untilDurable(2);
    await log.close();
  });

  it("reports when the next segment has no room, goes on, and reports when it has", async () => {
    const fileSystem = new BoundedFiles();
    const hand = new HandTimer();
    const log = await OpenLog.open(memoryDisk(fileSystem), { timer: hand.timer });
    fileSystem.capacityBytes = 0;
    await log.write(writeOf(1, [entryOf(1, 1)]));
    await log.until(() => log.space.length > 0);
    expect(log.space[0]).toMatchObject({ code: "ENOSPC" });
    await log.write(writeOf(2, [entryOf(2, 1)]));
    hand.fire();
    await log.write(writeOf(3, [entryOf(3, 1)]));
    expect(log.space.length).toBe(1);
    fileSystem.capacityBytes = Number.POSITIVE_INFINITY;
    await expectRoomAgain(log, hand);
    await log.write(writeOf(4, [entryOf(4, 1, 3900)]));
    expect(log.failures).toEqual([]);
    await log.close();
  });

  it("fails with DISK_FULL when the segment is full and there is no next one", async () => {
    const fileSystem = new BoundedFiles();
    const log = await OpenLog.open(memoryDisk(fileSystem), { timer: new HandTimer().timer });
    fileSystem.capacityBytes = 0;
    await log.write(writeOf(1, [entryOf(1, 1, 3000)]));
    log.append(writeOf(2, [entryOf(2, 1, 3000)]));
    await log.until(() => log.failures.length > 0);
    expect(log.failures[0]).toMatchObject({ code: "DISK_FULL" });
    await log.close();
    fileSystem.capacityBytes = Number.POSITIVE_INFINITY;
    const again = await OpenLog.open(memoryDisk(fileSystem));
    expect(again.boot.entries).toEqual([entryOf(1, 1, 3000)]);
    await again.close();
  });

  it("keeps over a power cut what a dead process left in the page cache, once shown", async () => {
    let isHanging = false;
    const intercept = ({ kind }: FileOperation): Promise<void> | undefined =>
      isHanging && kind === "write" ? new Promise(() => {}) : undefined;
    const fileSystem = new MemoryFileSystem(undefined, { intercept });
    const dead = await OpenLog.open(memoryDisk(fileSystem));
    isHanging = true;
    dead.append(writeOf(1, [entryOf(1, 1)]));
    await new Promise((resolve) => setImmediate(resolve));
    isHanging = false;
    const seen = await OpenLog.open(memoryDisk(fileSystem));
    expect(seen.boot.entries).toEqual([entryOf(1, 1)]);
    // Nothing is kept of what was not synced.
    const afterPowerCut = await OpenLog.open(memoryDisk(fileSystem.crashed(() => 0)));
    expect(afterPowerCut.boot.entries).toEqual([entryOf(1, 1)]);
  });

  it("stops when a sync after a write fails, and never syncs again", async () => {
    let isBroken = false;
    let syncs = 0;
    const disk = await realDisk(
      fileSystemSyncedBy((fd, done) => {
        if (!isBroken) {
          fs.fdatasync(fd, done);
          return;
        }
        syncs += 1;
        done(Object.assign(new Error("EIO, as told"), { code: "EIO" }));
      }),
    );
    const log = await OpenLog.open(disk, { timer: new HandTimer().timer });
    await log.write(writeOf(1, [entryOf(1, 1)]));
    isBroken = true;
    log.append(writeOf(2, [entryOf(2, 1)]), writeOf(3, [entryOf(3, 1)]));
    await expect(log.untilDurable(3)).rejects.toThrow(/EIO/);
    isBroken = false;
    log.append(writeOf(4, [entryOf(4, 1)]));
    await expect(log.directory.log.syncMark()).rejects.toThrow(/EIO/);
    await log.close();
    expect(log.durable).toEqual([1]);
    expect(log.failures.length).toBe(1);
    expect(syncs).toBeGreaterThan(0);
    // The write is in the page cache: it may be there, and then it is made durable at last.
    const again = await OpenLog.open(disk);
    expect([1, 2]).toContain(again.boot.entries.length);
    await again.close();
    await disk.dispose();
  });

  it("reports nothing as durable while a sync hangs", async () => {
    // The sync of the log, and perhaps one of the mark.
    const held: (() => void)[] = [];
    let isHanging = false;
    const disk = await realDisk(
      fileSystemSyncedBy((fd, done) => {
        if (isHanging) held.push(() => fs.fdatasync(fd, done));
        else fs.fdatasync(fd, done);
      }),
    );
    const log = await OpenLog.open(disk, { timer: new HandTimer().timer });
    await log.write(writeOf(1, [entryOf(1, 1, 1500)]));
    isHanging = true;
    log.append(writeOf(2, [entryOf(2, 1)]));
    while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
    log.append(writeOf(3, [entryOf(3, 1)]));
    expect(log.durable).toEqual([1]);
    expect(log.directory.log.pendingBytes).toBeGreaterThan(0);
    isHanging = false;
    for (const release of held) release();
    await log.untilDurable(3);
    await log.close();
    await disk.dispose();
  });

  it("stops when a segment cannot be removed, after what it had reported", async () => {
    let isBroken = false;
    const fileSystem = failing(({ kind }) => isBroken && kind === "unlink");
    const log = await OpenLog.open(memoryDisk(fileSystem), { timer: new HandTimer().timer });
    for (let index = 1; index <= 9; index += 1) {
      await log.write(writeOf(index, [entryOf(index, 1, 1200)]));
    }
    await storeSnapshot(log, { index: 9, term: 1 });
    isBroken = true;
    await log.write(writeOf(10, [], standsOn({ index: 9, term: 1 })));
    await log.until(() => log.failures.length > 0);
    expect(log.durable.at(-1)).toBe(10);
    await log.close();
    expect(log.failures.length).toBe(1);
  });

  it("reports it while half of a segment is free, all of which it can still take", async () => {
    const segmentBytes = 1 << 20;
    const fileSystem = new BoundedFiles();
    const timer = new HandTimer();
    const disk = memoryDisk(fileSystem, undefined, segmentBytes);
    const log = await OpenLog.open(disk, { timer: timer.timer });
    // Nearly all of the next segment fits.
    fileSystem.capacityBytes = fileSystem.usedBytes + segmentBytes - 10_000;
    const bodyBytes = 10_000;
    let index = 0;
    const writeOne = async (): Promise<void> => {
      index += 1;
      await log.write(writeOf(index, [entryOf(index, 1, bodyBytes)]));
    };
    while (log.space.length === 0) await writeOne();
    const { log: present } = log.directory;
    expect(present.freeBytes).toBeGreaterThan(segmentBytes / 2);
    const before = index;
    while (present.freeBytes > 2 * bodyBytes) await writeOne();
    expect(index - before).toBeGreaterThan(segmentBytes / 2 / bodyBytes - 3);
    expect(log.failures).toEqual([]);
    expect(log.space).toHaveLength(1);
    await log.close();
  });

  it("has room again once a snapshot let segments go", async () => {
    const fileSystem = new BoundedFiles();
    const hand = new HandTimer();
    const log = await OpenLog.open(memoryDisk(fileSystem), { timer: hand.timer });
    for (let index = 1; index <= 6; index += 1) {
      await log.write(writeOf(index, [entryOf(index, 1, 1200)]));
    }
    // Two segments are full and the third is prepared; there is no room for a fourth.
    await new Promise((resolve) => setImmediate(resolve));
    fileSystem.capacityBytes = fileSystem.usedBytes;
    await log.write(writeOf(7, [entryOf(7, 1, 1200)]));
    await log.until(() => log.space.length > 0);
    expect(log.space[0]).toMatchObject({ code: "ENOSPC" });
    await storeSnapshot(log, { index: 7, term: 1 });
    await log.write(writeOf(8, [], standsOn({ index: 7, term: 1 })));
    await expectRoomAgain(log, hand);
    for (let index = 8; index <= 20; index += 1) {
      await storeSnapshot(log, { index: index - 1, term: 1 });
      const stands = standsOn({ index: index - 1, term: 1 });
      await log.write(writeOf(index + 1, [entryOf(index, 1, 800)], stands));
    }
    expect(log.failures).toEqual([]);
    await log.close();
  });

  it.each(["/data/mark", "/data/log/00000001.seg"])(
    "says that the disk failed, and calls nothing damaged, when it cannot read %s",
    async (broken) => {
      const fileSystem = new MemoryFileSystem();
      const store = new MemoryStoreDisk();
      await (await OpenLog.open(memoryDisk(fileSystem, store))).close();
      const unreadable = fileSystem.copy({
        intercept: ({ kind, path }) => {
          if (kind !== "read" || path !== broken) return;
          throw Object.assign(new Error("EIO, as told"), { code: "EIO" });
        },
      });
      const opening = openDataDirectory(memoryDisk(unreadable, store).options);
      const error = await opening.catch((reason: Error) => reason);
      expect(damageOf(error)).toBeUndefined();
      expect(error).toMatchObject({ code: "UNAVAILABLE", details: { hasDiskFailed: true } });
      expect(String(error)).toMatch(/the disk failed: EIO/);
      await (await OpenLog.open(memoryDisk(fileSystem, store))).close();
    },
  );
});

describe("the file system of the machine", () => {
  it.runIf(process.platform === "linux")("says that there is no room", async () => {
    const file = await nodeFileSystem.open("/dev/full", "write");
    const failure = await file
      .write([Uint8Array.of(1), Uint8Array.of(2)], 0)
      .catch((error: unknown) => error);
    expect(isNoSpace(failure)).toBe(true);
    await file.close();
  });
});
