/** Polling clients with `--redis-fair`: the lock goes to them in the order in which they came. */
import { expect, test } from "vitest";
import { SYSTEM_CLOCK } from "../../../src/doors/clock.js";
import { type FairTake, FairWaits } from "../../../src/doors/redis/locks/fair-waits.js";
import { setUp } from "../../client/world/set-up.js";
import { connectTo } from "../../client/world/simulated-client.js";
import { DoorWorld, type RespClient } from "./world/door-world.js";

const KEY = "~redis/0/a";

function poll(client: RespClient, value: string): Promise<string> {
  return client.call("SET", "a", value, "NX", "PX", "5000");
}

test("the value that asked first gets the lock first", async () => {
  await using world = await DoorWorld.open({ isFair: true });
  const client = await world.connect();
  expect(await poll(client, "holder")).toBe("+OK");
  expect(await poll(client, "first")).toBe("nil");
  expect(await poll(client, "second")).toBe("nil");
  expect(world.locks.waiting).toEqual([`${KEY} redis/0/first`, `${KEY} redis/0/second`]);
  await client.call("DELEX", "a", "IFEQ", "holder");
  expect(await poll(client, "third")).toBe("nil");
  expect(await poll(client, "second")).toBe("nil");
  expect(await poll(client, "first")).toBe("+OK");
  expect(await client.call("PTTL", "a")).toBe(":5000");
  expect(await client.call("GET", "a")).toBe("first");
});

test("attempts of one that waits write nothing", async () => {
  let nowMs = 0;
  await using world = await DoorWorld.open({
    isFair: true,
    clock: { ...SYSTEM_CLOCK, monotonicMs: () => nowMs },
  });
  const client = await world.connect();
  await poll(client, "holder");
  await poll(client, "first");
  const { length } = world.locks.log;
  for (let i = 0; i < 10; i++) {
    // It polls seldom, so a busy machine does not make it too late.
    nowMs += 10_000;
    expect(await poll(client, "first")).toBe("nil");
  }
  expect(world.locks.log).toHaveLength(length);
});

test("one that does not come again in twice its interval loses its place", async () => {
  await using world = await DoorWorld.open({ isFair: true });
  const client = await world.connect();
  await poll(client, "holder");
  await poll(client, "first");
  await poll(client, "first");
  await expect.poll(() => world.locks.waiting.length).toBe(0);
  await client.call("DELEX", "a", "IFEQ", "holder");
  expect(await poll(client, "late")).toBe("+OK");
});

test("what was granted to one that does not come again goes to the next", async () => {
  await using world = await DoorWorld.open({ isFair: true });
  const client = await world.connect();
  await poll(client, "holder");
  await poll(client, "first");
  await client.call("DELEX", "a", "IFEQ", "holder");
  expect(await client.call("GET", "a")).toBe("first");
  await expect.poll(() => poll(client, "late"), { timeout: 10_000 }).toBe("+OK");
});

test("one that releases leaves the queue", async () => {
  await using world = await DoorWorld.open({ isFair: true });
  const client = await world.connect();
  await poll(client, "holder");
  await poll(client, "first");
  expect(await client.call("DELEX", "a", "IFEQ", "first")).toBe(":0");
  expect(world.locks.waiting).toEqual([]);
});

test("a place that nobody comes for gives back nothing that its value has taken since", async () => {
  const timers = new Set<() => void>();
  const setTimer = (_delayMs: number, task: () => void) => {
    timers.add(task);
    return { cancel: () => timers.delete(task), setKeepsProcess: () => {} };
  };
  const clock = { ...SYSTEM_CLOCK, setTimer };
  const [one, other] = await DoorWorld.openCluster(2, { isFair: true, clock });
  if (one === undefined || other === undefined) throw new Error("no two nodes");
  await using first = one;
  await using second = other;
  const [client, moved] = [await first.connect(), await second.connect()];
  expect(await poll(client, "holder")).toBe("+OK");
  expect(await poll(client, "waiter")).toBe("nil");
  expect(await client.call("DELEX", "a", "IFEQ", "holder")).toBe(":1");
  // What was granted to its place has ended, and its client has moved to another node.
  first.locks.nowMs += 2_001;
  expect(await poll(moved, "waiter")).toBe("+OK");
  for (const task of [...timers]) task();
  expect(await moved.call("GET", "a")).toBe("waiter");
});

test("of two programs with one value, at two nodes, one alone has what was granted to its place", async () => {
  const { world, server } = setUp();
  const [here, there] = [await connectTo(server), await connectTo(server)];
  const named = { identity: "anonymous", owner: "worker", value: "worker", ttlMs: 5_000 };
  const take: FairTake = { client: here.client, item: { key: KEY }, ...named };
  const takeThere: FairTake = { ...take, client: there.client };
  const [one, other] = [new FairWaits(SYSTEM_CLOCK, 1), new FairWaits(SYSTEM_CLOCK, 2)];
  const { leases } = here.client;
  await world.until(leases.take(KEY, { owner: "holder", ttlMs: 5_000, waitMs: 0 }));
  one.begin(take);
  await world.until(leases.giveBack(KEY, { owner: "holder" }));
  await world.run(50);
  // The attempt of the other one had failed before that.
  other.begin(takeThere);
  await world.run(50);
  const attempts = Promise.all([one.attempt(take), other.attempt(takeThere)]);
  expect(await world.until(attempts)).toEqual([true, false]);
});

test("the attempt that gets the lock has it for its own time, not for the first attempt's", async () => {
  const { world, server } = setUp();
  const { client } = await connectTo(server);
  const { leases } = client;
  const named = { identity: "anonymous", owner: "worker", value: "worker" };
  const short: FairTake = { client, item: { key: KEY }, ...named, ttlMs: 1_000 };
  const waits = new FairWaits(SYSTEM_CLOCK, 1);
  await world.until(leases.take(KEY, { owner: "holder", ttlMs: 5_000, waitMs: 0 }));
  waits.begin(short);
  await world.until(leases.giveBack(KEY, { owner: "holder" }));
  await world.run(50);
  expect(await world.until(waits.attempt({ ...short, ttlMs: 5_000 }))).toBe(true);
  await world.run(3_000);
  const another = leases.take(KEY, { owner: "other", ttlMs: 1_000, waitMs: 0 });
  await expect(world.until(another)).rejects.toMatchObject({ code: "LOCK_HELD" });
});
