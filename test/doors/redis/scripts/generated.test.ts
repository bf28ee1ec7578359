/**
 * Random scripts at the door and at Redis: the same answer and the same effect, or a refusal that has
 * changed nothing.
 */
import { test } from "vitest";
import {
  expectSame,
  type GeneratedCall,
  generatedHashCall,
  TwoServers,
} from "./generated-scripts.js";

/** What random scripts, or readers, have found. */
const FOUND: readonly GeneratedCall[] = [
  {
    text: `redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
      return {redis.call('get', KEYS[1]), ARGV[1]}`,
    ...{ keys: ["k"], args: ["bob", "20000"] },
    holders: { k: "alice" },
  },
  {
    text: "if redis.call('get', KEYS[1]) then return ARGV[2] else return ARGV[1] end",
    ...{ keys: ["k"], args: ["free", "busy"] },
    holders: { k: "alice" },
  },
];

/** What found a key held is not told by what: a lock, a hash or a semaphore. */
const FOUND_HASHES: readonly GeneratedCall[] = [
  `if redis.call('exists', KEYS[1]) == 0 then
    return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
    return redis.call('type', KEYS[1])`,
  `if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
    if redis.call('get', KEYS[1]) == ARGV[1] then return 2 end return 3`,
  `if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1]) else return 0 end`,
  `if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end`,
].map((text) => {
  const call = { text, keys: ["k"], args: ["alice", "20000"] };
  return { ...call, holders: { k: "bob" }, counts: { k: "1" } };
});

const RUNS = 500;

test("a random script is answered as by Redis, or refused with nothing changed", async (context) => {
  await using servers = await TwoServers.open();
  if (servers === undefined) return context.skip("redis-server is not installed");
  await expectSame(servers, RUNS, FOUND);
});

test("so is one that keeps its lock in a hash", async (context) => {
  await using servers = await TwoServers.open();
  if (servers === undefined) return context.skip("redis-server is not installed");
  await expectSame(servers, RUNS, FOUND_HASHES, generatedHashCall);
});
