/**
 * The other commands on keys. Reading is free; to end or extend a lock takes the value that holds it,
 * unless the node was started with `--redis-allow-unproven`.
 */
import type { Buffer } from "node:buffer";
import { integerOf, ttlOf } from "../durations.js";
import type { KeyState } from "../lease-calls.js";
import { tableKeyOf } from "../names.js";
import { RefusedCommand, syntaxError } from "../refusals.js";
import type { Reply } from "../resp/index.js";
import type { Session } from "../session.js";
import { type Command, wordOf } from "./command.js";

const WRONG_TYPE = "Operation against a key holding the wrong kind of value";
const LOOKED_AT_MAX = 64;
/** What Redis answers for a key that is not there, and for one without an expiry. */
const ABSENT = -2;
const ENDLESS = -1;

/** What a command answers that only looks at its key. */
type Look = (state: KeyState, args: readonly Buffer[]) => Reply;

export const LOOKS: ReadonlyMap<string, Look> = new Map<string, Look>([
  ["GET", shownValue],
  ["PTTL", timeOf((ms) => ms)],
  ["TTL", timeOf((ms) => Math.round(ms / 1_000))],
  ["PEXPIRETIME", timeOf((ms) => Date.now() + ms)],
  ["EXPIRETIME", timeOf((ms) => Math.round((Date.now() + ms) / 1_000))],
  [
    "TYPE",
    ({ kind }) => ({ status: kind === "lock" ? "string" : kind === "semaphore" ? "zset" : "none" }),
  ],
  [
    "HOLDFAST.TOKEN",
    (state, [value]) =>
      state.kind === "lock" && state.value.equals(value as Buffer) ? state.token : null,
  ],
]);

function shownValue(state: KeyState): Buffer | null {
  if (state.kind === "semaphore") throw new RefusedCommand(WRONG_TYPE, "WRONGTYPE");
  return state.kind === "lock" ? state.value : null;
}

function timeOf(shown: (ms: number) => number): Look {
  return (state) => {
    if (state.kind === "none") return ABSENT;
    return state.remainingMs === undefined ? ENDLESS : shown(state.remainingMs);
  };
}

export const KEY_COMMANDS: readonly Command[] = [
  { name: "GET", least: 1, most: 1, asksCluster: true, run: (session, [key]) => get(session, key) },
  {
    name: "SETNX",
    least: 2,
    most: 2,
    asksCluster: true,
    async run({ locks }, [key, value]) {
      const wish = { keys: [key as Buffer], value: value as Buffer, ttlMs: 0 };
      return (await locks.take(wish)) === "taken" ? 1 : 0;
    },
  },
  {
    name: "EXISTS",
    least: 1,
    most: LOOKED_AT_MAX,
    asksCluster: true,
    async run({ locks }, keys) {
      const states = await Promise.all(keys.map((key) => locks.look(key)));
      return states.filter(({ kind }) => kind !== "none").length;
    },
  },
  lookCommand("PTTL", 1),
  lookCommand("TTL", 1),
  lookCommand("PEXPIRETIME", 1),
  lookCommand("EXPIRETIME", 1),
  lookCommand("TYPE", 1),
  deleteCommand("DEL"),
  deleteCommand("UNLINK"),
  {
    name: "DELEX",
    least: 3,
    most: 3,
    asksCluster: true,
    run({ locks }, [key, condition, value]) {
      if (wordOf(condition) !== "IFEQ") {
        throw new RefusedCommand("DELEX is answered with IFEQ and the value of the lock only");
      }
      return released(locks.release([key as Buffer], value as Buffer));
    },
  },
  {
    name: "DELIFEQ",
    least: 2,
    most: 2,
    asksCluster: true,
    run: ({ locks }, [key, value]) => released(locks.release([key as Buffer], value as Buffer)),
  },
  {
    name: "ZREM",
    least: 2,
    most: 1 + LOOKED_AT_MAX,
    asksCluster: true,
    async run({ locks }, [key, ...members]) {
      const ended = members.map((member) => locks.release([key as Buffer], member));
      return (await Promise.all(ended)).reduce((sum, { count }) => sum + count, 0);
    },
  },
  expireCommand("PEXPIRE", 1),
  expireCommand("EXPIRE", 1_000),
  lookCommand("HOLDFAST.TOKEN", 2),
];

async function get(session: Session, argument: Buffer | undefined): Promise<Reply> {
  const { locks, transaction } = session;
  const key = argument as Buffer;
  const watched = transaction.isWatching ? tableKeyOf(session.database, key) : undefined;
  const value = shownValue(await locks.look(key));
  if (watched !== undefined) transaction.tell(watched, value);
  return value;
}

function lookCommand(name: string, count: number): Command {
  const replyOf = LOOKS.get(name) as Look;
  const run = async ({ locks }: Session, [key, ...args]: readonly Buffer[]): Promise<Reply> =>
    replyOf(await locks.look(key as Buffer), args);
  return { name, least: count, most: count, asksCluster: true, run };
}

function deleteCommand(name: string): Command {
  return {
    name,
    least: 1,
    most: LOOKED_AT_MAX,
    asksCluster: true,
    async run(session, keys) {
      demandUnproven(session, name, "a script that compares the value, or DELEX key IFEQ value");
      const ended = await Promise.all(keys.map((key) => deleteAny(session, key)));
      return ended.reduce((sum, count) => sum + count, 0);
    },
  };
}

async function deleteAny({ locks }: Session, key: Buffer): Promise<number> {
  const count = await locks.withPresentValue(key, async (value) => {
    const ended = await locks.release([key], value);
    return ended.count === 0 ? undefined : ended.count;
  });
  return count ?? 0;
}

/** `EXPIRE key time`. Its conditions NX, XX, GT and LT have no use for locks. */
function expireCommand(name: string, unitMs: number): Command {
  return {
    name,
    least: 2,
    most: 3,
    asksCluster: true,
    async run(session, [key, time, condition]) {
      if (condition !== undefined) throw syntaxError();
      const way = "a script that compares the value, or SET key value IFEQ value PX milliseconds";
      demandUnproven(session, name, way);
      if (integerOf(time as Buffer) <= 0) return deleteAny(session, key as Buffer);
      const ttlMs = ttlOf(time as Buffer, unitMs, name.toLowerCase());
      const { locks } = session;
      const isExtended = await locks.withPresentValue(key as Buffer, async (value) => {
        const loss = await locks.extend({ keys: [key as Buffer], value, ttlMs });
        return loss === undefined ? true : undefined;
      });
      return isExtended === true ? 1 : 0;
    },
  };
}

function demandUnproven({ rules }: Session, name: string, way: string): void {
  if (rules.allowsUnproven) return;
  throw new RefusedCommand(
    `${name} without the value that holds the key would end or move the lock of anybody: use ` +
      `${way}, or start the nodes with --redis-allow-unproven`,
  );
}

async function released(ended: Promise<{ readonly count: number }>): Promise<number> {
  return (await ended).count;
}
