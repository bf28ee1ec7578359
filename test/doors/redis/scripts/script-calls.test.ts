/**
 * Calls of lock scripts with arguments that decide what happens: answered here as in Redis, which is
 * asked too where it is installed.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { StartedServer } from "../../../fence/stores/installed.js";
import { startRedis } from "../../../fence/stores/redis.js";
import { DoorWorld, RespClient } from "../world/door-world.js";

const HOLDER = "v";
const TAKE_OR_EXTEND = `local held = redis.call('get', KEYS[1])
  if held == ARGV[1] then redis.call('pexpire', KEYS[1], ARGV[3]) return 1 end
  if held == false then redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1 end
  return 0`;
const EXTEND_BY_SET = `if redis.call('get', KEYS[1]) == ARGV[1] then
  redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1 end return 0`;
const EXTEND_BY_SETEX = `if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('psetex', KEYS[1], ARGV[2], ARGV[1]) end return 0`;
const EXTEND_BY_EXPIRE = `if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`;
const BY_NUMBER = `if tonumber(ARGV[2]) == 1 then
  if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0 end
  return redis.call('get', KEYS[1])`;
const TWO_LINES = `if redis.call('get', KEYS[1]) == ARGV[1] then
  redis.call('del', KEYS[1]) return redis.status_reply('a\\r\\n+b') end
  return redis.error_reply('c\\r\\n-d e')`;

interface Call {
  readonly what: string;
  readonly script: string;
  readonly args: readonly string[];
  /** What is answered; an error begins with these words. */
  readonly answer: string;
  /** The time to live of the key after it, rounded up to whole 10 s; −2: it is free. */
  readonly leftMs: number;
}

/** Each by who holds the key for 20 s. */
const CALLS: readonly Call[] = [
  ...["0", "-1"].flatMap((ttl): Call[] => [
    {
      what: `SET with PX ${ttl} is an error, and releases nothing`,
      ...{ script: EXTEND_BY_SET, args: [HOLDER, ttl], answer: "-ERR", leftMs: 20_000 },
    },
    {
      what: `PSETEX with ${ttl} is an error, and releases nothing`,
      ...{ script: EXTEND_BY_SETEX, args: [HOLDER, ttl], answer: "-ERR", leftMs: 20_000 },
    },
    {
      what: `PEXPIRE with ${ttl} releases`,
      ...{ script: EXTEND_BY_EXPIRE, args: [HOLDER, ttl], answer: ":1", leftMs: -2 },
    },
  ]),
  ...["1", "01", "1.0", " 1 ", "0x1", "1e0", "+1"].map((number) => ({
    what: `${JSON.stringify(number)} is the number 1`,
    ...{ script: BY_NUMBER, args: [HOLDER, number], answer: ":1", leftMs: -2 },
  })),
  ...["", "one", "1 1", "-1", "10", "1x"].map((text) => ({
    what: `${JSON.stringify(text)} is not the number 1`,
    ...{ script: BY_NUMBER, args: [HOLDER, text], answer: HOLDER, leftMs: 20_000 },
  })),
  {
    what: "a status is one line",
    ...{ script: TWO_LINES, args: [HOLDER], answer: "+a  +b", leftMs: -2 },
  },
  {
    what: "an error is one line",
    ...{ script: TWO_LINES, args: ["other"], answer: "-c", leftMs: 20_000 },
  },
];

let server: StartedServer | undefined;
let redis: RespClient | undefined;
beforeAll(async () => {
  server = await startRedis();
  if (server !== undefined) redis = await RespClient.open(server.port);
});
afterAll(async () => {
  redis?.close();
  await server?.[Symbol.asyncDispose]();
});

async function expectCall(client: RespClient, call: Call): Promise<void> {
  const { script, args, answer, leftMs } = call;
  expect(await client.call("SET", "k", HOLDER, "PX", "20000", "NX")).toBe("+OK");
  const said = await client.call("EVAL", script, "1", "k", ...args);
  if (answer.startsWith("-")) expect(said.slice(0, answer.length)).toBe(answer);
  else expect(said).toBe(answer);
  const left = Number((await client.call("PTTL", "k")).slice(1));
  expect(left < 0 ? left : Math.ceil(left / 10_000) * 10_000).toBe(leftMs);
  // The next reply belongs to the next command.
  expect(await client.call("PING")).toBe("+PONG");
}

test.for(CALLS)("$what", async (call, context) => {
  await using world = await DoorWorld.open();
  await expectCall(await world.connect(), call);
  if (redis === undefined) return context.skip("redis-server is not installed");
  await redis.call("DEL", "k");
  await expectCall(redis, call);
});

test("a holder that takes again gets the time that is meant for that", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  const call = ["EVAL", TAKE_OR_EXTEND, "1", "k", HOLDER, "20000", "60000"];
  for (const leftMs of [20_000, 60_000]) {
    expect(await client.call(...call)).toBe(":1");
    const left = Number((await client.call("PTTL", "k")).slice(1));
    expect(Math.ceil(left / 10_000) * 10_000).toBe(leftMs);
  }
});

test("keys that are taken with a value each are free again after an error", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  const script = `for i = 1, #KEYS do
      if redis.call('exists', KEYS[i]) == 1 then return {0, i, KEYS[i]} end
    end
    for i = 1, #KEYS do redis.call('set', KEYS[i], ARGV[i], 'PX', ARGV[#ARGV]) end
    return {1, #KEYS}`;
  const call = ["EVAL", script, "2", "a", "b", "one"];
  expect(await client.call(...call, "v".repeat(1_100), "30000")).toMatch(/^-/);
  expect(await client.call("EXISTS", "a", "b")).toBe(":0");
  expect(await client.call(...call, "two", "30000")).toBe("[:1, :2]");
});
