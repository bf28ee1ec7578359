/**
 * How long a client is without service when its node goes away. The network takes 1 ms each way and
 * the cluster commits in 1 ms, so whatever takes longer here is a pause that the client made
 * itself.
 */
import { describe, expect, it } from "vitest";
import { CLIENT_DEFAULTS, type Client, connectOn } from "../../../src/client/index.js";
import { MESSAGE } from "../../../src/protocol/index.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";
import { SimulatedWorld } from "../world/simulated-world.js";
import { TableServer } from "../world/table-server.js";

const HOP_MS = 1;
/** Long enough that the node counts as one that served well. */
const STEADY_MS = 1_500;
/** How long a client stays with another node than the leader after it lost its own. */
const CALM_MS = { min: 30_000, max: 60_000 } as const;
/** A node's hello, attaching and one command: two ways each but the first, which begins at once. */
const ATTACHED_AND_ASKED_MS = HOP_MS + 2 * HOP_MS + 1 + 2 * HOP_MS + 1;

interface Scene {
  readonly world: SimulatedWorld;
  readonly server: TableServer;
  readonly client: Client;
  readonly platform: SimulatedPlatform;
}

async function scene(seed: number, nodeCount = 3, livesMs = STEADY_MS): Promise<Scene> {
  const world = new SimulatedWorld(seed);
  const server = new TableServer(world, nodeCount);
  server.faults.latencyMs = [HOP_MS, HOP_MS];
  server.faults.commitMs = [1, 1];
  const platform = new SimulatedPlatform(world, server);
  const settings = { ...CLIENT_DEFAULTS, endpoints: server.endpoints };
  const client = await world.until(connectOn(platform, settings));
  await world.run(livesMs);
  expect(platform.connection?.nodeId).toBe(1);
  return { world, server, client, platform };
}

/** From now until a lock that is asked for now is granted. */
async function outageMs({ world, client }: Scene, key: string): Promise<number> {
  const startedMs = world.nowMs;
  await world.until(client.acquire(key));
  return world.nowMs - startedMs;
}

/** The nodes to which connections were opened from the `from`th on. */
function openedSince({ server }: Scene, from: number): number[] {
  return server.opened.slice(from);
}

describe("a leader that is killed", () => {
  it("is followed by another node at once, which is believed in nothing that leads back", async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const each = await scene(seed);
      const { server, platform } = each;
      const opened = server.opened.length;
      // Nobody has noticed: the others still say that node 1 leads.
      server.faults.downNodes.add(1);
      platform.connection?.cut();
      expect(await outageMs(each, "a")).toBeLessThanOrEqual(ATTACHED_AND_ASKED_MS);
      expect(openedSince(each, opened)).toHaveLength(1);
      expect(openedSince(each, opened)).not.toContain(1);
    }
  });

  it("costs no more than the election when the others know of no leader yet", async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const each = await scene(seed);
      const { world, server, platform } = each;
      const opened = server.opened.length;
      server.faults.downNodes.add(1);
      server.faults.isLeaderless = true;
      const electionMs = 80;
      world.after(electionMs, () => {
        server.leaderId = 3;
        server.faults.isLeaderless = false;
      });
      platform.connection?.cut();
      // 5 ms is how often the nodes look whether somebody leads.
      expect(await outageMs(each, "a")).toBeLessThanOrEqual(electionMs + 5 + 2 * HOP_MS + 4);
      // Both others were asked, and one of them was gone back to.
      expect(openedSince(each, opened).sort()).toEqual(expect.arrayContaining([2, 3]));
      expect(openedSince(each, opened)).toHaveLength(3);
    }
  });

  it("is replaced by the first node that serves, and later by the one that leads", async () => {
    const firsts = new Set<number>();
    for (let seed = 1; seed <= 20; seed++) {
      const each = await scene(seed);
      const { world, server, client, platform } = each;
      const held = await world.until(client.acquire("held"));
      const opened = server.opened.length;
      server.faults.downNodes.add(1);
      server.leaderId = 2;
      platform.connection?.cut();
      expect(await outageMs(each, "a")).toBeLessThanOrEqual(ATTACHED_AND_ASKED_MS);
      const [first = 0, ...others] = openedSince(each, opened);
      expect(others).toEqual([]);
      firsts.add(first);
      // A thousand clients that did the same would move at different times.
      await world.run(CALM_MS.min - 1_000);
      expect(platform.connection?.nodeId).toBe(first);
      await world.run(CALM_MS.max - CALM_MS.min + 2_000);
      expect(openedSince(each, opened)).toEqual(first === 2 ? [2] : [first, 2]);
      expect(platform.connection?.nodeId).toBe(2);
      expect(held.isHeld).toBe(true);
    }
    expect([...firsts].sort()).toEqual([2, 3]);
  });

  it("is not waited for when its whole machine is gone", async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const each = await scene(seed);
      const { server, platform } = each;
      const opened = server.opened.length;
      server.faults.silentNodes.add(1);
      server.faults.isLeaderless = true;
      each.world.after(50, () => {
        server.leaderId = 2;
        server.faults.isLeaderless = false;
      });
      platform.connection?.cut();
      expect(await outageMs(each, "a")).toBeLessThan(70);
      expect(openedSince(each, opened)).not.toContain(1);
    }
  });

  it("makes no difference when the connection to it was young", async () => {
    const each = await scene(1, 3, 20);
    each.server.faults.downNodes.add(1);
    each.platform.connection?.cut();
    expect(await outageMs(each, "a")).toBeLessThanOrEqual(ATTACHED_AND_ASKED_MS);
  });

  it("is gone back to in the end, when it is all there is", async () => {
    const each = await scene(1, 1);
    const { world, server, platform } = each;
    server.faults.downNodes.add(1);
    world.after(500, () => server.faults.downNodes.clear());
    platform.connection?.cut();
    const outage = await outageMs(each, "a");
    expect(outage).toBeGreaterThan(500);
    // Pauses of at most 40, 80, 160, 320 and 640 ms: the last of them may begin just before.
    expect(outage).toBeLessThan(500 + 640 + ATTACHED_AND_ASKED_MS);
  });
});

describe("several nodes that are gone", () => {
  it("are each tried once without a pause until one serves", async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const each = await scene(seed, 5);
      const { server, platform } = each;
      const opened = server.opened.length;
      for (const id of [1, 2, 3, 4]) server.faults.downNodes.add(id);
      platform.connection?.cut();
      const outage = await outageMs(each, "a");
      const attempts = openedSince(each, opened);
      expect(attempts.at(-1)).toBe(5);
      expect(new Set(attempts).size).toBe(attempts.length);
      expect(outage).toBeLessThanOrEqual(attempts.length * HOP_MS + ATTACHED_AND_ASKED_MS);
    }
  });

  it("are tried in rounds with growing pauses when none serves", async () => {
    const each = await scene(3);
    const { world, server, platform } = each;
    const attempts: number[] = [];
    const connect = server.connect.bind(server);
    server.connect = (url, events) => {
      attempts.push(world.nowMs);
      return connect(url, events);
    };
    for (const id of [1, 2, 3]) server.faults.downNodes.add(id);
    platform.connection?.cut();
    await world.run(4_000);
    const pauses = attempts.slice(1).map((atMs, i) => atMs - (attempts[i] ?? 0));
    // The first round of three, and every later one, without a pause inside.
    expect(pauses.slice(0, 2).every((pauseMs) => pauseMs <= 2 * HOP_MS)).toBe(true);
    const between = pauses.filter((pauseMs) => pauseMs > 2 * HOP_MS);
    expect(between.length).toBeGreaterThanOrEqual(5);
    expect(between[0]).toBeLessThanOrEqual(40 + 2 * HOP_MS);
    expect(between[4]).toBeGreaterThanOrEqual(300);
    expect(Math.max(...between)).toBeLessThanOrEqual(1_000 + 2 * HOP_MS);
  });
});

describe("a node that says so itself", () => {
  it.each([1001, 1012, 1013])("is left at once when it closes with %i", async (code) => {
    const each = await scene(code);
    const { server, platform } = each;
    server.leaderId = 2;
    server.faults.downNodes.add(1);
    platform.connection?.close(code, "stopping");
    // One hop for the close.
    expect(await outageMs(each, "a")).toBeLessThanOrEqual(HOP_MS + ATTACHED_AND_ASKED_MS);
    expect(platform.connection?.nodeId).not.toBe(1);
  });

  it("is left at once when it asks its clients to move, as a leader does that is cut off", async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const each = await scene(seed);
      const { world, server, client, platform } = each;
      const cutOff = platform.connection;
      // What reaches the node goes nowhere: it has no quorum.
      if (cutOff !== undefined) cutOff.isDeaf = true;
      const waiting = client.acquire("a");
      await world.run(200);
      server.leaderId = 3;
      cutOff?.push({ kind: MESSAGE.move });
      cutOff?.flush();
      const toldMs = world.nowMs;
      const lock = await world.until(waiting);
      expect(lock.isHeld).toBe(true);
      expect(world.nowMs - toldMs).toBeLessThanOrEqual(2 * HOP_MS + ATTACHED_AND_ASKED_MS);
      expect(platform.connection?.nodeId).not.toBe(1);
    }
  });
});

describe("a node that was busy", () => {
  it("makes nobody wait at the next one", async () => {
    const each = await scene(1);
    const { world, server, client, platform } = each;
    server.faults.busy = "commands";
    const refused = client.acquire("a");
    await world.run(3_000);
    server.faults.busy = "nothing";
    platform.connection?.cut();
    const startedMs = world.nowMs;
    await Promise.all([world.until(refused), world.until(client.acquire("b"))]);
    expect(world.nowMs - startedMs).toBeLessThanOrEqual(2 * HOP_MS + ATTACHED_AND_ASKED_MS);
  });
});
