/**
 * No request starves. A request that arrived at time t can be overtaken only by one that arrives
 * later by less than its larger head start: with priorities up to P and a step of S
 * milliseconds, only by those that arrive before t + P × S. So it is granted at the latest after
 * the requests that were before it at t or arrived within P × S of it.
 */
import { describe, expect, test } from "vitest";
import { PRIORITY_MAX, STATUS, WAIT_FOREVER } from "../../../src/protocol/index.js";
import { type Client, ClusterLog, exclusive, permits, shared } from "../plans/cluster-log.js";

const QUEUED = { status: STATUS.queued };

/** Ends the first hold of a key, no matter who has it. */
function releaseOne(log: ClusterLog, clients: readonly Client[], key: string): number {
  const [hold] = log.table.inspect(key).holds;
  const client = clients.find(({ session }) => session === hold?.session);
  if (hold === undefined || client === undefined) throw new Error(`${key} is not held`);
  client.end(hold);
  return hold.task;
}

describe("a request without priority", () => {
  test("is overtaken by urgent ones for as long as the largest head start, and not after", () => {
    const stepMs = 5;
    const log = new ClusterLog({ priorityStepMs: stepMs });
    const [patient, flood] = [log.open("patient", 600_000), log.open("flood", 600_000)];
    flood.take();
    expect(patient.acquire()).toEqual(QUEUED);
    const windowMs = PRIORITY_MAX * stepMs;
    let overtaking = 0;
    let servedAt = 0;
    for (let elapsedMs = 0; servedAt === 0; elapsedMs += 1) {
      // One more that is as urgent as can be in every millisecond, and one turn.
      const asking = { task: elapsedMs + 10, options: { priority: PRIORITY_MAX } };
      const result = flood.acquire(exclusive("k"), WAIT_FOREVER, asking);
      expect(result).toEqual(QUEUED);
      releaseOne(log, [flood, patient], "k");
      const [hold] = log.table.inspect("k").holds;
      if (hold?.session === patient.session) servedAt = elapsedMs;
      else overtaking += 1;
      log.stamp += 1;
      expect(elapsedMs).toBeLessThanOrEqual(windowMs + 1);
    }
    // It came in millisecond 0, and who comes in the last one has no smaller rank, but came later.
    expect(overtaking).toBe(windowMs);
    expect(servedAt).toBe(windowMs);
  });

  test("is never overtaken by a shared one that comes later, however many share the key", () => {
    const log = new ClusterLog();
    const [writer, readers] = [log.open("writer"), log.open("readers")];
    readers.take(shared("k"), { task: 2 });
    readers.take(shared("k"), { task: 3 });
    expect(writer.acquire(exclusive("k"))).toEqual(QUEUED);
    for (let task = 4; task < 40; task += 1) {
      expect(readers.acquire(shared("k"), WAIT_FOREVER, { task })).toEqual(QUEUED);
    }
    releaseOne(log, [readers], "k");
    expect(log.table.inspect("k").holds.length).toBe(1);
    releaseOne(log, [readers], "k");
    expect(log.table.inspect("k").holds.map(({ sessionName }) => sessionName)).toEqual(["writer"]);
  });
});

describe("a request for many permits", () => {
  test("is not starved by small ones for which there would be enough", () => {
    const log = new ClusterLog();
    const [large, small] = [log.open("large"), log.open("small")];
    for (let task = 1; task <= 3; task += 1) small.take(permits("s", 1, 4), { task });
    expect(large.acquire(permits("s", 4))).toEqual(QUEUED);
    // One permit is free, and stays so.
    for (let task = 4; task < 30; task += 1) {
      expect(small.acquire(permits("s", 1), 0, { task })).toMatchObject({ status: 16 });
      expect(small.acquire(permits("s", 1), WAIT_FOREVER, { task })).toEqual(QUEUED);
    }
    for (let left = 3; left > 0; left -= 1) {
      expect(log.table.inspect("s").holds.length).toBe(left);
      releaseOne(log, [small], "s");
    }
    expect(log.table.inspect("s").holds.map(({ sessionName }) => sessionName)).toEqual(["large"]);
    releaseOne(log, [large], "s");
    expect(log.table.inspect("s").holds.map(({ task }) => task)).toEqual([4, 5, 6, 7]);
  });
});

describe("a request of many keys", () => {
  test("is served though each of its keys is always wanted by somebody who came later", () => {
    const log = new ClusterLog();
    const [all, ones] = [log.open("all"), log.open("ones")];
    const keys = ["1", "2", "3", "4", "5"];
    for (const [at, key] of keys.entries()) ones.take(exclusive(key), { task: at + 1 });
    expect(all.acquire(exclusive(...keys))).toEqual(QUEUED);
    for (let task = 10; task < 60; task += 1) {
      const key = keys[task % keys.length] as string;
      expect(ones.acquire(exclusive(key), WAIT_FOREVER, { task })).toEqual(QUEUED);
    }
    for (const key of keys) {
      expect(log.table.inspect(key).waiters[0]?.sessionName).toBe("all");
      releaseOne(log, [ones], key);
    }
    for (const key of keys) expect(log.line(key)[0]).toBe("all");
  });
});
