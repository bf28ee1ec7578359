/** Locks in hashes: who may end them, where their count is, and the fencing token. */
import { expect, test } from "vitest";
import { DoorWorld, type RespClient } from "../world/door-world.js";

/** As a reentrant lock is taught: an owner and a count. */
const TAKE = `local owner = redis.call('HGET', KEYS[1], 'owner')
local count = redis.call('HGET', KEYS[1], 'count')
if not owner then
  redis.call('HSET', KEYS[1], 'owner', ARGV[1])
  redis.call('HSET', KEYS[1], 'count', 1)
  redis.call('EXPIRE', KEYS[1], ARGV[2])
  return 1
elseif owner == ARGV[1] then
  redis.call('HINCRBY', KEYS[1], 'count', 1)
  redis.call('EXPIRE', KEYS[1], ARGV[2])
  return tonumber(count) + 1
end
return 0`;
const RELEASE = `if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
if tonumber(redis.call('HGET', KEYS[1], 'count')) > 1 then
  return redis.call('HINCRBY', KEYS[1], 'count', -1)
end
return redis.call('DEL', KEYS[1])`;
const HOLD = "redis.call('hincrby', KEYS[1], ARGV[1], 1) redis.call('pexpire', KEYS[1], ARGV[2])";
const REFUSED = /^-NOHOLDFAST this lock script is not answered/;

function evaluate(client: RespClient, text: string, ...args: readonly string[]): Promise<string> {
  return client.call("EVAL", text, "1", "k", ...args);
}

test("the fencing token of a lock in a hash is shown to who knows a holder", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  const token = (key: string, holder: string) => client.call("HOLDFAST.TOKEN", key, holder);
  await evaluate(client, HOLD, "alice:1", "30000");
  expect(await token("k", "alice:1")).toMatch(/^:\d{10,}$/);
  expect(await token("k", "bob:1")).toBe("nil");
  expect(await client.call("EVAL", TAKE, "1", "owned", "alice", "30")).toBe(":1");
  expect(await token("owned", "alice")).toMatch(/^:\d{10,}$/);
  for (const other of ["bob", "owner", "count", "1"])
    expect(await token("owned", other)).toBe("nil");
  expect(await token("free", "alice")).toBe("nil");
});

test("the reentrant lock with an owner and a count works over the nodes of a cluster", async () => {
  const worlds = await DoorWorld.openCluster(2);
  const [one, two] = await Promise.all(worlds.map((world) => world.connect()));
  if (one === undefined || two === undefined) throw new Error("two nodes");
  expect(await evaluate(one, TAKE, "alice", "30")).toBe(":1");
  expect(await evaluate(two, TAKE, "bob", "30")).toBe(":0");
  // By another node, as after the loss of the first one.
  expect(await evaluate(two, TAKE, "alice", "30")).toBe(":2");
  expect(await one.call("HGETALL", "k")).toBe("[owner, alice, count, 2]");
  expect(await one.call("TYPE", "k")).toBe("+hash");
  expect(await evaluate(one, RELEASE, "bob")).toBe(":0");
  expect(await evaluate(one, RELEASE, "alice")).toBe(":1");
  expect(await evaluate(two, TAKE, "bob", "30")).toBe(":0");
  expect(await evaluate(two, RELEASE, "alice")).toBe(":1");
  expect(await evaluate(one, TAKE, "bob", "30")).toBe(":1");
  for (const world of worlds) await world[Symbol.asyncDispose]();
});

test.each([
  ["ends it", "return redis.call('del', KEYS[1])"],
  ["takes a holder out", "return redis.call('hdel', KEYS[1], 'alice')"],
  ["counts for a holder", "return redis.call('hincrby', KEYS[1], 'alice', 1)"],
  ["sets a text", "return redis.call('set', KEYS[1], ARGV[1], 'PX', 9000)"],
  [
    "compares with what it knows",
    "if redis.call('hget', KEYS[1], 'alice') == '1' then return redis.call('del', KEYS[1]) end",
  ],
])("a script that names no holder is refused when it %s", async (_what, text) => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  expect(await evaluate(client, HOLD, "alice", "20000")).toBe("nil");
  expect(await evaluate(client, text, "bob")).toMatch(REFUSED);
  expect(await client.call("HGETALL", "k")).toBe("[alice, 1]");
  expect(await client.call("PTTL", "k")).toBe(":20000");
});

test("a script that names no holder makes the time longer, and never shorter", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  await evaluate(client, HOLD, "alice", "20000");
  const expire = "return redis.call('pexpire', KEYS[1], ARGV[1])";
  expect(await evaluate(client, expire, "10000")).toBe(":0");
  expect(await client.call("PTTL", "k")).toBe(":20000");
  expect(await evaluate(client, expire, "30000")).toBe(":1");
  expect(await client.call("PTTL", "k")).toBe(":30000");
});

test("hashes are changed by scripts only, and DEL proves nothing", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  await evaluate(client, HOLD, "alice", "20000");
  expect(await client.call("HSET", "k", "bob", "1")).toMatch(
    /^-NOHOLDFAST .* does not answer HSET/,
  );
  expect(await client.call("DEL", "k")).toMatch(/^-NOHOLDFAST DEL without the value/);
  expect(await client.call("SET", "k", "bob", "NX", "PX", "9000")).toBe("nil");
  expect(await client.call("GET", "k")).toMatch(/^-WRONGTYPE/);
  expect(await client.call("DEL", "free")).toBe(":0");
});

test("a hash without an expiry is refused, and nothing is held", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  const text = "return redis.call('hset', KEYS[1], ARGV[1], 1)";
  expect(await evaluate(client, text, "alice")).toMatch(/^-NOHOLDFAST a lock without an expiry/);
  expect(await client.call("EXISTS", "k")).toBe(":0");
});

test("a counter next to a hash is the fencing token of its lock", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  const text = `${HOLD} return {-1, redis.call('incr', KEYS[2])}`;
  const call = (holder: string) =>
    client.call("EVAL", text, "2", "k", "redisson_lock_token:{k}", holder, "20000");
  const first = await call("alice");
  const token = first.slice("[:-1, :".length, -1);
  expect(Number(token)).toBeGreaterThan(0);
  expect(await client.call("GET", "redisson_lock_token:{k}")).toBe(token);
  expect(await call("alice")).toBe(first);
  expect(await client.call("EVAL", "return redis.call('incr', KEYS[1])", "1", "c")).toMatch(
    REFUSED,
  );
});

test("an act that fails says nothing of the lock, and is not repeated in the log", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  const text = `if redis.call('exists', KEYS[1]) == 0 then ${HOLD} return nil end
    return redis.call('pttl', KEYS[1])`;
  expect(await evaluate(client, text, "alice", "20000")).toBe("nil");
  for (let i = 0; i < 3; i++) expect(await evaluate(client, text, "bob", "20000")).toBe(":20000");
  expect(world.locks.log.filter((line) => line.startsWith("act"))).toHaveLength(2);
});
