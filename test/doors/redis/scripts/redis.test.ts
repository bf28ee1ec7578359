/**
 * What scripts mean, against Redis itself: each script is executed there in every state of its key,
 * and its reply and what it leaves behind must be what its meaning says.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Act,
  type DurationRole,
  KNOWN_SCRIPTS,
  type Meaning,
  type OneKeyMeaning,
  recogniseScript,
  type ScriptReply,
} from "../../../../src/doors/redis/scripts/index.js";
import { SAME_IN_MEANING } from "../../../../src/doors/redis/scripts/known-scripts.js";
import type { StartedServer } from "../../../fence/stores/installed.js";
import { startRedis } from "../../../fence/stores/redis.js";
import { RespClient } from "../world/door-world.js";
import { LOCK_SCRIPTS } from "./lock-scripts.js";

let server: StartedServer | undefined;
let redis: RespClient;

beforeAll(async () => {
  server = await startRedis();
  if (server !== undefined) redis = await RespClient.open(server.port);
});

afterAll(async () => {
  if (server === undefined) return;
  redis.close();
  await server[Symbol.asyncDispose]();
});

const VALUE = "a value of one owner";
const OTHER = "of another";
const LASTS_MS = 100_000;
/** For arguments that are a time, in the unit of the script. */
const TTL = 77;
/** More than any of these tests takes. */
const SLACK_MS = 30_000;

const STATES = ["absent", "mine", "mineEndless", "other"] as const;
type State = (typeof STATES)[number];

async function put(key: string, state: State): Promise<void> {
  await redis.call("DEL", key);
  if (state === "absent") return;
  const value = state === "other" ? OTHER : VALUE;
  if (state === "mineEndless") await redis.call("SET", key, value);
  else await redis.call("SET", key, value, "PX", String(LASTS_MS));
}

/** The arguments of a call, by what the meaning says of them. */
function argumentsOf(meaning: Meaning): string[] {
  const args = ["1", "1", "1", "1"];
  const put = (role: { readonly argument: number | "last" } | undefined, text: string): void => {
    if (role?.argument === "last") args[args.length - 1] = text;
    else if (role !== undefined) args[role.argument - 1] = text;
  };
  if (meaning.kind === "oneKey") {
    put(meaning.value, VALUE);
    for (const { act } of [meaning.absent, meaning.mine]) {
      if ("ttl" in act && act.ttl !== undefined) put(act.ttl, ttlText(act.ttl));
    }
    put(meaning.database, "0");
  } else if (meaning.kind === "extendInTime") {
    put(meaning.value, VALUE);
    put(meaning.ttl, ttlText(meaning.ttl));
    put(meaning.least, "1000");
  } else if (meaning.kind === "takeAll" || meaning.kind === "extendAll") {
    if (meaning.value === "each") args.splice(0, 3, VALUE, VALUE, VALUE);
    else put(meaning.value, VALUE);
    put(meaning.ttl, ttlText(meaning.ttl as DurationRole));
    put(meaning.database, "0");
  } else if (meaning.kind === "releaseAll" || meaning.kind === "releaseEach") {
    put(meaning.value, VALUE);
    put(meaning.database, "0");
  }
  return args;
}

function ttlText({ unit }: DurationRole): string {
  return String(unit === "s" ? TTL : TTL * 1_000);
}

interface Expected {
  readonly reply: string;
  /** `undefined`: the key is free. */
  readonly left: { readonly value: string; readonly ttlMs: number | undefined } | undefined;
}

function leftBy(act: Act, state: State): Expected["left"] {
  const before =
    state === "absent"
      ? undefined
      : {
          value: state === "other" ? OTHER : VALUE,
          ttlMs: state === "mineEndless" ? undefined : LASTS_MS,
        };
  if (act.kind === "none") return before;
  if (act.kind === "release") return undefined;
  if (act.ttl === undefined) return { value: VALUE, ttlMs: undefined };
  return { value: VALUE, ttlMs: TTL * 1_000 + (act.ttl.mode === "added" ? LASTS_MS : 0) };
}

/** Numbers that say how long something remains are not compared but for their magnitude. */
function replyText(reply: ScriptReply, state: State, key: string): string {
  switch (reply.kind) {
    case "nil":
      return "nil";
    case "integer":
      return `:${reply.integer}`;
    case "status":
      return `+${reply.text}`;
    case "bulk":
      return reply.text;
    case "error":
      return `-${reply.text}`;
    case "value":
      return state === "other" ? OTHER : VALUE;
    case "remaining":
      if (state === "absent") return ":-2";
      return state === "mineEndless" ? ":-1" : ":remaining";
    case "list":
      return `[${reply.items.map((item) => replyText(item, state, key)).join(", ")}]`;
    case "heldKey":
      return key;
    case "heldPosition":
    case "keyCount":
    case "endedCount":
      throw new Error(`${reply.kind} for one key`);
  }
}

function plain(reply: string): string {
  return reply.replace(/:\d{2,}/g, ":remaining");
}

async function expectLeft(key: string, left: Expected["left"], what: string): Promise<void> {
  expect(await redis.call("GET", key), what).toBe(left?.value ?? "nil");
  if (left === undefined) return;
  const ttlMs = Number((await redis.call("PTTL", key)).slice(1));
  if (left.ttlMs === undefined) {
    expect(ttlMs, what).toBe(-1);
    return;
  }
  expect(ttlMs, what).toBeLessThanOrEqual(left.ttlMs);
  expect(ttlMs, what).toBeGreaterThan(left.ttlMs - SLACK_MS);
}

async function expectOneKey(text: string, meaning: OneKeyMeaning, args: string[]): Promise<void> {
  for (const state of STATES) {
    await put("k", state);
    const reply = await redis.call("EVAL", text, "1", "k", ...args);
    const outcome = meaning[state];
    expect(plain(reply), `${state}: ${text}`).toBe(replyText(outcome.reply, state, "k"));
    await expectLeft("k", leftBy(outcome.act, state), `${state}: ${text}`);
  }
}

async function expectMeaning(text: string, meaning: Meaning, given: string[] = []): Promise<void> {
  if (meaning.kind === "byArgument") {
    for (const [which, value] of [
      [meaning.ifEqual, `${meaning.equals}`],
      [meaning.ifNot, `not ${meaning.equals}`],
    ] as const) {
      const args = [...given];
      args[meaning.argument - 1] = value;
      await expectMeaning(text, which, args);
    }
    return;
  }
  const args = argumentsOf(meaning).map((arg, at) => given[at] ?? arg);
  if (meaning.kind === "oneKey") await expectOneKey(text, meaning, args);
  else if (meaning.kind === "extendInTime") await expectInTime(text, meaning, args);
}

async function expectInTime(
  text: string,
  { replies, least }: Meaning & { kind: "extendInTime" },
  args: string[],
): Promise<void> {
  const run = async (state: State, leastMs: number): Promise<string> => {
    await put("k", state);
    const changed = [...args];
    changed[least.argument - 1] = String(leastMs);
    return plain(await redis.call("EVAL", text, "1", "k", ...changed));
  };
  expect(await run("absent", 1_000)).toBe(replyText(replies.absent, "absent", "k"));
  expect(await run("mine", 1_000)).toBe(replyText(replies.extended, "mine", "k"));
  await expectLeft("k", { value: VALUE, ttlMs: TTL * 1_000 }, text);
  expect(await run("other", 1_000)).toBe(replyText(replies.other, "other", "k"));
  await expectLeft("k", { value: OTHER, ttlMs: LASTS_MS }, text);
  for (const state of ["mine", "other"] as const) {
    expect(await run(state, LASTS_MS + SLACK_MS)).toBe(replyText(replies.late, state, "k"));
  }
  expect(await run("mineEndless", 0)).toBe(replyText(replies.late, "mineEndless", "k"));
}

const TEXTS = [
  ...LOCK_SCRIPTS.map(({ what, text }) => ({ what, text })),
  ...new Set(KNOWN_SCRIPTS.map(({ meaning }) => meaning)),
].map((script) =>
  typeof script === "string" ? { what: script, text: SAME_IN_MEANING[script] } : script,
);

test.for(TEXTS)("$what does in Redis what it means", async ({ text }, context) => {
  if (server === undefined) return context.skip("redis-server is not installed");
  const script = recogniseScript(text);
  if (script?.forOneKey !== undefined) await expectMeaning(text, script.forOneKey);
  if (script?.forSeveralKeys !== undefined) await expectSeveral(text, script.forSeveralKeys);
});

const KEYS = ["a", "b", "c"];

/** All states of three keys that have an end. */
async function expectSeveral(text: string, meaning: Meaning): Promise<void> {
  const args = argumentsOf(meaning);
  const states: readonly State[] = ["absent", "mine", "other"];
  for (const a of states) {
    for (const b of states) {
      for (const c of states) {
        const before = [a, b, c];
        for (const [at, key] of KEYS.entries()) await put(key, before[at] as State);
        const reply = await redis.call("EVAL", text, "3", ...KEYS, ...args);
        const expected = severalOutcome(meaning, before);
        const what = `${before.join(", ")}: ${text}`;
        expect(reply, what).toBe(severalReply(expected.reply, before));
        for (const [at, key] of KEYS.entries()) {
          const act = expected.acts[at] as Act;
          await expectLeft(key, leftBy(act, before[at] as State), what);
        }
      }
    }
  }
}

function severalOutcome(
  meaning: Meaning,
  states: readonly State[],
): { readonly reply: ScriptReply; readonly acts: readonly Act[] } {
  const all = (act: Act): readonly Act[] => states.map(() => act);
  const none = all({ kind: "none" });
  const isMine = states.every((state) => state === "mine");
  switch (meaning.kind) {
    case "takeAll": {
      const { taken, held, repeated } = meaning.replies;
      if (states.every((state) => state === "absent")) {
        return { reply: taken, acts: all({ kind: "take", ttl: meaning.ttl }) };
      }
      if (!isMine || repeated === undefined) return { reply: held, acts: none };
      return { reply: repeated, acts: all({ kind: "extend", ttl: meaning.ttl, mayRelease: true }) };
    }
    case "extendAll":
      if (!isMine) return { reply: meaning.replies.lacking, acts: none };
      return {
        reply: meaning.replies.extended,
        acts: all({ kind: "extend", ttl: meaning.ttl, mayRelease: true }),
      };
    case "releaseAll":
      if (!isMine) return { reply: meaning.replies.lacking, acts: none };
      return { reply: meaning.replies.released, acts: all({ kind: "release" }) };
    case "releaseEach":
      return {
        reply: meaning.reply,
        acts: states.map((state) => ({ kind: state === "mine" ? "release" : "none" })),
      };
    default:
      throw new Error(`${meaning.kind} for several keys`);
  }
}

function severalReply(reply: ScriptReply, states: readonly State[]): string {
  const held = states.findIndex((state) => state !== "absent");
  if (reply.kind === "list") {
    return `[${reply.items.map((item) => severalReply(item, states)).join(", ")}]`;
  }
  if (reply.kind === "keyCount") return `:${states.length}`;
  if (reply.kind === "endedCount") return `:${states.filter((state) => state === "mine").length}`;
  if (reply.kind === "heldPosition") return `:${held + 1}`;
  if (reply.kind === "heldKey") return KEYS[held] as string;
  return replyText(reply, "mine", "");
}
