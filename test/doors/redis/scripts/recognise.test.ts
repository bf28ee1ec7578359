/** Which scripts are lock scripts, and that it does not matter how they are written. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  KNOWN_SCRIPTS,
  knownScript,
  meaningOf,
  recogniseScript,
} from "../../../../src/doors/redis/scripts/index.js";
import { LockSituation } from "../../../../src/doors/redis/scripts/lock-situation.js";
import { readScript } from "../../../../src/doors/redis/scripts/lua-tree.js";
import { constant, NotUnderstood, Script, walk } from "../../../../src/doors/redis/scripts/walk.js";
import { LOCK_SCRIPTS, REFUSED_SCRIPTS } from "./lock-scripts.js";

function known(meaning: string) {
  const script = KNOWN_SCRIPTS.find((each) => each.meaning === meaning);
  return knownScript(script?.sha1 ?? "");
}

test.each(LOCK_SCRIPTS)("$what is understood", ({ text, means }) => {
  const script = recogniseScript(text);
  expect(script).toBeDefined();
  if (means !== undefined) expect(script?.forOneKey).toEqual(known(means)?.forOneKey);
});

test.each(REFUSED_SCRIPTS)("a script that %s is refused", (_, text) => {
  const script = recogniseScript(text);
  // What is for several keys may mean something for one.
  expect(script?.forSeveralKeys).toBeUndefined();
  if (!text.includes("ipairs")) expect(script).toBeUndefined();
});

test("each script of a known client is understood", () => {
  for (const { sha1, client } of KNOWN_SCRIPTS) {
    expect(sha1).toMatch(/^[0-9a-f]{40}$/);
    expect(knownScript(sha1), `${client} ${sha1}`).toBeDefined();
  }
  expect(new Set(KNOWN_SCRIPTS.map(({ sha1 }) => sha1)).size).toBe(KNOWN_SCRIPTS.length);
  expect(knownScript("0".repeat(40))).toBeUndefined();
});

test("a script without keys means nothing", () => {
  const script = recogniseScript(LOCK_SCRIPTS[0]?.text ?? "");
  expect(script === undefined ? "unknown" : meaningOf(script, 0)).toBeUndefined();
});

describe("limits", () => {
  const CAD =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

  test("a long text is refused", () => {
    expect(recogniseScript(CAD + " ".repeat(7_000))).toBeDefined();
    expect(recogniseScript(CAD + " ".repeat(9_000))).toBeUndefined();
  });

  test.each([
    ["parentheses", (depth: number) => `return ${"(".repeat(depth)}1${")".repeat(depth)}`],
    ["negations", (depth: number) => `return ${"not ".repeat(depth)}1`],
    ["blocks", (depth: number) => "do ".repeat(depth) + "end ".repeat(depth)],
    ["tables", (depth: number) => `return ${"{".repeat(depth)}1${"}".repeat(depth)}`],
    ["indexes", (depth: number) => `return KEYS${"[1".repeat(depth)}${"]".repeat(depth)}`],
  ])("deeply nested %s end in bounded time", (_, nested) => {
    for (const depth of [1, 10, 100, 1_000]) expect(recogniseScript(nested(depth))).toBeUndefined();
  });

  const GROWING = "local a = ARGV[1] ".concat("a = a .. a ".repeat(100));
  test.each([
    ["a value", `${GROWING} return redis.call('set', KEYS[1], a, 'NX', 'PX', ARGV[2])`],
    ["a member", `${GROWING} return redis.call('zscore', KEYS[1], a)`],
    ["a channel", `${GROWING} redis.call('publish', a, a) ${CAD}`],
    ["what is compared", `${GROWING} local b = a if a == b then ${CAD} end`],
    ["a constant", `local a = 'a' ${"a = a .. a ".repeat(100)} ${CAD}`],
    ["a table", `local t = {1} ${"t = {t, t} ".repeat(100)} return t`],
    ["a table with itself in it", "local t = {} table.insert(t, t) return t"],
    ["a number", `local a = 2 ${"a = a * a ".repeat(100)} return a`],
  ])("%s that doubles again and again gives no meaning", (_, text) => {
    expect(text.length).toBeLessThan(2_000);
    expect(recogniseScript(text)).toBeUndefined();
  });

  test("all walks of a script have a bounded length together", () => {
    const script = new Script(readScript("return 1") ?? []);
    const states = ["absent"] as const;
    const parts = { states, value: undefined, assumptions: new Map(), isLate: undefined };
    const situation = new LockSituation(parts);
    expect(walk(script, situation)).toEqual(constant(1));
    const walkOften = () => {
      for (let count = 0; count < 20_000; count += 1) walk(script, situation);
    };
    expect(walkOften).toThrow(NotUnderstood);
    expect(() => walk(script, situation)).toThrow(NotUnderstood);
  });

  test("functions that call themselves are refused", () => {
    expect(recogniseScript("local function f() return f() end return f()")).toBeUndefined();
    expect(
      recogniseScript(`local function f() return 1 end
        local function g() return f() and f() end
        local function h() return g() and g() end
        local function i() return h() and h() end
        local function j() return i() and i() end
        if j() then ${CAD} end`),
    ).toBeUndefined();
  });
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

describe("any text", () => {
  test.each([
    ["of any characters", fc.string({ maxLength: 200, unit: "binary" })],
    ["of words of lock scripts", anyScript],
    ["of a lock script with a change", changedScript],
  ])("%s gives a meaning or none", (_, texts) => {
    fc.assert(
      fc.property(texts, (text) => {
        const script = recogniseScript(text);
        if (script === undefined) return;
        const { forOneKey } = script;
        // Whatever was written: a hold of another owner stays.
        if (forOneKey?.kind === "oneKey") expect(forOneKey.other.act).toEqual({ kind: "none" });
      }),
      { numRuns: 3_000 },
    );
  });
});
