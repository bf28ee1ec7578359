/**
 * A mark survives a loss of power at any moment of a write. One that no version of this wrote is
 * damage, whatever its checksum says.
 */
import { describe, expect, test } from "vitest";
import { MemoryFileSystem } from "../../../lab/memory/memory-file-system.js";
import type { CrashRandom } from "../../../lab/memory/memory-inode.js";
import { seededRandom } from "../../../lab/random-stream.js";
import { decodeKnownPeers, encodeKnownPeers } from "../../../src/storage/mark/known-peers.js";
import { type Mark, MarkFile, newMark, readMark } from "../../../src/storage/mark/mark-file.js";

const DIRECTORY = "/data";
const FRESH = newMark({
  ...{ nodeId: 1, clusterId: "ab".repeat(16), birth: "cd".repeat(8) },
  ...{ origin: "initial", incarnation: 0 },
});
const USED: Mark = {
  ...FRESH,
  ...{ incarnation: 2, seq: 9, index: 7, term: 3, firstSegment: 4, lastSegment: 5 },
  peers: new Map([[2, { incarnation: 3, births: ["ef".repeat(8), "01".repeat(8)] }]]),
};

async function written(mark: Mark): Promise<Mark> {
  const fileSystem = new MemoryFileSystem();
  await fileSystem.makeDirectory(DIRECTORY);
  await MarkFile.create(fileSystem, DIRECTORY, mark);
  return (await MarkFile.open(fileSystem, DIRECTORY)).current;
}

describe("a mark", () => {
  test.each([FRESH, USED])("is read as it was written", async (mark) => {
    expect(await written(mark)).toEqual(mark);
  });

  test.each([
    { firstSegment: 9, lastSegment: 1 },
    { firstSegment: 1, lastSegment: 0 },
    { firstSegment: 0, lastSegment: 5 },
    { incarnation: 2 ** 53 },
    { seq: 2 ** 60 },
    { term: 2 ** 63 },
    { lastSegment: 2 ** 53 },
    { peers: new Map([[2, { incarnation: 3, births: [] }]]) },
    { peers: new Map([[2, { incarnation: 2 ** 60, births: ["ef".repeat(8)] }]]) },
  ])("with %j is damaged", async (change) => {
    await expect(written({ ...USED, ...change })).rejects.toMatchObject({
      code: "INTERNAL",
      details: { corrupt: true, file: "/data/mark" },
    });
  });
});

test("known peers that are cut anywhere but between two peers are none", () => {
  const peers = new Map([
    [2, { incarnation: 3, births: ["ef".repeat(8)] }],
    [3, { incarnation: 1, births: ["01".repeat(8)] }],
  ]);
  const bytes = encodeKnownPeers(peers);
  for (let length = 0; length <= bytes.length; length += 1) {
    const isWhole = length % (bytes.length / peers.size) === 0;
    expect(decodeKnownPeers(bytes.subarray(0, length)) !== undefined, `${length}`).toBe(isWhole);
  }
  expect(decodeKnownPeers(bytes)).toEqual(peers);
});

/** Its slot fills several sectors, none of which is equal in the mark of another incarnation. */
function crowded(incarnation: number): Mark {
  const birth = incarnation.toString(16).padStart(16, "0");
  const ids = Array.from({ length: 100 }, (_, at) => at + 2);
  const peers = new Map(ids.map((id) => [id, { incarnation, births: [birth] }]));
  return { ...USED, incarnation, peers };
}

/** Keeps this share of each write, from its beginning on. */
function cutAt(share: number): CrashRandom {
  let isChoice = false;
  return () => {
    isChoice = !isChoice;
    return isChoice ? 0.5 : share;
  };
}

/** Writes `mark`; in each of its writes, the power fails in each of these ways. */
async function losePower(
  files: ReadonlyMap<string, Uint8Array>,
  mark: Mark,
  waysOf: (bytes: number) => Iterable<CrashRandom>,
  then: (disk: MemoryFileSystem) => Promise<void>,
): Promise<void> {
  const fileSystem: MemoryFileSystem = new MemoryFileSystem(files, {
    intercept: async ({ kind, bytes }) => {
      if (kind !== "write") return;
      for (const random of waysOf(bytes)) await then(fileSystem.crashed(random));
    },
  });
  const file = await MarkFile.open(fileSystem, DIRECTORY);
  await file.write(mark);
  await file.close();
}

async function incarnationOn(disk: MemoryFileSystem): Promise<number | undefined> {
  return (await readMark(disk, DIRECTORY))?.mark.incarnation;
}

describe("a loss of power while a mark is written", () => {
  const waysOf = (count: number) => () =>
    Array.from({ length: count }, (_, seed) => seededRandom(seed));

  async function first(): Promise<Map<string, Uint8Array>> {
    const fileSystem = new MemoryFileSystem();
    await fileSystem.makeDirectory(DIRECTORY);
    await MarkFile.create(fileSystem, DIRECTORY, crowded(1));
    return fileSystem.files();
  }

  test("leaves the old mark or the new one, at whichever byte or sector it ends", async () => {
    const found = new Map<number | undefined, number>();
    const everyByte = function* (bytes: number): Generator<CrashRandom> {
      for (let at = 0; at < bytes; at += 1) yield cutAt((at + 0.5) / bytes);
      yield* waysOf(100)();
    };
    await losePower(await first(), crowded(2), everyByte, async (disk) => {
      const incarnation = await incarnationOn(disk);
      found.set(incarnation, (found.get(incarnation) ?? 0) + 1);
    });
    expect([...found.keys()].sort()).toEqual([1, 2]);
  });

  test("leaves one of them also when the last loss had torn one slot", async () => {
    const found = new Set<number | undefined>();
    await losePower(await first(), crowded(2), waysOf(40), async (disk) => {
      await losePower(disk.files(), crowded(3), waysOf(40), async (again) => {
        found.add(await incarnationOn(again));
      });
    });
    expect([...found].sort()).toEqual([1, 2, 3]);
  });
});
