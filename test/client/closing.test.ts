/** The end of a client, and what keeps its process running until then. */
import { describe, expect, it } from "vitest";
import { OP } from "../../src/protocol/index.js";
import { EMPTY, failure, setUp } from "./world/set-up.js";
import { connectTo } from "./world/simulated-client.js";

describe("close", () => {
  it("ends the session, what it holds, what it waits for and what it asks", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    const lock = await world.until(one.client.acquire("a"));
    await world.until(two.client.acquire("b"));
    const waiting = failure(world, one.client.acquire("b"));
    const asking = failure(world, one.client.inspect("a"));
    const { signal } = lock;
    const closing = one.client.close();
    expect(signal.reason).toMatchObject({ code: "LOCK_LOST", details: { reason: "closed" } });
    expect(one.client.close()).toBe(closing);
    await world.until(closing);
    expect((await waiting).code).toBe("CANCELLED");
    expect((await asking).code).toBe("CANCELLED");
    expect(one.client.closed.aborted).toBe(true);
    expect(one.client.session).toBe(0);
    expect(await lock.release()).toEqual({ released: false, reason: "closed" });
    const late = await failure(world, one.client.acquire("c"));
    expect(late.code).toBe("CANCELLED");
    await world.until(Promise.resolve(two.client[Symbol.asyncDispose]()));
    expect(server.table.counts()).toMatchObject(EMPTY);
  });

  it("lets releases that are on their way end as releases", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const lock = await world.until(client.acquire("a"));
    const release = lock.release();
    await world.until(client.close());
    expect(await release).toEqual({ released: true });
  });

  it("reconnects to say goodbye, but only for so long", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 60_000 });
    await world.until(one.client.acquire("a"));
    one.platform.connection?.cut();
    await world.run(1);
    await world.until(one.client.close());
    expect(server.table.counts()).toMatchObject(EMPTY);

    const two = await connectTo(server, { ttlMs: 60_000 });
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    two.platform.connection?.cut();
    const beganMs = world.nowMs;
    await world.until(two.client.close());
    expect(world.nowMs - beganMs).toBeLessThanOrEqual(5_001);
  });

  it("is one end for all who ask for it, a listener of what it ends among them", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const lock = await world.until(client.acquire("a"));
    const fromWithin: Promise<unknown>[] = [];
    lock.signal.addEventListener("abort", () => {
      fromWithin.push(client.close(), failure(world, client.acquire("b")));
    });
    const closing = client.close();
    expect(fromWithin[0]).toBe(closing);
    await world.until(closing, 5_000);
    expect(await fromWithin[1]).toMatchObject({ code: "CANCELLED" });
    expect(server.table.counts()).toMatchObject(EMPTY);
    expect(server.applied.filter(({ op }) => op === OP.close)).toHaveLength(1);
  });

  it("works from a listener that hears of a loss", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 1_000 });
    const lock = await world.until(client.acquire("a"));
    let closing: Promise<void> | undefined;
    lock.signal.addEventListener("abort", () => {
      closing = client.close();
    });
    platform.stop();
    await world.run(5_000);
    platform.goOn();
    await world.run(10);
    await world.until(closing ?? Promise.reject(new Error("the signal was not aborted")));
    await world.run(2_000);
    expect(server.table.counts()).toMatchObject(EMPTY);
  });
});

describe("the process", () => {
  it("is kept running by a lock or a wait, not by an idle client", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 60_000 });
    await world.run(100);
    expect(platform.keepsProcess).toBe(false);
    const lock = await world.until(client.acquire("a"));
    await world.run(1);
    expect(platform.keepsProcess).toBe(true);
    await world.until(lock.release());
    await world.run(1);
    expect(platform.keepsProcess).toBe(false);
    const controller = new AbortController();
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    platform.connection?.cut();
    await world.run(1);
    const waiting = client.acquire("a", { signal: controller.signal });
    expect(platform.keepsProcess).toBe(true);
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    expect(platform.keepsProcess).toBe(false);
  });
});
