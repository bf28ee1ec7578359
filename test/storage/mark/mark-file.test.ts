/** A mark that no version of this wrote is damage, whatever its checksum says. */
import { describe, expect, test } from "vitest";
import { MemoryFileSystem } from "../../../lab/memory/memory-file-system.js";
import { decodeKnownPeers, encodeKnownPeers } from "../../../src/storage/mark/known-peers.js";
import { type Mark, MarkFile, newMark } from "../../../src/storage/mark/mark-file.js";

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
