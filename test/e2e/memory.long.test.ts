/**
 * A node refuses in time what would fill its memory: the process lives on and serves the others.
 */
import { expect, test } from "vitest";
import { connect, type Lock } from "../../src/index.js";
import { startCluster } from "./world/cluster-process.js";
import { until } from "./world/process-life.js";

/** A heap that some ten thousand large locks fill. */
const HEAP_MIB = 96;
const LOCKS_MAX = 100_000;
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
  const greedy = await connect({ endpoints, ttlMs: 60_000, connectTimeoutMs: 5_000 });
  let asked = 0;
  const ask = async (count: number): Promise<void> => {
    const batch = Array.from({ length: count }, (_, at) => {
      const key = `greedy/${asked + at}/`.padEnd(512, "k");
      return greedy.acquire(key, { waitMs: 0, value: "v".repeat(1_024), task: greedy.task() });
    });
    asked += count;
    await Promise.allSettled(batch);
  };
  const isRefusing = (): boolean => node.stderr.includes("memory is scarce");
  while (node.isRunning && !isRefusing() && asked < LOCKS_MAX) await ask(BATCH);
  // A heap that is full already would not survive these, were they taken.
  await ask(20 * BATCH);
  expect({ isRunning: node.isRunning, isRefusing: isRefusing() }).toEqual({
    isRunning: true,
    isRefusing: true,
  });
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
