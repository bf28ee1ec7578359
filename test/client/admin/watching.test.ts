import { describe, expect, it } from "vitest";
import {
  ADMIN_DEFAULTS,
  type Admin,
  type Change,
  connectAdminOn,
  type Watch,
} from "../../../src/client/index.js";
import { failure, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";
import type { SimulatedWorld } from "../world/simulated-world.js";
import type { TableServer } from "../world/table-server.js";

async function adminOf(
  server: TableServer,
): Promise<{ readonly admin: Admin; readonly platform: SimulatedPlatform }> {
  const platform = new SimulatedPlatform(server.world, server);
  const settings = { ...ADMIN_DEFAULTS, endpoints: server.endpoints };
  return { admin: await server.world.until(connectAdminOn(platform, settings)), platform };
}

async function take(world: SimulatedWorld, watch: Watch, count: number): Promise<string[]> {
  const changes: Change[] = [];
  while (changes.length < count) {
    const { done, value } = await world.until(watch.next());
    if (done === true) break;
    changes.push(value);
  }
  return changes.map(({ type, key }) => `${type} ${key}`);
}

describe("a watch without a session", () => {
  it("reports what happens after it has begun, and opens no session", async () => {
    const { world, server } = setUp();
    const { admin } = await adminOf(server);
    const watch = admin.watch("orders/");
    await world.until(watch.begun);
    const applied = server.applied.length;
    expect(applied).toBe(0);
    const { client } = await connectTo(server);
    const lock = await world.until(client.acquire("orders/1"));
    await world.until(client.acquire("others/1"));
    await world.until(lock.release());
    expect(await take(world, watch, 2)).toEqual(["granted orders/1", "ended orders/1"]);
  });

  it("stays connected while it is open, and no longer", async () => {
    const { world, server } = setUp();
    const { admin, platform } = await adminOf(server);
    const watch = admin.watch("k");
    await world.until(watch.begun);
    const first = platform.connection;
    await world.run(5_000);
    await world.until(admin.inspect("k"));
    expect(platform.connection).toBe(first);
    expect(platform.connection?.watchCount).toBe(1);
    await watch.return?.();
    await world.run(20);
    expect(platform.connection?.watchCount).toBe(0);
    await world.run(5_000);
    const former = platform.connection;
    await world.until(admin.inspect("k"));
    expect(platform.connection).not.toBe(former);
  });

  it("finds the leader at once when its node is lost, and is never moved after that", async () => {
    for (let seed = 1; seed <= 8; seed++) {
      const { world, server } = setUp(seed);
      const { client } = await connectTo(server);
      await world.until(client.acquire("other"));
      const { admin, platform } = await adminOf(server);
      const watch = admin.watch("k");
      void watch.next().catch(() => undefined);
      await world.run(2_000);
      server.faults.downNodes.add(1);
      server.leaderId = 2;
      platform.connection?.cut();
      await world.run(2_000);
      expect(platform.connection?.nodeId).toBe(2);
      const opened = server.opened.length;
      await world.run(90_000);
      expect(server.opened.length).toBe(opened);
      await watch.return?.();
    }
  });

  it("goes on after its last revision when its connection is lost, without a gap", async () => {
    const { world, server } = setUp();
    const { admin, platform } = await adminOf(server);
    const { client } = await connectTo(server, { ttlMs: 60_000 });
    const watch = admin.watch("k");
    await world.until(watch.begun);
    for (let i = 0; i < 20; i += 1) {
      const lock = await world.until(client.acquire("k"));
      if (i % 5 === 3) platform.connection?.cut();
      await world.until(lock.release());
    }
    const pairs = Array.from({ length: 20 }, () => ["granted k", "ended k"]).flat();
    expect(await take(world, watch, 40)).toEqual(pairs);
  });

  it("shares its connection with questions", async () => {
    const { world, server } = setUp();
    const { admin } = await adminOf(server);
    const { client } = await connectTo(server);
    const watch = admin.watch({ prefix: "" });
    await world.until(watch.begun);
    for (let i = 0; i < 5; i += 1) {
      await world.until(client.acquire(`k${i}`));
      const { keys } = await world.until(admin.keysPage("k", { limit: 1 }));
      expect(keys.map(({ key }) => key)).toEqual(["k0"]);
    }
    expect(await take(world, watch, 5)).toHaveLength(5);
  });

  it("fails when the admin is closed, and then none begins", async () => {
    const { world, server } = setUp();
    const { admin } = await adminOf(server);
    const next = admin.watch("k").next();
    await world.run(20);
    await admin.close();
    expect((await failure(world, next)).code).toBe("CANCELLED");
    expect(() => admin.watch("k")).toThrow("closed");
  });
});

describe("pages", () => {
  it("of keys follow one another in byte order, each no longer than its limit", async () => {
    const { world, server } = setUp();
    const { admin } = await adminOf(server);
    const { client } = await connectTo(server);
    for (let i = 0; i < 7; i += 1) await world.until(client.acquire(`k${i}`));
    const seen: string[][] = [];
    let after: string | undefined;
    do {
      const page = await world.until(admin.keysPage("k", { after, limit: 3 }));
      seen.push(page.keys.map(({ key }) => key));
      after = page.next ?? undefined;
    } while (after !== undefined);
    expect(seen).toEqual([["k0", "k1", "k2"], ["k3", "k4", "k5"], ["k6"]]);
  });

  it("of sessions follow one another by number", async () => {
    const { world, server } = setUp();
    const { admin } = await adminOf(server);
    for (const name of ["a", "b", "c"]) await connectTo(server, { name });
    const first = await world.until(admin.sessionsPage({ limit: 2 }));
    expect(first.sessions.map(({ name }) => name)).toEqual(["a", "b"]);
    const second = await world.until(admin.sessionsPage({ after: first.next ?? 0, limit: 2 }));
    expect(second.sessions.map(({ name }) => name)).toEqual(["c"]);
    expect(second.next).toBeNull();
  });

  it("have at most two hundred lines", async () => {
    const { server } = setUp();
    const { admin } = await adminOf(server);
    await expect(admin.keysPage("", { limit: 201 })).rejects.toThrow(RangeError);
    await expect(admin.sessionsPage({ limit: 0 })).rejects.toThrow(RangeError);
  });
});
