import { mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { HoldfastError } from "../../../src/errors/index.js";
import { examineNode, recoverNode } from "../../../src/server/index.js";
import { type DataDirectory, openDataDirectory } from "../../../src/storage/index.js";

const CLUSTER_ID = "c0ffee00c0ffee00c0ffee00c0ffee00";

let parent: string;
let dataDirectory: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "holdfast-examine-"));
  dataDirectory = join(parent, "n3");
});
afterEach(() => rm(parent, { recursive: true, force: true }));

function openNode(): Promise<DataDirectory> {
  const options = { nodeId: 3, clusterId: CLUSTER_ID, segmentBytes: 16 << 20 };
  return openDataDirectory({ path: dataDirectory, ...options });
}

async function made(): Promise<void> {
  const directory = await openNode();
  await directory.close();
}

function examine(id = 3): ReturnType<typeof examineNode> {
  return examineNode({ id, dataDirectory });
}

it("sees nothing wrong with a directory that could be started", async () => {
  await made();
  expect(await examine()).toEqual({ problem: undefined, clusterId: CLUSTER_ID });
  await made();
});

it("says what is damaged, and leaves it as it is", async () => {
  await made();
  const segments = await readdir(join(dataDirectory, "log"));
  const path = join(dataDirectory, "log", segments.sort()[0] ?? "");
  const file = await open(path, "r+");
  await file.write(Buffer.from([0xff, 0xff, 0xff, 0xff]), 0, 4, 0);
  await file.close();
  const before = await readFile(path);
  const { problem, clusterId } = await examine();
  expect(problem).toContain(path);
  expect(clusterId).toBe(CLUSTER_ID);
  expect((await readFile(path)).equals(before)).toBe(true);
});

it("makes nothing where nothing is", async () => {
  expect(await examine()).toEqual({ problem: "it does not exist", clusterId: undefined });
  await mkdir(dataDirectory);
  expect(await examine()).toEqual({ problem: "it is empty", clusterId: undefined });
  // What a first start or a recovery that was cut short leaves behind.
  const traces = ["VERSION.tmp", "mark.tmp", "recovering.tmp"];
  for (const name of traces) await writeFile(join(dataDirectory, name), "");
  await mkdir(join(dataDirectory, "store"));
  expect(await examine()).toMatchObject({ problem: "it is empty" });
  expect((await readdir(dataDirectory)).sort()).toEqual([...traces, "store"].sort());
});

it("takes a directory without a mark for a damaged one", async () => {
  await made();
  await rm(join(dataDirectory, "mark"));
  const problem = "its mark is missing or cannot be read";
  expect(await examine()).toEqual({ problem, clusterId: undefined });
});

it("lets a recovery that was cut short be repeated", async () => {
  await made();
  await writeFile(join(dataDirectory, "recovering"), "set-aside-1\n");
  expect((await examine()).problem).toBe("an earlier recovery of it was cut short");
  const recovered = await recoverNode({
    id: 3,
    dataDirectory,
    clusterId: CLUSTER_ID,
    incarnationMin: 7,
  });
  expect(recovered).toEqual({ movedTo: join(dataDirectory, "set-aside-1"), incarnation: 8 });
  expect((await examine()).problem).toBeUndefined();
});

it("refuses a directory that is in use, another node's, and a path that is none", async () => {
  const running = await openNode();
  await expect(examine()).rejects.toMatchObject({
    code: "UNAVAILABLE",
  } satisfies Partial<HoldfastError>);
  await running.close();
  await expect(examine(4)).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: `${dataDirectory} belongs to node 3, this is node 4`,
  });
  await rm(dataDirectory, { recursive: true });
  await mkdir(dataDirectory);
  await writeFile(join(dataDirectory, "thesis.tex"), "\\section{}");
  await expect(examine()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(await readdir(dataDirectory)).toEqual(["thesis.tex"]);
});
