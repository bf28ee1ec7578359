/** What fills a node's memory is refused in time: the process lives on and serves the others. */

import { expect, test } from "vitest";
import { connect, type Lock } from "../../src/index.js";
import { startCluster } from "./cluster-process.js";
import { until } from "./process-life.js";

/** A heap that some ten thousand large locks fill. */
const HEAP_MIB = 96;
const LOCKS_MAX = 200_000;
const BATCH = 500;

test("one session with large keys and values does not end a node with a small heap", async () => {
  const before = process.env["NODE_OPTIONS"];
  process.env["NODE_OPTIONS"] = `${before ?? ""} --max-old-space-size=${HEAP_MIB}`;
  await using cluster = await startCluster({ nodes: 1 }).finally(() => {
    if (before === undefined) delete process.env["NODE_OPTIONS"];
    else process.env["NODE_OPTIONS"] = before;
  });
  const { endpoints } = cluster;
  const [node] = cluster.nodes;
  if (node === undefined) throw new Error("no node");
  const { pid } = node;
  await using other = await connect({ endpoints, name: "other", ttlMs: 60_000 });
  const held: Lock = await other.acquire("other/held");
  const greedy = await connect({ endpoints, name: "greedy", ttlMs: 2_000 });
  const codes = new Set<string>();
  let asked = 0;
  while (codes.size === 0 && asked < LOCKS_MAX) {
    const batch = Array.from({ length: BATCH }, (_, at) => {
      const key = `greedy/${asked + at}/`.padEnd(512, "k");
      return greedy.acquire(key, { waitMs: 0, value: "v".repeat(1_024), owner: greedy.owner() });
    });
    asked += BATCH;
    for (const result of await Promise.allSettled(batch)) {
      if (result.status === "fulfilled") continue;
      codes.add((result.reason as { code?: string }).code ?? String(result.reason));
    }
  }
  expect([...codes].every((code) => code === "BUSY" || code === "UNAVAILABLE")).toBe(true);
  expect(node.stderr).toContain("memory is scarce");
  expect(node.isRunning).toBe(true);
  expect(held.isHeld).toBe(true);
  await held.release();
  expect((await other.inspect("other/held")).holds).toEqual([]);
  await greedy.close();
  await until("memory is there again", async () => {
    const lock = await other.acquire("other/again", { waitMs: 1_000 }).catch(() => undefined);
    await lock?.release();
    return lock !== undefined;
  });
  expect(node.pid).toBe(pid);
}, 300_000);
