/**
 * Transactions: what EXEC answers and leaves behind for every command that may be queued, in every
 * state of the watched key. What the table says of Redis is what Redis 7 does, and a test of that.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Transaction } from "../../../src/doors/redis/transaction.js";
import type { StartedServer } from "../../fence/stores/installed.js";
import { startRedis } from "../../fence/stores/redis.js";
import { DoorWorld } from "./world/door-world.js";
import { RespClient } from "./world/resp-client.js";

/**
 * What the key is when GET tells it, and when EXEC comes. Redis, which asks whether it was touched, and
 * the door, which asks whether it still is as told, mean the same in these.
 */
const STATES = {
  "absent, absent": [undefined, undefined],
  "absent, mine": [undefined, "mine"],
  "absent, other": [undefined, "other"],
  "mine, mine": ["mine", "mine"],
  "mine, other": ["mine", "other"],
  "mine, absent": ["mine", undefined],
} as const;
type State = keyof typeof STATES;

/** Of the states in which it is as it was told; in all others EXEC answers nil and does nothing. */
interface Expected {
  readonly absent: string;
  readonly mine: string;
}

/** The door refuses it, wherever Redis answers. */
const REFUSED = "refused";

interface Row {
  readonly command: readonly string[];
  readonly redis: Expected;
  /** Default: the same. */
  readonly door?: Partial<Expected>;
  /** Redis 7 does not know it. */
  readonly isNewer?: boolean;
}

const NOT_AN_INTEGER = "[-ERR value is not an integer or out of range]";
const SYNTAX = "[-ERR syntax error]";
const ROWS: readonly Row[] = [
  { command: [], redis: { absent: "[]", mine: "[]" } },
  { command: ["GET", "k"], redis: { absent: "[nil]", mine: "[mine]" } },
  { command: ["EXISTS", "k"], redis: { absent: "[:0]", mine: "[:1]" } },
  { command: ["TYPE", "k"], redis: { absent: "[+none]", mine: "[+string]" } },
  { command: ["TTL", "k"], redis: { absent: "[:-2]", mine: "[:100]" } },
  { command: ["PTTL", "k"], redis: { absent: "[:-2]", mine: "[:100000]" } },
  {
    command: ["SET", "k", "mine", "NX", "PX", "70000"],
    redis: { absent: "[+OK] mine 70", mine: "[nil]" },
  },
  {
    command: ["SET", "k", "other", "NX", "EX", "70"],
    redis: { absent: "[+OK] other 70", mine: "[nil]" },
  },
  {
    command: ["SET", "k", "mine", "PX", "70000"],
    redis: { absent: "[+OK] mine 70", mine: "[+OK] mine 70" },
  },
  {
    command: ["SET", "k", "mine", "XX", "PX", "70000"],
    redis: { absent: "[nil]", mine: "[+OK] mine 70" },
  },
  {
    command: ["SET", "k", "other", "PX", "70000"],
    redis: { absent: "[+OK] other 70", mine: "[+OK] other 70" },
    door: { mine: REFUSED },
  },
  {
    command: ["SET", "k", "mine"],
    redis: { absent: "[+OK] mine -1", mine: "[+OK] mine -1" },
    door: { absent: REFUSED, mine: REFUSED },
  },
  {
    command: ["SET", "k", "mine", "NX"],
    redis: { absent: "[+OK] mine -1", mine: "[nil]" },
    door: { absent: REFUSED },
  },
  {
    command: ["SET", "k", "mine", "PX", "70000", "GET"],
    redis: { absent: "[nil] mine 70", mine: "[mine] mine 70" },
    door: { absent: REFUSED, mine: REFUSED },
  },
  {
    command: ["SET", "k", "mine", "KEEPTTL"],
    redis: { absent: "[+OK] mine -1", mine: "[+OK]" },
    door: { absent: REFUSED, mine: REFUSED },
  },
  {
    command: ["SET", "k", "mine", "PX", "x"],
    redis: { absent: NOT_AN_INTEGER, mine: NOT_AN_INTEGER },
  },
  {
    command: ["SET", "k", "mine", "NX", "PX", "0"],
    redis: {
      absent: "[-ERR invalid expire time in 'set' command]",
      mine: "[-ERR invalid expire time in 'set' command]",
    },
  },
  { command: ["SET", "k", "mine", "NX", "XX"], redis: { absent: SYNTAX, mine: SYNTAX } },
  {
    command: ["SETNX", "k", "mine"],
    redis: { absent: "[:1] mine -1", mine: "[:0]" },
    door: { absent: REFUSED },
  },
  { command: ["DEL", "k"], redis: { absent: "[:0]", mine: "[:1] free" } },
  { command: ["UNLINK", "k"], redis: { absent: "[:0]", mine: "[:1] free" } },
  { command: ["EXPIRE", "k", "70"], redis: { absent: "[:0]", mine: "[:1] mine 70" } },
  { command: ["PEXPIRE", "k", "70000"], redis: { absent: "[:0]", mine: "[:1] mine 70" } },
  { command: ["EXPIRE", "k", "0"], redis: { absent: "[:0]", mine: "[:1] free" } },
  { command: ["PEXPIRE", "k", "-1"], redis: { absent: "[:0]", mine: "[:1] free" } },
  { command: ["EXPIRE", "k", "x"], redis: { absent: NOT_AN_INTEGER, mine: NOT_AN_INTEGER } },
  {
    command: ["EXPIRE", "k", "70", "XX"],
    redis: { absent: "[:0]", mine: "[:1] mine 70" },
    door: { absent: REFUSED, mine: REFUSED },
  },
  {
    command: ["DEL", "k", "l"],
    redis: { absent: "[:0]", mine: "[:1] free" },
    door: { absent: REFUSED, mine: REFUSED },
  },
  {
    command: ["EXISTS", "k", "k"],
    redis: { absent: "[:0]", mine: "[:2]" },
    door: { absent: REFUSED, mine: REFUSED },
  },
  {
    command: ["ZREM", "k", "member"],
    redis: {
      absent: "[:0]",
      mine: "[-WRONGTYPE Operation against a key holding the wrong kind of value]",
    },
    door: { absent: REFUSED, mine: REFUSED },
  },
  {
    command: ["EVAL", "return redis.call('get', KEYS[1])", "1", "k"],
    redis: { absent: "[nil]", mine: "[mine]" },
    door: { absent: REFUSED, mine: REFUSED },
  },
  {
    command: ["SET", "l", "mine", "NX", "PX", "70000"],
    redis: { absent: "[+OK]", mine: "[+OK]" },
    door: { absent: REFUSED, mine: REFUSED },
  },
  {
    command: ["PING"],
    redis: { absent: "[+PONG]", mine: "[+PONG]" },
    door: { absent: REFUSED, mine: REFUSED },
  },
  {
    command: ["SELECT", "1"],
    redis: { absent: "[+OK]", mine: "[+OK]" },
    door: { absent: REFUSED, mine: REFUSED },
  },
  {
    command: ["ECHO", "k"],
    redis: { absent: "[k]", mine: "[k]" },
    door: { absent: REFUSED, mine: REFUSED },
  },
  {
    command: ["UNWATCH"],
    redis: { absent: "[+OK]", mine: "[+OK]" },
    door: { absent: REFUSED, mine: REFUSED },
  },
  {
    command: ["DELIFEQ", "k", "mine"],
    redis: { absent: "[:0]", mine: "[:1] free" },
    isNewer: true,
  },
  { command: ["DELIFEQ", "k", "other"], redis: { absent: "[:0]", mine: "[:0]" }, isNewer: true },
  {
    command: ["DELEX", "k", "IFEQ", "mine"],
    redis: { absent: "[:0]", mine: "[:1] free" },
    isNewer: true,
  },
  {
    command: ["DELEX", "k", "IFEQ", "other"],
    redis: { absent: "[:0]", mine: "[:0]" },
    isNewer: true,
  },
  {
    command: ["SET", "k", "mine", "IFEQ", "mine", "PX", "70000"],
    redis: { absent: "[nil]", mine: "[+OK] mine 70" },
    isNewer: true,
  },
  {
    command: ["SET", "k", "mine", "IFEQ", "other", "PX", "70000"],
    redis: { absent: "[nil]", mine: "[nil]" },
    isNewer: true,
  },
];

const CASES = ROWS.flatMap((row) =>
  (Object.keys(STATES) as State[]).map((state) => ({ row, state, shown: row.command.join(" ") })),
);

/** The reply, and what the key is if that has changed. */
function expectedOf({ row, state, isDoor }: { row: Row; state: State; isDoor: boolean }): string {
  const [told, now] = STATES[state];
  const which = told === undefined ? "absent" : "mine";
  const atDoor = isDoor ? row.door?.[which] : undefined;
  if (atDoor !== undefined) return atDoor;
  return told === now ? row.redis[which] : "nil";
}

async function run(
  first: RespClient,
  other: RespClient,
  { row, state }: { row: Row; state: State },
) {
  const [told, now] = STATES[state];
  if (told !== undefined) await first.call("SET", "k", told, "NX", "PX", "100000");
  await first.call("WATCH", "k");
  expect(await first.call("GET", "k")).toBe(told ?? "nil");
  await first.call("MULTI");
  if (row.command.length > 0) expect(await first.call(...row.command)).toBe("+QUEUED");
  if (told !== now) {
    if (told !== undefined) await free(other, told);
    if (now !== undefined) await other.call("SET", "k", now, "NX", "PX", "100000");
  }
  const before = await leftOf(other);
  // The last digits of a time are those of the moment.
  const reply = (await first.call("EXEC")).replace(/^\[:99\d\d\d\]$/, "[:100000]");
  const left = await leftOf(other);
  const shown = reply.startsWith("-NOHOLDFAST") ? REFUSED : reply;
  return left === before ? shown : `${shown} ${left}`;
}

async function leftOf(client: RespClient): Promise<string> {
  const value = await client.call("GET", "k");
  return value === "nil" ? "free" : `${value} ${(await client.call("TTL", "k")).slice(1)}`;
}

async function free(client: RespClient, value: string): Promise<void> {
  const reply = await client.call("DELEX", "k", "IFEQ", value);
  if (reply !== ":1") expect(await client.call("DEL", "k")).toBe(":1");
}

describe("at the door", () => {
  test.each(CASES)(
    "WATCH, GET, MULTI, $shown, EXEC with the key $state",
    async ({ row, state }) => {
      await using world = await DoorWorld.open();
      const [first, other] = [await world.connect(), await world.connect()];
      expect(await run(first, other, { row, state })).toBe(
        expectedOf({ row, state, isDoor: true }),
      );
    },
  );
});

describe("at Redis", () => {
  let server: StartedServer | undefined;
  let clients: RespClient[] = [];

  beforeAll(async () => {
    server = await startRedis();
    if (server === undefined) return;
    clients = [await RespClient.open(server.port), await RespClient.open(server.port)];
  });

  afterAll(async () => {
    for (const client of clients) client.close();
    await server?.[Symbol.asyncDispose]();
  });

  test.for(CASES.filter(({ row }) => row.isNewer !== true))(
    "WATCH, GET, MULTI, $shown, EXEC with the key $state",
    async ({ row, state }, context) => {
      const [first, other] = clients;
      if (first === undefined || other === undefined) {
        return context.skip("redis-server is not installed");
      }
      await first.call("RESET");
      await other.call("FLUSHALL");
      expect(await run(first, other, { row, state })).toBe(
        expectedOf({ row, state, isDoor: false }),
      );
    },
  );
});

test("of two clients that saw a key free, one transaction takes it", async () => {
  await using world = await DoorWorld.open();
  const [first, second] = [await world.connect(), await world.connect()];
  for (const [client, value] of [
    [first, "1"],
    [second, "2"],
  ] as const) {
    await client.call("WATCH", "k");
    expect(await client.call("GET", "k")).toBe("nil");
    await client.call("MULTI");
    await client.call("SET", "k", value, "NX", "PX", "30000");
  }
  expect(await first.call("EXEC")).toBe("[+OK]");
  expect(await second.call("EXEC")).toBe("nil");
  expect(await first.call("GET", "k")).toBe("1");
  expect(world.locks.log).toEqual(["take ~redis/0/k 30300"]);
});

test.each([
  ["a key that was not asked for", [["WATCH", "k"], ["MULTI"], ["EXISTS", "k"]]],
  ["no watched key", [["MULTI"], ["SET", "k", "v", "NX", "PX", "1000"]]],
  [
    "several watched keys",
    [["WATCH", "k", "l"], ["GET", "k"], ["GET", "l"], ["MULTI"], ["EXISTS", "k"]],
  ],
  [
    "the key in another database",
    [["WATCH", "k"], ["GET", "k"], ["SELECT", "1"], ["MULTI"], ["TTL", "k"]],
  ],
  [
    "two commands",
    [["WATCH", "k"], ["GET", "k"], ["MULTI"], ["SET", "k", "v", "NX", "PX", "9"], ["TTL", "k"]],
  ],
] as const)("a transaction with %s is refused, and does nothing", async (_what, commands) => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  for (const command of commands) await client.call(...command);
  expect(await client.call("EXEC")).toMatch(/^-NOHOLDFAST a transaction is answered if/);
  expect(world.locks.log).toEqual([]);
  expect(await client.call("EXEC")).toBe("-ERR EXEC without MULTI");
});

test("a transaction keeps no more than 16 commands and 8 KiB, and no longer keys than there are", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  const abort = "-EXECABORT Transaction discarded because of previous errors.";
  expect(await client.call("WATCH", "k".repeat(10_000))).toMatch(/^-NOHOLDFAST a key is too long/);
  await client.call("MULTI");
  for (let i = 0; i < 16; i++) expect(await client.call("GET", "k")).toBe("+QUEUED");
  expect(await client.call("GET", "k")).toMatch(/^-NOHOLDFAST a transaction of more than 16/);
  expect(await client.call("EXEC")).toBe(abort);
  await client.call("MULTI");
  expect(await client.call("SET", "k", "v".repeat(8_000))).toBe("+QUEUED");
  expect(await client.call("SET", "k", "v".repeat(8_000))).toMatch(/^-NOHOLDFAST .* 8192 bytes/);
  expect(await client.call("GET", "k")).toBe("+QUEUED");
  expect(await client.call("EXEC")).toBe(abort);
  await client.call("MULTI");
  expect(await client.call("EXEC")).toBe("[]");
});

test("what is queued is copied out of the buffer that it came in", () => {
  const transaction = new Transaction();
  const buffer = Buffer.alloc(500_000, "x");
  transaction.begin();
  transaction.queue([buffer.subarray(0, 5)]);
  buffer.fill("y");
  const [[word] = []] = transaction.take().commands;
  expect(String(word)).toBe("xxxxx");
  expect(word?.buffer).not.toBe(buffer.buffer);
});
