/** What the file system in memory does to files when a disk, a process or a machine fails. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type FileOperation, MemoryFileSystem } from "../../../lab/memory/memory-file-system.js";
import { MemoryStoreDisk } from "../../../lab/memory/memory-ordered-store.js";
import { makeDirectories, readWhole, removeTree } from "../../../src/storage/file-system.js";
import { nodeFileSystem } from "../../../src/storage/node-file-system.js";

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

/** A file of four zeros, durable, whose next write hangs. */
async function written(content: Uint8Array): Promise<MemoryFileSystem> {
  let isHanging = false;
  const fileSystem = new MemoryFileSystem(new Map([["/d/file", bytes(0, 0, 0, 0)]]), {
    intercept: ({ kind }) => (isHanging && kind === "write" ? new Promise(() => {}) : undefined),
  });
  const file = await fileSystem.open("/d/file", "write");
  isHanging = true;
  void file.write([content], 0);
  return fileSystem;
}

describe("the file system in memory", () => {
  it("shows to the next process what was written, and loses it in a later crash", async () => {
    const fileSystem = await written(bytes(1, 2, 3, 4));
    const heir = fileSystem.inherited();
    expect([...(await readWhole(heir, "/d/file"))]).toEqual([1, 2, 3, 4]);
    expect([
      ...(await readWhole(
        heir.crashed(() => 0),
        "/d/file",
      )),
    ]).toEqual([0, 0, 0, 0]);
    expect([
      ...(await readWhole(
        heir.crashed(() => 0.5),
        "/d/file",
      )),
    ]).toEqual([1, 2, 0, 0]);
    const file = await heir.open("/d/file", "write");
    await file.write([bytes(9)], 1);
    expect([
      ...(await readWhole(
        heir.crashed(() => 0),
        "/d/file",
      )),
    ]).toEqual([0, 9, 0, 0]);
    expect([
      ...(await readWhole(
        heir.crashed(() => 0.3),
        "/d/file",
      )),
    ]).toEqual([1, 9, 3, 4]);
    // The dead process and its heir have nothing in common any more.
    expect([...(await readWhole(fileSystem, "/d/file"))]).toEqual([1, 2, 3, 4]);
  });

  it("puts an image back as it was, all of it durable", async () => {
    const fileSystem = await written(bytes(1, 2, 3, 4));
    await fileSystem.makeDirectory("/d/empty");
    const image = fileSystem.copy();
    const file = await image.open("/d/file", "write");
    await file.write([bytes(7)], 0);
    await image.unlink("/d/file");
    expect([...(await readWhole(fileSystem, "/d/file"))]).toEqual([1, 2, 3, 4]);
    const restored = fileSystem.copy().crashed(() => 0);
    expect([...(await readWhole(restored, "/d/file"))]).toEqual([1, 2, 3, 4]);
    expect(await restored.list("/d/empty")).toEqual([]);
  });

  it("damages and loses files at rest, over every crash", async () => {
    const fileSystem = new MemoryFileSystem(
      new Map([
        ["/d/a", bytes(0, 0)],
        ["/d/b", bytes(1)],
      ]),
    );
    fileSystem.damage("/d/a", 1, 6);
    fileSystem.lose("/d/b");
    for (const disk of [fileSystem, fileSystem.inherited(), fileSystem.crashed(() => 0)]) {
      expect([...(await readWhole(disk, "/d/a"))]).toEqual([0, 64]);
      expect(await disk.list("/d")).toEqual(["a"]);
      expect(disk.sizes()).toEqual(new Map([["/d/a", 2]]));
    }
    expect(() => fileSystem.damage("/d/b", 0, 0)).toThrow(/ENOENT/);
  });

  it("fails reads and lists as it is told to, and says what they are of", async () => {
    const seen: FileOperation[] = [];
    const fileSystem = new MemoryFileSystem(new Map([["/d/a", bytes(1, 2, 3)]]), {
      intercept: (operation) => {
        seen.push(operation);
        if (operation.kind === "read" || operation.kind === "list") {
          throw Object.assign(new Error("EIO, as told"), { code: "EIO" });
        }
      },
    });
    const file = await fileSystem.open("/d/a", "read");
    await expect(file.read(new Uint8Array(2), 1)).rejects.toMatchObject({ code: "EIO" });
    await expect(fileSystem.list("/d")).rejects.toMatchObject({ code: "EIO" });
    expect(seen).toEqual([
      { kind: "open", path: "/d/a", bytes: 0, position: 0 },
      { kind: "read", path: "/d/a", bytes: 2, position: 1 },
      { kind: "list", path: "/d", bytes: 0, position: 0 },
    ]);
  });

  it("moves a directory with all that is in it, wholly or not at all", async () => {
    const fileSystem = new MemoryFileSystem(
      new Map([
        ["/d/log/a", bytes(1)],
        ["/d/x/b", bytes(2)],
      ]),
    );
    const file = await fileSystem.open("/d/log/a", "write");
    await expect(fileSystem.rename("/d/log", "/d/x")).rejects.toMatchObject({ code: "ENOTEMPTY" });
    await fileSystem.rename("/d/log", "/d/x/log");
    await file.write([bytes(5)], 0);
    const paths = (disk: MemoryFileSystem): string[] => [...disk.files().keys()].sort();
    expect(paths(fileSystem)).toEqual(["/d/x/b", "/d/x/log/a"]);
    await fileSystem.syncDirectory("/d");
    expect(paths(fileSystem.crashed(() => 0.9))).toEqual(["/d/log/a", "/d/x/b"]);
    expect(paths(fileSystem.crashed(() => 0.1))).toEqual(["/d/x/b", "/d/x/log/a"]);
    await fileSystem.syncDirectory("/d/x");
    const crashed = fileSystem.crashed(() => 0.9);
    expect(paths(crashed)).toEqual(["/d/x/b", "/d/x/log/a"]);
    expect([...(await readWhole(crashed, "/d/x/log/a"))]).toEqual([5]);
  });
});

describe("the store in memory", () => {
  it.each([
    ["keeps", 0.1, [2]],
    ["loses", 0.9, [1]],
  ] as const)(
    "%s the batch under way in a crash, never a part of it",
    async (_name, keep, value) => {
      let isHanging = false;
      const disk = new MemoryStoreDisk({
        intercept: () => (isHanging ? new Promise(() => {}) : undefined),
      });
      const store = disk.open();
      const put = (number: number) =>
        [1, 2].map((key) => ({ type: "put", key: bytes(key), value: bytes(number) }) as const);
      await store.write(put(1));
      isHanging = true;
      void store.write(put(2));
      // After the one under way: it never began.
      void store.write(put(3));
      await new Promise((resolve) => setImmediate(resolve));
      const before = disk.copy();
      disk.crash(() => keep);
      isHanging = false;
      const next = disk.open();
      for (const key of [1, 2]) expect([...((await next.get(bytes(key))) ?? [])]).toEqual(value);
      expect([...((await before.open().get(bytes(1))) ?? [])]).toEqual([1]);
    },
  );
});

describe("a directory that is moved in memory", () => {
  it("has what was made in it before, once it is synced under its new name", async () => {
    const fileSystem = new MemoryFileSystem();
    await makeDirectories(fileSystem, "/old");
    await (await fileSystem.open("/old/synced", "create")).close();
    await fileSystem.syncDirectory("/old");
    await (await fileSystem.open("/old/late", "create")).close();
    await fileSystem.rename("/old", "/new");
    expect(fileSystem.durable("/new/synced")).toBeUndefined();
    await fileSystem.syncDirectory("/");
    // What was never synced keeps nothing else from being durable.
    expect(fileSystem.durable("/new/synced")).toEqual(bytes());
    await fileSystem.syncDirectory("/new");
    expect(fileSystem.durable("/new/late")).toEqual(bytes());
    const kept = await fileSystem.crashed(() => 0.99).list("/new");
    expect(kept.sort()).toEqual(["late", "synced"]);
  });
});

describe.each(["in memory", "of the machine"])("directories of the file system %s", (which) => {
  it("go when they are empty, and with all that is in them when that is wanted", async () => {
    const place = await mkdtemp(join(tmpdir(), "holdfast-directories-"));
    try {
      const isMemory = which === "in memory";
      const fileSystem = isMemory ? new MemoryFileSystem() : nodeFileSystem;
      const top = isMemory ? "/top" : `${place}/top`;
      await makeDirectories(fileSystem, `${top}/inner`);
      const file = await fileSystem.open(`${top}/inner/file`, "create");
      await file.close();
      await expect(fileSystem.removeDirectory(`${top}/inner`)).rejects.toMatchObject({
        code: "ENOTEMPTY",
      });
      await fileSystem.unlink(`${top}/inner/file`);
      await fileSystem.removeDirectory(`${top}/inner`);
      expect(await fileSystem.list(top)).toEqual([]);
      await makeDirectories(fileSystem, `${top}/a/b`);
      await (await fileSystem.open(`${top}/a/b/file`, "create")).close();
      await removeTree(fileSystem, top);
      await removeTree(fileSystem, top);
      await expect(fileSystem.list(top)).rejects.toMatchObject({ code: "ENOENT" });
      // The root is there, and its name is nobody's to make.
      await makeDirectories(fileSystem, "/");
    } finally {
      await rm(place, { recursive: true, force: true });
    }
  });
});
