/** The commands of lock clients that use no script: what is done, and what is refused with a sentence. */
import { expect, test } from "vitest";
import { DoorWorld } from "./world/door-world.js";

test("SET with NX takes, in any order of its options, with a margin for clocks", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  expect(await client.call("SET", "a", "1", "NX", "PX", "1000")).toBe("+OK");
  expect(await client.call("set", "b", "1", "ex", "10", "nx")).toBe("+OK");
  expect(await client.call("SET", "a", "2", "PX", "1000", "NX")).toBe("nil");
  expect(world.locks.log).toEqual([
    "take ~redis/0/a 1010",
    "take ~redis/0/b 10100",
    "take ~redis/0/a 1010",
  ]);
  expect(await client.call("PTTL", "a")).toBe(":1000");
  expect(await client.call("TTL", "b")).toBe(":10");
  expect(await client.call("TTL", "c")).toBe(":-2");
  expect(await client.call("GET", "a")).toBe("1");
  expect(await client.call("EXISTS", "a", "b", "c")).toBe(":2");
  expect(await client.call("TYPE", "a")).toBe("+string");
});

test("the same value does not take twice", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  expect(await client.call("SET", "a", "1", "NX", "PX", "1000")).toBe("+OK");
  expect(await client.call("SET", "a", "1", "NX", "PX", "1000")).toBe("nil");
});

test("a key that was found taken is looked at before it is asked for again", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  await client.call("SET", "a", "1", "NX", "PX", "1000");
  for (let i = 0; i < 20; i++) {
    expect(await client.call("SET", "a", "2", "NX", "PX", "1000")).toBe("nil");
  }
  expect(world.locks.log).toHaveLength(2);
  world.locks.nowMs += 1_010;
  expect(await client.call("SET", "a", "2", "NX", "PX", "1000")).toBe("+OK");
});

test("keys and values are bytes", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  const odd = Buffer.from([0x00, 0xff, 0x7e, 0xc3, 0xa4, 0xc3, 0xf0, 0x9f, 0x94, 0x92, 0x80]);
  expect(await client.call("SET", odd, odd, "NX", "PX", "1000")).toBe("+OK");
  expect(world.locks.log).toEqual(["take ~redis/0/~0000~dcff~007eä~dcc3🔒~dc80 1010"]);
  expect(Buffer.from(await client.call("GET", odd), "latin1")).toEqual(odd);
  expect(await client.call("DELEX", odd, "IFEQ", odd)).toBe(":1");
});

test("databases have separate keys", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  await client.call("SET", "a", "1", "NX", "PX", "1000");
  expect(await client.call("SELECT", "2")).toBe("+OK");
  expect(await client.call("SET", "a", "2", "NX", "PX", "1000")).toBe("+OK");
  expect(await client.call("GET", "a")).toBe("2");
  expect(world.locks.log).toEqual(["take ~redis/0/a 1010", "take ~redis/2/a 1010"]);
});

test("the value that holds a key releases and extends it", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  await client.call("SET", "a", "1", "NX", "PX", "1000");
  expect(await client.call("SET", "a", "1", "IFEQ", "1", "PX", "5000")).toBe("+OK");
  expect(await client.call("PTTL", "a")).toBe(":5000");
  expect(await client.call("SET", "a", "1", "XX", "PX", "6000")).toBe("+OK");
  expect(await client.call("SET", "a", "1", "PX", "7000")).toBe("+OK");
  expect(await client.call("PTTL", "a")).toBe(":7000");
  expect(await client.call("SET", "a", "1", "IFEQ", "1", "PX", "5000", "GET")).toBe("1");
  expect(await client.call("DELEX", "a", "IFEQ", "2")).toBe(":0");
  expect(await client.call("DELIFEQ", "a", "1")).toBe(":1");
  expect(await client.call("SET", "a", "1", "XX", "PX", "6000")).toBe("nil");
  expect(await client.call("SET", "a", "1", "IFEQ", "1", "PX", "5000")).toBe("nil");
});

test("the fencing token is shown to who knows the value", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  await client.call("SET", "a", "1", "NX", "PX", "1000");
  expect(await client.call("HOLDFAST.TOKEN", "a", "1")).toBe(`:${2 ** 41 + 1}`);
  expect(await client.call("HOLDFAST.TOKEN", "a", "2")).toBe("nil");
});

test.each([
  [["SET", "a", "2", "PX", "1000"], /would overwrite/],
  [["SET", "a", "2"], /without NX and without an expiry/],
  [["SET", "a", "2", "XX", "PX", "1000"], /overwrite the value of another owner/],
  [["SET", "a", "2", "IFEQ", "1", "PX", "1000"], /change the owner/],
  [["SET", "b", "2", "NX"], /without an expiry would outlive/],
  [["SETNX", "b", "2"], /without an expiry would outlive .*SET key value NX PX milliseconds/],
  [["SET", "a", "1", "KEEPTTL"], /KEEPTTL/],
  [["SET", "a", "1", "NX", "PXAT", "1"], /not the time of day/],
  [["SET", "b", "1", "NX", "GET", "PX", "1"], /nil would mean both/],
  [["DEL", "a"], /--redis-allow-unproven/],
  [["UNLINK", "a"], /--redis-allow-unproven/],
  [["EXPIRE", "a", "1"], /--redis-allow-unproven/],
  [["PERSIST", "a"], /outlive/],
  [["PEXPIREAT", "a", "1"], /not the time of day/],
  [["FLUSHALL"], /all clients/],
  [["GETSET", "a", "1"], /without a proof; take it by SET key value NX PX milliseconds/],
  [["GETDEL", "a"], /without a proof; use a script that compares the value/],
  [["PUBLISH", "a", "1"], /publishes the ends/],
  [["LPUSH", "a", "1"], /does not answer LPUSH: this is a lock service/],
])("%j is refused with a sentence that names the page", async (command, sentence) => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  await client.call("SET", "a", "1", "NX", "PX", "1000");
  const reply = await client.call(...command);
  expect(reply).toMatch(/^-NOHOLDFAST .*; see docs\/reference\/redis-port\.md$/);
  expect(reply).toMatch(sentence);
  expect(await client.call("GET", "a")).toBe("1");
});

test("what is refused is in the log once", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  for (let i = 0; i < 3; i++) await client.call("LPUSH", "a", "1");
  expect(world.log.filter((line) => line.includes("LPUSH"))).toHaveLength(1);
});

test.each([
  [["GET"], "-ERR wrong number of arguments for 'get' command"],
  [["SET", "a", "1", "NX", "XX"], "-ERR syntax error"],
  [["SET", "a", "1", "PX"], "-ERR syntax error"],
  [["SET", "a", "1", "NX", "PX", "x"], "-ERR value is not an integer or out of range"],
  [["SET", "a", "1", "NX", "PX", "0"], "-ERR invalid expire time in 'set' command"],
  [["SELECT", "-1"], "-ERR value is not an integer or out of range"],
  [["EVALSHA", "0".repeat(40), "0"], "-NOSCRIPT No matching script. Please use EVAL."],
  [["EVAL", "return 1", "x"], "-ERR value is not an integer or out of range"],
  [["EVAL", "return 1", "0"], ":1"],
  [
    ["EVAL", "return redis.call('decr', KEYS[1])", "1", "k"],
    /^-NOHOLDFAST script sha1=471a0a8c57b8fa4d52b09e6630f59bf91d0eaf86 is not answered: it uses DECR/,
  ],
])("%j is answered as Redis answers it: %s", async (command, reply) => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  const answer = await client.call(...command);
  if (typeof reply === "string") expect(answer).toBe(reply);
  else expect(answer).toMatch(reply);
});

test("with --redis-allow-unproven, DEL and EXPIRE count for any value", async () => {
  await using world = await DoorWorld.open({ allowsUnproven: true });
  const client = await world.connect();
  await client.call("SET", "a", "1", "NX", "PX", "1000");
  expect(await client.call("EXPIRE", "a", "20")).toBe(":1");
  expect(await client.call("TTL", "a")).toBe(":20");
  expect(await client.call("DEL", "a", "b")).toBe(":1");
  expect(await client.call("PEXPIRE", "a", "20")).toBe(":0");
});

test.each([
  [["70"], "1", ":70"],
  [["70", "NX"], "0", ":100"],
  [["70", "xx"], "1", ":70"],
  [["70", "GT"], "0", ":100"],
  [["200", "GT"], "1", ":200"],
  [["70", "LT"], "1", ":70"],
  [["200", "LT"], "0", ":100"],
  [["200", "XX", "GT"], "1", ":200"],
  [["0", "GT"], "0", ":100"],
  [["0", "LT"], "1", ":-2"],
])("EXPIRE k %s of a lock of 100 s answers %s", async (args, answered, left) => {
  await using world = await DoorWorld.open({ allowsUnproven: true });
  const client = await world.connect();
  await client.call("SET", "k", "1", "NX", "EX", "100");
  expect(await client.call("EXPIRE", "k", ...args)).toBe(`:${answered}`);
  expect(await client.call("TTL", "k")).toBe(left);
  expect(await client.call("EXPIRE", "none", ...args)).toBe(":0");
});

test.each([
  [["NX"], "1", ":70"],
  [["XX"], "0", ":-1"],
  [["GT"], "0", ":-1"],
  [["LT"], "1", ":70"],
])("EXPIRE k 70 %s of a lock without an end answers %s", async (args, answered, left) => {
  await using world = await DoorWorld.open({ allowsUnproven: true, allowsEndless: true });
  const client = await world.connect();
  await client.call("SETNX", "k", "1");
  expect(await client.call("EXPIRE", "k", "70", ...args)).toBe(`:${answered}`);
  expect(await client.call("TTL", "k")).toBe(left);
});

test("with --redis-allow-endless, PERSIST takes the end of a lock away, and EXPIRE brings one back", async () => {
  await using world = await DoorWorld.open({ allowsEndless: true, allowsUnproven: true });
  const client = await world.connect();
  expect(await client.call("PERSIST", "a")).toBe(":0");
  await client.call("SET", "a", "1", "NX", "PX", "1000");
  expect(await client.call("PERSIST", "a")).toBe(":1");
  world.locks.nowMs += 10_000;
  expect([await client.call("GET", "a"), await client.call("TTL", "a")]).toEqual(["1", ":-1"]);
  expect(await client.call("PERSIST", "a")).toBe(":0");
  expect(await client.call("EXPIRE", "a", "20")).toBe(":1");
  expect(await client.call("TTL", "a")).toBe(":20");
});

test("with --redis-allow-endless, a lock may have no expiry", async () => {
  await using world = await DoorWorld.open({ allowsEndless: true });
  const client = await world.connect();
  expect(await client.call("SETNX", "a", "1")).toBe(":1");
  expect(await client.call("SETNX", "a", "1")).toBe(":0");
  expect(await client.call("TTL", "a")).toBe(":-1");
});

test("the WATCH pattern releases and extends the lock that GET has told of", async () => {
  await using world = await DoorWorld.open();
  const [client, other] = [await world.connect(), await world.connect()];
  await client.call("SET", "a", "1", "NX", "PX", "1000");
  const watched = async (...command: string[]): Promise<string> => {
    await client.call("WATCH", "a");
    await client.call("GET", "a");
    await client.call("MULTI");
    expect(await client.call(...command)).toBe("+QUEUED");
    return client.call("EXEC");
  };
  expect(await watched("PEXPIRE", "a", "9000")).toBe("[:1]");
  expect(await client.call("PTTL", "a")).toBe(":9000");
  expect(await watched("DEL", "a")).toBe("[:1]");
  expect(await client.call("GET", "a")).toBe("nil");
  await client.call("SET", "a", "1", "NX", "PX", "1000");
  await client.call("WATCH", "a");
  await client.call("GET", "a");
  await other.call("DELEX", "a", "IFEQ", "1");
  await other.call("SET", "a", "2", "NX", "PX", "1000");
  await client.call("MULTI");
  await client.call("DEL", "a");
  expect(await client.call("EXEC")).toBe("nil");
  expect(await client.call("GET", "a")).toBe("2");
});

test("any other transaction is refused as a whole", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  expect(await client.call("EXEC")).toBe("-ERR EXEC without MULTI");
  await client.call("MULTI");
  expect(await client.call("LPUSH", "a", "1")).toMatch(/^-NOHOLDFAST/);
  expect(await client.call("EXEC")).toMatch(/^-EXECABORT/);
  await client.call("MULTI");
  expect(await client.call("DISCARD")).toBe("+OK");
  expect(world.locks.log).toEqual([]);
});
