/**
 * Lock scripts as people and known clients write them, in every state of their keys: each is answered
 * as by Redis and never refused. Other scripts are refused, in bounded time, and nothing is done.
 */
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  KNOWN_SCRIPTS,
  knownScript,
  LockScript,
} from "../../../../src/doors/redis/scripts/index.js";
import { SAME_IN_MEANING } from "../../../../src/doors/redis/scripts/known-scripts.js";
import { NotServed } from "../../../../src/doors/redis/scripts/lua-value.js";
import { DoorWorld } from "../world/door-world.js";
import { TwoServers } from "./generated-scripts.js";
import { LOCK_SCRIPTS, SCRIPTS_THAT_DO_TOO_MUCH, TEXTS_THAT_ARE_NOT_READ } from "./lock-scripts.js";

let servers: TwoServers | undefined;
beforeAll(async () => {
  servers = await TwoServers.open();
});
afterAll(async () => {
  await servers?.[Symbol.asyncDispose]();
});

/** Arguments by which each known script has its value and its times somewhere. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  extendAdding: ["alice", "30000", "0"],
  extendInTime: ["alice", "1000", "30000"],
  takeByPrefix: ["alice", "3", "30000"],
  takeIfNew: ["alice", "30000", "yes"],
  extendSecondsSayingWhy: ["alice", "30"],
  takeAllInDatabase: ["0", "alice", "30000"],
  extendAllInDatabase: ["0", "alice", "30000"],
  releaseEachInDatabase: ["0", "alice"],
  takeAllWithValues: ["alice", "30000"],
};
const FOR_SEVERAL_KEYS = /ipairs|#KEYS|unpack\(KEYS\)/;
const TEXTS = [
  ...LOCK_SCRIPTS,
  ...Object.entries(SAME_IN_MEANING).map(([what, text]) => ({ what, text })),
];

test.for(TEXTS)("$what does what it does in Redis", async ({ what, text }, context) => {
  if (servers === undefined) return context.skip("redis-server is not installed");
  const isInSeconds = text.includes("'ex") || text.includes("'EX'") || text.includes("'setex'");
  const usual = ["alice", isInSeconds ? "30" : "30000", text.includes("prefix") ? "3" : "30000"];
  const args = what.includes("local functions")
    ? ["alice", "3", "30000"]
    : (ARGUMENTS[what] ?? usual);
  for (const k of [undefined, "alice", "bob"]) {
    for (const isEndless of [false, true]) {
      const call = { text, keys: ["k"], args, holders: { k }, isEndless };
      const isOther = isEndless && k !== undefined && what.startsWith("take that");
      if (!isOther) expect(await servers.judge(call), JSON.stringify(call)).not.toBe("refused");
    }
    if (!FOR_SEVERAL_KEYS.test(text) || what === "takeAllWithValues") continue;
    const call = { text, keys: ["k", "l", "m"], args, holders: { k, l: k, m: k } };
    expect(await servers.judge(call), JSON.stringify(call)).not.toBe("refused");
  }
});

test.for(SCRIPTS_THAT_DO_TOO_MUCH)("a script that %s is refused", async ([, text]) => {
  await using world = await DoorWorld.open();
  const client = await world.connect();
  await client.call("SET", "k", "alice", "NX", "PX", "20000");
  expect(await client.call("EVAL", text, "1", "k", "alice", "bob", "30000")).toMatch(
    /^-NOHOLDFAST/,
  );
  expect(await client.call("GET", "k")).toBe("alice");
  expect(await client.call("PTTL", "k")).toBe(":20000");
});

test.for(TEXTS_THAT_ARE_NOT_READ)("a text that %s is refused when it is loaded", ([, text]) => {
  expect(() => LockScript.read(Buffer.from(text))).toThrow(NotServed);
});

test("each script of a known client is known by its sum", () => {
  for (const { sha1, client } of KNOWN_SCRIPTS) {
    expect(sha1).toMatch(/^[0-9a-f]{40}$/);
    expect(knownScript(sha1), `${client} ${sha1}`).toBeDefined();
  }
  expect(new Set(KNOWN_SCRIPTS.map(({ sha1 }) => sha1)).size).toBe(KNOWN_SCRIPTS.length);
  expect(knownScript("0".repeat(40))).toBeUndefined();
});

describe("limits", () => {
  const meaningOf = (text: string) =>
    LockScript.read(Buffer.from(text)).meaningOf({
      keys: [Buffer.from("k")],
      args: [Buffer.from("alice")],
      known: new Map([["k", { kind: "free" }]]),
      ...{ database: 0, allowsUnproven: false, isGuess: false },
    });

  test.each([
    ["a value", `local a = ARGV[1] ${"a = a .. a ".repeat(100)} return a`],
    ["a table", `local t = {1} ${"t = {t, t} ".repeat(100)} return t`],
    ["a table with itself in it", "local t = {} table.insert(t, t) return t"],
    ["a number", `local a = 2 ${"a = a * a ".repeat(100)} return a`],
    [
      "a list of values",
      `local t = {1, 2} ${"t = {unpack(t), unpack(t)} t[#t + 1] = t ".repeat(20)} return t`,
    ],
    ["a loop in a loop", `${"for i = 1, 1000 do ".repeat(5)} ${"end ".repeat(5)}`],
    ["a function of functions", "local function f() return f() and f() end return f()"],
  ])("%s that grows again and again ends soon", (_, text) => {
    expect(text.length).toBeLessThan(2_000);
    expect(() => meaningOf(text)).toThrow(NotServed);
  });

  /** Words of which lock scripts are made. */
  const WORDS = [
    "if then else elseif end for in do local function return and or not nil true false while",
    "redis.call redis.pcall KEYS ARGV KEYS[1] ARGV[1] ARGV[2] ipairs unpack tonumber #KEYS",
    "'get' 'set' 'del' 'pexpire' 'exists' 'PX' 'NX' 'pttl' 'zadd' 0 1 -1 1000 { } ( ) [ ] , ; = ==",
    "~= < <= > >= + - * / .. # x key -- --[[ ]] \" ' \\ \n",
  ].flatMap((line) => line.split(" "));

  const anyScript = fc
    .array(fc.constantFrom(...WORDS), { maxLength: 60 })
    .map((words) => words.join(" "));

  const changedScript = fc
    .record({
      text: fc.constantFrom(...LOCK_SCRIPTS.map(({ text }) => text)),
      from: fc.nat(600),
      length: fc.nat(20),
      put: fc.oneof(fc.constantFrom("", ...WORDS), fc.string({ maxLength: 5 })),
    })
    .map(({ text, from, length, put }) => text.slice(0, from) + put + text.slice(from + length));

  test.each([
    ["of any characters", fc.string({ maxLength: 200, unit: "binary" })],
    ["of words of lock scripts", anyScript],
    ["of a lock script with a change", changedScript],
  ])("a text %s has a meaning or is not answered", (_, texts) => {
    fc.assert(
      fc.property(texts, (text) => {
        try {
          meaningOf(text);
        } catch (error) {
          if (!(error instanceof NotServed)) throw error;
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
