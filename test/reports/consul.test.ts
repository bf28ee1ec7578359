/**
 * What users of Consul's sessions and locks reported, played against this table and this SDK. Each
 * scenario would show the reported symptom if the same thing were wrong here.
 */
import { describe, expect, test } from "vitest";
import { setUp } from "../client/world/set-up.js";
import { connectTo } from "../client/world/simulated-client.js";
import { ClusterLog } from "../lockfsm/plans/cluster-log.js";

describe("Consul #1172: a session lives twice as long as its TTL", () => {
  // Fails if a lease is given more, or less, than its TTL from the last command on.
  test.each([1_000, 10_000, 300_000])("in the table, one of %i ms", (ttlMs) => {
    const log = new ClusterLog();
    const [dead, next] = [log.open("dead", ttlMs), log.open("next", 600_000)];
    log.pass(100);
    dead.take();
    next.acquire();
    expect(log.table.nextDueAt).toBe(log.stamp + ttlMs);
    log.pass(ttlMs - 1);
    expect(log.line("k")).toEqual(["dead", "|", "next"]);
    log.pass(1);
    expect(log.line("k")).toEqual(["next", "|"]);
  });

  // Fails if a client that waits behind a dead client waits for longer than the rest of its lease.
  test("as seen by a client that waits behind one that died", async () => {
    const { world, server } = setUp();
    const dead = await connectTo(server, { ttlMs: 10_000 });
    const next = await connectTo(server, { ttlMs: 10_000 });
    await world.until(dead.client.acquire("k"));
    dead.platform.stop();
    const diedMs = world.nowMs;
    const lock = await world.until(next.client.acquire("k"));
    expect(lock.isHeld).toBe(true);
    // A command or a keepalive was transmitted at most a quarter of the TTL before.
    expect(world.nowMs - diedMs).toBeGreaterThanOrEqual(7_500);
    expect(world.nowMs - diedMs).toBeLessThan(10_100);
  });
});

describe("Consul #4902: a client that lost the cluster believes forever in its lost lock", () => {
  // Fails if a lock that was given up bars the way for the next of the same client.
  test("and cannot take it again when the cluster is back", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 3_000 });
    const lost = await world.until(client.acquire("k"));
    const { signal } = lost;
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    server.faults.isLeaderless = true;
    platform.connection?.cut();
    await world.run(3_000);
    expect([signal.aborted, lost.isHeld, lost.remainingMs]).toEqual([true, false, 0]);
    expect(signal.reason).toMatchObject({ code: "LOCK_LOST", details: { reason: "expired" } });
    const waiting = client.acquire("k");
    await world.run(20_000);
    server.faults.isLeaderless = false;
    server.faults.downNodes.clear();
    const again = await world.until(waiting, 5_000);
    expect(again.isHeld).toBe(true);
    expect(again.token).toBeGreaterThan(lost.token);
    // The table's time stood still: it still had the hold that the client had given up for good.
    expect(lost.isHeld).toBe(false);
    expect(server.table.inspect("k").holds.map(({ token }) => token)).toEqual([again.token]);
  });
});
