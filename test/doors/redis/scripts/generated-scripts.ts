/**
 * Random scripts of the grammar that lock clients use, random calls of them, and the comparison of a
 * door with Redis: in the same state of the keys both must answer and do the same, or the door must
 * refuse and leave everything as it was.
 */
import fc from "fast-check";
import { expect } from "vitest";
import type { StartedServer } from "../../../fence/stores/installed.js";
import { startRedis } from "../../../fence/stores/redis.js";
import { DoorWorld, RespClient } from "../world/door-world.js";

export interface GeneratedCall {
  readonly text: string;
  /** May name one key twice. */
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** Who holds each key before, for 20 s or without end; `undefined`: nobody. */
  readonly holders: Readonly<Record<string, string | undefined>>;
  readonly isEndless?: boolean;
  /** Keys that are hashes: the holder is the field, with this count. */
  readonly counts?: Readonly<Record<string, string | undefined>> | undefined;
}

const KEY_NAMES = ["k", "l", "m"] as const;
const HELD_MS = 20_000;
const key = fc.constantFrom(
  ..."KEYS[1] KEYS[1] KEYS[1] key key key key key KEYS[#KEYS]".split(" "),
);
const argument = fc.constantFrom("ARGV[1]", "ARGV[1]", "ARGV[2]", "ARGV[3]", "ARGV[#ARGV]");
const name = fc.constantFrom("a", "b", "held", "held");
const constant = fc.constantFrom(
  ..."0 1 -1 2 -2 1000 'x' '' '1' 'alice' nil true false #KEYS #ARGV".split(" "),
);
const duration = fc.constantFrom(
  ..."ARGV[#ARGV] ARGV[#ARGV] ARGV[2] 30000 45000".split(" "),
  "ARGV[#ARGV] * 2",
);

function joined(
  separator: string,
  ...parts: readonly fc.Arbitrary<string>[]
): fc.Arbitrary<string> {
  return fc.tuple(...parts).map((texts) => texts.join(separator));
}

function call(...parts: readonly fc.Arbitrary<string>[]): fc.Arbitrary<string> {
  return joined(", ", ...parts).map((text) => `redis.call(${text})`);
}

const words = (text: string) => fc.constant(text);

const { statements, condition, expression } = fc.letrec<{
  expression: string;
  command: string;
  condition: string;
  statement: string;
  statements: string;
}>((tie) => ({
  command: fc.oneof(
    { weight: 4, arbitrary: call(words("'get'"), key) },
    { weight: 2, arbitrary: call(words("'del'"), key) },
    { weight: 2, arbitrary: call(words("'pexpire'"), key, duration) },
    { weight: 1, arbitrary: call(words("'expire'"), key, duration) },
    { weight: 1, arbitrary: call(words("'pttl'"), key) },
    { weight: 1, arbitrary: call(words("'ttl'"), key) },
    { weight: 1, arbitrary: call(words("'exists'"), key) },
    { weight: 1, arbitrary: call(words("'exists'"), key, key) },
    { weight: 1, arbitrary: call(words("'mget'"), key, key) },
    { weight: 1, arbitrary: call(words("'del'"), key, key) },
    { weight: 1, arbitrary: call(words("'mget'"), words("unpack(KEYS)")) },
    { weight: 3, arbitrary: call(words("'set'"), key, argument, words("'NX', 'PX'"), duration) },
    { weight: 1, arbitrary: call(words("'set'"), key, argument, words("'NX'")) },
    { weight: 1, arbitrary: call(words("'set'"), key, argument, words("'PX'"), duration) },
    { weight: 1, arbitrary: call(words("'set'"), key, argument, words("'XX', 'EX'"), duration) },
    { weight: 1, arbitrary: call(words("'setnx'"), key, argument) },
    { weight: 1, arbitrary: call(words("'psetex'"), key, duration, argument) },
    { weight: 1, arbitrary: call(words("'msetnx'"), key, argument, key, argument) },
    { weight: 1, arbitrary: call(words("'mset'"), key, argument) },
    { weight: 1, arbitrary: call(words("'getrange'"), key, words("0"), words("ARGV[2] - 1")) },
    { weight: 1, arbitrary: call(words("'strlen'"), key) },
    { weight: 1, arbitrary: call(words("'publish'"), argument, key) },
  ),
  condition: fc.oneof(
    { weight: 5, arbitrary: joined(" == ", call(words("'get'"), key), argument) },
    { weight: 2, arbitrary: joined(" == ", name, argument) },
    { weight: 2, arbitrary: joined(" == ", tie("expression"), tie("expression")) },
    { weight: 1, arbitrary: joined(" ~= ", tie("expression"), tie("expression")) },
    { weight: 1, arbitrary: joined(" < ", tie("expression"), tie("expression")) },
    { weight: 1, arbitrary: joined(" >= ", tie("expression"), words("tonumber(ARGV[2])")) },
    { weight: 2, arbitrary: tie("command") },
    { weight: 2, arbitrary: tie("expression").map((text) => `not ${text}`) },
    { weight: 1, arbitrary: joined(" and ", tie("condition"), tie("condition")) },
    { weight: 1, arbitrary: joined(" or ", tie("condition"), tie("condition")) },
  ),
  expression: fc.oneof(
    { depthSize: "small", maxDepth: 3 },
    { weight: 4, arbitrary: argument },
    { weight: 3, arbitrary: name },
    { weight: 3, arbitrary: constant },
    { weight: 2, arbitrary: key },
    { weight: 6, arbitrary: tie("command") },
    {
      weight: 2,
      arbitrary: fc.array(tie("expression"), { maxLength: 3 }).map((all) => `{${all}}`),
    },
    { weight: 1, arbitrary: tie("expression").map((text) => `tonumber(${text})`) },
    { weight: 1, arbitrary: tie("expression").map((text) => `tostring(${text})`) },
    { weight: 1, arbitrary: tie("expression").map((text) => `type(${text})`) },
    { weight: 1, arbitrary: tie("expression").map((text) => `string.sub(${text}, 1, 2)`) },
    { weight: 1, arbitrary: tie("expression").map((text) => `#${text}`) },
    { weight: 1, arbitrary: name.map((text) => `${text}[1]`) },
    { weight: 1, arbitrary: joined(" + ", tie("expression"), tie("expression")) },
    { weight: 1, arbitrary: joined(" - ", tie("expression"), tie("expression")) },
    { weight: 1, arbitrary: joined(" .. ", tie("expression"), tie("expression")) },
    { weight: 1, arbitrary: joined(" == ", tie("expression"), tie("expression")) },
    { weight: 1, arbitrary: joined(" and ", tie("expression"), tie("expression")) },
    { weight: 1, arbitrary: joined(" or ", tie("expression"), tie("expression")) },
    { weight: 1, arbitrary: tie("expression").map((text) => `(${text})`) },
    { weight: 1, arbitrary: words("redis.status_reply('OK')") },
    { weight: 1, arbitrary: words("redis.error_reply('LOCKED by another')") },
  ),
  statement: fc.oneof(
    { depthSize: "small", maxDepth: 3 },
    {
      weight: 3,
      arbitrary: joined(
        " = ",
        name.map((text) => `local ${text}`),
        tie("expression"),
      ),
    },
    { weight: 1, arbitrary: joined(" = ", name, tie("expression")) },
    { weight: 4, arbitrary: tie("command") },
    {
      weight: 6,
      arbitrary: fc
        .tuple(tie("condition"), tie("statements"), fc.option(tie("statements")))
        .map(([when, then, other]) =>
          other === null
            ? `if ${when} then ${then} end`
            : `if ${when} then ${then} else ${other} end`,
        ),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(tie("condition"), tie("statements"), tie("condition"), tie("statements"))
        .map(([one, then, two, other]) => `if ${one} then ${then} elseif ${two} then ${other} end`),
    },
    {
      weight: 2,
      arbitrary: tie("statements").map((body) => `for i, key in ipairs(KEYS) do ${body} end`),
    },
    {
      weight: 1,
      arbitrary: tie("statements").map(
        (body) => `for i = 1, #KEYS do local key = KEYS[i] ${body} end`,
      ),
    },
  ),
  statements: fc
    .tuple(fc.array(tie("statement"), { maxLength: 3 }), fc.option(tie("expression")))
    .map(([all, returned]) =>
      [...all, ...(returned === null ? [] : [`return ${returned}`])].join("\n"),
    ),
}));

/** The count of a holder in a hash; `undefined`: the key is not one. */
const count = fc.constantFrom(undefined, "1", "1", "2", "x");

/** What a script does to a key that it has looked at, as lock scripts do it. */
const act = fc.oneof(
  call(words("'del'"), words("key")),
  call(words("'pexpire'"), words("key"), duration),
  call(words("'set'"), words("key"), words("ARGV[1]"), words("'PX'"), duration),
  call(words("'set'"), words("key"), words("ARGV[1]"), words("'NX', 'PX'"), duration),
);
const isMine = fc.constantFrom("held == ARGV[1]", "redis.call('get', key) == ARGV[1]");
const isFree = fc.constantFrom("not held", "held == false", "redis.call('exists', key) == 0");

const usual = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.oneof(isMine, isMine, isFree), act, expression, expression)
      .map(
        ([when, doing, one, other]) =>
          `if ${when} then local b = ${doing} return ${one} end return ${other}`,
      ),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(isFree, act, isMine, act, expression)
      .map(
        ([free, take, mine, change, other]) =>
          `if ${free} then return ${take} elseif ${mine} then return ${change} end return ${other}`,
      ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.oneof(isMine, isFree), act, expression).map(
      ([when, doing, after]) =>
        `for _, key in ipairs(KEYS) do local held = redis.call('get', key)
             if not (${when}) then return {0, key} end end
           for i, key in ipairs(KEYS) do a = ${doing} end return ${after}`,
    ),
  },
  { weight: 3, arbitrary: fc.tuple(act, statements).map((parts) => parts.join("\n")) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(condition, expression, statements)
      .map(([when, early, rest]) => `if ${when} then return ${early} end\n${rest}`),
  },
  { weight: 2, arbitrary: statements },
);

const holder = fc.constantFrom(undefined, undefined, "alice", "alice", "bob", "1");
const value = fc.constantFrom("alice", "alice", "alice", "bob", "free", "busy", "", "1", "20000");
const time = fc.constantFrom(
  ..."20000 20000 30000 30000 30000 30000 45000 45000 4000 0 -1 x 007 1.5".split(" "),
);

const generatedCall: fc.Arbitrary<GeneratedCall> = fc.record({
  text: usual.map(
    (text) => `local key, a, b = KEYS[1], ARGV[1], 1
local held = redis.call('get', key)
${text}`,
  ),
  keys: fc.oneof(
    fc.constantFrom(["k"], ["k"], ["k"]),
    fc.constant(["k", "l"]),
    fc.constant(["k", "l", "m"]),
    fc.constant(["k", "k"]),
    fc.constant(["k", "l", "k"]),
  ),
  args: fc.oneof(
    fc.tuple(value, time),
    fc.tuple(value, time, fc.oneof(value, time)),
    fc.tuple(value, value, time),
  ),
  holders: fc.record({ k: holder, l: holder, m: holder }),
  isEndless: fc.constantFrom(false, false, false, true),
  counts: fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.record({ k: count, l: count }) },
  ),
});

const field = fc.constantFrom("ARGV[1]", "ARGV[1]", "ARGV[1]", "ARGV[2]", "'owner'", "'mode'");
const hashKey = fc.constantFrom(
  ..."KEYS[1] KEYS[1] key key key KEYS[#KEYS] KEYS[1]..':1'".split(" "),
);
const hashCommand = fc.oneof(
  { weight: 3, arbitrary: call(words("'hincrby'"), hashKey, field, fc.constantFrom("1", "-1")) },
  { weight: 3, arbitrary: call(words("'hset'"), hashKey, field, fc.constantFrom("1", "ARGV[1]")) },
  { weight: 2, arbitrary: call(words("'hget'"), hashKey, field) },
  { weight: 2, arbitrary: call(words("'hexists'"), hashKey, field) },
  { weight: 2, arbitrary: call(words("'hdel'"), hashKey, field) },
  { weight: 1, arbitrary: call(words("'hsetnx'"), hashKey, field, words("1")) },
  { weight: 1, arbitrary: call(words("'hlen'"), hashKey) },
  { weight: 1, arbitrary: call(words("'hkeys'"), hashKey) },
  { weight: 1, arbitrary: call(words("'hgetall'"), hashKey) },
  { weight: 1, arbitrary: call(words("'exists'"), hashKey) },
  { weight: 1, arbitrary: call(words("'type'"), hashKey) },
  { weight: 2, arbitrary: call(words("'del'"), hashKey) },
  { weight: 4, arbitrary: call(words("'pexpire'"), hashKey, duration) },
  { weight: 2, arbitrary: call(words("'set'"), hashKey, argument, words("'PX'"), duration) },
  { weight: 1, arbitrary: call(words("'get'"), hashKey) },
  { weight: 1, arbitrary: call(words("'pttl'"), hashKey) },
);
const hashCondition = fc.oneof(
  { weight: 3, arbitrary: words("redis.call('hexists', key, ARGV[1]) == 1") },
  { weight: 3, arbitrary: words("redis.call('exists', key) == 0") },
  { weight: 1, arbitrary: words("redis.call('hget', key, 'owner') == ARGV[1]") },
  { weight: 1, arbitrary: words("redis.call('hget', key, 'mode') == false") },
  { weight: 1, arbitrary: hashCommand.map((text) => `${text} == 1`) },
);
/** A hash that is made gets its time, mostly. */
const hashAct = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(hashCommand, duration)
      .map(([one, time]) => `local n = ${one} redis.call('pexpire', key, ${time})`),
  },
  { weight: 2, arbitrary: hashCommand.map((text) => `local n = ${text}`) },
  {
    weight: 1,
    arbitrary: fc.tuple(hashCommand, hashCommand).map((two) => `local n = ${two[0]} ${two[1]}`),
  },
);
const hashScript = fc.oneof(
  fc
    .tuple(hashCondition, hashAct, fc.oneof(hashCommand, words("n"), expression), hashCommand)
    .map(
      ([when, doing, one, other]) => `if ${when} then ${doing} return ${one} end return ${other}`,
    ),
  fc
    .tuple(hashCondition, hashAct, hashCondition, hashAct, hashCommand)
    .map(
      ([one, doing, two, other, after]) =>
        `if ${one} then ${doing} elseif ${two} then ${other} end return ${after}`,
    ),
  fc.tuple(hashAct, hashCommand).map(([doing, after]) => `${doing} return {n, ${after}}`),
  fc
    .tuple(hashCondition, hashAct)
    .map(
      ([when, doing]) =>
        `for i = #KEYS, 1, -1 do local key = KEYS[i] if ${when} then ${doing} end end`,
    ),
);

/** No time is shorter than what the keys have: a client that names no holder does not shorten it at a door. */
const hashValue = fc.constantFrom("alice", "alice", "alice", "bob", "free", "", "20000");
const hashTime = fc.constantFrom(..."20000 30000 30000 30000 45000 0 -1 x".split(" "));

/** Calls of scripts that keep their lock in a hash. */
export const generatedHashCall: fc.Arbitrary<GeneratedCall> = fc.record({
  text: hashScript.map((text) => `local key, a, b, held = KEYS[1], ARGV[1], 1, false\n${text}`),
  keys: fc.constantFrom(["k"], ["k"], ["k", "l"], ["k", "k"]),
  args: fc.oneof(fc.tuple(hashValue, hashTime), fc.tuple(hashValue, hashValue, hashTime)),
  holders: fc.record({ k: holder, l: holder, m: fc.constant(undefined) }),
  counts: fc.record({ k: count, l: count }),
});

/** A Redis and a door that get the same calls. */
export class TwoServers implements AsyncDisposable {
  readonly #server: StartedServer;
  readonly #redis: RespClient;
  readonly #world: DoorWorld;
  readonly #door: RespClient;
  #calls = 0;

  private constructor(
    server: StartedServer,
    redis: RespClient,
    world: DoorWorld,
    door: RespClient,
  ) {
    this.#server = server;
    this.#redis = redis;
    this.#world = world;
    this.#door = door;
  }

  /** `undefined`: Redis is not installed. */
  static async open(): Promise<TwoServers | undefined> {
    const server = await startRedis();
    if (server === undefined) return undefined;
    const redis = await RespClient.open(server.port);
    const world = await DoorWorld.open({ allowsEndless: true });
    return new TwoServers(server, redis, world, await world.connect());
  }

  /** Throws if the door has answered or done anything else than Redis. */
  async judge(call: GeneratedCall): Promise<Verdict> {
    const byRedis = await answered(this.#redis, call, () => this.#redis.call("FLUSHALL"));
    // Each call comes from another client: what one was refused is not held against the next one.
    this.#calls += 1;
    const library = `g${this.#calls}`;
    const byDoor = await answered(this.#door, call, async () => {
      await this.#world.free(KEY_NAMES.flatMap((name) => [name, `${name}:1`]));
      await this.#door.call("CLIENT", "SETINFO", "LIB-NAME", library);
    });
    return judge(call, byRedis, byDoor);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#redis.close();
    await this.#world[Symbol.asyncDispose]();
    await this.#server[Symbol.asyncDispose]();
  }
}

/** Judges `numRuns` random calls, after the calls in `first`. */
export async function expectSame(
  servers: TwoServers,
  numRuns: number,
  first: readonly GeneratedCall[] = [],
  calls: fc.Arbitrary<GeneratedCall> = generatedCall,
): Promise<void> {
  const counts: Record<Verdict, number> = { served: 0, changed: 0, refused: 0, tooShort: 0 };
  await fc.assert(
    fc.asyncProperty(calls, async (call) => {
      counts[await servers.judge(call)] += 1;
    }),
    { numRuns, examples: first.map((call) => [call]) },
  );
  // A door that refuses everything would be right.
  expect(counts.served).toBeGreaterThan(numRuns / 10);
  expect(counts.changed).toBeGreaterThan(numRuns / 25);
}

const MAKE_HASH =
  "redis.call('hset', KEYS[1], ARGV[1], ARGV[2]) redis.call('pexpire', KEYS[1], ARGV[3])";
const WRONG_TYPE = "-WRONGTYPE Operation against a key holding the wrong kind of value";

interface Answered {
  readonly reply: string;
  /** Value and time to live of each key. */
  readonly left: readonly string[];
}

/** @param clear frees all keys */
async function answered(
  client: RespClient,
  call: GeneratedCall,
  clear: () => Promise<unknown>,
): Promise<Answered> {
  await clear();
  for (const name of KEY_NAMES) {
    const by = call.holders[name];
    if (by === undefined) continue;
    const end = call.isEndless === true ? [] : ["PX", String(HELD_MS)];
    const counted = call.counts?.[name];
    if (counted === undefined) client.send("SET", name, by, "NX", ...end);
    else client.send("EVAL", MAKE_HASH, "1", name, by, counted, String(HELD_MS));
  }
  client.send("EVAL", call.text, String(call.keys.length), ...call.keys, ...call.args);
  const shown = call.counts === undefined ? ["GET", "PTTL"] : ["GET", "PTTL", "HGETALL"];
  for (const name of KEY_NAMES) for (const show of shown) client.send(show, name);
  for (const name of KEY_NAMES) {
    if (call.holders[name] !== undefined) await client.reply();
  }
  const reply = await client.reply();
  const left: string[] = [];
  for (const _ of KEY_NAMES) {
    const replies: string[] = [];
    for (const _show of shown) replies.push(await client.reply());
    left.push(replies.join(" "));
  }
  return { reply, left };
}

/** `tooShort`: a lock ended, or nearly so, before it was looked at. */
export type Verdict = "served" | "changed" | "refused" | "tooShort";

function judge(call: GeneratedCall, redis: Answered, door: Answered): Verdict {
  const before = KEY_NAMES.map((name) => {
    const by = call.holders[name];
    const counted = by === undefined ? undefined : call.counts?.[name];
    if (counted !== undefined) return `${WRONG_TYPE} :${HELD_MS} [${by}, ${counted}]`;
    const fields = call.counts === undefined ? ["", ""] : [" []", ` ${WRONG_TYPE}`];
    if (by === undefined) return `nil :-2${fields[0]}`;
    return `${by} :${call.isEndless === true ? -1 : HELD_MS}${fields[1]}`;
  });
  const isUnchanged = door.left.every((each, at) => isAlike(each, before[at] as string));
  const isSame =
    isAlike(redis.reply, door.reply) &&
    door.left.every((each, at) => isAlike(each, redis.left[at] as string));
  if (isSame) return isUnchanged ? "served" : "changed";
  if ([...redis.left, ...door.left].some((each) => SHORT.test(each))) return "tooShort";
  if (!door.reply.startsWith("-")) {
    throw different("does not answer and do what Redis does", call, redis, door);
  }
  if (isUnchanged) return "refused";
  throw different("refuses, and something has changed", call, redis, door);
}

/** Time passes in Redis, and none at the door. Shown in milliseconds, or in seconds. */
const SLACK_MS = 2_500;
const SLACK_SECONDS = 2;
/** Less than a second remains. */
const SHORT = / :\d{1,3}(?= |$)/;
const LONG_NUMBER = /\d{2,}/g;

function isAlike(left: string, right: string): boolean {
  if (left === right) return true;
  if (left.replaceAll(LONG_NUMBER, "#") !== right.replaceAll(LONG_NUMBER, "#")) return false;
  const numbers = (text: string) => (text.match(LONG_NUMBER) ?? []).map(Number);
  const others = numbers(right);
  return numbers(left).every((each, at) => {
    // What remains may stand before other digits.
    const slack = each < 1_000 ? SLACK_SECONDS : Math.max(SLACK_MS, each / 100);
    return Math.abs(each - (others[at] as number)) <= slack;
  });
}

function different(what: string, call: GeneratedCall, redis: Answered, door: Answered): Error {
  const shown = JSON.stringify({ ...call, text: undefined, redis, door }, undefined, 2);
  return new Error(`the door ${what}\n${call.text}\n${shown}`);
}
