/** The data directory: whose it is, who may open it, and what it says when it cannot be used. */
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MemoryFileSystem } from "../../../lab/memory/memory-file-system.js";
import { MemoryStoreDisk } from "../../../lab/memory/memory-ordered-store.js";
import type { HoldfastError } from "../../../src/errors/index.js";
import { MODEL_VERSION } from "../../../src/protocol/model-version.js";
import {
  type DataDirectory,
  type DataDirectoryOptions,
  damageOf,
  isFreshDirectory,
  openDataDirectory,
  SEGMENT_BYTES_MIN,
} from "../../../src/storage/index.js";
import {
  CLUSTER_ID,
  entryOf,
  memoryDisk,
  OpenLog,
  refusalOf,
  SEGMENT_BYTES,
  standsOn,
  storeSnapshot,
  writeOf,
} from "../log/log-harness.js";

describe("a data directory", () => {
  let parent: string;
  let options: DataDirectoryOptions;
  const open: DataDirectory[] = [];

  async function opened(changes: Partial<DataDirectoryOptions> = {}): Promise<DataDirectory> {
    const directory = await openDataDirectory({ ...options, ...changes });
    open.push(directory);
    return directory;
  }

  /** The error an opening fails with; that it does fail is part of what is tested. */
  function refusal(changes: Partial<DataDirectoryOptions> = {}): Promise<HoldfastError> {
    return refusalOf(opened(changes));
  }

  beforeEach(async () => {
    parent = await mkdtemp(`${tmpdir()}/holdfast-directory-`);
    const path = `${parent}/not/yet/there`;
    options = { path, nodeId: 7, clusterId: CLUSTER_ID, segmentBytes: SEGMENT_BYTES };
  });

  afterEach(async () => {
    for (const directory of open.splice(0)) await directory.close();
    await rm(parent, { recursive: true });
  });

  it("is made with everything above it, readable by its owner alone", async () => {
    const directory = await opened();
    expect(directory.identity).toEqual({
      ...{ nodeId: 7, clusterId: CLUSTER_ID, origin: "initial", incarnation: 1 },
      birth: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    expect(directory.notices).toEqual([]);
    expect((await readdir(options.path)).sort()).toEqual(["VERSION", "log", "mark", "store"]);
    expect(await readFile(`${options.path}/VERSION`, "utf8")).toBe(
      `holdfast data ${MODEL_VERSION}\n`,
    );
  });

  it("raises its incarnation at every opening, even after one that was refused", async () => {
    for (let incarnation = 1; incarnation <= 3; incarnation += 1) {
      const directory = await opened();
      expect(directory.identity.incarnation).toBe(incarnation);
      await directory.close();
      expect((await refusal({ nodeId: 8 })).code).toBe("INVALID_ARGUMENT");
    }
  });

  it("keeps the cluster id it was made with", async () => {
    await (await opened()).close();
    const directory = await opened({ clusterId: "f".repeat(32) });
    expect(directory.identity.clusterId).toBe(CLUSTER_ID);
  });

  it("keeps the number that it drew when it was made, and no other directory has it", async () => {
    const drawn = [Uint8Array.from([0, 1, 2, 3, 250, 251, 252, 253]), new Uint8Array(8).fill(7)];
    const ports = {
      timer: () => () => {},
      nowMs: () => 0,
      randomBytes: (count: number) => drawn.shift() ?? new Uint8Array(count),
    };
    const first = await opened({ ports });
    expect(first.identity.birth).toBe("00010203fafbfcfd");
    await first.close();
    expect((await opened()).identity.birth).toBe("00010203fafbfcfd");
    const one = await opened({ path: `${parent}/one` });
    const other = await opened({ path: `${parent}/other` });
    expect(one.identity.birth).not.toBe(other.identity.birth);
  });

  it("is damaged when its mark is gone, whatever else is gone with it", async () => {
    await (await opened()).close();
    await rm(`${options.path}/mark`);
    for (const lost of ["store", "log"]) {
      await rm(`${options.path}/${lost}`, { recursive: true, force: true });
      const error = await refusal();
      const file = `${options.path}/mark`;
      expect(error.details).toMatchObject({ corrupt: true, file, reason: "the mark is missing" });
    }
    expect(await readdir(options.path)).toEqual(["VERSION"]);
    expect(await isFreshDirectory(options.path)).toBe(false);
  });

  it("is made again after a loss of power that left only names of the first store", async () => {
    const store = `${options.path}/store`;
    await mkdir(store, { recursive: true });
    await writeFile(`${store}/CURRENT`, "MANIFEST-000001\n");
    await writeFile(`${store}/MANIFEST-000001`, "");
    await (await opened()).close();
    expect((await opened()).notices).toEqual([]);
  });

  it("is fresh until it was opened once", async () => {
    expect(await isFreshDirectory(options.path)).toBe(true);
    await mkdir(options.path, { recursive: true });
    expect(await isFreshDirectory(options.path)).toBe(true);
    await (await opened()).close();
    expect(await isFreshDirectory(options.path)).toBe(false);
    await rm(`${options.path}/VERSION`);
    expect(await isFreshDirectory(options.path)).toBe(false);
    await expect(isFreshDirectory(`${options.path}/mark`)).rejects.toMatchObject({
      code: "UNAVAILABLE",
    });
  });

  it("keeps whether it was made for a founder of the cluster or for one that joins", async () => {
    const first = await opened({ origin: "joined" });
    expect(first.identity.origin).toBe("joined");
    await first.close();
    const second = await opened({ origin: "initial" });
    expect(second.identity.origin).toBe("joined");
    await second.close();
    const other = await opened({ path: `${parent}/other` });
    expect(other.identity.origin).toBe("initial");
  });

  it("remembers of every peer the highest incarnation, and all its directories", async () => {
    const [a, b, c] = ["a", "b", "c"].map((digit) => digit.repeat(16)) as [string, string, string];
    const first = await opened();
    expect(first.knownPeers()).toEqual(new Map());
    first.notePeer({ nodeId: 2, birth: a, incarnation: 5 });
    first.notePeer({ nodeId: 2, birth: a, incarnation: 9 });
    first.notePeer({ nodeId: 2, birth: b, incarnation: 7 });
    first.notePeer({ nodeId: 2 ** 32 - 1, birth: c, incarnation: Number.MAX_SAFE_INTEGER });
    const known = new Map([
      [2, { incarnation: 9, births: [a] }],
      [2 ** 32 - 1, { incarnation: Number.MAX_SAFE_INTEGER, births: [c] }],
    ]);
    expect(first.knownPeers()).toEqual(known);
    await first.close();
    const second = await opened();
    expect(second.knownPeers()).toEqual(known);
    second.notePeer({ nodeId: 2, birth: a, incarnation: 8 });
    expect(second.knownPeers()).toEqual(known);
    second.notePeer({ nodeId: 2, birth: b, incarnation: 10 });
    second.notePeer({ nodeId: 2, birth: b, incarnation: 11 });
    await second.close();
    const third = await opened();
    known.set(2, { incarnation: 11, births: [a, b] });
    expect(third.knownPeers()).toEqual(known);
  });

  it("has every peer that was noted on its disk before a vote is answered", async () => {
    const files = new MemoryFileSystem();
    const store = new MemoryStoreDisk();
    const directory = await openDataDirectory(memoryDisk(files, store).options);
    const first = { nodeId: 2, birth: "a".repeat(16), incarnation: 5 };
    directory.notePeer(first);
    directory.notePeer({ ...first, incarnation: 6 });
    await directory.log.syncMark();
    const image = files.crashed(() => 0);
    const again = await openDataDirectory(memoryDisk(image, store.copy()).options);
    expect(again.knownPeers()).toEqual(new Map([[2, { incarnation: 6, births: [first.birth] }]]));
    await Promise.all([directory.close(), again.close()]);
  });

  it("forgets the peers noted longest ago, once there is no room for more", async () => {
    const birthOf = (number: number): string => number.toString(16).padStart(16, "0");
    const directory = await opened();
    for (let nodeId = 1; nodeId <= 700; nodeId += 1) {
      directory.notePeer({ nodeId, birth: birthOf(nodeId), incarnation: 1 });
    }
    directory.notePeer({ nodeId: 40, birth: birthOf(40), incarnation: 2 });
    for (let incarnation = 1; incarnation <= 100; incarnation += 1) {
      directory.notePeer({ nodeId: 1_000, birth: birthOf(1_000 + incarnation), incarnation });
    }
    await directory.close();
    const known = (await opened()).knownPeers();
    expect([...known.keys()].slice(-3)).toEqual([700, 40, 1_000]);
    expect(known.has(39)).toBe(false);
    const births = Array.from({ length: 64 }, (_, at) => birthOf(1_100 - 63 + at));
    expect(known.get(1_000)).toEqual({ incarnation: 100, births });
  });

  it.each([
    ["its store", "store"],
    ["the file by which its store is found", "store/CURRENT"],
  ])("is damaged when %s is gone, and nothing is made in its place", async (_what, lost) => {
    const directory = await opened();
    await directory.store.write([{ type: "put", key: Uint8Array.of(1), value: Uint8Array.of(9) }]);
    await directory.close();
    await rm(`${options.path}/${lost}`, { recursive: true });
    const left = (await readdir(options.path, { recursive: true })).sort();
    const mark = await readFile(`${options.path}/mark`);
    for (let start = 1; start <= 2; start += 1) {
      expect(damageOf(await refusal())).toEqual({
        ...{ file: `${options.path}/store/CURRENT`, offset: 0, index: 0 },
        reason: "the store is gone, the file is missing",
      });
    }
    expect((await readdir(options.path, { recursive: true })).sort()).toEqual(left);
    expect(Buffer.compare(await readFile(`${options.path}/mark`), mark)).toBe(0);
  });

  it("is refused without its lock, until somebody vouches that no process has it", async () => {
    const first = await opened();
    await rm(`${options.path}/store/LOCK`);
    const error = await refusal();
    expect(error.code).toBe("UNAVAILABLE");
    expect(error.message).toMatch(/store\/LOCK was removed.*create the file again, empty/);
    await first.close();
    expect((await refusal()).code).toBe("UNAVAILABLE");
    await writeFile(`${options.path}/store/LOCK`, "");
    // Its owner would find the second incarnation, and end, before it is opened as the third.
    const second = await opened();
    expect(second.identity.incarnation).toBe(3);
    expect(second.notices).toEqual([
      expect.stringMatching(/store\/LOCK was made by hand; waited for a process/),
    ]);
    await second.close();
    const third = await opened();
    expect(third.identity.incarnation).toBe(4);
    expect(third.notices).toEqual([]);
  });

  it("changes nothing of another node's, even if its lock was made by hand", async () => {
    await (await opened()).close();
    await writeFile(`${options.path}/store/LOCK`, "");
    const mark = await readFile(`${options.path}/mark`);
    expect((await refusal({ nodeId: 8 })).code).toBe("INVALID_ARGUMENT");
    expect(Buffer.compare(await readFile(`${options.path}/mark`), mark)).toBe(0);
    expect(await readFile(`${options.path}/store/LOCK`, "utf8")).toBe("");
  });

  it("has the snapshot its log stands on and no other, and a draft of the newest", async () => {
    const fileSystem = new MemoryFileSystem();
    const store = new MemoryStoreDisk();
    const disk = memoryDisk(fileSystem, store);
    const log = await OpenLog.open(disk);
    await log.write(writeOf(1, [entryOf(1, 1), entryOf(2, 1), entryOf(3, 1)]));
    for (const index of [1, 2, 3]) await storeSnapshot(log, { index, term: 1 });
    await log.write(writeOf(2, [], standsOn({ index: 2, term: 1 })));
    const { snapshots } = log.directory;
    const complete = await snapshots.create({ index: 9, term: 1 });
    await complete.append(Uint8Array.of(1));
    const ninth = await complete.finish(Uint8Array.of(7));
    const own = await snapshots.create({ index: 10, term: 1 });
    await own.append(Uint8Array.of(2));
    expect((await snapshots.list()).map(({ index }) => index)).toEqual([1, 2, 3, 9]);
    await log.close();
    const again = await OpenLog.open(disk);
    expect((await again.directory.snapshots.list()).map(({ index }) => index)).toEqual([2]);
    // It was complete, but the log never stood on it: its transfer has nothing left to send.
    const draft = await again.directory.snapshots.receive(ninth);
    expect(draft.chunkCount).toBe(1);
    expect(await draft.finish(Uint8Array.of(7))).toEqual(ninth);
    // One manifest each, and one chunk.
    await again.close();
    expect(store.values.size).toBe(3);
  });

  it("keeps what its store was given", async () => {
    const key = Uint8Array.of(1);
    const first = await opened();
    await first.store.write([{ type: "put", key, value: Uint8Array.of(9) }]);
    await first.close();
    const second = await opened();
    expect(Buffer.from((await second.store.get(key)) ?? [])).toEqual(Buffer.of(9));
  });

  it("is refused to a second opener, and given to the next after it was closed", async () => {
    const first = await opened();
    const error = await refusal();
    expect(error).toMatchObject({ code: "UNAVAILABLE", cause: { code: "LEVEL_LOCKED" } });
    expect(error.message).toContain("in use by another process");
    await first.close();
    expect((await opened()).identity.incarnation).toBe(2);
  });

  it("is refused to another node, and names both", async () => {
    await (await opened()).close();
    const error = await refusal({ nodeId: 8 });
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", details: { found: 7, expected: 8 } });
    expect(error.message).toMatch(/node 7.*node 8/);
  });

  it("is not made where there is a file, or under one", async () => {
    await writeFile(`${parent}/file`, "x");
    for (const path of [`${parent}/file`, `${parent}/file/below`]) {
      const error = await refusal({ path });
      expect(error.code).toBe("UNAVAILABLE");
      expect(error.message).toContain("not a directory");
    }
  });

  it("is not made among other people's files", async () => {
    await mkdir(`${parent}/home`);
    await writeFile(`${parent}/home/letter.txt`, "dear");
    const error = await refusal({ path: `${parent}/home` });
    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(error.message).toContain("letter.txt");
    expect(await readdir(`${parent}/home`)).toEqual(["letter.txt"]);
  });

  it("is left alone when its layout is unknown", async () => {
    await (await opened()).close();
    const before = MODEL_VERSION - 1;
    await writeFile(`${options.path}/VERSION`, `holdfast data ${before}\n`);
    const error = await refusal();
    expect(error.code).toBe("UNAVAILABLE");
    expect(error.message).toContain(`"holdfast data ${before}"`);
    expect(error.message).toContain(`reads "holdfast data ${MODEL_VERSION}": start the version`);
    expect(await readdir(options.path)).toEqual(expect.arrayContaining(["VERSION", "log", "mark"]));
  });

  it("is refused without permission", async () => {
    await (await opened()).close();
    await chmod(options.path, 0o000);
    // Root may read everything, so the test gives root up for as long as it takes.
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) {
      await chmod(parent, 0o755);
      process.seteuid?.(65_534);
    }
    try {
      const error = await refusal();
      expect(error.code).toBe("UNAVAILABLE");
      expect(error.message).toContain("no permission");
    } finally {
      if (isRoot) process.seteuid?.(0);
      await chmod(options.path, 0o700);
    }
  });

  it("refuses options that make no sense", async () => {
    for (const nodeId of [0, -1, 1.5, 2 ** 32, Number.NaN]) {
      expect((await refusal({ nodeId })).code).toBe("INVALID_ARGUMENT");
    }
    for (const clusterId of ["", "xyz", "A".repeat(32), "0".repeat(31)]) {
      expect((await refusal({ clusterId })).code).toBe("INVALID_ARGUMENT");
    }
    for (const segmentBytes of [0, SEGMENT_BYTES_MIN - 1, 4096.5]) {
      expect((await refusal({ segmentBytes })).code).toBe("INVALID_ARGUMENT");
    }
  });

  it("gives its lock back when it could not be opened", async () => {
    await (await opened()).close();
    const mark = await readFile(`${options.path}/mark`);
    await writeFile(`${options.path}/mark`, Buffer.alloc(mark.length));
    expect((await refusal()).details).toMatchObject({ corrupt: true });
    await writeFile(`${options.path}/mark`, mark);
    expect((await opened()).identity.incarnation).toBe(2);
  });

  it("says so when it cut a torn tail or found one copy of the mark damaged", async () => {
    const fileSystem = new MemoryFileSystem();
    const log = await OpenLog.open(memoryDisk(fileSystem));
    await log.write(writeOf(1, [entryOf(1, 1)]));
    await log.close();
    const files = fileSystem.files();
    files.get("/data/mark")?.fill(0, 0, 100);
    const segment = files.get("/data/log/00000001.seg") ?? new Uint8Array(0);
    segment.set([1, 2, 3], segment.findLastIndex((byte) => byte !== 0) + 1);
    const again = await OpenLog.open(memoryDisk(new MemoryFileSystem(files)));
    expect(again.directory.notices.length).toBe(2);
    expect(again.directory.notices[0]).toContain("/data/mark");
    expect(again.directory.notices[1]).toContain("00000001.seg");
    expect(again.boot.entries).toEqual([entryOf(1, 1)]);
    await again.close();
  });

  it("is made again when its first start was cut short at any moment", async () => {
    // Crash after each operation in turn, until a start gets by with fewer.
    for (let operations = 1; ; operations += 1) {
      let left = operations;
      const hanging = new MemoryFileSystem(undefined, {
        intercept: () => {
          left -= 1;
          return left < 0 ? new Promise(() => {}) : undefined;
        },
      });
      const finished = await Promise.race([
        openDataDirectory(memoryDisk(hanging).options).then(() => true),
        // Only microtasks are in play: what has not happened by now hangs.
        new Promise<boolean>((resolve) => setImmediate(() => resolve(false))),
      ]);
      for (const keep of [0, 0.3, 0.5, 0.65]) {
        const image = hanging.crashed(() => keep);
        expect(await isFreshDirectory("/data", image)).toBe(!image.files().has("/data/VERSION"));
        const directory = await openDataDirectory(memoryDisk(image, new MemoryStoreDisk()).options);
        expect(directory.log.boot.entries).toEqual([]);
        expect(directory.identity.incarnation).toBeGreaterThanOrEqual(finished ? 2 : 1);
      }
      if (finished) {
        expect(operations).toBeGreaterThan(15);
        break;
      }
    }
  });

  it("opens after a loss of power in the start that follows a death while the log named a snapshot", async () => {
    const stopsAfter = (operations: number) => {
      let left = operations;
      return () => {
        left -= 1;
        return left < 0 ? new Promise<void>(() => {}) : undefined;
      };
    };
    // The log stands on snapshot 1. The process dies while it names snapshot 2: only the cache has that.
    let isHanging = false;
    const first = new MemoryFileSystem(undefined, {
      intercept: ({ kind }) => (isHanging && kind === "write" ? new Promise(() => {}) : undefined),
    });
    const firstStore = new MemoryStoreDisk();
    const log = await OpenLog.open(memoryDisk(first, firstStore));
    await log.write(writeOf(1, [entryOf(1, 1), entryOf(2, 1)]));
    for (const index of [1, 2]) await storeSnapshot(log, { index, term: 1 });
    await log.write(writeOf(2, [], standsOn({ index: 1, term: 1 })));
    isHanging = true;
    log.append(writeOf(3, [], standsOn({ index: 2, term: 1 })));
    await new Promise(setImmediate);
    const named: number[] = [];
    for (let operations = 1; ; operations += 1) {
      const store = firstStore.copy();
      const next = first.inherited({ intercept: stopsAfter(operations) });
      const finished = await Promise.race([
        openDataDirectory(memoryDisk(next, store).options).then(() => true),
        new Promise<boolean>((resolve) => setImmediate(() => resolve(false))),
      ]);
      store.crash();
      const image = next.crashed(() => 0.1);
      const directory = await openDataDirectory(memoryDisk(image, store).options);
      named.push(directory.log.boot.snapshot?.index ?? 0);
      if (finished) break;
    }
    expect(named.slice(0, 1)).toEqual([1]);
    expect(named.at(-1)).toBe(2);
  });
});
