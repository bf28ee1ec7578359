/**
 * A node whose heap is nearly full refuses what would enlarge the table, and does everything else.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { MESSAGE, OP, STATUS } from "../../../src/protocol/index.js";
import { HeapMeter } from "../../../src/server/vitals/heap-meter.js";
import { startCluster } from "../world/cluster.js";

const MIB = 1 << 20;

describe.each(["the leader", "a follower"])("%s, while memory is scarce there,", (where) => {
  async function scene() {
    const { world, leader, followers } = await startCluster();
    const node = where === "the leader" ? leader : followers[0];
    const client = world.client();
    await client.start(node);
    const granted = client.acquire("held", 0);
    await client.untilReply(granted);
    node.isMemoryScarce = true;
    return { world, node, client, granted };
  }

  test("refuses new locks with BUSY, and takes a release", async () => {
    const { node, client, granted } = await scene();
    expect(await client.untilStatus(client.acquire("more", 0))).toBe(ERROR_NUMBERS.BUSY);
    expect(await client.untilStatus(client.end(granted))).toBe(STATUS.released);
    expect(node.driver.status.isMemoryScarce).toBe(true);
    node.isMemoryScarce = false;
    const again = client.acquire("more", 0);
    expect((await client.untilReply(again)).result.status).toBe(STATUS.granted);
  });

  test("keeps sessions alive, answers reads, and lets sessions come back, but no new ones", async () => {
    const { world, node, client } = await scene();
    const keepalive = client.keepalive();
    await world.until("the renewal", () => client.renewed(keepalive) !== undefined);
    client.query({ op: OP.inspect, id: 1, key: "held" });
    await world.until("answer", () => client.received.some(({ kind }) => kind === MESSAGE.answer));
    client.disconnect();
    await client.start(node);
    expect(client.attached(client.attempt)?.status).toBe(STATUS.ok);
    const newcomer = world.client();
    await newcomer.start(node);
    expect(newcomer.attached(newcomer.attempt)?.status).toBe(ERROR_NUMBERS.BUSY);
  });
});

describe("a heap meter", () => {
  /** With room for 952 MiB that live long. */
  function meterOf(usedMib: readonly number[]) {
    const lines: string[] = [];
    let nowMs = 0;
    let looks = 0;
    const meter = new HeapMeter(
      () => nowMs,
      (level, event) => lines.push(`${level} ${event}`),
      () => {
        const used = usedMib[Math.min(looks, usedMib.length - 1)] ?? 0;
        looks += 1;
        return { used_heap_size: used * MIB, heap_size_limit: 1_000 * MIB };
      },
    );
    const isScarceAt = (atMs: number): boolean => {
      nowMs = atMs;
      return meter.isScarce;
    };
    return { isScarceAt, lines, looks: () => looks };
  }

  test("calls memory scarce from 65 % on, and says so once", () => {
    const { isScarceAt, lines } = meterOf([600, 625, 630, 600]);
    expect([0, 100, 200, 300].map(isScarceAt)).toEqual([false, true, true, false]);
    expect(lines).toEqual([
      "warn memory is scarce: new locks are refused",
      "info memory is not scarce any more",
    ]);
  });

  test("looks at most every 100 ms, however often it is asked", () => {
    const { isScarceAt, looks } = meterOf([1]);
    for (let nowMs = 0; nowMs < 1_000; nowMs += 1) isScarceAt(nowMs);
    expect(looks()).toBe(10);
  });
});
