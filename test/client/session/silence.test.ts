/**
 * What a client makes of a node that is frozen: its connections stay, and nothing comes over them.
 * While the others serve, every call is answered within five seconds of the freeze, and every wait
 * within five seconds of its turn, whatever the lease.
 */
import { describe, expect, it } from "vitest";
import { connectAdminOn, type Lock } from "../../../src/client/index.js";
import { ADMIN_DEFAULTS } from "../../../src/client/options/operator-options.js";
import { setUp } from "../world/set-up.js";
import { connectTo, type SimulatedClient } from "../world/simulated-client.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";
import type { SimulatedWorld } from "../world/simulated-world.js";
import type { TableServer } from "../world/table-server.js";

const TTLS_MS = [15_000, 60_000, 300_000, 600_000];
const BOUND_MS = 5_000;
const ELECTION_MS = 1_500;

interface Scene extends SimulatedClient {
  readonly world: SimulatedWorld;
  readonly server: TableServer;
  readonly ttlMs: number;
  /** A lock of this client. */
  readonly held: Lock;
  readonly shared: Lock;
}

async function scene(ttlMs: number, nodeCount = 3): Promise<Scene> {
  const { world, server } = setUp(ttlMs, nodeCount);
  const connected = await connectTo(server, { ttlMs });
  const held = await world.until(connected.client.acquire("held"));
  const shared = await world.until(connected.client.acquire("shared", { mode: "shared" }));
  // Nobody has anything to say for a while.
  await world.run(4_000);
  return { world, server, ttlMs, ...connected, held, shared };
}

/** Node 1, which leads, stands still; the others have elected another one soon. */
function freezeLeader({ world, server }: Pick<Scene, "world" | "server">, ...more: number[]): void {
  for (const id of [1, ...more]) server.freeze(id);
  server.faults.isLeaderless = true;
  world.after(ELECTION_MS, () => {
    server.faults.isLeaderless = false;
    server.leaderId = 2;
  });
}

/** Every kind of call that an application can make. */
const CALLS: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  acquire: ({ client }) => client.acquire("k"),
  try: ({ client }) => client.tryAcquire("k"),
  using: ({ client }) => client.using("k", () => "done"),
  release: ({ held }) => held.release(),
  upgrade: ({ shared }) => shared.upgrade(),
  downgrade: ({ held }) => held.downgrade(),
  update: ({ held }) => held.update("value"),
  handOver: ({ held }) => held.handOver(),
  close: ({ client }) => client.close(),
  inspect: ({ client }) => client.inspect("held"),
  setLimit: ({ client }) => client.setLimit("s", 3),
  revoke: ({ client }) => client.revoke({ key: "held" }, { now: true }),
  take: ({ client }) => client.leases.take("leased", { owner: "me", ttlMs: 60_000 }),
  watch: ({ client }) => client.watch("k").begun,
};

/** When each call that is made at the freeze has its result, in milliseconds after it. */
async function servedMs(each: Scene, call: (scene: Scene) => Promise<unknown>): Promise<number> {
  const frozenMs = each.world.nowMs;
  await each.world.until(call(each), 2 * BOUND_MS);
  return each.world.nowMs - frozenMs;
}

describe("a node that is frozen", () => {
  it("delays no call for longer than five seconds, whatever the lease", async () => {
    for (const ttlMs of TTLS_MS) {
      for (const [name, call] of Object.entries(CALLS)) {
        const each = await scene(ttlMs);
        freezeLeader(each);
        expect(await servedMs(each, call), `${name} at ${ttlMs}`).toBeLessThanOrEqual(BOUND_MS);
        if (name === "close") expect(each.server.table.counts().sessions).toBe(0);
      }
    }
  });

  it("nor do two of five, of which the client finds one after the other", async () => {
    for (const ttlMs of TTLS_MS) {
      for (let attempt = 0; attempt < 8; attempt++) {
        const each = await scene(ttlMs, 5);
        await each.world.run(attempt * 10);
        freezeLeader(each, 3);
        const took = await servedMs(each, ({ client }) => client.tryAcquire("k"));
        expect(took).toBeLessThanOrEqual(BOUND_MS);
      }
    }
  });

  it("nor a call that is made while the client knows of nothing", async () => {
    for (const afterMs of [100, 1_000, 2_400, 2_600, 60_000]) {
      const each = await scene(300_000);
      freezeLeader(each);
      await each.world.run(afterMs);
      const took = await servedMs(each, ({ client }) => client.tryAcquire("k"));
      expect(took).toBeLessThanOrEqual(BOUND_MS);
    }
  });

  it("delays no wait for longer than that after its turn, nor those who wait behind it", async () => {
    for (const ttlMs of TTLS_MS) {
      for (const turnAfterMs of [0, 1_000, 8_000, 70_000]) {
        const each = await scene(ttlMs);
        const { world, server } = each;
        const other = await connectTo(server, { ttlMs });
        const behind = await connectTo(server, { ttlMs });
        const first = other.client.acquire("held");
        await world.run(10);
        const second = behind.client.acquire("held");
        await world.run(3_000);
        freezeLeader(each);
        await world.run(turnAfterMs);
        void each.held.release();
        while (server.isHeld("held", each.held.token)) await world.run(10);
        const turnMs = world.nowMs;
        const lock = await world.until(first, 2 * BOUND_MS);
        expect(world.nowMs - turnMs).toBeLessThanOrEqual(BOUND_MS);
        const releasedMs = world.nowMs;
        await world.until(lock.release());
        await world.until(second, 2 * BOUND_MS);
        expect(world.nowMs - releasedMs).toBeLessThanOrEqual(BOUND_MS);
      }
    }
  });

  it("keeps no change from a watch for longer than that", async () => {
    for (const ttlMs of TTLS_MS) {
      const each = await scene(ttlMs);
      const { world, server, client } = each;
      const watch = client.watch("watched");
      const admin = await world.until(
        connectAdminOn(new SimulatedPlatform(world, server), {
          ...ADMIN_DEFAULTS,
          endpoints: server.endpoints,
        }),
      );
      const watched = admin.watch("watched");
      await world.until(Promise.all([watch.begun, watched.begun]));
      await world.run(10_000);
      const changes = [watch.next(), watched.next()];
      freezeLeader(each);
      const frozenMs = world.nowMs;
      const other = await connectTo(server, { ttlMs: 60_000 });
      await world.until(other.client.acquire("watched"));
      await world.until(Promise.all(changes), 2 * BOUND_MS);
      expect(world.nowMs - frozenMs).toBeLessThanOrEqual(BOUND_MS);
      admin.close();
    }
  });

  it("delays no request of an operator for longer than that", async () => {
    const { world, server } = setUp();
    const platform = new SimulatedPlatform(world, server);
    const settings = { ...ADMIN_DEFAULTS, endpoints: server.endpoints, timeoutMs: 60_000 };
    const admin = await world.until(connectAdminOn(platform, settings));
    freezeLeader({ world, server });
    const frozenMs = world.nowMs;
    await world.until(admin.members());
    expect(world.nowMs - frozenMs).toBeLessThanOrEqual(BOUND_MS);
  });

  it("is left once: a client whose own process stood still reads first what came meanwhile", async () => {
    const each = await scene(300_000);
    const { world, server, client, platform } = each;
    const other = await connectTo(server, { ttlMs: 300_000 });
    void other.client.acquire("held");
    await world.run(1_000);
    const opened = server.opened.length;
    for (let i = 0; i < 50; i++) {
      // Stopped for all ages of a ping.
      await world.run(100 * i);
      other.platform.stop();
      await world.run(6_000);
      other.platform.goOn();
    }
    expect(server.opened.length).toBe(opened);
    expect(client.session).toBeGreaterThan(0);
    expect(platform.isStopped).toBe(false);
  });
});

describe("a node that is slow, and answers", () => {
  it("is not left before its time, and one that never answers is, whatever the lease", async () => {
    for (const ttlMs of TTLS_MS) {
      const each = await scene(ttlMs);
      const { world, server, client } = each;
      server.faults.isLeaderless = true;
      const opened = server.opened.length;
      const trying = client.tryAcquire("k");
      await world.run(4_500);
      expect(server.opened.length).toBe(opened);
      await world.run(1_000);
      expect(server.opened.length).toBeGreaterThan(opened);
      server.faults.isLeaderless = false;
      await world.until(trying);
    }
  });
});

describe("an idle client", () => {
  it("sends its renewals and nothing else", async () => {
    for (const [ttlMs, everyMs] of [
      [15_000, 5_500],
      [60_000, 46_000],
      [300_000, 262_000],
      [600_000, 532_000],
    ] as const) {
      const { world, server } = setUp();
      const { client, platform } = await connectTo(server, { ttlMs });
      await world.run(1_000);
      const before = platform.framesSent;
      await world.run(3_600_000);
      expect(platform.framesSent - before).toBeLessThanOrEqual(3_600_000 / everyMs + 1);
      expect(client.session).toBeGreaterThan(0);
    }
  });

  it("that only holds a lock asks no more often than before", async () => {
    const each = await scene(60_000);
    const before = each.platform.framesSent;
    await each.world.run(600_000);
    expect(each.platform.framesSent - before).toBeLessThanOrEqual(41);
    expect(each.held.isHeld).toBe(true);
  });
});

describe("a cluster that was founded again", () => {
  it("is adopted at once by a client that holds nothing, and by a holder when its lease is over", async () => {
    for (const ttlMs of TTLS_MS) {
      const { world, server } = setUp();
      const idle = await connectTo(server, { ttlMs });
      const waiter = await connectTo(server, { ttlMs });
      const holder = await connectTo(server, { ttlMs });
      const lock = await world.until(holder.client.acquire("k"));
      const waiting = waiter.client.acquire("k").catch((error) => error);
      await world.run(1_000);
      for (const connection of [...server.connections]) connection.cut();
      server.clusterId = "founded again";
      const frozenMs = world.nowMs;
      await world.until(idle.client.tryAcquire("other"));
      expect(await world.until(waiting)).toMatchObject({ code: "SESSION_EXPIRED" });
      expect(world.nowMs - frozenMs).toBeLessThanOrEqual(1_000);
      expect(lock.isHeld).toBe(true);
      await world.until(holder.client.acquire("more"), ttlMs);
      expect(lock.isHeld).toBe(false);
    }
  });

  it("is not taken for the client's own while a node of that one is left", async () => {
    for (let seed = 1; seed <= 10; seed++) {
      const { world, server } = setUp(seed);
      const { client, platform } = await connectTo(server, { ttlMs: 300_000 });
      const { session } = client;
      const hello = server.hello.bind(server);
      server.hello = (id) => (id === 3 ? hello(id) : { ...hello(id), clusterId: "other" });
      server.leaderId = 3;
      platform.connection?.cut();
      await world.until(client.tryAcquire("k"));
      expect(platform.connection?.nodeId).toBe(3);
      expect(client.session).toBe(session);
    }
  });
});
