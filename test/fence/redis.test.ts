import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Claim, fencedRedis, type RedisSend } from "../../src/fence/index.js";
import { expectTheRule } from "./rule-contract.js";
import type { StartedServer } from "./stores/installed.js";
import { startRedis } from "./stores/redis.js";

const TOKEN = 3_710_851_743_744_001;
const exclusive = (token: number): Claim => ({ token, mode: "exclusive" });
let server: StartedServer | undefined;
let redis: Redis;

const send: RedisSend = ([command = "", ...args]) => redis.call(command, ...args);

beforeAll(async () => {
  server = await startRedis();
  if (server !== undefined) redis = new Redis({ host: "127.0.0.1", port: server.port });
});

afterAll(async () => {
  redis?.disconnect();
  await server?.[Symbol.asyncDispose]();
});

test("the gate follows the rule of each mode, and of keys that change their kind", async (context) => {
  if (server === undefined) context.skip("Redis is not installed");
  const admit = async (gate: string, claim: Claim) => {
    await fencedRedis(send, { gate }, claim, []);
  };
  await expectTheRule(admit, "both", 200);
});

test("commands run in order after the gate, or not at all", async (context) => {
  if (server === undefined) context.skip("Redis is not installed");
  const fence = { gate: "{stock}:fence", keys: ["{stock}"] };
  const first = await fencedRedis(send, fence, exclusive(TOKEN), [
    ["SET", "{stock}", 10],
    ["DECRBY", "{stock}", 3],
    ["GET", "{other}"],
  ]);
  expect(first).toEqual(["OK", 7, null]);
  await expect(
    fencedRedis(send, fence, exclusive(TOKEN - 1), [["SET", "{stock}", 0]]),
  ).rejects.toMatchObject({
    code: "STALE_TOKEN",
    details: { resource: "{stock}:fence", token: TOKEN - 1, newest: TOKEN },
  });
  expect(await redis.get("{stock}")).toBe("7");
  expect(await redis.hgetall("{stock}:fence")).toEqual({ exclusive: String(TOKEN) });
});

test("what Redis refuses is reported in its own words", async (context) => {
  if (server === undefined) context.skip("Redis is not installed");
  const fence = { gate: "gate" };
  await expect(fencedRedis(send, fence, exclusive(1), [["LPUSH", "gate", "x"]])).rejects.toThrow(
    "WRONGTYPE",
  );
  await expect(fencedRedis(send, fence, exclusive(1), [[]])).rejects.toThrow(TypeError);
  const odd: RedisSend = async () => "OK";
  await expect(fencedRedis(odd, fence, exclusive(1), [])).rejects.toMatchObject({
    code: "PROTOCOL",
  });
});
