/** What sentinels are asked: every node names the same node, the leader, or none. */
import { expect, test } from "vitest";
import { DoorWorld, RespClient } from "./world/door-world.js";

const ADDRESSES: ReadonlyMap<number, string> = new Map([
  [1, "10.0.0.1:7611"],
  [2, "[::1]:7611"],
  [3, "c.example:7611"],
]);

test("the leader is the master, under the name of the cluster and under mymaster", async () => {
  await using world = await DoorWorld.open();
  Object.assign(world.node, { redisAddresses: ADDRESSES, leader: 2 });
  const client = await world.connect();
  for (const name of ["holdfast", "mymaster"]) {
    expect(await client.call("SENTINEL", "get-master-addr-by-name", name)).toBe("[::1, 7611]");
    const master = await client.call("SENTINEL", "master", name);
    expect(master).toMatch(
      new RegExp(`^\\[name, ${name}, ip, ::1, port, 7611, runid, [0-9a-f]{40}, flags, master, `),
    );
    expect(master).toContain("num-other-sentinels, 2");
    const sentinels = await client.call("SENTINEL", "sentinels", name);
    expect(sentinels).toContain("ip, ::1, port, 7611");
    expect(sentinels).toContain("ip, c.example, port, 7611");
    expect(sentinels).not.toContain("10.0.0.1");
    expect(await client.call("SENTINEL", "replicas", name)).toBe("[]");
    expect(await client.call("SENTINEL", "slaves", name)).toBe("[]");
    expect(await client.call("SENTINEL", "ckquorum", name)).toMatch(/^\+OK/);
  }
  expect(await client.call("SENTINEL", "masters")).toMatch(
    /^\[\[name, holdfast, .*\[name, mymaster/,
  );
  expect(await client.call("SENTINEL", "get-master-addr-by-name", "other")).toBe("nil");
  expect(await client.call("SENTINEL", "master", "other")).toMatch(/^-ERR No such master/);
  expect(await client.call("SENTINEL", "remove", "mymaster")).toMatch(/^-NOHOLDFAST/);
});

test("while nobody leads there is no master", async () => {
  await using world = await DoorWorld.open();
  Object.assign(world.node, { redisAddresses: ADDRESSES, leader: 0 });
  const client = await world.connect();
  expect(await client.call("SENTINEL", "get-master-addr-by-name", "mymaster")).toBe("nil");
  expect(await client.call("SENTINEL", "masters")).toBe("[]");
  expect(await client.call("SENTINEL", "ckquorum", "mymaster")).toMatch(/^-NOQUORUM/);
});

test("who listens to +switch-master hears of another leader", async () => {
  await using world = await DoorWorld.open({}, { electionTimeoutMs: 20 });
  Object.assign(world.node, { redisAddresses: ADDRESSES, leader: 1 });
  const [two, three] = [await world.connect(), await world.connect()];
  expect(await two.call("SUBSCRIBE", "+switch-master")).toBe("[subscribe, +switch-master, :1]");
  await three.call("HELLO", "3");
  expect(await three.call("PSUBSCRIBE", "+switch*")).toBe("[psubscribe, +switch*, :1]");
  expect(await two.call("PING")).toBe("[pong, ]");
  expect(await two.call("GET", "k")).toMatch(/^-ERR Can't execute 'get'/);
  expect(await three.call("PING")).toBe("+PONG");
  await expect.poll(() => world.door.named).toBe("10.0.0.1 7611");
  world.node.leader = 3;
  const text = "10.0.0.1 7611 c.example 7611";
  expect(await two.reply()).toBe(`[message, +switch-master, holdfast ${text}]`);
  expect(await two.reply()).toBe(`[message, +switch-master, mymaster ${text}]`);
  expect(await three.reply()).toBe(`[pmessage, +switch*, +switch-master, holdfast ${text}]`);
  expect(await two.call("UNSUBSCRIBE")).toBe("[unsubscribe, +switch-master, :0]");
  expect(await two.call("UNSUBSCRIBE")).toBe("[unsubscribe, nil, :0]");
  expect(await two.call("GET", "k")).toBe("nil");
});

test("a port that is a sentinel only says so, names the master, and takes no locks", async () => {
  const sentinelListen = { host: "127.0.0.1", port: 0 };
  await using world = await DoorWorld.open({ sentinelListen });
  const sentinelAddresses = new Map([
    [1, "10.0.0.1:26379"],
    [2, "b.example:26379"],
  ]);
  Object.assign(world.node, { redisAddresses: ADDRESSES, sentinelAddresses, leader: 3 });
  const client = await RespClient.open(world.door.sentinelPort);
  expect(await client.call("INFO", "server")).toContain("redis_mode:sentinel\r\n");
  expect(await client.call("INFO")).toMatch(
    /\r\nmaster1:name=mymaster,status=ok,address=c\.example:7611,slaves=0,sentinels=2\r\n/,
  );
  expect(await client.call("HELLO", "3")).toContain("mode, sentinel, modules");
  expect(await client.call("ROLE")).toBe("[sentinel, [holdfast, mymaster]]");
  expect(await client.call("SENTINEL", "get-master-addr-by-name", "mymaster")).toBe(
    "[c.example, 7611]",
  );
  const sentinels = await client.call("SENTINEL", "sentinels", "mymaster");
  expect(sentinels).toContain("ip, b.example, port, 26379");
  expect(sentinels).not.toContain("c.example");
  expect(await client.call("SUBSCRIBE", "+switch-master")).toContain("+switch-master");
  expect(await client.call("PING")).toBe("+PONG");
  for (const command of [["GET", "k"], ["SET", "k", "v", "NX", "PX", "1000"], ["MULTI"]]) {
    expect(await client.call(...command)).toMatch(/^-NOHOLDFAST .* a sentinel only/);
  }
  expect(world.locks.log).toEqual([]);
  client.close();
  const other = await world.connect();
  expect(await other.call("INFO", "server")).toContain("redis_mode:standalone\r\n");
  expect(await other.call("SENTINEL", "sentinels", "mymaster")).not.toContain("26379");
});

test("a stranger gets no address", async () => {
  await using world = await DoorWorld.open({}, { isOpen: false });
  const client = await world.connect();
  expect(await client.call("SENTINEL", "masters")).toBe("-NOAUTH Authentication required.");
  expect(await client.call("SUBSCRIBE", "+switch-master")).toBe("-NOAUTH Authentication required.");
  await client.call("AUTH", "hf_worker");
  expect(await client.call("SENTINEL", "masters")).toContain("mymaster");
});
