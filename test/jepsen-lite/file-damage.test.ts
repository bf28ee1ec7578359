/** What the nemesis `damage` does to the files of a data directory: all of those that there are. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { seededStream } from "../../jepsen-lite/harness/seeded-stream.js";
import { damageDirectory, kindOf } from "../../jepsen-lite/nemeses/file-damage.js";
import { freePorts } from "../../lab/free-ports.js";
import { connect } from "../../src/index.js";
import { NodeHandle } from "../e2e/world/node-handle.js";

const FILES = [
  ...["mark", "VERSION", "log/00000001.seg", "log/00000002.seg", "log/next.tmp"],
  ...[
    "store/000003.log",
    "store/000005.ldb",
    "store/CURRENT",
    "store/LOCK",
    "store/MANIFEST-000002",
  ],
];
const UNTOUCHED = ["store/LOG", "set-aside-1/mark"];
const SEEDS = 150;

test("damage hits every kind of file in every way, one at a time, and no evidence", async () => {
  const met = new Map<string, Set<string>>();
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-harm-"));
    for (const name of ["log", "store", "set-aside-1"]) await mkdir(join(directory, name));
    const content = Buffer.alloc(10_000, 7);
    content.fill(0, 9_000);
    for (const name of [...FILES, ...UNTOUCHED]) await writeFile(join(directory, name), content);
    const { what, file } = await damageDirectory(directory, seededStream(seed, "harm"));
    const left = await readdir(directory);
    if (left.length > 0) {
      const changed: string[] = [];
      for (const name of [...FILES, ...UNTOUCHED]) {
        const now = await readFile(join(directory, name)).catch(() => undefined);
        if (now === undefined || !now.equals(content)) changed.push(name);
      }
      expect(changed).toHaveLength(1);
      const [name = ""] = changed;
      expect(what.startsWith(`${name} `)).toBe(true);
      expect(file.kind).toBe(kindOf(name));
      const way = what.slice(name.length + 1).split(" at ")[0] ?? "";
      met.set(kindOf(name), (met.get(kindOf(name)) ?? new Set()).add(way));
    } else {
      met.set("everything", new Set([what]));
    }
    await rm(directory, { recursive: true });
  }
  expect([...met.keys()].sort()).toEqual([...new Set(FILES.map(kindOf)), "everything"].sort());
  const ways = ["cut", "removed", "with a flipped bit", "with a page of zeros"];
  for (const [kind, seen] of met) {
    expect([kind, ...[...seen].sort()]).toEqual(
      kind === "everything" ? [kind, "nothing left"] : [kind, ...ways],
    );
  }
});

/** Every kind of file that a server leaves in its data directory but LevelDB's words about itself. */
const KINDS = [
  ...["VERSION", "mark", "log/N.seg", "log/next.tmp"],
  ...["store/CURRENT", "store/LOCK", "store/MANIFEST-N", "store/N.ldb", "store/N.log"],
];

test("what a real server keeps on its disk is within reach, the audit in its store too", async () => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-harm-"));
  const data = join(directory, "data");
  const [clientPort = 0, peerPort = 0] = await freePorts(2);
  const endpoint = `ws://127.0.0.1:${clientPort}`;
  const node = new NodeHandle(1, endpoint, [
    ...["--id=1", `--data=${data}`, `--listen=127.0.0.1:${clientPort}`, "--audit"],
    ...[`--initial-cluster=1=127.0.0.1:${peerPort}`, "--stop-on-stdin-end"],
  ]);
  try {
    // The store writes its journal into a table when it is opened again.
    for (let life = 0; life < 2; life += 1) {
      await node.start();
      {
        await using client = await connect({ endpoints: [endpoint] });
        await (await client.acquire("a")).release();
      }
      await node.stop();
    }
    const { file } = await damageDirectory(data, seededStream(1, "harm"));
    expect([...file.kinds].sort()).toEqual([...KINDS].sort());
  } finally {
    await node.kill();
    await rm(directory, { recursive: true, force: true });
  }
}, 60_000);
