/** What the log does when its disk fails, is full, or hangs. */
import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../src/errors.js";
import { type FileOperation, MemoryFileSystem } from "../../src/storage/index.js";
import { entryOf, HandTimer, memoryDisk, OpenLog, writeOf } from "./log-harness.js";

function failing(isHit: (operation: FileOperation) => boolean, code = "EIO"): MemoryFileSystem {
  return new MemoryFileSystem(undefined, {
    intercept: (operation) => {
      if (isHit(operation)) throw Object.assign(new Error(`${code}, as told`), { code });
    },
  });
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
    expect(log.failures[0]).toMatchObject({ code: "INTERNAL" });
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
      intercept: ({ kind, position }) => {
        if (kind !== "write" || position === 0 || position === 4096 || release) return undefined;
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

  it("tells when the next segment has no room, goes on, and tells when it has", async () => {
    let capacityBytes = Number.POSITIVE_INFINITY;
    const fileSystem = new MemoryFileSystem(undefined, { capacityBytes: () => capacityBytes });
    const hand = new HandTimer();
    const log = await OpenLog.open(memoryDisk(fileSystem), { timer: hand.timer });
    capacityBytes = 0;
    await log.write(writeOf(1, [entryOf(1, 1)]));
    await log.until(() => log.space.length > 0);
    expect(log.space[0]).toMatchObject({ code: "ENOSPC" });
    await log.write(writeOf(2, [entryOf(2, 1)]));
    hand.fire();
    await log.write(writeOf(3, [entryOf(3, 1)]));
    expect(log.space.length).toBe(1);
    capacityBytes = Number.POSITIVE_INFINITY;
    while (log.space.length < 2) {
      hand.fire();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(log.space[1]).toBeUndefined();
    await log.write(writeOf(4, [entryOf(4, 1, 3900)]));
    expect(log.failures).toEqual([]);
    await log.close();
  });

  it("fails with DISK_FULL when the segment is full and there is no next one", async () => {
    let capacityBytes = Number.POSITIVE_INFINITY;
    const fileSystem = new MemoryFileSystem(undefined, { capacityBytes: () => capacityBytes });
    const log = await OpenLog.open(memoryDisk(fileSystem), { timer: new HandTimer().timer });
    capacityBytes = 0;
    await log.write(writeOf(1, [entryOf(1, 1, 3000)]));
    log.append(writeOf(2, [entryOf(2, 1, 3000)]));
    await log.until(() => log.failures.length > 0);
    expect(log.failures[0]).toMatchObject({ code: "DISK_FULL" });
    await log.close();
    capacityBytes = Number.POSITIVE_INFINITY;
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
});
