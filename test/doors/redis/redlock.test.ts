/**
 * Redlock over the nodes of one cluster: what clients get that set one value at several nodes, by
 * default and with `--redis-redlock`.
 */
import { createRequire } from "node:module";
import { Redis } from "ioredis";
import { afterEach, describe, expect, test } from "vitest";
import { seededRandom } from "../../../lab/random-stream.js";
import { DoorWorld, type RespClient } from "./world/door-world.js";

const require = createRequire(import.meta.url);
const RELEASE =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
const EXTEND =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end";

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function openNodes(isRedlock: boolean) {
  const worlds = await DoorWorld.openCluster(3, { isRedlock });
  endings.push(...worlds.map((world) => () => world[Symbol.asyncDispose]()));
  const clients = await Promise.all(worlds.map((world) => world.connect()));
  const all = (...command: string[]): Promise<readonly string[]> =>
    Promise.all(clients.map((client) => client.call(...command)));
  const [{ locks }] = worlds as [DoorWorld];
  return { worlds, clients: clients as [RespClient, RespClient, RespClient], all, locks };
}

function take(value: string): string[] {
  return ["SET", "k", value, "NX", "PX", "10000"];
}

function release(value: string): string[] {
  return ["EVAL", RELEASE, "1", "k", value];
}

describe("by default", () => {
  test("a constant value from programs at several nodes never takes twice", async () => {
    const seed = Math.floor(Math.random() * 2 ** 32);
    const random = seededRandom(seed);
    const { clients, all } = await openNodes(false);
    let isTaken = false;
    for (let step = 0; step < 300; step++) {
      const client = clients[Math.floor(random() * 3)] as RespClient;
      if (random() < 0.7) {
        const reply = await client.call(...take("constant"));
        expect(reply, `seed ${seed}, step ${step}`).toBe(isTaken ? "nil" : "+OK");
        isTaken = true;
      } else {
        const reply = await client.call(...release("constant"));
        expect(reply, `seed ${seed}, step ${step}`).toBe(isTaken ? ":1" : ":0");
        isTaken = false;
      }
    }
    await clients[0].call(...release("constant"));
    const together = await all(...take("constant"));
    expect([...together].sort()).toEqual(["+OK", "nil", "nil"]);
  });

  test("a client of Redlock gets no majority, and each node that refused it says why, once", async () => {
    const { worlds, clients, all } = await openNodes(false);
    for (const value of ["a", "b", "c", "d"]) {
      expect(await clients[0].call(...take(value))).toBe("+OK");
      expect((await all(...take(value))).slice(1)).toEqual(["nil", "nil"]);
      await all(...release(value));
    }
    const [first, ...others] = worlds.map(({ log, door }) => ({ log, found: door.redlockFound }));
    expect(first).toEqual({ log: [], found: undefined });
    for (const { log, found } of others) {
      expect(found).toMatch(/Redlock .* one client with all nodes as sentinels.* --redis-redlock/);
      const fields = JSON.stringify({ what: found });
      expect(log).toEqual([`warn redis door: Redlock over one cluster ${fields}`]);
    }
  });

  test("a constant value, and a value that is tried again at one node, are not taken for Redlock", async () => {
    const { worlds, clients } = await openNodes(false);
    for (let i = 0; i < 10; i++) {
      await clients[0].call(...take("constant"));
      await clients[1].call(...take("constant"));
      await clients[0].call(...release("constant"));
      await clients[2].call(...take(`value ${i}`));
      await clients[2].call(...take(`value ${i}`));
      await clients[2].call(...release(`value ${i}`));
    }
    expect(worlds.map(({ door }) => door.redlockFound)).toEqual([undefined, undefined, undefined]);
  });
});

describe("with --redis-redlock", () => {
  test("each node confirms a lock once, and its release and extension like a server of its own", async () => {
    const { clients, all, locks } = await openNodes(true);
    const [first, second] = clients;
    for (const value of ["a", "b"]) {
      expect(await all(...take(value))).toEqual(["+OK", "+OK", "+OK"]);
      expect(await all(...take(value))).toEqual(["nil", "nil", "nil"]);
      expect(await all(...take("other"))).toEqual(["nil", "nil", "nil"]);
      expect(await all("EVAL", EXTEND, "1", "k", value, "20000")).toEqual([":1", ":1", ":1"]);
      expect(await all(...release("other"))).toEqual([":0", ":0", ":0"]);
      expect(await all(...release(value))).toEqual([":1", ":1", ":1"]);
      expect(await all(...release(value))).toEqual([":0", ":0", ":0"]);
    }
    // One that was not asked has nothing to give back.
    expect(await first.call(...take("c"))).toBe("+OK");
    expect(await second.call(...take("c"))).toBe("+OK");
    expect([...(await all(...release("c")))].sort()).toEqual([":0", ":1", ":1"]);
    // What has expired is taken again, and each confirmation is of one lease.
    expect(await all(...take("d"))).toEqual(["+OK", "+OK", "+OK"]);
    locks.nowMs += 20_000;
    expect(await all(...release("d"))).toEqual([":0", ":0", ":0"]);
    expect(await all(...take("e"))).toEqual(["+OK", "+OK", "+OK"]);
    locks.nowMs += 20_000;
    expect(await first.call(...take("e"))).toBe("+OK");
    expect(await second.call(...take("e"))).toBe("+OK");
    expect(await second.call(...take("e"))).toBe("nil");
  });

  test("redlock-universal, which takes by plain SET with NX, gets its majority and excludes", async () => {
    const { worlds } = await openNodes(true);
    const { createRedlock, IoredisAdapter } = require("redlock-universal");
    const lockOf = (): {
      acquire(): Promise<object>;
      release(handle: object): Promise<boolean>;
    } => {
      const servers = worlds.map(({ door }) => new Redis({ port: door.port }));
      endings.push(...servers.map((server) => () => server.disconnect()));
      const adapters = servers.map((server) => new IoredisAdapter(server));
      return createRedlock({ adapters, key: "k", ttl: 10_000, retryAttempts: 0 });
    };
    const [one, other] = [lockOf(), lockOf()];
    for (const [holder, waiter] of [
      [one, other],
      [other, one],
    ] as const) {
      const handle = await holder.acquire();
      await expect(waiter.acquire()).rejects.toThrow();
      expect(await holder.release(handle)).toBe(true);
    }
  });
});
