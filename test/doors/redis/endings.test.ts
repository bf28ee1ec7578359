/** Locks that their client cannot end are refused at the next take, with the reason. */
import { expect, test } from "vitest";
import { SYSTEM_CLOCK } from "../../../src/doors/clock.js";
import { DoorWorld, type RespClient } from "./world/door-world.js";

const LISTS = `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
  redis.call('lpush', KEYS[2], ARGV[1]) return redis.call('del', KEYS[1])`;
const RELEASE = `if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1]) end return 0`;

/** So long a lock lasts, and then it is over. */
const TTL_MS = 5_000;

function take(client: RespClient, key: string, value = "v"): Promise<string> {
  return client.call("SET", key, value, "NX", "PX", String(TTL_MS));
}

test("a client that releases by DEL is refused its second lock of that kind", async () => {
  await using world = await DoorWorld.open();
  const [client, pooled] = [await world.connect(), await world.connect()];
  expect(await take(client, "orders/1")).toBe("+OK");
  expect(await pooled.call("DEL", "orders/1")).toMatch(/^-NOHOLDFAST DEL without the value/);
  world.locks.nowMs += 2 * TTL_MS;
  for (const key of ["orders/1", "orders/2"]) {
    expect(await take(pooled, key)).toMatch(
      /^-NOHOLDFAST this client could not end .* DEL was refused \(DEL without the value/,
    );
  }
  expect(await client.call("EXISTS", "orders/1", "orders/2")).toBe(":0");
  expect(world.door.counts.unendableKinds).toBe(1);
  expect(await take(client, "others/1")).toBe("+OK");
});

test("a script that is refused to the holder is held against its next take", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  expect(await take(client, "k")).toBe("+OK");
  expect(await client.call("EVAL", LISTS, "2", "k", "signal", "v")).toMatch(/it uses LPUSH/);
  expect(await client.call("EVAL", RELEASE, "1", "k", "v")).toBe(":1");
  expect(await take(client, "k")).toMatch(/a script was refused \(.* it uses LPUSH\)/);
  const taking = "return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])";
  expect(await client.call("EVAL", taking, "1", "k", "v", "5000")).toMatch(/^-NOHOLDFAST/);
});

test("an extension by EXPIRE is held against the next take", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  expect(await take(client, "k")).toBe("+OK");
  expect(await client.call("EXPIRE", "k", "5")).toMatch(/^-NOHOLDFAST/);
  world.locks.nowMs += 2 * TTL_MS;
  expect(await take(client, "k")).toMatch(/EXPIRE was refused/);
});

test("a release that is refused in a transaction counts, too", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  expect(await take(client, "k")).toBe("+OK");
  expect(await client.call("MULTI")).toBe("+OK");
  expect(await client.call("DEL", "k")).toMatch(/^-NOHOLDFAST/);
  expect(await client.call("EXEC")).toMatch(/^-EXECABORT/);
  world.locks.nowMs += 2 * TTL_MS;
  expect(await take(client, "k")).toMatch(/DEL was refused/);
});

test("a connection that could not load its release takes nothing", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  expect(await client.call("SCRIPT", "LOAD", LISTS)).toMatch(/^-NOHOLDFAST script sha1=\w+ is not/);
  expect(await take(client, "k")).toMatch(/SCRIPT LOAD of \w+ was refused \(it uses LPUSH\)/);
  expect(await client.call("RESET")).toBe("+RESET");
  expect(await take(client, "k")).toBe("+OK");
});

test("the DEL of somebody else is held against nobody", async () => {
  await using world = await DoorWorld.open();
  const [client, operator] = [await world.connect(), await world.connect()];
  expect(await client.call("CLIENT", "SETINFO", "LIB-NAME", "good")).toBe("+OK");
  expect(await take(client, "k")).toBe("+OK");
  expect(await operator.call("DEL", "k")).toMatch(/^-NOHOLDFAST/);
  expect(await client.call("EVAL", RELEASE, "1", "k", "v")).toBe(":1");
  expect(await take(client, "k")).toBe("+OK");
});

test("a DEL is not held against a kind of locks whose release has worked", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  expect(await take(client, "k/1")).toBe("+OK");
  expect(await client.call("EVAL", RELEASE, "1", "k/1", "v")).toBe(":1");
  expect(await take(client, "k/2")).toBe("+OK");
  expect(await client.call("DEL", "k/2")).toMatch(/^-NOHOLDFAST/);
  expect(await take(client, "k/3")).toBe("+OK");
});

test("a kind is refused for an hour, and not longer", async () => {
  let nowMs = 0;
  await using world = await DoorWorld.open({
    clock: { ...SYSTEM_CLOCK, monotonicMs: () => nowMs },
  });
  const client = await world.connect();
  expect(await take(client, "k")).toBe("+OK");
  expect(await client.call("DEL", "k")).toMatch(/^-NOHOLDFAST/);
  world.locks.nowMs += 2 * TTL_MS;
  nowMs = 3_599_000;
  expect(await take(client, "k")).toMatch(/^-NOHOLDFAST/);
  nowMs = 3_601_000;
  expect(await take(client, "k")).toBe("+OK");
  expect(world.door.counts.unendableKinds).toBe(0);
});
