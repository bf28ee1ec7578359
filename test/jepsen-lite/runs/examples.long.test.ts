/** What the documents and the examples show can be loaded, and is as short as it is said to be. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadModule } from "../../../jepsen-lite/harness/load-module.js";
import type { Nemesis } from "../../../jepsen-lite/nemeses/nemesis.js";
import type { Workload } from "../../../jepsen-lite/workloads/workload.js";
import { resultDirectory, startJepsen } from "./run-jepsen.js";

const LINES_MAX = 50;
const ROOM = new URL("../../../jepsen-lite/index.js", import.meta.url).href;
const fileOf = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-jepsen-examples-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

test("the examples are under fifty lines each and can be loaded", async () => {
  for (const kind of ["workload", "nemesis"] as const) {
    const file = fileOf(`examples/jepsen-${kind}.ts`);
    expect((await readFile(file, "utf8")).split("\n").length).toBeLessThan(LINES_MAX);
    expect((await loadModule(file, kind)).name).toMatch(/^[a-z-]+$/);
  }
});

test("the workload and the nemesis of the document can be loaded", async () => {
  const text = await readFile(fileOf("docs/jepsen-lite.md"), "utf8");
  const blocks = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = ""]) => code);
  expect(blocks).toHaveLength(2);
  const files = blocks.map((_, index) => join(directory, `block-${index}.ts`));
  for (const [index, code] of blocks.entries()) {
    const file = files[index] ?? "";
    await writeFile(file, code.replace("../jepsen-lite/index.js", ROOM));
  }
  const workload = await loadModule<Workload>(files[0] ?? "", "workload");
  const nemesis = await loadModule<Nemesis>(files[1] ?? "", "nemesis");
  expect([workload.name, nemesis.name]).toEqual(["briefly", "silence"]);
});

test("a run takes both from files, and judges the cluster by them", async () => {
  await using out = await resultDirectory();
  const run = startJepsen([
    `--workload=${fileOf("examples/jepsen-workload.ts")}`,
    `--nemesis=${fileOf("examples/jepsen-nemesis.ts")}`,
    "--time=8",
    "--clients=2",
    `--out=${out.directory}`,
  ]);
  const { code, stdout, stderr } = await run.ended;
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  const { counts, coverage } = await out.results();
  expect(counts[0]?.operations["adopt"]?.ok).toBeGreaterThan(0);
  expect(coverage.map(({ nemesis }) => nemesis)).toEqual(["flicker"]);
}, 60_000);
