/**
 * Two processes on one data directory, which the lock of the store should have kept apart: the one
 * that came first notices by the mark that it has lost the directory, and writes nothing any more.
 */
import { rename } from "node:fs/promises";
import { afterEach, describe, expect, it } from "vitest";
import { type Mark, MarkFile } from "../../../src/storage/mark/mark-file.js";
import {
  entryOf,
  HandTimer,
  memoryDisk,
  OpenLog,
  realDisk,
  type TestDisk,
  writeOf,
} from "../log/log-harness.js";

const DISKS: Readonly<Record<string, () => Promise<TestDisk>>> = {
  memory: async () => memoryDisk(),
  disk: () => realDisk(),
};

/** What an opening by another process does to the mark. */
async function takeOver({ fileSystem, path }: TestDisk, change: Partial<Mark> = {}): Promise<Mark> {
  const mark = await MarkFile.open(fileSystem, path);
  const { current } = mark;
  const taken = { ...current, incarnation: current.incarnation + 1, ...change };
  await mark.write(taken);
  await mark.close();
  return taken;
}

async function markOf({ fileSystem, path }: TestDisk): Promise<Mark> {
  const mark = await MarkFile.open(fileSystem, path);
  await mark.close();
  return mark.current;
}

describe.each(Object.entries(DISKS))(
  "a process whose directory was taken over, on %s",
  (_, make) => {
    const endings: (() => Promise<void>)[] = [];
    afterEach(async () => {
      for (const end of endings.splice(0).reverse()) await end();
    });

    async function start(): Promise<{ disk: TestDisk; hand: HandTimer; log: OpenLog }> {
      const disk = await make();
      endings.push(() => disk.dispose());
      const hand = new HandTimer();
      const log = await OpenLog.open(disk, { timer: hand.timer });
      endings.push(() => log.close());
      await log.write(writeOf(1, [entryOf(1, 1)]));
      return { disk, hand, log };
    }

    const TAKEN = {
      code: "UNAVAILABLE",
      message: expect.stringMatching(/^another process has opened/),
    };

    it("notices within a second, however idle it is", async () => {
      const { disk, hand, log } = await start();
      await log.directory.log.syncMark();
      for (let second = 0; second < 3; second += 1) hand.advance(1_000);
      expect(log.failures).toEqual([]);
      await takeOver(disk);
      hand.advance(1_000);
      await log.until(() => log.failures.length > 0);
      expect(log.failures).toMatchObject([TAKEN]);
    });

    it("writes neither mark nor log after it noticed", async () => {
      const { disk, log } = await start();
      // Its own directory in every other respect, and with a log that is further on.
      const taken = await takeOver(disk, { seq: 9, index: 9, term: 9 });
      await expect(log.directory.log.syncMark()).rejects.toMatchObject(TAKEN);
      expect(log.failures).toMatchObject([TAKEN]);
      log.directory.notePeer({ nodeId: 2, birth: "a".repeat(16), incarnation: 1 });
      const { records } = log.directory.logWrites();
      expect(log.directory.log.append(writeOf(2, [entryOf(2, 1)]))).toBe(false);
      await expect(log.directory.log.syncMark()).rejects.toMatchObject(TAKEN);
      await log.close();
      expect(log.directory.logWrites().records).toBe(records);
      expect(await markOf(disk)).toEqual(taken);
    });

    it("notices when it closes, and leaves the mark as it is", async () => {
      const { disk, log } = await start();
      const taken = await takeOver(disk);
      await expect(log.close()).rejects.toMatchObject(TAKEN);
      endings.pop();
      expect(await markOf(disk)).toEqual(taken);
    });

    it("is another process, too, on a directory that was made again", async () => {
      const { disk, hand, log } = await start();
      await takeOver(disk, { birth: "f".repeat(16), incarnation: 1 });
      hand.advance(1_000);
      await log.until(() => log.failures.length > 0);
      expect(log.failures).toMatchObject([TAKEN]);
    });
  },
);

it("ends when its mark is moved away, as a recovery would", async () => {
  const disk = await realDisk();
  const hand = new HandTimer();
  const log = await OpenLog.open(disk, { timer: hand.timer });
  await rename(`${disk.path}/mark`, `${disk.path}.moved`);
  hand.advance(1_000);
  await log.until(() => log.failures.length > 0);
  expect(log.failures).toMatchObject([
    {
      code: "UNAVAILABLE",
      message: `the data directory ${disk.path} was removed or moved while in use`,
    },
  ]);
  await log.close();
  await disk.dispose();
});

it("goes on while the mark cannot be looked at", async () => {
  const disk = await realDisk();
  let isBroken = false;
  const { fileSystem } = disk;
  const failing = {
    ...fileSystem,
    open: (path: string, mode: "read" | "write" | "create") =>
      isBroken && mode === "read"
        ? Promise.reject(Object.assign(new Error("EMFILE, as told"), { code: "EMFILE" }))
        : fileSystem.open(path, mode),
  };
  const hand = new HandTimer();
  const options = { ...disk.options, fileSystem: failing };
  const log = await OpenLog.open({ ...disk, options }, { timer: hand.timer });
  isBroken = true;
  await log.write(writeOf(1, [entryOf(1, 1)]));
  hand.advance(1_000);
  await log.directory.log.syncMark();
  expect(log.failures).toEqual([]);
  await log.close();
  expect((await markOf(disk)).seq).toBe(1);
  await disk.dispose();
});
