import * as fs from "node:fs";
import { describe, expect, it } from "vitest";
import { MemoryFileSystem } from "../../../lab/memory/memory-file-system.js";
import type { File, OpenMode } from "../../../src/storage/file-system.js";
import { fileSystemSyncedBy } from "../../../src/storage/node-file-system.js";
import { describeLogContract } from "./log-contract.js";
import { entryOf, memoryDisk, OpenLog, realDisk, writeOf } from "./log-harness.js";
import { describeSnapshotsOfLogContract } from "./log-snapshot-contract.js";

const DISKS = {
  memory: async () => memoryDisk(),
  "a quick disk in memory": async () => memoryDisk(quickFiles()),
  disk: () => realDisk(),
  "a disk synced after each write": () => realDisk(fileSystemSyncedBy(fs.fdatasync)),
};

function quickFiles(): MemoryFileSystem {
  return new MemoryFileSystem(undefined, { isQuickFor: (bytes) => bytes < 2_000 });
}

for (const [name, makeDisk] of Object.entries(DISKS)) {
  describeLogContract(name, makeDisk);
  describeSnapshotsOfLogContract(name, makeDisk);
}

describe("a log whose disk takes its time", () => {
  it("writes what is waiting as one group, and reports it in order", async () => {
    const disk = memoryDisk();
    const log = await OpenLog.open(disk);
    const writes = Array.from({ length: 100 }, (_, at) => writeOf(at + 1, [entryOf(at + 1, 1)]));
    log.append(...writes);
    expect(log.directory.log.pendingBytes).toBeGreaterThan(100 * 8);
    expect(log.durable).toEqual([]);
    await log.untilDurable(100);
    expect(log.durable).toEqual([...log.durable].sort((a, b) => a - b));
    // The first goes alone; the others wait for it and share records, a segment's worth each.
    expect(log.durable[0]).toBe(1);
    expect(log.durable.length).toBeLessThanOrEqual(4);
    expect(log.directory.log.pendingBytes).toBe(0);
    await log.close();
    const again = await OpenLog.open(disk);
    expect(again.boot.entries).toEqual(writes.flatMap((write) => write.entries));
    await again.close();
  });
});

describe("a log whose disk is quick", () => {
  it("has written a small record when it was handed over, and reports it once", async () => {
    const fileSystem = quickFiles();
    const log = await OpenLog.open(memoryDisk(fileSystem));
    const isDurable = log.directory.log.append(writeOf(1, [entryOf(1, 1)]));
    expect(isDurable).toBe(true);
    expect(log.directory.log.pendingBytes).toBe(0);
    // A loss of power at this very moment takes nothing of it.
    const after = await OpenLog.open(memoryDisk(fileSystem.crashed(() => 0)));
    expect(after.boot.entries).toEqual([entryOf(1, 1)]);
    await after.close();
    await log.close();
    expect(log.durable).toEqual([]);
  });

  it("leaves it to a thread while others keep the disk busy", async () => {
    const log = await OpenLog.open(memoryDisk(quickFiles()));
    expect(log.directory.log.append(writeOf(1, [entryOf(1, 1)]), true)).toBe(false);
    await log.untilDurable(1);
    expect(log.directory.log.append(writeOf(2, [entryOf(2, 1)]), false)).toBe(true);
    await log.close();
    expect(log.durable).toEqual([1]);
  });

  it("writes nothing before what is under way", async () => {
    const log = await OpenLog.open(memoryDisk(quickFiles()));
    const large = log.directory.log.append(writeOf(1, [entryOf(1, 1, 3_000)]));
    const small = log.directory.log.append(writeOf(2, [entryOf(2, 1)]));
    expect([large, small]).toEqual([false, false]);
    await log.untilDurable(2);
    expect(log.durable).toEqual([1, 2]);
    expect(log.directory.log.append(writeOf(3, [entryOf(3, 1)]))).toBe(true);
    await log.close();
  });

  it("reports a failed write once, when the caller is done, and takes nothing after it", async () => {
    const fileSystem = new BreakableFiles(undefined, { isQuickFor: () => true });
    const log = await OpenLog.open(memoryDisk(fileSystem, undefined, 1 << 20));
    await log.write(writeOf(1, [entryOf(1, 1)]));
    fileSystem.isBroken = true;
    const taken = [2, 3].map((at) => log.directory.log.append(writeOf(at, [entryOf(at, 1)])));
    expect(taken).toEqual([false, false]);
    expect(log.failures).toEqual([]);
    await expect(log.untilDurable(3)).rejects.toThrow(/cannot be written any more: EIO/);
    fileSystem.isBroken = false;
    expect(log.directory.log.append(writeOf(4, [entryOf(4, 1)]))).toBe(false);
    await log.close();
    expect(log.durable).toEqual([1]);
    expect(log.failures.length).toBe(1);
  });
});

/** Fails what is written at once, when told so. */
class BreakableFiles extends MemoryFileSystem {
  isBroken = false;

  override async open(path: string, mode: OpenMode): Promise<File> {
    const file = await super.open(path, mode);
    const writeNow = (chunks: readonly Uint8Array[], position: number): void => {
      if (this.isBroken) throw Object.assign(new Error("EIO, as told"), { code: "EIO" });
      file.writeNow(chunks, position);
    };
    return { ...file, writeNow };
  }
}
