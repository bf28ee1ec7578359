/** What a connection may do that has not shown who it is. */
import { Redis } from "ioredis";
import { createClient } from "redis";
import { expect, test } from "vitest";
import { DoorWorld } from "./world/door-world.js";

const CLOSED = { isOpen: false, admitsAnonymous: false };
const NOAUTH = "-NOAUTH Authentication required.";

test.each([
  ["INFO"],
  ["ROLE"],
  ["PING"],
  ["ECHO", "x"],
  ["SELECT", "1"],
  ["COMMAND"],
  ["COMMAND", "DOCS"],
  ["CONFIG", "GET", "*"],
  ["CLIENT", "LIST"],
  ["CLIENT", "SETINFO", "LIB-NAME", "x"],
  ["CLIENT", "SETNAME", "x"],
  ["WAIT", "0", "0"],
  ["READONLY"],
  ["CLUSTER", "SLOTS"],
  ["SENTINEL", "masters"],
  ["WATCH", "k"],
  ["UNWATCH"],
  ["MULTI"],
  ["EXEC"],
  ["DISCARD"],
  ["GET", "k"],
  ["SET", "k", "v", "NX", "PX", "1000"],
  ["EVAL", "return 1", "0"],
  ["EVALSHA", "0", "0"],
  ["SCRIPT", "LOAD", "return 1"],
  ["SCRIPT", "EXISTS", "0"],
  ["SUBSCRIBE", "c"],
  ["UNSUBSCRIBE"],
  ["PUBLISH", "c", "m"],
  ["LPUSH", "k", "v"],
  ["GET"],
])(
  "where anonymous may do nothing, %s is answered with NOAUTH, and leaves no trace",
  async (...command) => {
    await using world = await DoorWorld.open({}, CLOSED);
    const client = await world.connect();
    expect(await client.call(...command)).toBe(NOAUTH);
    expect([world.callers, world.log]).toEqual([[], []]);
    expect(await client.call("AUTH", "hf_worker")).toBe("+OK");
    expect(await client.call("PING")).toBe("+PONG");
  },
);

test("where anonymous may do nothing, a connection may say who it is, begin again and leave", async () => {
  await using world = await DoorWorld.open({}, CLOSED);
  const client = await world.connect();
  expect(await client.call("HELLO")).toMatch(
    /^-NOAUTH HELLO must be called with the client already/,
  );
  expect(await client.call("HELLO", "3")).toMatch(/^-NOAUTH HELLO/);
  expect(await client.call("AUTH", "wrong")).toMatch(/^-WRONGPASS/);
  expect(await client.call("RESET")).toBe("+RESET");
  expect(await client.call("HELLO", "3", "AUTH", "worker", "hf_worker")).toContain("proto, :3");
  expect(await client.call("MULTI")).toBe("+OK");
  expect(await client.call("RESET")).toBe("+RESET");
  expect(await client.call("EXEC")).toBe(NOAUTH);
  expect(await client.call("QUIT")).toBe("+OK");
  expect(await client.reply()).toBe("closed");
});

test("at an open cluster, a password of the default user is accepted as Redis accepts it", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  expect(await client.call("AUTH", "default", "x")).toBe("+OK");
  expect(await client.call("HELLO", "2", "AUTH", "default", "")).toContain("proto, :2");
  expect(await client.call("SET", "k", "v", "NX", "PX", "1000")).toBe("+OK");
  expect(await client.call("AUTH", "x")).toMatch(
    /^-ERR AUTH <password> called without any password configured for the default user\. Are/,
  );
  expect(await client.call("AUTH", "worker", "x")).toMatch(/^-WRONGPASS invalid username-password/);
  expect(await client.call("AUTH", "default", "hf_worker")).toBe("+OK");
  world.callers.length = 0;
  expect(await client.call("AUTH", "default", "x")).toBe("+OK");
  expect(world.callers.at(-1)?.token).toBeUndefined();
});

test("a damaged token is wrong at an open cluster, too, and any password at a closed one", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  world.refusedTokens.add("hf_damaged");
  expect(await client.call("AUTH", "default", "hf_damaged")).toMatch(/^-WRONGPASS/);
  world.node.isOpen = false;
  expect(await client.call("AUTH", "default", "x")).toMatch(/^-WRONGPASS/);
});

test("where anonymous may do something, clients ask what they like before they sign in", async () => {
  await using world = await DoorWorld.open({}, { isOpen: false, admitsAnonymous: true });
  const client = await world.connect();
  expect(await client.call("INFO")).toContain("redis_version");
  expect(await client.call("HELLO")).toContain("version");
  expect(await client.call("PING")).toBe("+PONG");
});

test("ioredis and node-redis sign in to a closed cluster before anything else", async () => {
  await using world = await DoorWorld.open({}, CLOSED);
  const [host, port] = ["127.0.0.1", world.door.port];
  const redis = new Redis({ host, port, username: "worker", password: "hf_worker", db: 1 });
  expect(await redis.set("k", "v", "PX", 1_000, "NX")).toBe("OK");
  redis.disconnect();
  const sentinels = [{ host, port }];
  const found = new Redis({
    ...{ sentinels, name: "mymaster", sentinelPassword: "hf_worker", password: "hf_worker" },
  });
  expect(await found.set("l", "v", "PX", 1_000, "NX")).toBe("OK");
  found.disconnect();
  const client = createClient({ url: `redis://worker:hf_worker@${host}:${port}` });
  await client.connect();
  expect(await client.set("m", "v", { NX: true, PX: 1_000 })).toBe("OK");
  client.destroy();
});
