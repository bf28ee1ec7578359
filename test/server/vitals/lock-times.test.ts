/** How long requests waited and holds lasted, as whole clusters find it. */
import { describe, expect, test } from "vitest";
import { OP, WAIT_FOREVER } from "../../../src/protocol/index.js";
import type { Histogram } from "../../../src/server/vitals/histogram.js";
import { startCluster } from "../world/cluster.js";
import type { WorldNode } from "../world/world.js";

/** The rows of a histogram that have values: their labels, how many, and their mean. */
function measured(histogram: Histogram): Record<string, { count: number; meanMs: number }> {
  const found: Record<string, { count: number; meanMs: number }> = {};
  for (const [row, labels] of histogram.shape.rows.entries()) {
    const count = histogram.countsOf(row).reduce((sum, each) => sum + each, 0);
    if (count > 0) found[labels] = { count, meanMs: (histogram.sumOf(row) / count) * 1_000 };
  }
  return found;
}

const waitsOf = (node: WorldNode) => measured(node.driver.status.times.locks.waits);
const holdsOf = (node: WorldNode) => measured(node.driver.status.times.locks.holds);

describe("every node measures", () => {
  test("how long each request waited, and what became of it", async () => {
    const { world, leader, followers } = await startCluster();
    const [holder, waiting, leaving] = [world.client(), world.client(), world.client()];
    for (const client of [holder, waiting, leaving]) await client.start(leader, 60_000);
    const held = holder.acquire("a");
    await holder.untilReply(held);
    const timedOut = waiting.acquire("a", 300);
    await waiting.untilReply(timedOut);
    const cancelled = leaving.acquire("a", undefined, "shared");
    await leaving.untilReply(cancelled);
    await world.run(500);
    await leaving.untilReply(leaving.end(cancelled));
    const granted = waiting.acquire("a");
    await waiting.untilReply(granted);
    await world.run(2_000);
    await holder.untilReply(holder.end(held));
    await world.run(200);
    for (const node of [leader, ...followers]) {
      const waits = waitsOf(node);
      const exclusive = waits['mode="exclusive",outcome="granted",prefix="other"'];
      // One at once, and one after two seconds.
      expect(exclusive?.count).toBe(2);
      expect(exclusive?.meanMs).toBeGreaterThan(950);
      expect(exclusive?.meanMs).toBeLessThan(1_100);
      const timeout = waits['mode="exclusive",outcome="timeout",prefix="other"'];
      expect(timeout?.count).toBe(1);
      expect(timeout?.meanMs).toBeGreaterThanOrEqual(300);
      const left = waits['mode="shared",outcome="cancelled",prefix="other"'];
      expect(left?.count).toBe(1);
      expect(left?.meanMs).toBeGreaterThan(450);
      expect(Object.keys(waits)).toHaveLength(3);
      const released = holdsOf(node)['reason="released",prefix="other"'];
      expect(released?.count).toBe(1);
      expect(released?.meanMs).toBeGreaterThan(2_400);
    }
  });

  test("waits whose session ends, and holds that expire", async () => {
    const { world, leader } = await startCluster();
    const [holder, waiting] = [world.client(), world.client()];
    await holder.start(leader, 4_000);
    await waiting.start(leader, 2_000);
    await holder.untilReply(holder.acquire("a"));
    await waiting.untilReply(waiting.acquire("a"));
    await world.run(10_000);
    expect(waitsOf(leader)['mode="exclusive",outcome="sessionEnded",prefix="other"']?.count).toBe(
      1,
    );
    const expired = holdsOf(leader)['reason="expired",prefix="other"'];
    expect(expired?.count).toBe(1);
    expect(expired?.meanMs).toBeGreaterThan(3_900);
  });

  test("waits of upgrades", async () => {
    const { world, leader } = await startCluster();
    const [one, two] = [world.client(), world.client()];
    await one.start(leader, 60_000);
    await two.start(leader, 60_000);
    const [first, second] = [one.acquire("a", 0, "shared"), two.acquire("a", 0, "shared")];
    await one.untilReply(first);
    await two.untilReply(second);
    const head = { sequence: first + 1, mark: 1, acknowledged: [] };
    const wait = { waitMs: WAIT_FOREVER, detect: true };
    one.send({ op: OP.upgrade, ...head, target: first, key: "a", ...wait });
    await one.untilReply(first + 1);
    await world.run(400);
    await two.untilReply(two.end(second));
    await world.run(100);
    const waits = waitsOf(leader);
    expect(waits['mode="shared",outcome="granted",prefix="other"']?.count).toBe(2);
    const upgraded = waits['mode="exclusive",outcome="granted",prefix="other"'];
    expect(upgraded?.count).toBe(1);
    expect(upgraded?.meanMs).toBeGreaterThanOrEqual(400);
  });
});

describe("prefixes that an operator names", () => {
  test("are measured apart, the longest that fits, and no key is named otherwise", async () => {
    const metricsPrefixes = ["orders/", "orders/eu/", 'a"b\\'];
    const { world, leader } = await startCluster({ metricsPrefixes });
    const client = world.client();
    await client.start(leader, 60_000);
    for (const key of ["orders/1", "orders/2", "orders/eu/1", 'a"b\\c', "secret"]) {
      await client.untilReply(client.acquire(key));
    }
    const waits = waitsOf(leader);
    const countOf = (prefix: string) =>
      waits[`mode="exclusive",outcome="granted",prefix="${prefix}"`]?.count;
    expect(countOf("orders/")).toBe(2);
    expect(countOf("orders/eu/")).toBe(1);
    expect(countOf('a\\"b\\\\')).toBe(1);
    expect(countOf("other")).toBe(1);
    expect(Object.keys(waits).join()).not.toContain("secret");
  });
});
