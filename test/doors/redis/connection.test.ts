/** Connections of the Redis door: what clients say before any lock, order of replies, limits. */
import { expect, test } from "vitest";
import { SYSTEM_CLOCK } from "../../../src/doors/clock.js";
import { HoldfastError } from "../../../src/errors/index.js";
import { commandBytes, DoorWorld } from "./world/door-world.js";

test("HELLO chooses the protocol, signs in and names the client", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  const hello = await client.call("HELLO", "3", "AUTH", "default", "hf_worker", "SETNAME", "w-1");
  expect(hello).toMatch(
    /^\[server, redis, version, 8\.4\.0, proto, :3, id, :1, mode, standalone, /,
  );
  expect(await client.call("CLIENT", "GETNAME")).toBe("w-1");
  expect(await client.call("GET", "k")).toBe("nil");
  expect(world.callers.map(({ token }) => token)).toEqual(["hf_worker"]);
  expect(await client.call("HELLO", "4")).toBe("-NOPROTO unsupported protocol version");
});

test("AUTH takes a token, and a user that is the name of its identity", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  expect(await client.call("AUTH", "hf_worker")).toBe("+OK");
  expect(await client.call("AUTH", "default", "hf_worker")).toBe("+OK");
  expect(await client.call("AUTH", "worker", "hf_worker")).toBe("+OK");
  expect(await client.call("AUTH", "other", "hf_worker")).toMatch(/^-WRONGPASS /);
  expect(await client.call("AUTH", "other", "wrong")).toMatch(/^-WRONGPASS /);
  expect(await client.call("PING")).toBe("+PONG");
});

test("commands that were sent with AUTH wait until it is known who gives them", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  client.send("AUTH", "hf_worker");
  client.send("SET", "k", "v", "NX", "PX", "1000");
  client.send("PING");
  expect([await client.reply(), await client.reply(), await client.reply()]).toEqual([
    "+OK",
    "+OK",
    "+PONG",
  ]);
  expect(world.callers).toHaveLength(1);
});

test("what changes the connection changes no reply to a command before it", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  await client.call("SET", "k", "v", "NX", "PX", "10000");
  const tell = async (...commands: string[][]): Promise<string[]> => {
    client.write(Buffer.concat(commands.map(commandBytes)));
    const replies: string[] = [];
    while (replies.length < commands.length) replies.push(await client.replyBytes());
    return replies;
  };
  const take = ["SET", "k", "other", "NX", "PX", "10000"];
  const upgraded = await tell(take, ["HELLO", "3"], take);
  expect([upgraded[0], upgraded[2]]).toEqual(["$-1\r\n", "_\r\n"]);
  expect(await tell(take, ["RESET"], take)).toEqual(["_\r\n", "+RESET\r\n", "$-1\r\n"]);
  expect(await tell(take, ["AUTH", "hf_worker"], ["PING"])).toEqual([
    "$-1\r\n",
    "+OK\r\n",
    "+PONG\r\n",
  ]);
});

test("RESET forgets identity, database and protocol", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  await client.call("HELLO", "3", "AUTH", "default", "hf_worker");
  await client.call("SELECT", "3");
  expect(await client.call("RESET")).toBe("+RESET");
  await client.call("SET", "k", "v", "NX", "PX", "1000");
  expect(world.callers.map(({ token }) => token)).toEqual(["hf_worker", undefined]);
  expect(world.locks.log).toEqual(["take ~redis/0/k 1010"]);
});

test("what clients ask before any lock has an answer", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  expect(await client.call("PING")).toBe("+PONG");
  expect(await client.call("PING", "x")).toBe("x");
  expect(await client.call("ECHO", "x")).toBe("x");
  expect(await client.call("CLIENT", "SETINFO", "LIB-NAME", "ioredis")).toBe("+OK");
  expect(await client.call("CLIENT", "SETNAME", "me")).toBe("+OK");
  expect(await client.call("CLIENT", "NO-EVICT", "on")).toBe("+OK");
  expect(await client.call("CLIENT", "MAINT_NOTIFICATIONS", "ON")).toMatch(/^-ERR unknown sub/);
  expect(await client.call("CLIENT", "TRACKING", "ON")).toMatch(/^-ERR unknown subcommand/);
  expect(await client.call("COMMAND")).toBe("[]");
  expect(await client.call("COMMAND", "COUNT")).toBe(":0");
  expect(await client.call("COMMAND", "DOCS")).toBe("[]");
  expect(await client.call("CONFIG", "GET", "maxmemory")).toBe("[]");
  expect(await client.call("ROLE")).toBe("[master, :0, []]");
  expect(await client.call("READONLY")).toBe("+OK");
  expect(await client.call("WAIT", "1", "100")).toBe(":0");
  expect(await client.call("CLUSTER", "SLOTS")).toMatch(/cluster support disabled/);
  const info = await client.call("INFO");
  expect(info).toContain("redis_version:8.4.0\r\n");
  expect(info).toContain("loading:0\r\n");
  const replication = await client.call("INFO", "replication");
  expect(replication).toMatch(/^# Replication\r\nrole:master\r\nconnected_slaves:0\r\n/);
  expect(replication).not.toContain("redis_version");
});

test("a node says that it is a master only while it can serve", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  world.node.isServing = false;
  expect(await client.call("ROLE")).toBe("[slave, , :0, connecting, :-1]");
  expect(await client.call("INFO", "replication")).toContain("role:slave\r\n");
  expect(await client.call("HELLO")).toContain("role, replica");
});

test("replies come in the order of the commands, whatever each takes", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  await client.call("PING");
  client.write(
    Buffer.concat([
      commandBytes(["GET", "k"]),
      commandBytes(["SET", "k", "v", "PX", "1000", "NX"]),
      commandBytes(["PING"]),
      commandBytes(["GET", "k"]),
      commandBytes(["NOSUCH"]),
    ]),
  );
  const replies = [];
  for (let i = 0; i < 5; i++) replies.push(await client.reply());
  expect(replies.slice(0, 4)).toEqual(["nil", "+OK", "+PONG", "v"]);
  expect(replies[4]).toMatch(/^-NOHOLDFAST the Redis port of Holdfast does not answer NOSUCH/);
});

test("a command may come in any pieces", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  const bytes = commandBytes(["ECHO", "a\r\nb"]);
  for (const byte of bytes) {
    client.write(Buffer.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await client.reply()).toBe("a\r\nb");
});

test("a request of HTTP gets no answer", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  client.write("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  expect(await client.reply()).toBe("closed");
});

test("a line that is not a command ends the connection with an error", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  client.write("TTL k\r\n");
  expect(await client.reply()).toMatch(/^-ERR Protocol error/);
  expect(await client.reply()).toBe("closed");
});

test("the lines of a usual check of health are answered", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  client.write("PING\r\n");
  expect(await client.reply()).toBe("+PONG");
  client.write("info replication\r\n");
  expect(await client.reply()).toMatch(/^# Replication\r\nrole:master\r\n/);
  client.write("QUIT\r\n");
  expect(await client.reply()).toBe("+OK");
  expect(await client.reply()).toBe("closed");
});

test("QUIT ends the connection after the replies before it", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  client.send("GET", "k");
  client.send("QUIT");
  expect([await client.reply(), await client.reply(), await client.reply()]).toEqual([
    "nil",
    "+OK",
    "closed",
  ]);
});

test("a stranger may send little before AUTH", async () => {
  await using world = await DoorWorld.open({}, { isOpen: false });
  const client = await world.connect();
  client.write(commandBytes(["ECHO", "x".repeat(5_000)]));
  expect(await client.reply()).toMatch(/^-ERR Protocol error/);
  const other = await world.connect();
  await other.call("AUTH", "hf_worker");
  expect(await other.call("ECHO", "x".repeat(5_000))).toHaveLength(5_000);
});

test("a client that asks for much at once gets every answer", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  const count = 5_000;
  client.write(
    Buffer.concat(Array.from({ length: count }, (_, i) => commandBytes(["GET", `k${i}`]))),
  );
  for (let i = 0; i < count; i++) expect(await client.reply()).toBe("nil");
});

test("an unknown outcome closes the connection, a known failure is an error", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  const unavailable = (indeterminate: boolean) =>
    new HoldfastError("UNAVAILABLE", "no leader", { details: { indeterminate } });
  world.locks.failures.push(unavailable(false), unavailable(true));
  expect(await client.call("SET", "k", "v", "NX", "PX", "1000")).toMatch(
    /^-READONLY You can't write/,
  );
  expect(await client.call("SET", "k", "v", "NX", "PX", "1000")).toBe("closed");
});

test("without a quorum, connections are closed after two election timeouts", async () => {
  let nowMs = 0;
  const nodeState = { electionTimeoutMs: 20 };
  await using world = await DoorWorld.open(
    { clock: { ...SYSTEM_CLOCK, monotonicMs: () => nowMs } },
    nodeState,
  );
  const client = await world.connect();
  expect(await client.call("PING")).toBe("+PONG");
  world.node.isServing = false;
  nowMs = 41;
  expect(await client.reply()).toBe("closed");
  const other = await world.connect();
  expect(await other.reply()).toBe("closed");
  world.node.isServing = true;
  await expect.poll(async () => (await world.connect()).call("PING")).toBe("+PONG");
});
