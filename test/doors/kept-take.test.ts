/** What becomes of a take while its caller is away. */
import { beforeEach, expect, test } from "vitest";
import { KeptTake } from "../../src/doors/kept-take.js";
import { setUp } from "../client/world/set-up.js";
import { connectTo, type SimulatedClient } from "../client/world/simulated-client.js";
import type { SimulatedWorld } from "../client/world/simulated-world.js";

const GRACE_MS = 1_000;
const HOLDER = { owner: "holder", ttlMs: 60_000, waitMs: 0 };
const WAITER = { owner: "waiter", request: "one", ttlMs: 60_000 };
const REPEAT = { ...WAITER, waitMs: 0 };

let world: SimulatedWorld;
let here: SimulatedClient;

beforeEach(async () => {
  const { world: simulated, server } = setUp();
  world = simulated;
  here = await connectTo(server);
  await world.until(here.client.leases.take("k", HOLDER));
});

/** It waits behind the holder. */
async function begin(): Promise<KeptTake> {
  const { client, platform } = here;
  const kept = new KeptTake(platform, client.leases, "k", WAITER);
  kept.taken.catch(() => {});
  await world.run(50);
  return kept;
}

async function free(): Promise<void> {
  await world.until(here.client.leases.giveBack("k", { owner: HOLDER.owner }));
  await world.run(50);
}

async function lookAtKey() {
  const { holds, waiters } = await world.until(here.client.inspect("k"));
  return { tokens: holds.map(({ token }) => token), waiters: waiters.length };
}

test("it waits for as long as its caller is there", async () => {
  const kept = await begin();
  await world.run(10 * GRACE_MS);
  expect((await lookAtKey()).waiters).toBe(1);
  expect([kept.isEnded, kept.lease]).toEqual([false, undefined]);
});

test("it leaves the queue when its caller does not come back in its grace", async () => {
  const kept = await begin();
  kept.leave(GRACE_MS);
  await world.run(GRACE_MS - 50);
  expect((await lookAtKey()).waiters).toBe(1);
  await world.run(100);
  expect([kept.isEnded, (await lookAtKey()).waiters]).toEqual([true, 0]);
  await expect(kept.taken).rejects.toThrow("not repeated in time");
  await world.until(kept.over);
});

test("the grace of a caller that came by begins when it leaves again", async () => {
  const kept = await begin();
  kept.leave(GRACE_MS);
  await world.run(GRACE_MS - 50);
  kept.leave(GRACE_MS);
  await world.run(GRACE_MS - 50);
  expect((await lookAtKey()).waiters).toBe(1);
  await world.run(100);
  expect((await lookAtKey()).waiters).toBe(0);
});

test("what was granted while its caller was away is given back", async () => {
  const kept = await begin();
  kept.leave(GRACE_MS);
  await free();
  expect((await lookAtKey()).tokens).toEqual([kept.lease?.token]);
  await world.run(GRACE_MS);
  await world.until(kept.over);
  expect((await lookAtKey()).tokens).toEqual([]);
});

test("what its caller has claimed stays", async () => {
  const kept = await begin();
  kept.leave(GRACE_MS);
  await free();
  kept.claim();
  await world.until(kept.over);
  kept.leave(GRACE_MS);
  await world.run(10 * GRACE_MS);
  expect((await lookAtKey()).tokens).toEqual([kept.lease?.token]);
});

test("what a repeat was given meanwhile stays", async () => {
  const kept = await begin();
  kept.leave(GRACE_MS);
  await free();
  const repeated = await world.until(here.client.leases.take("k", REPEAT));
  await world.run(GRACE_MS);
  await world.until(kept.over);
  expect((await lookAtKey()).tokens).toEqual([repeated.token]);
});

test("it is over when a repeat takes its wait over, which goes on", async () => {
  const kept = await begin();
  kept.leave(GRACE_MS);
  const repeated = here.client.leases.take("k", WAITER);
  await world.until(kept.over);
  await expect(kept.taken).rejects.toMatchObject({ code: "CANCELLED" });
  await world.run(10 * GRACE_MS);
  await free();
  expect((await lookAtKey()).tokens).toEqual([(await world.until(repeated)).token]);
});

test("what is granted while it is withdrawn is given back", async () => {
  const kept = await begin();
  const freed = here.client.leases.giveBack("k", { owner: HOLDER.owner });
  kept.withdraw();
  await world.until(freed);
  await world.until(kept.over);
  await world.run(50);
  expect(await lookAtKey()).toEqual({ tokens: [], waiters: 0 });
});
