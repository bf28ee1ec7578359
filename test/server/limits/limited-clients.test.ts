/**
 * What a node refuses to the clients of an identity that want too much, and what it never refuses. The
 * time of these worlds passes only when a test says so.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { MESSAGE, OP, type Query, STATUS } from "../../../src/protocol/index.js";
import { showToken, startClosedCluster } from "../world/closed-cluster.js";
import { startCluster } from "../world/cluster.js";
import type { TestClient } from "../world/test-client.js";
import type { World } from "../world/world.js";

const { BUSY, QUOTA } = ERROR_NUMBERS;
const GRANTED = STATUS.granted;
const IDENTITIES = { greedy: "acquire", modest: "acquire" } as const;

/** Attaches a client that has connected. */
async function attach(world: World, client: TestClient): Promise<TestClient> {
  client.attach();
  await world.until("attached", () => client.session > 0);
  return client;
}

/** The status of each of `count` acquires of keys of its own, one after the other. */
async function acquireMany(client: TestClient, count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < count; i += 1) {
    statuses.push(await client.untilStatus(client.acquire(`${client.nonce}/${i}`)));
  }
  return statuses;
}

async function read(world: World, client: TestClient, query: Query): Promise<number> {
  client.query(query);
  await world.until("an answer", () => client.answer(query.id) !== undefined);
  return client.answer(query.id)?.status as number;
}

/** How often a node logged that a limit was exceeded. */
function linesOf(world: World): string[] {
  return world.story.filter((line) => line.includes("limit exceeded"));
}

describe("commands of an identity beyond its limit", () => {
  const limits = { commandsPerSecondMax: 50 };

  test("are answered BUSY until time has passed, and others' are not", async () => {
    const { world, leader, signedIn } = await startClosedCluster(IDENTITIES, { limits });
    const clients = [await signedIn("greedy", leader), await signedIn("greedy", leader)];
    const [first, second] = await Promise.all(clients.map((client) => attach(world, client)));
    const modest = await attach(world, await signedIn("modest", leader));
    if (first === undefined || second === undefined) throw new Error("two clients");
    expect(await acquireMany(first, 300)).toContain(BUSY);
    expect(await second.untilStatus(second.acquire("b"))).toBe(BUSY);
    expect(await modest.untilStatus(modest.acquire("c"))).toBe(GRANTED);
    await world.run(1_000);
    expect(await second.untilStatus(second.acquire("b"))).toBe(GRANTED);
    expect(linesOf(world)).toHaveLength(1);
    expect(linesOf(world)[0]).toContain('"limit":"commands","identity":"greedy","max":50');
  });

  test("are refused at each node by what was asked for there", async () => {
    const { world, leader, followers, signedIn } = await startClosedCluster(IDENTITIES, { limits });
    const here = await attach(world, await signedIn("greedy", leader));
    const there = await attach(world, await signedIn("greedy", followers[0]));
    expect(await acquireMany(here, 300)).toContain(BUSY);
    expect(await there.untilStatus(there.acquire("b"))).toBe(GRANTED);
  });

  test("are not refused if they give something back, nor are keepalives and resumes", async () => {
    const { world, leader, signedIn } = await startClosedCluster(IDENTITIES, { limits });
    const client = await attach(world, await signedIn("greedy", leader));
    const held = client.acquire("held");
    await client.untilReply(held);
    expect(await acquireMany(client, 300)).toContain(BUSY);
    for (let i = 0; i < 200; i += 1) client.end(i + 1_000);
    const release = client.end(held);
    const keepalive = client.keepalive();
    expect((await client.untilReply(release)).result.status).toBe(STATUS.released);
    await world.until("a renewal", () => client.renewed(keepalive) !== undefined);
    expect(await client.untilStatus(client.acquire("more"))).toBe(BUSY);
    const back = world.client();
    Object.assign(back, { nonce: client.nonce, session: client.session, attempt: client.attempt });
    back.connect(leader);
    await showToken(world, back, "greedy");
    back.attach();
    await world.until("resumed", () => back.attached(back.attempt)?.status === STATUS.ok);
  });

  test("are refused as the opening of a session, in words that every client knows", async () => {
    const { world, leader, signedIn } = await startClosedCluster(IDENTITIES, { limits });
    const client = await attach(world, await signedIn("greedy", leader));
    const held = client.acquire("held");
    for (let i = 0; i < 200; i += 1) client.end(held);
    const late = await signedIn("greedy", leader);
    late.attach();
    await world.until("an answer", () => late.attached(1) !== undefined);
    expect(late.attached(1)?.status).toBe(BUSY);
    await world.run(1_000);
    await attach(world, late);
  });

  test("are read late, and requests of others at once, even if they are keepalives", async () => {
    const { world, leader, signedIn } = await startClosedCluster(IDENTITIES, { limits });
    const greedy = await attach(world, await signedIn("greedy", leader));
    const second = await attach(world, await signedIn("greedy", leader));
    const modest = await attach(world, await signedIn("modest", leader));
    for (let i = 0; i < 500; i += 1) greedy.keepalive();
    await world.run(20);
    const keepalive = greedy.keepalive();
    expect(await modest.untilStatus(modest.acquire("a"))).toBe(GRANTED);
    await modest.untilReply(modest.end(modest.lastSequence));
    expect(await second.untilStatus(second.acquire("b"))).toBe(BUSY);
    await world.run(500);
    expect(greedy.renewed(keepalive)).toBe(undefined);
    await world.run(1_000);
    expect(greedy.renewed(keepalive)).toBeDefined();
    expect(await second.untilStatus(second.acquire("b"))).toBe(GRANTED);
  });

  test("cost what they are long: after large ones, what gives something back is read late", async () => {
    const { world, leader, signedIn } = await startClosedCluster(IDENTITIES, { limits });
    const greedy = await attach(world, await signedIn("greedy", leader));
    for (let i = 0; i < 10; i += 1) {
      greedy.lastSequence += 1;
      const head = { sequence: greedy.lastSequence, mark: 1, acknowledged: [] };
      const items = Array.from({ length: 16 }, (_, j) => {
        return { key: `${i}/${j}/`.padEnd(400, "k"), mode: "exclusive" } as const;
      });
      greedy.send({ op: OP.acquire, ...head, task: 1, items, waitMs: 0 });
    }
    const large = greedy.lastSequence;
    expect(await greedy.untilStatus(large)).toBe(GRANTED);
    const release = greedy.end(large);
    await world.run(500);
    expect(greedy.reply(release)).toBe(undefined);
    await world.run(700);
    expect(greedy.reply(release)?.result.status).toBe(STATUS.released);
    expect(greedy.closed).toBe(undefined);
  });

  test("are let in if the identity has admin", async () => {
    const { world, leader, signedIn } = await startClosedCluster(IDENTITIES, { limits });
    const root = await attach(world, await signedIn("root", leader));
    expect(new Set(await acquireMany(root, 300))).toEqual(new Set([GRANTED]));
    expect(linesOf(world)).toEqual([]);
  });

  test("are let in on an open cluster, where everybody is an admin", async () => {
    const { world, leader } = await startCluster({ limits });
    const client = world.client();
    client.connect(leader);
    await attach(world, client);
    expect(new Set(await acquireMany(client, 300))).toEqual(new Set([GRANTED]));
  });
});

describe("commands of an identity that wait while no leader takes them", () => {
  const tuning = { uncommittedBytesMax: 32 << 10, batchBytesMax: 8 << 10 };

  async function startFull(more: (client: TestClient) => void) {
    const cluster = await startClosedCluster(IDENTITIES, { tuning });
    const { world, leader, followers, signedIn } = cluster;
    const [near, far] = followers;
    const modest = await attach(world, await signedIn("modest", near));
    const greedy: TestClient[] = [];
    for (let i = 0; i < 4; i += 1) greedy.push(await attach(world, await signedIn("greedy", near)));
    world.network.cut([near.id], [leader.id, far.id]);
    for (let round = 0; round < 500; round += 1) for (const client of greedy) more(client);
    await world.run(5);
    return { world, greedy, modest };
  }

  async function expectServed(world: World, modest: TestClient): Promise<void> {
    const sequence = modest.acquire("modest");
    const keepalive = modest.keepalive();
    await world.run(5);
    const refused = modest.received.filter(({ kind }) => kind === MESSAGE.refused);
    expect(refused).toEqual([]);
    world.network.heal();
    expect(await modest.untilStatus(sequence)).toBe(GRANTED);
    await world.until("a renewal", () => modest.renewed(keepalive) !== undefined);
  }

  test("leave room for the requests of others", async () => {
    const long = "k".repeat(200);
    const { world, greedy, modest } = await startFull((client) => client.acquire(long));
    const isBusy = ({ received }: TestClient): boolean =>
      received.some((message) => message.kind === MESSAGE.refused && message.status === BUSY);
    await world.until("no room", () => greedy.every(isBusy));
    await expectServed(world, modest);
  });

  test("leave room for the requests of others, even if they are keepalives", async () => {
    const { world, modest } = await startFull((client) => client.keepalive());
    await expectServed(world, modest);
  });
});

describe("commands from an address beyond its limit", () => {
  const limits = { commandsPerSecondMax: 50 };

  test("are answered BUSY for every identity, and from other addresses are not", async () => {
    const { world, leader } = await startCluster({ limits });
    const connected = async (address: string): Promise<TestClient> => {
      const client = world.client();
      client.connect(leader, { address });
      return attach(world, client);
    };
    const [first, second] = [await connected("10.0.0.1"), await connected("10.0.0.1")];
    const other = await connected("10.0.0.2");
    expect(await acquireMany(first, 300)).toContain(BUSY);
    expect(await second.untilStatus(second.acquire("b"))).toBe(BUSY);
    expect(await other.untilStatus(other.acquire("c"))).toBe(GRANTED);
    expect(linesOf(world)[0]).toContain('"limit":"commands","address":"10.0.0.1","max":50');
  });

  test("are let in from the machine of the node", async () => {
    const { world, leader } = await startCluster({ limits });
    for (const address of ["", "127.0.0.1", "0:0:0:0::/64"]) {
      const client = world.client();
      client.connect(leader, { address });
      await attach(world, client);
      expect(new Set(await acquireMany(client, 200))).toEqual(new Set([GRANTED]));
    }
  });
});

describe("reads of an identity", () => {
  const limits = { readCostPerSecondMax: 4_096 };
  const page = (id: number): Query => ({
    op: OP.query,
    id,
    prefix: "",
    after: undefined,
    limit: 1,
  });
  const inspect = (id: number): Query => ({ op: OP.inspect, id, key: "a" });

  test("beyond its limit are answered BUSY until time has passed, and others' are not", async () => {
    const { world, leader, signedIn } = await startClosedCluster(IDENTITIES, { limits });
    const [greedy, modest] = [await signedIn("greedy", leader), await signedIn("modest", leader)];
    const statuses: number[] = [];
    for (let id = 10; id < 30; id += 1) statuses.push(await read(world, greedy, page(id)));
    expect(statuses).toContain(BUSY);
    expect(greedy.answer(10 + statuses.indexOf(BUSY))?.payload).toEqual({ indeterminate: false });
    expect(await read(world, greedy, inspect(30))).toBe(BUSY);
    expect(await read(world, modest, page(10))).toBe(STATUS.ok);
    await world.run(2_000);
    expect(await read(world, greedy, inspect(31))).toBe(STATUS.ok);
    expect(linesOf(world)).toHaveLength(1);
  });

  test("cost as much as a page of a list if they are for the vitals of a node", async () => {
    const { world, leader, signedIn } = await startClosedCluster(IDENTITIES, { limits });
    const greedy = await signedIn("greedy", leader);
    const statuses: number[] = [];
    for (let id = 10; id < 30; id += 1)
      statuses.push(await read(world, greedy, { op: OP.vitals, id, node: 0, after: 0 }));
    expect(statuses[0]).toBe(STATUS.ok);
    expect(statuses).toContain(BUSY);
  });

  test("cost what they show: a crowded key costs more than an empty one", async () => {
    const crowd = { ...limits, readCostPerSecondMax: 300 };
    const { world, leader, signedIn } = await startClosedCluster(IDENTITIES, { limits: crowd });
    const holder = await attach(world, await signedIn("modest", leader));
    const holders = 100;
    for (let i = 0; i < holders; i += 1) {
      const head = { sequence: holder.lastSequence + 1, mark: 1, acknowledged: [] };
      holder.lastSequence += 1;
      const items = [{ key: "crowded", mode: "shared" }] as const;
      holder.send({ op: OP.acquire, ...head, task: i + 1, items, waitMs: 0 });
    }
    await holder.untilReply(holders);
    const count = async (name: string, key: string): Promise<number> => {
      const client = await signedIn(name, leader);
      for (let id = 10; ; id += 1) {
        if ((await read(world, client, { op: OP.inspect, id, key })) === BUSY) return id - 10;
      }
    };
    const crowded = await count("greedy", "crowded");
    expect(crowded).toBeLessThan(10);
    expect(await count("modest", "empty")).toBeGreaterThan(2 * crowded);
  });
});

describe("watches of an identity", () => {
  const watch = (id: number): Query => {
    return { op: OP.watch, id, key: "", isPrefix: true, after: undefined };
  };

  test("cost as reads what they catch up, and are answered BUSY when that is spent", async () => {
    const limits = { readCostPerSecondMax: 200 };
    const { world, leader, signedIn } = await startClosedCluster(IDENTITIES, { limits });
    const writer = await attach(world, await signedIn("modest", leader));
    for (let i = 0; i < 200; i += 1) await writer.untilReply(writer.acquire(`k/${i}`));
    const count = async (name: string, isOld: boolean): Promise<number> => {
      const client = await signedIn(name, leader);
      const after = isOld ? { index: 1, number: 1 } : undefined;
      for (let id = 10; ; id += 1) {
        const status = await read(world, client, { ...watch(id), after } as Query);
        if (status === BUSY) return id - 10;
        expect(status).toBe(STATUS.ok);
        await read(world, client, { op: OP.unwatch, id: 1_000 + id, watch: id });
      }
    };
    const old = await count("greedy", true);
    expect(old).toBeLessThan(10);
    const recent = await count("modest", false);
    expect(recent).toBeGreaterThan(old + 3);
    expect(recent).toBeLessThan(30);
  });

  test("beyond its limit are refused with QUOTA and a sentence, until others have ended", async () => {
    const limits = { watchesMax: 3 };
    const { world, leader, signedIn } = await startClosedCluster(IDENTITIES, { limits });
    const [first, second] = [await signedIn("greedy", leader), await signedIn("greedy", leader)];
    const modest = await signedIn("modest", leader);
    expect(await read(world, first, watch(10))).toBe(STATUS.ok);
    expect(await read(world, first, watch(11))).toBe(STATUS.ok);
    expect(await read(world, second, watch(10))).toBe(STATUS.ok);
    expect(await read(world, second, watch(11))).toBe(QUOTA);
    expect(second.answer(11)?.payload).toEqual({
      message: "this identity has all the watches of this node that one may have (3)",
    });
    expect(await read(world, modest, watch(10))).toBe(STATUS.ok);
    expect(await read(world, first, { op: OP.unwatch, id: 12, watch: 10 })).toBe(STATUS.ok);
    expect(await read(world, second, watch(13))).toBe(STATUS.ok);
    expect(await read(world, second, watch(14))).toBe(QUOTA);
    first.disconnect();
    await world.run(100);
    expect(await read(world, second, watch(15))).toBe(STATUS.ok);
  });
});

describe("connections of an identity", () => {
  test("beyond its limit are closed with 1013 and a sentence at their first request", async () => {
    const limits = { connectionsMax: 2 };
    const { world, leader, signedIn } = await startClosedCluster(IDENTITIES, { limits });
    const connected: TestClient[] = [];
    for (let i = 0; i < 3; i += 1) connected.push(await signedIn("greedy", leader));
    for (const client of connected) client.attach();
    const third = connected[2] as TestClient;
    await world.until("closed", () => third.closed !== undefined);
    expect(third.closed).toEqual({
      code: 1013,
      reason: "this identity has all the connections to this node that one may have (2)",
    });
    expect(third.received.some(({ kind }) => kind === MESSAGE.attached)).toBe(false);
    await attach(world, await signedIn("modest", leader));
    connected[0]?.disconnect();
    await world.run(100);
    await attach(world, await signedIn("greedy", leader));
    expect(connected[1]?.closed).toBe(undefined);
  });
});
