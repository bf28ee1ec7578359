/**
 * How a client finds a node that serves it, attaches its session there, and goes to another node.
 */
import { describe, expect, it } from "vitest";
import { CLIENT_DEFAULTS, connectOn } from "../../../src/client/index.js";
import { OP } from "../../../src/protocol/index.js";
import { failure, rejection, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";

describe("finding a node", () => {
  it("goes to the leader that the first node names, whichever it asked", async () => {
    for (let seed = 1; seed <= 12; seed++) {
      const { world, server } = setUp(seed);
      server.leaderId = 1 + (seed % 3);
      const { client, platform } = await connectTo(server);
      expect(platform.connection?.nodeId).toBe(server.leaderId);
      expect(server.opened.length).toBeLessThanOrEqual(2);
      await world.until(client.close());
    }
  });

  it("learns the other endpoints from the one it was given", async () => {
    const { server } = setUp();
    server.leaderId = 3;
    const { client, platform } = await connectTo(server, { endpoints: ["ws://node-2:7411/"] });
    expect(platform.connection?.nodeId).toBe(3);
    expect([...client.endpoints].sort()).toEqual(server.endpoints);
  });

  it("stays with the endpoints it was given when it is not to follow the leader", async () => {
    const { server } = setUp();
    server.leaderId = 3;
    const endpoints = ["ws://node-2:7411"];
    const { client, platform } = await connectTo(server, { endpoints, followLeader: false });
    expect(platform.connection?.nodeId).toBe(2);
    expect(client.endpoints).toEqual(endpoints);
  });

  it("uses a follower while the leader cannot be reached", async () => {
    const { server, world } = setUp();
    server.faults.downNodes.add(1);
    const { client, platform } = await connectTo(server);
    expect(platform.connection?.nodeId).not.toBe(1);
    expect((await world.until(client.acquire("a"))).isHeld).toBe(true);
  });

  it("waits at a node without a leader only after it asked all, and is served once one leads", async () => {
    const { server, world } = setUp();
    server.faults.isLeaderless = true;
    world.after(300, () => {
      server.faults.isLeaderless = false;
    });
    const { client } = await connectTo(server);
    expect(new Set(server.opened.slice(0, 3)).size).toBe(3);
    expect(client.session).toBeGreaterThan(0);
  });

  it("rejects as UNAVAILABLE, naming the last failure, when nobody answers in time", async () => {
    const { server, world } = setUp();
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    const error = await failure(world, connectTo(server, { connectTimeoutMs: 5_000 }));
    expect(error.code).toBe("UNAVAILABLE");
    expect(error.message).toContain("connection refused");
    expect(world.nowMs).toBeGreaterThanOrEqual(5_000);
    expect(world.nowMs).toBeLessThan(5_100);
    // Pauses grow to a second: a cluster that is down is not flooded.
    expect(server.opened.length).toBeLessThan(60);
  });

  it("names the node that does not answer when time is over before it is left", async () => {
    const { server, world } = setUp();
    server.faults.commitMs = [60_000, 60_000];
    const error = await failure(world, connectTo(server, { connectTimeoutMs: 300 }));
    expect(error.message).toMatch(/^no node serves: ws:\/\/node-1:7411: does not answer( |$)/);
    server.faults.latencyMs = [60_000, 60_000];
    const unheard = await failure(world, connectTo(server, { connectTimeoutMs: 300 }));
    expect(unheard.message).toMatch(/^no node serves: ws:\/\/node-\d:7411: does not answer( |$)/);
  });

  it("rejects with the reason of its signal", async () => {
    const { server, world } = setUp();
    server.faults.isLeaderless = true;
    const controller = new AbortController();
    const reason = new Error("changed my mind");
    world.after(50, () => controller.abort(reason));
    expect(await rejection(world, connectTo(server, { signal: controller.signal }))).toBe(reason);
    const again = connectTo(server, { signal: controller.signal });
    expect(await rejection(world, again)).toBe(reason);
  });

  it("rejects as PROTOCOL when nodes say again and again that it breaks the protocol", async () => {
    const { server, world } = setUp();
    const platform = new SimulatedPlatform(world, server);
    const open = platform.open.bind(platform);
    let refusals = 0;
    platform.open = (url, events) => {
      const transport = open(url, events);
      const { connection } = platform;
      world.after(10, () => connection?.close(1008, "wrong subprotocol"));
      refusals += 1;
      return transport;
    };
    server.faults.commitMs = [5_000, 5_000];
    const settings = { ...CLIENT_DEFAULTS, endpoints: server.endpoints };
    const error = await failure(world, connectOn(platform, settings));
    expect(error.code).toBe("PROTOCOL");
    expect(error.details).toMatchObject({ closeCode: 1008, reason: "wrong subprotocol" });
    expect(refusals).toBeLessThan(8);
  });

  it("waits and asks again when the session is refused for the moment", async () => {
    const { server, world } = setUp();
    server.faults.busy = "everything";
    world.after(400, () => {
      server.faults.busy = "nothing";
    });
    const { client } = await connectTo(server);
    expect(client.session).toBeGreaterThan(0);
    expect(server.opened.length).toBeLessThanOrEqual(2);
  });
});

describe("losing a node", () => {
  it.each([1001, 1012, 1013])("goes to another one at once on close code %i", async (code) => {
    const { server, world } = setUp();
    const { client, platform } = await connectTo(server);
    const { session } = client;
    const before = platform.connection;
    server.faults.downNodes.add(1);
    server.leaderId = 2;
    server.faults.latencyMs = [1, 1];
    const openedBefore = server.opened.length;
    before?.close(code, "going away");
    await world.run(1.5);
    expect(server.opened.length).toBe(openedBefore + 1);
    const lock = await world.until(client.acquire("a"));
    expect(lock.isHeld).toBe(true);
    expect(client.session).toBe(session);
    expect(platform.connection?.nodeId).toBe(2);
  });

  it("again and again, however politely it is told to go, makes it wait longer each time", async () => {
    const { server, world } = setUp();
    await connectTo(server, { ttlMs: 60_000 });
    const attached = server.attached.bind(server);
    const sendAway = () => {
      for (const connection of server.connections) connection.close(1013, "later");
    };
    server.attached = (message) => {
      attached(message);
      world.after(0, sendAway);
    };
    sendAway();
    await world.run(10_000);
    // Pauses grow to a second.
    expect(server.opened.length).toBeLessThan(60);
    expect(server.opened.length).toBeGreaterThan(10);
  });

  it("moves when told to, and stays when only the leader changes", async () => {
    const { server, world } = setUp();
    const { platform } = await connectTo(server);
    const before = platform.connection;
    server.leaderId = 2;
    before?.push({ kind: 9, leaderId: 2, endpoints: server.nodes });
    before?.flush();
    await world.run(200);
    expect(platform.connection).toBe(before);
    before?.push({ kind: 10 });
    before?.flush();
    await world.run(200);
    expect(platform.connection?.nodeId).toBe(2);
  });

  it("leaves a silent node a third of the TTL after what is unanswered", async () => {
    const { server, world } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 3_000 });
    await world.run(10);
    const before = platform.connection;
    if (before !== undefined) before.isBlackhole = true;
    const sentAtMs = world.nowMs;
    const lock = await world.until(client.acquire("a"));
    expect(lock.isHeld).toBe(true);
    expect(platform.connection).not.toBe(before);
    expect(world.nowMs - sentAtMs).toBeGreaterThanOrEqual(1_000);
    expect(world.nowMs - sentAtMs).toBeLessThan(1_100);
  });

  it("leaves it so, and keeps the session, after the late keepalive of one that has nothing", async () => {
    const { server, world } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 15_000 });
    const { session } = client;
    await world.run(5_400);
    const before = platform.connection;
    if (before !== undefined) before.isBlackhole = true;
    // The keepalive leaves at 5.5 s, and the node is silent for 2.5 s after it.
    await world.run(2_600);
    expect(platform.connection).toBe(before);
    await world.run(150);
    expect(platform.connection).not.toBe(before);
    await world.run(15_000);
    expect(client.session).toBe(session);
  });

  it("does not wait long for a node that lets nobody attach, however long the TTL", async () => {
    const { server, world } = setUp();
    const platform = new SimulatedPlatform(world, server);
    const settings = { ...CLIENT_DEFAULTS, endpoints: server.endpoints, ttlMs: 600_000 };
    server.faults.isLeaderless = true;
    void connectOn(platform, settings).catch(() => undefined);
    await world.run(9_000);
    expect(server.opened.length).toBeGreaterThan(4);
  });

  it("raises the attempt with every transmission, over sessions too", async () => {
    const { server, world } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 1_000 });
    for (let i = 0; i < 3; i++) {
      platform.connection?.cut();
      await world.run(300);
    }
    platform.stop();
    await world.run(3_000);
    platform.goOn();
    await world.run(1_000);
    expect(client.session).toBeGreaterThan(0);
    const attempts = server.applied.flatMap((command) =>
      command.op === OP.open || command.op === OP.resume ? [command.attempt] : [],
    );
    expect(attempts.length).toBeGreaterThanOrEqual(5);
    expect(attempts).toEqual([...new Set(attempts)].sort((a, b) => a - b));
  });
});

describe("a node of another cluster", () => {
  it("is left at once, and what it says of its nodes is not believed", async () => {
    const { server, world } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 60_000 });
    const { session } = client;
    const lock = await world.until(client.acquire("a"));
    const hello = server.hello.bind(server);
    server.hello = (nodeId) => {
      const endpoints = [{ id: 1, endpoint: "ws://stranger:7411" }];
      return nodeId === 2 ? { ...hello(2), clusterId: "other", endpoints } : hello(nodeId);
    };
    server.faults.downNodes.add(1);
    server.leaderId = 3;
    for (let i = 0; i < 5; i++) {
      platform.connection?.cut();
      await world.run(1_000);
      expect(platform.connection?.nodeId).toBe(3);
    }
    expect(server.opened.slice(1)).toContain(2);
    expect(server.opened).not.toContain(0);
    expect([...client.endpoints].sort()).toEqual(server.endpoints);
    expect(client.session).toBe(session);
    expect(lock.isHeld).toBe(true);
  });

  it("is not shown a session that it cannot have, but asked for another when the lease is over", async () => {
    const { server, world } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 2_000 });
    const other = await connectTo(server, { ttlMs: 60_000 });
    const { session } = client;
    await world.until(other.client.acquire("k"));
    const waiting = failure(world, client.acquire("k"));
    await world.run(50);
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    platform.connection?.cut();
    await world.run(2_500);
    // As after a restore from a backup.
    server.clusterId = "restored";
    server.faults.downNodes.clear();
    expect(await waiting).toMatchObject({ code: "SESSION_EXPIRED" });
    expect((await world.until(client.acquire("a"))).isHeld).toBe(true);
    expect(client.session).not.toBe(session);
    expect(server.applied.filter(({ op }) => op === OP.resume)).toEqual([]);
  });
});
