/** A data directory whose log begins after a snapshot: there wholly, or not at all. */
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MemoryFileSystem } from "../../../lab/memory/memory-file-system.js";
import { MemoryStoreDisk } from "../../../lab/memory/memory-ordered-store.js";
import { seededRandom } from "../../../lab/random-stream.js";
import { openDataDirectory } from "../../../src/storage/directory/data-directory.js";
import {
  makeRestoredDirectory,
  type RestoredDirectoryOptions,
} from "../../../src/storage/directory/restored-directory.js";
import { SnapshotDigest } from "../../../src/storage/snapshots/digest.js";

const IDENTITY = { nodeId: 3, clusterId: "c".repeat(32) };
const SEGMENT_BYTES = 64 << 10;
const CHUNKS = [Uint8Array.of(1, 2, 3), new Uint8Array(2_000).fill(7)];

let place = "";
beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), "holdfast-restored-"));
});
afterEach(() => rm(place, { recursive: true, force: true }));

function options(path: string): RestoredDirectoryOptions {
  const digest = new SnapshotDigest();
  for (const chunk of CHUNKS) digest.add(chunk);
  const manifest = digest.manifestOf({ index: 2 ** 40, term: 9 }, Uint8Array.of(5));
  const rest = { segmentBytes: SEGMENT_BYTES, manifest, chunks: () => CHUNKS };
  return { path, ...IDENTITY, ...rest };
}

describe("a restored directory", () => {
  test.each(["is missing", "has nothing above it", "is empty"])(
    "is made where its place %s, and opens as one that took over that snapshot",
    async (where) => {
      const path = where === "has nothing above it" ? join(place, "a/b/n3") : join(place, "n3");
      if (where === "is empty") await mkdir(path);
      const made = options(path);
      await makeRestoredDirectory(made);
      const opened = await openDataDirectory({ path, ...IDENTITY, segmentBytes: SEGMENT_BYTES });
      const { boot } = opened.log;
      const { index, term, checksum } = made.manifest;
      expect(boot).toMatchObject({
        hardState: { term, vote: 0 },
        baseIndex: index,
        baseTerm: term,
        entries: [],
        snapshot: { index, term, checksum },
      });
      expect(opened.identity).toMatchObject({ ...IDENTITY, origin: "initial" });
      expect(opened.notices).toEqual([]);
      const [manifest] = await opened.snapshots.list();
      expect(manifest).toEqual(made.manifest);
      for (const [number, chunk] of CHUNKS.entries()) {
        const stored = await opened.snapshots.readChunk(made.manifest, number);
        expect(Uint8Array.from(stored)).toEqual(chunk);
      }
      await opened.close();
      expect(await readdir(join(path, ".."))).toEqual(["n3"]);
    },
  );

  test("is not made among other things, which stay as they are", async () => {
    const path = join(place, "n3");
    await mkdir(path);
    await writeFile(join(path, "mine"), "x");
    await expect(makeRestoredDirectory(options(path))).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining('is not empty, it has "mine"'),
    });
    expect([await readdir(place), await readdir(path)]).toEqual([["n3"], ["mine"]]);
  });

  test("is not made in the place of a file", async () => {
    const path = join(place, "n3");
    await writeFile(path, "x");
    await expect(makeRestoredDirectory(options(path))).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("it is not a directory"),
    });
    expect(await readdir(place)).toEqual(["n3"]);
  });

  test("leaves nothing behind when it is given up, at any chunk", async () => {
    for (let at = 0; at <= CHUNKS.length; at += 1) {
      const stop = new AbortController();
      const path = join(place, "n3");
      const chunks = function* (): Generator<Uint8Array> {
        for (const [number, chunk] of CHUNKS.entries()) {
          if (number === at) stop.abort(new Error("stopped"));
          yield chunk;
        }
        stop.abort(new Error("stopped"));
      };
      const made = makeRestoredDirectory({ ...options(path), chunks, signal: stop.signal });
      await expect(made).rejects.toThrowError("stopped");
      expect(await readdir(place)).toEqual([]);
    }
  });

  test("leaves nothing behind when the chunks are others than was said", async () => {
    const path = join(place, "n3");
    const chunks = (): Uint8Array[] => [Uint8Array.of(9)];
    await expect(makeRestoredDirectory({ ...options(path), chunks })).rejects.toMatchObject({
      code: "INTERNAL",
    });
    expect(await readdir(place)).toEqual([]);
  });

  // What was not durable is lost, or kept, or some of it.
  test.each([0.99, 0, undefined])(
    "is there wholly or not at all when the power fails, at any moment (%s)",
    async (chance) => {
      const found = new Set<boolean>();
      for (let at = 0, isDone = false; !isDone; at += 1) {
        const random = chance === undefined ? seededRandom(at) : () => chance;
        let left = at;
        let onHang = (): void => {};
        const hung = new Promise<void>((resolve) => {
          onHang = resolve;
        });
        const intercept = (): Promise<void> | undefined => {
          left -= 1;
          if (left >= 0) return undefined;
          onHang();
          return new Promise(() => {});
        };
        const files = new MemoryFileSystem(undefined, { intercept });
        const store = new MemoryStoreDisk();
        const openStore = async () => store.open();
        const made = makeRestoredDirectory({ ...options("/n3"), fileSystem: files, openStore });
        isDone = await Promise.race([made.then(() => true), hung.then(() => false)]);
        store.crash(random);
        const fileSystem = files.crashed(random);
        const isThere = (await fileSystem.list("")).includes("n3");
        found.add(isThere);
        if (isDone) expect(isThere).toBe(true);
        if (!isThere) continue;
        const opened = await openDataDirectory({
          ...{ path: "/n3", ...IDENTITY, segmentBytes: SEGMENT_BYTES, fileSystem },
          openStore: async (_path, mustExist) => store.open(mustExist),
        });
        expect(opened.log.boot.baseIndex).toBe(2 ** 40);
        await opened.close();
      }
      expect(found).toEqual(new Set([false, true]));
    },
  );

  test.skipIf(process.getuid?.() === 0)("needs permission, and says so", async () => {
    await chmod(place, 0o500);
    await expect(makeRestoredDirectory(options(join(place, "n3")))).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("no permission"),
    });
    await chmod(place, 0o700);
  });
});
