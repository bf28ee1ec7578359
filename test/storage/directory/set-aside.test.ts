/** Data that are set aside for a fresh directory, and what becomes of it when that is cut short. */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MemoryFileSystem } from "../../../lab/memory/memory-file-system.js";
import { MemoryStoreDisk } from "../../../lab/memory/memory-ordered-store.js";
import { HoldfastError } from "../../../src/errors/index.js";
import {
  damageOf,
  type OrderedStore,
  openDataDirectory,
  readIdentity,
  type SetAsideOptions,
  setDataAside,
} from "../../../src/storage/index.js";
import {
  CLUSTER_ID,
  entryOf,
  memoryDisk,
  OpenLog,
  refusalOf,
  SEGMENT_BYTES,
  writeOf,
} from "../log/log-harness.js";

const PEER = { nodeId: 2, birth: "0123456789abcdef", incarnation: 7 };

describe("a data directory that is set aside", () => {
  let parent: string;
  let path: string;

  const openOptions = () => ({
    path,
    nodeId: 1,
    clusterId: CLUSTER_ID,
    segmentBytes: SEGMENT_BYTES,
  });

  /** A directory that was opened twice, with an entry in its log. */
  async function makeUsed(): Promise<void> {
    await (await openDataDirectory(openOptions())).close();
    const directory = await openDataDirectory(openOptions());
    directory.log.start({ onDurable: () => {}, onFailure: () => {} });
    directory.log.append(writeOf(1, [entryOf(1, 1)]));
    directory.notePeer(PEER);
    await directory.close();
  }

  beforeEach(async () => {
    parent = await mkdtemp(`${tmpdir()}/holdfast-aside-`);
    path = `${parent}/data`;
  });

  afterEach(() => rm(parent, { recursive: true }));

  it("is a fresh one of the same node, with every file of the old one kept", async () => {
    await makeUsed();
    const segment = await readFile(`${path}/log/00000001.seg`);
    const mark = await readFile(`${path}/mark`);
    const whose = { nodeId: 1, clusterId: CLUSTER_ID };
    const before = await readIdentity(path);
    expect(before).toMatchObject({ ...whose, origin: "initial", incarnation: 2 });
    const aside = await setDataAside({ path });
    const movedTo = `${path}/set-aside-1`;
    expect(aside).toEqual({
      ...{ ...whose, origin: "joined", incarnation: 3, movedTo },
      birth: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    expect(aside.birth).not.toBe(before?.birth);
    expect((await readdir(path)).sort()).toEqual([
      "VERSION",
      "log",
      "mark",
      "set-aside-1",
      "store",
    ]);
    expect((await readdir(movedTo)).sort()).toEqual(["log", "mark", "store"]);
    expect(Buffer.compare(await readFile(`${movedTo}/log/00000001.seg`), segment)).toBe(0);
    expect(Buffer.compare(await readFile(`${movedTo}/mark`), mark)).toBe(0);

    const directory = await openDataDirectory(openOptions());
    expect(directory.identity.origin).toBe("joined");
    expect(directory.identity).toMatchObject({ birth: aside.birth, incarnation: 4 });
    expect(directory.log.boot.entries).toEqual([]);
    expect(await directory.snapshots.list()).toEqual([]);
    // Peers that lost their directories are still told from those that did not.
    const { nodeId, birth, incarnation } = PEER;
    expect(directory.knownPeers()).toEqual(new Map([[nodeId, { incarnation, births: [birth] }]]));
    await directory.close();
    expect(await setDataAside({ path })).toMatchObject({
      incarnation: 5,
      movedTo: `${path}/set-aside-2`,
    });
  });

  it("has an incarnation above any that others have seen", async () => {
    await makeUsed();
    expect(await setDataAside({ path, incarnationMin: 40 })).toMatchObject({ incarnation: 41 });
    expect(await setDataAside({ path, incarnationMin: 7 })).toMatchObject({ incarnation: 42 });
  });

  it("may be empty or missing when it is said whose it is", async () => {
    const whose = { nodeId: 5, clusterId: CLUSTER_ID, incarnationMin: 9 };
    const error = await refusalOf(setDataAside({ path, nodeId: 5 }));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(error.message).toContain("cluster id");
    expect(await readIdentity(`${parent}/nothing`)).toBeUndefined();
    expect(await setDataAside({ path, ...whose })).toMatchObject({ nodeId: 5, incarnation: 10 });
    const directory = await openDataDirectory({ ...openOptions(), nodeId: 5 });
    expect(directory.identity.origin).toBe("joined");
    await directory.close();
  });

  it("is refused while a process has it, to strangers, and among other people's files", async () => {
    await makeUsed();
    const directory = await openDataDirectory(openOptions());
    const locked = await refusalOf(setDataAside({ path }));
    expect(locked).toMatchObject({ code: "UNAVAILABLE", cause: { code: "LEVEL_LOCKED" } });
    await directory.close();
    for (const stranger of [{ nodeId: 2 }, { clusterId: "f".repeat(32) }]) {
      const error = await refusalOf(setDataAside({ path, ...stranger }));
      expect(error.code).toBe("INVALID_ARGUMENT");
    }
    for (const senseless of [{ nodeId: 0 }, { clusterId: "" }, { incarnationMin: -1 }]) {
      const error = await refusalOf(setDataAside({ path, ...senseless }));
      expect(error.code).toBe("INVALID_ARGUMENT");
    }
    await writeFile(`${parent}/letter.txt`, "dear");
    const foreign = await refusalOf(
      setDataAside({ path: parent, nodeId: 1, clusterId: CLUSTER_ID }),
    );
    expect(foreign.code).toBe("INVALID_ARGUMENT");
    await writeFile(`${path}/VERSION`, "holdfast data 1\n");
    expect((await refusalOf(setDataAside({ path }))).code).toBe("UNAVAILABLE");
    expect((await readdir(path)).sort()).toEqual(["VERSION", "log", "mark", "store"]);
  });

  it.each(["store", "store/CURRENT"])("is usable again after the loss of %s", async (name) => {
    await makeUsed();
    await rm(`${path}/${name}`, { recursive: true });
    expect(damageOf(await refusalOf(openDataDirectory(openOptions())))).toBeDefined();
    const aside = await setDataAside({ path });
    expect((await readdir(aside.movedTo)).sort()).toEqual(["log", "mark", "store"]);
    const directory = await openDataDirectory(openOptions());
    expect(directory.identity).toMatchObject({ origin: "joined", incarnation: 4 });
    await directory.close();
  });

  it.each(["mark", "VERSION", "store/CURRENT", "log/00000001.seg"])(
    "is usable again after damage to %s",
    async (name) => {
      await makeUsed();
      const content = await readFile(`${path}/${name}`);
      await writeFile(`${path}/${name}`, content.fill(0x5a));
      const error = await refusalOf(openDataDirectory(openOptions()));
      expect(damageOf(error)).toMatchObject({ file: expect.any(String), offset: 0 });
      expect(damageOf(new Error("other"))).toBeUndefined();
      const whose = { nodeId: 1, clusterId: CLUSTER_ID, incarnationMin: 2 };
      const aside = await setDataAside({ path, ...whose });
      expect(aside.incarnation).toBe(3);
      const kept = await readFile(`${aside.movedTo}/${name}`);
      expect(kept.every((byte) => byte === 0x5a)).toBe(true);
      const directory = await openDataDirectory(openOptions());
      expect(directory.identity.incarnation).toBe(4);
      await directory.close();
    },
  );
});

/** Stores by their paths, as directories that move. */
class StoreDisks {
  readonly disks = new Map<string, MemoryStoreDisk>();

  readonly open = async (path: string): Promise<OrderedStore> => {
    const disk = this.disks.get(path) ?? new MemoryStoreDisk();
    this.disks.set(path, disk);
    return disk.open();
  };

  readonly move = async (from: string, to: string): Promise<void> => {
    const disk = this.disks.get(from);
    if (disk === undefined || this.disks.has(to)) return;
    this.disks.delete(from);
    this.disks.set(to, disk);
  };

  crashed(): StoreDisks {
    const copy = new StoreDisks();
    for (const [path, disk] of this.disks) copy.disks.set(path, disk.copy());
    return copy;
  }
}

describe("setting data aside, cut short", () => {
  const PATH = "/data";
  const KEY = Uint8Array.of(0xee);

  const optionsOf = (fileSystem: MemoryFileSystem, stores: StoreDisks): SetAsideOptions => ({
    path: PATH,
    nodeId: 1,
    clusterId: CLUSTER_ID,
    incarnationMin: 1,
    fileSystem,
    openStore: stores.open,
    moveStore: stores.move,
  });

  it.each([
    ["a whole directory", [] as string[]],
    ["one without its mark", [`${PATH}/mark`]],
    ["one without its VERSION", [`${PATH}/VERSION`]],
    ["an empty one", [`${PATH}/mark`, `${PATH}/VERSION`, `${PATH}/log`]],
  ])("of %s: is completed by doing it again, and nothing opens before", async (_name, lost) => {
    const whole = new MemoryFileSystem();
    const stores = new StoreDisks();
    const disk = memoryDisk(whole);
    const used = { ...disk, options: { ...disk.options, openStore: stores.open } };
    const log = await OpenLog.open(used);
    await log.write(writeOf(1, [entryOf(1, 1)]));
    await log.directory.store.write([{ type: "put", key: KEY, value: KEY }]);
    await log.close();
    const files = new Map(
      [...whole.files()].filter(([name]) => !lost.some((path) => name.startsWith(path))),
    );
    const image = new MemoryFileSystem(files);
    if (files.size === 0) await image.makeDirectory(PATH);
    const isWhole = lost.length === 0;

    for (let operations = 1; ; operations += 1) {
      let left = operations;
      const hanging = image.copy({
        intercept: () => {
          left -= 1;
          return left < 0 ? new Promise(() => {}) : undefined;
        },
      });
      const dying = stores.crashed();
      const isDone = await Promise.race([
        setDataAside(optionsOf(hanging, dying)).then(() => true),
        new Promise<boolean>((resolve) => setImmediate(() => resolve(false))),
      ]);
      for (const keep of [0, 0.3, 0.5, 0.75]) {
        const crashed = hanging.crashed(() => keep);
        const survivors = dying.crashed();
        const options = { ...disk.options, fileSystem: crashed, openStore: survivors.open };
        const opened = await openDataDirectory(options).catch((error: HoldfastError) => error);
        if (opened instanceof HoldfastError) {
          // As damaged as it was, or in the middle of it: never as if nothing had happened.
          const isHalf = opened.details["isRecovering"] === true;
          expect(isHalf || damageOf(opened) !== undefined, opened.message).toBe(true);
          if (isHalf) expect(isDone).toBe(false);
        } else {
          const entries = opened.log.boot.entries.length;
          const isOld = opened.identity.origin === "initial" && (isWhole ? entries === 1 : true);
          const isNew = opened.identity.origin === "joined" && entries === 0;
          expect(isOld || isNew).toBe(true);
          if (isDone) expect(isNew).toBe(true);
          await opened.close();
        }

        const aside = await setDataAside(optionsOf(crashed, survivors));
        expect(aside.incarnation).toBeGreaterThan(1);
        const fresh = await openDataDirectory(options);
        expect(fresh.identity.origin).toBe("joined");
        expect(fresh.identity.incarnation).toBeGreaterThan(aside.incarnation);
        expect(fresh.log.boot.entries).toEqual([]);
        expect(await fresh.store.get(KEY)).toBeUndefined();
        await fresh.close();
        // Every file is somewhere still.
        const left = [...crashed.files()];
        for (const [name, content] of files) {
          const isOwn = name.endsWith("VERSION") || name.endsWith(".tmp");
          const isKept = left.some(
            ([path, other]) =>
              path.includes("/set-aside-") &&
              path.endsWith(name.slice(PATH.length)) &&
              other.length === content.length,
          );
          expect(isOwn || isKept, name).toBe(true);
        }
        const kept = [...survivors.disks].filter(([, { values }]) => values.has("ee"));
        expect(kept.map(([path]) => path.slice(0, 16))).toEqual(["/data/set-aside-"]);
      }
      if (!isDone) continue;
      expect(operations).toBeGreaterThan(20);
      break;
    }
  });
});
