/**
 * Transactions: what EXEC answers and leaves behind for every command that may be queued, in every
 * state of the watched key. What the table says of Redis is what Redis 7 does, and a test of that.
 */
import { execFile } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Transaction } from "../../../src/doors/redis/transaction.js";
import { HoldfastError } from "../../../src/errors/index.js";
import type { StartedServer } from "../../fence/stores/installed.js";
import { startRedis } from "../../fence/stores/redis.js";
import { DoorWorld } from "./world/door-world.js";
import { RespClient } from "./world/resp-client.js";

/**
 * What the key is when GET reads it, and when EXEC comes. Redis, which asks whether it was touched,
 * and the door, which asks whether it still is as it was read, mean the same in these.
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

/** The replies if the key still is as it was read; otherwise EXEC answers nil and does nothing. */
interface Expected {
  readonly absent: string;
  readonly mine: string;
}

/** The door refuses it when it is queued or within EXEC, wherever Redis answers. */
const REFUSED = "refused";
const ABORTED = "-EXECABORT Transaction discarded because of previous errors.";

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
const INCOMPATIBLE = "[-ERR NX and XX, GT or LT options at the same time are not compatible]";
const GT_AND_LT = "[-ERR GT and LT options at the same time are not compatible]";
const NO_SCRIPT = "[-NOSCRIPT No matching script. Please use EVAL.]";
const OVERWRITES =
  "[-NOHOLDFAST SET with XX would overwrite the value of another owner; see docs/reference/redis-port.md]";
const RELEASE =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
const UNSUPPORTED = "[-ERR Unsupported option Soon]";
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
  { command: ["EXPIRE", "k", "70", "XX"], redis: { absent: "[:0]", mine: "[:1] mine 70" } },
  { command: ["EXPIRE", "k", "70", "nx"], redis: { absent: "[:0]", mine: "[:0]" } },
  { command: ["EXPIRE", "k", "70", "GT"], redis: { absent: "[:0]", mine: "[:0]" } },
  { command: ["PEXPIRE", "k", "200000", "GT"], redis: { absent: "[:0]", mine: "[:1] mine 200" } },
  { command: ["EXPIRE", "k", "70", "LT", "XX"], redis: { absent: "[:0]", mine: "[:1] mine 70" } },
  { command: ["EXPIRE", "k", "200", "LT"], redis: { absent: "[:0]", mine: "[:0]" } },
  { command: ["EXPIRE", "k", "0", "LT"], redis: { absent: "[:0]", mine: "[:1] free" } },
  {
    command: ["EXPIRE", "k", "70", "NX", "LT"],
    redis: { absent: INCOMPATIBLE, mine: INCOMPATIBLE },
  },
  {
    command: ["EXPIRE", "k", "70", "GT", "LT"],
    redis: { absent: GT_AND_LT, mine: GT_AND_LT },
  },
  {
    command: ["EXPIRE", "k", "70", "Soon"],
    redis: { absent: UNSUPPORTED, mine: UNSUPPORTED },
  },
  {
    command: ["PERSIST", "k"],
    redis: { absent: "[:0]", mine: "[:1] mine -1" },
    door: { mine: REFUSED },
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

/** Transactions that watch nothing, with the key free, held by `mine`, or by `other`. */
interface PlainRow {
  readonly commands: readonly (readonly string[])[];
  readonly redis: readonly [absent: string, mine: string, other: string];
  readonly door?: readonly [absent: string, mine: string, other: string];
}

const THRICE_REFUSED = [REFUSED, REFUSED, REFUSED] as const;
const EXPIRE_70 = ["EXPIRE", "k", "70"];
const PLAIN_ROWS: readonly PlainRow[] = [
  {
    commands: [["SET", "k", "mine", "NX", "PX", "70000"]],
    redis: ["[+OK] mine 70", "[nil]", "[nil]"],
  },
  { commands: [["GET", "k"]], redis: ["[nil]", "[mine]", "[other]"] },
  { commands: [["PING"]], redis: ["[+PONG]", "[+PONG]", "[+PONG]"] },
  { commands: [["ECHO", "x"]], redis: ["[x]", "[x]", "[x]"] },
  { commands: [["SELECT", "0"]], redis: ["[+OK]", "[+OK]", "[+OK]"] },
  { commands: [["EXISTS", "k", "k"]], redis: ["[:0]", "[:2]", "[:2]"] },
  {
    commands: [["SET", "k", "mine", "XX", "EX", "70"]],
    redis: ["[nil]", "[+OK] mine 70", "[+OK] mine 70"],
    door: ["[nil]", "[+OK] mine 70", OVERWRITES],
  },
  {
    commands: [["SET", "k", "mine", "NX", "PX", "x"]],
    redis: [NOT_AN_INTEGER, NOT_AN_INTEGER, NOT_AN_INTEGER],
  },
  {
    commands: [["EVAL", RELEASE, "1", "k", "mine"]],
    redis: ["[:0]", "[:1] free", "[:0]"],
  },
  {
    commands: [["EVALSHA", "0".repeat(40), "0"]],
    redis: [NO_SCRIPT, NO_SCRIPT, NO_SCRIPT],
  },
  {
    commands: [["EVAL", "return 1", "0"]],
    redis: ["[:1]", "[:1]", "[:1]"],
  },
  { commands: [["DEL", "k"]], redis: ["[:0]", "[:1] free", "[:1] free"], door: THRICE_REFUSED },
  {
    commands: [EXPIRE_70],
    redis: ["[:0]", "[:1] mine 70", "[:1] other 70"],
    door: THRICE_REFUSED,
  },
  {
    commands: [["SETNX", "k", "mine"], EXPIRE_70],
    redis: ["[:1, :1] mine 70", "[:0, :1] mine 70", "[:0, :1] other 70"],
    door: ["[:1, :1] mine 70", "[:0, :1] mine 70", "[:0, :0]"],
  },
  {
    commands: [
      ["setnx", "k", "mine"],
      ["pexpire", "k", "70000"],
    ],
    redis: ["[:1, :1] mine 70", "[:0, :1] mine 70", "[:0, :1] other 70"],
    door: ["[:1, :1] mine 70", "[:0, :1] mine 70", "[:0, :0]"],
  },
  {
    commands: [["SET", "k", "mine", "NX"], EXPIRE_70],
    redis: ["[+OK, :1] mine 70", "[nil, :1] mine 70", "[nil, :1] other 70"],
    door: ["[+OK, :1] mine 70", "[nil, :1] mine 70", "[nil, :0]"],
  },
  {
    commands: [
      ["SETNX", "k", "mine"],
      [...EXPIRE_70, "NX"],
    ],
    redis: ["[:1, :1] mine 70", "[:0, :0]", "[:0, :0]"],
  },
  {
    commands: [
      ["SET", "k", "mine", "NX", "EX", "50"],
      [...EXPIRE_70, "GT"],
    ],
    redis: ["[+OK, :1] mine 70", "[nil, :0]", "[nil, :0]"],
  },
  {
    commands: [
      ["SET", "k", "mine", "NX", "EX", "50"],
      [...EXPIRE_70, "LT"],
    ],
    redis: ["[+OK, :0] mine 50", "[nil, :1] mine 70", "[nil, :1] other 70"],
    door: ["[+OK, :0] mine 50", "[nil, :1] mine 70", "[nil, :0]"],
  },
  {
    commands: [
      ["SETNX", "k", "mine"],
      [...EXPIRE_70, "XX"],
    ],
    redis: ["[:1, :0] mine -1", "[:0, :1] mine 70", "[:0, :1] other 70"],
    door: THRICE_REFUSED,
  },
  {
    commands: [
      ["SETNX", "k", "mine"],
      ["EXPIRE", "l", "70"],
    ],
    redis: ["[:1, :0] mine -1", "[:0, :0]", "[:0, :0]"],
    door: THRICE_REFUSED,
  },
  {
    commands: [
      ["SETNX", "k", "mine"],
      ["EXPIRE", "k", "0"],
    ],
    redis: ["[:1, :1]", "[:0, :1] free", "[:0, :1] free"],
    door: THRICE_REFUSED,
  },
];

const PLAIN_STATES = ["absent", "mine", "other"] as const;
const PLAIN_CASES = PLAIN_ROWS.flatMap((row) =>
  PLAIN_STATES.map((state, at) => ({ row, state, at, shown: row.commands.join(", ") })),
);

async function runPlain(
  first: RespClient,
  other: RespClient,
  { row, state }: { row: PlainRow; state: string },
): Promise<string> {
  if (state !== "absent") await first.call("SET", "k", state, "NX", "PX", "100000");
  await first.call("MULTI");
  const queued: string[] = [];
  for (const command of row.commands) queued.push(await first.call(...command));
  const before = await leftOf(other);
  const reply = await first.call("EXEC");
  const left = await leftOf(other);
  const refusals = queued.filter((each) => each !== "+QUEUED");
  if (refusals.length > 0) {
    expect(refusals).toEqual([expect.stringMatching(/^-NOHOLDFAST /)]);
    expect([reply, left]).toEqual([ABORTED, before]);
    return REFUSED;
  }
  return left === before ? reply : `${reply} ${left}`;
}

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
  const queued = row.command.length === 0 ? "" : await first.call(...row.command);
  if (queued !== "") expect(queued).toMatch(/^(?:\+QUEUED$|-NOHOLDFAST )/);
  if (told !== now) {
    if (told !== undefined) await free(other, told);
    if (now !== undefined) await other.call("SET", "k", now, "NX", "PX", "100000");
  }
  const before = await leftOf(other);
  // The last digits of a time depend on the moment.
  const reply = (await first.call("EXEC")).replace(/^\[:99\d\d\d\]$/, "[:100000]");
  const left = await leftOf(other);
  const isRefused = queued.startsWith("-NOHOLDFAST");
  if (isRefused) expect(reply).toBe(ABORTED);
  const shown = isRefused || reply.startsWith("[-NOHOLDFAST") ? REFUSED : reply;
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

  test.for(PLAIN_CASES)(
    "MULTI, $shown, EXEC with the key $state",
    async ({ row, state, at }, context) => {
      const [first, other] = clients;
      if (first === undefined || other === undefined) {
        return context.skip("redis-server is not installed");
      }
      await first.call("RESET");
      await other.call("FLUSHALL");
      expect(await runPlain(first, other, { row, state })).toBe(row.redis[at]);
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

test.each(PLAIN_CASES)(
  "at the door: MULTI, $shown, EXEC with the key $state",
  async ({ row, state, at }) => {
    await using world = await DoorWorld.open();
    const [first, other] = [await world.connect(), await world.connect()];
    const { redis, door = redis } = row;
    expect(await runPlain(first, other, { row, state })).toBe(door[at]);
  },
);

test("where no proof is asked, EXPIRE after SETNX moves the lock of another client, as in Redis", async () => {
  await using world = await DoorWorld.open({ allowsUnproven: true });
  const client = await world.connect();
  await client.call("SET", "k", "other", "NX", "PX", "100000");
  await client.call("MULTI");
  await client.call("SETNX", "k", "mine");
  await client.call("EXPIRE", "k", "70");
  expect(await client.call("EXEC")).toBe("[:0, :1]");
  expect([await client.call("GET", "k"), await client.call("TTL", "k")]).toEqual(["other", ":70"]);
});

test("SETNX and EXPIRE on a watched key count if the key still is as GET told", async () => {
  await using world = await DoorWorld.open();
  const [first, second] = [await world.connect(), await world.connect()];
  const begin = async (client: RespClient, value: string): Promise<void> => {
    await client.call("WATCH", "k");
    await client.call("GET", "k");
    await client.call("MULTI");
    expect(await client.call("SETNX", "k", value)).toBe("+QUEUED");
    expect(await client.call("EXPIRE", "k", "70")).toBe("+QUEUED");
  };
  await begin(first, "1");
  await begin(second, "2");
  expect(await first.call("EXEC")).toBe("[:1, :1]");
  expect(await second.call("EXEC")).toBe("nil");
  await begin(second, "2");
  expect(await second.call("EXEC")).toBe("[:0, :1]");
  expect(await second.call("GET", "k")).toBe("1");
});

test("PERSIST in a transaction takes the end of a watched lock away, where that is allowed", async () => {
  await using world = await DoorWorld.open({ allowsEndless: true });
  const client = await world.connect();
  await client.call("SET", "k", "mine", "NX", "PX", "1000");
  for (const answer of ["[:1]", "[:0]"]) {
    await client.call("WATCH", "k");
    await client.call("GET", "k");
    await client.call("MULTI");
    await client.call("PERSIST", "k");
    expect(await client.call("EXEC")).toBe(answer);
    expect(await client.call("TTL", "k")).toBe(":-1");
  }
});

test("SETNX alone in a transaction is refused within the answer of EXEC, which is whole", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  await client.call("MULTI");
  expect(await client.call("SETNX", "k", "v")).toBe("+QUEUED");
  expect(await client.call("EXEC")).toMatch(/^\[-NOHOLDFAST a lock without an expiry [^\]]*\]$/);
  expect(await client.call("GET", "k")).toBe("nil");
});

test("what fails at EXEC fails for each of its commands", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  const noLeader = { details: { indeterminate: false } };
  world.locks.failures.push(new HoldfastError("UNAVAILABLE", "no leader", noLeader));
  await client.call("MULTI");
  await client.call("SETNX", "k", "v");
  await client.call("EXPIRE", "k", "70");
  expect(await client.call("EXEC")).toMatch(/^\[-READONLY [^\]]*, -READONLY [^\]]*\]$/);
  expect(world.locks.log).toEqual([]);
});

const PHP = `
$redis = new Redis();
$redis->connect("127.0.0.1", (int) $argv[1], 5);
$redis->setOption(Redis::OPT_READ_TIMEOUT, 60);
$told = [];
$told[] = $redis->multi()->set("a", "me", ["nx", "px" => 2000])->exec();
$told[] = $redis->multi()->setnx("b", "me")->expire("b", 10)->exec();
$told[] = $redis->multi()->setnx("a", "you")->expire("a", 10)->exec();
$many = $redis->multi();
try {
  $many->del("a");
} catch (RedisException $refusal) {
  $told[] = [strstr($refusal->getMessage(), " ", true), $many->exec()];
}
$told[] = [$redis->get("a"), $redis->ttl("b")];
echo json_encode($told);
`;

test("phpredis hears at once what its transactions did, and which was refused", async (context) => {
  await using world = await DoorWorld.open();
  const { port } = world.door;
  const told = await new Promise<string | undefined>((resolve, reject) => {
    execFile("php", ["-r", PHP, String(port)], { timeout: 30_000 }, (error, stdout) => {
      const isMissing = error?.code === "ENOENT" || stdout.includes('Class "Redis" not found');
      if (isMissing) resolve(undefined);
      else if (error === null) resolve(stdout);
      else reject(new Error(`${error.message} ${stdout}`));
    });
  });
  if (told === undefined) return context.skip("php with its extension redis is not installed");
  expect(JSON.parse(told)).toEqual([
    [true],
    [true, true],
    [false, false],
    ["NOHOLDFAST", []],
    ["me", 10],
  ]);
});

test.each([
  ["a key that was not asked for", [["WATCH", "k"], ["MULTI"], ["EXISTS", "k"]]],
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
  const replies: string[] = [];
  for (const command of commands) replies.push(await client.call(...command));
  expect(replies.at(-1)).toMatch(/^-NOHOLDFAST a transaction is answered if/);
  expect(await client.call("EXEC")).toBe(ABORTED);
  expect(world.locks.log).toEqual([]);
  expect(await client.call("EXEC")).toBe("-ERR EXEC without MULTI");
});

test.each([
  ["AUTH", "x"],
  ["HELLO", "3"],
  ["SUBSCRIBE", "c"],
  ["UNSUBSCRIBE", "c"],
  ["PUBLISH", "c", "m"],
  ["LPUSH", "k", "v"],
  ["GET"],
])("%s is refused within a transaction", async (...command) => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  await client.call("MULTI");
  expect(await client.call(...command)).toMatch(/^-(?:NOHOLDFAST|ERR wrong number) /);
  expect(await client.call("EXEC")).toBe(ABORTED);
  expect(await client.call("PING")).toBe("+PONG");
});

test("a transaction keeps no more than 8 KiB, and no longer keys than there are", async () => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  expect(await client.call("WATCH", "k".repeat(10_000))).toMatch(/^-NOHOLDFAST a key is too long/);
  await client.call("MULTI");
  expect(await client.call("ECHO", "v".repeat(8_200))).toMatch(/^-NOHOLDFAST .* 8192 bytes/);
  for (let i = 0; i < 16; i++) await client.call("ECHO", "v".repeat(8_000));
  expect(await client.call("EXEC")).toBe(ABORTED);
  await client.call("MULTI");
  expect(await client.call("EXEC")).toBe("[]");
});

test("what is queued is copied out of the buffer that it came in", () => {
  const transaction = new Transaction();
  const buffer = Buffer.alloc(500_000, "x");
  transaction.begin();
  const [check, run] = [() => {}, () => 0];
  transaction.queue({ name: "ECHO", args: [buffer.subarray(0, 5)], check, run });
  buffer.fill("y");
  const [word] = transaction.take().commands[0]?.args ?? [];
  expect(String(word)).toBe("xxxxx");
  expect(word?.buffer).not.toBe(buffer.buffer);
});
