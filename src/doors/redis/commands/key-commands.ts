/**
 * The other commands on keys. Reading is free; to end or extend a lock takes the value that holds it,
 * unless the node was started with `--redis-allow-unproven`.
 */
import { Buffer } from "node:buffer";
import type { Decision } from "../command-order.js";
import type { ConnectionState } from "../connection-state.js";
import { demandExpiry, type KeyState } from "../locks/lease-calls.js";
import { heldByOther, type LockSpace } from "../locks/lock-space.js";
import { tableKeyOf } from "../names.js";
import { RefusedCommand } from "../refusals.js";
import type { RespReply } from "../resp/index.js";
import { type DoorCommand, wordOf } from "./command.js";
import { EXPIRE_UNITS_MS, type ExpireTerms, expireTermsOf } from "./expire-terms.js";
import { DELETED_OTHERWISE } from "./refused-commands.js";

const WRONG_TYPE = "Operation against a key holding the wrong kind of value";
/** Where a fenced lock of Redisson counts: the name of the lock in braces, or with its own. */
const TOKEN_KEY = /^redisson_lock_token:(?:\{([^{}]+)\}|(.*\{.*))$/s;
/** In the hash of a reentrant lock that is written by hand. */
const OWNER_FIELD = "owner";
const LOOKED_AT_MAX = 64;
/** What Redis answers for a key that is not there, and for one without an expiry. */
const ABSENT = -2;
const ENDLESS = -1;

export type LockedState = KeyState & { readonly kind: "lock" };

/** What a command answers that only looks at its key. */
type Look = (state: KeyState, args: readonly Buffer[]) => RespReply;

export const LOOKS: ReadonlyMap<string, Look> = new Map<string, Look>([
  ["GET", shownValue],
  ["PTTL", timeOf((ms) => ms)],
  ["TTL", timeOf((ms) => Math.round(ms / 1_000))],
  ["PEXPIRETIME", timeOf((ms) => Date.now() + ms)],
  ["EXPIRETIME", timeOf((ms) => Math.round((Date.now() + ms) / 1_000))],
  ["TYPE", ({ kind }) => ({ status: TYPES[kind] })],
  ["HGET", (state, [field]) => fieldIn(state, field as Buffer)],
  ["HEXISTS", (state, [field]) => (fieldIn(state, field as Buffer) === null ? 0 : 1)],
  ["HLEN", (state) => fieldsIn(state).size],
  ["HKEYS", (state) => [...fieldsIn(state).keys()].map(bytesOf)],
  [
    "HGETALL",
    (state) => ({
      map: [...fieldsIn(state)].map(([field, value]) => [bytesOf(field), bytesOf(value)] as const),
    }),
  ],
  [
    "HOLDFAST.TOKEN",
    (state, [holder]) =>
      "token" in state && isHolder(state, holder as Buffer) ? state.token : null,
  ],
]);

/** A hash has a field for each holder, or one that names its owner. */
function isHolder(state: KeyState, holder: Buffer): boolean {
  if (state.kind === "lock") return state.value.equals(holder);
  if (state.kind !== "hash") return false;
  const name = holder.toString("latin1");
  const owner = state.fields.get(OWNER_FIELD);
  return owner === undefined ? state.fields.has(name) : owner === name;
}

const TYPES: Readonly<Record<KeyState["kind"], string>> = {
  ...{ none: "none", lock: "string", note: "string", hash: "hash", semaphore: "zset" },
};

function shownValue(state: KeyState): Buffer | null {
  if (state.kind === "semaphore" || state.kind === "hash") throw wrongType();
  if (state.kind === "note") return bytesOf(state.value);
  return state.kind === "lock" ? state.value : null;
}

function fieldsIn(state: KeyState): ReadonlyMap<string, string> {
  if (state.kind === "none") return new Map();
  if (state.kind === "hash") return state.fields;
  throw wrongType();
}

function fieldIn(state: KeyState, field: Buffer): Buffer | null {
  const value = fieldsIn(state).get(field.toString("latin1"));
  return value === undefined ? null : bytesOf(value);
}

function wrongType(): RefusedCommand {
  return new RefusedCommand(WRONG_TYPE, "WRONGTYPE");
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

function timeOf(shown: (ms: number) => number): Look {
  return (state) => {
    if (state.kind === "none") return ABSENT;
    return state.remainingMs === undefined ? ENDLESS : shown(state.remainingMs);
  };
}

export const KEY_COMMANDS: readonly DoorCommand[] = [
  {
    name: "GET",
    least: 1,
    most: 1,
    asksCluster: true,
    run: (connection, [key]) => get(connection, key),
  },
  {
    name: "SETNX",
    least: 2,
    most: 2,
    asksCluster: true,
    check: ({ rules }) => demandExpiry(0, rules),
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
  lookCommand("HGET", 2),
  lookCommand("HEXISTS", 2),
  lookCommand("HLEN", 1),
  lookCommand("HKEYS", 1),
  lookCommand("HGETALL", 1),
  deleteCommand("DEL"),
  deleteCommand("UNLINK"),
  {
    name: "DELEX",
    least: 3,
    most: 3,
    asksCluster: true,
    check(_session, [, condition]) {
      if (wordOf(condition) === "IFEQ") return;
      throw new RefusedCommand("DELEX is answered with IFEQ and the value of the lock only");
    },
    run: ({ locks }, [key, , value]) => released(locks.release([key as Buffer], value as Buffer)),
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
  ...[...EXPIRE_UNITS_MS.keys()].map(expireCommand),
  {
    name: "PERSIST",
    least: 1,
    most: 1,
    asksCluster: true,
    check: ({ rules }) => demandExpiry(0, rules),
    run: ({ locks }, [key]) =>
      locks.decide<number>(key as Buffer, (state) =>
        state.kind === "lock" ? endlessnessOf(locks, key as Buffer, state) : { answer: 0 },
      ),
  },
  lookCommand("HOLDFAST.TOKEN", 2),
];

async function get(connection: ConnectionState, argument: Buffer | undefined): Promise<RespReply> {
  const { locks, transaction } = connection;
  const key = argument as Buffer;
  const [, inBraces, braced] = TOKEN_KEY.exec(key.toString("latin1")) ?? [];
  const lock = inBraces ?? braced;
  if (lock !== undefined) return tokenOf(await locks.look(bytesOf(lock)));
  const watched = transaction.isWatching ? tableKeyOf(connection.database, key) : undefined;
  const value = shownValue(await locks.look(key));
  if (watched !== undefined) transaction.tell(watched, value);
  return value;
}

/** As Redis shows the number that a fenced lock of Redisson counts; nil if nobody holds the lock. */
function tokenOf(state: KeyState): RespReply {
  return state.kind === "hash" ? String(state.token) : null;
}

function lookCommand(name: string, count: number): DoorCommand {
  const replyOf = LOOKS.get(name) as Look;
  const run = async (
    { locks }: ConnectionState,
    [key, ...args]: readonly Buffer[],
  ): Promise<RespReply> => replyOf(await locks.look(key as Buffer), args);
  return { name, least: count, most: count, asksCluster: true, run };
}

function deleteCommand(name: string): DoorCommand {
  return {
    name,
    least: 1,
    most: LOOKED_AT_MAX,
    asksCluster: true,
    check(connection) {
      if (connection.transaction.isOpen) demandUnproven(connection, name, DELETED_OTHERWISE);
    },
    async run(connection, keys) {
      const { locks } = connection;
      const ended = await Promise.all(
        keys.map((key) =>
          locks.decide<number>(key, (state): Decision<number | undefined> => {
            if (state.kind === "none") return { answer: 0 };
            // A text next to a hash is nobody's lock.
            if (state.kind !== "note") demandUnproven(connection, name, DELETED_OTHERWISE);
            if (state.kind === "lock") return endOf(locks, key, state.value);
            return state.kind === "semaphore" ? { answer: 0 } : endOfRecord(locks, key, state);
          }),
        ),
      );
      return ended.reduce((sum, count) => sum + count, 0);
    },
  };
}

function endOfRecord(
  { calls }: Pick<LockSpace, "calls">,
  key: Buffer,
  before: KeyState & { readonly kind: "hash" | "note" },
): Decision<number | undefined> {
  if (!calls.isOwnRecord(before)) throw heldByOther();
  const step = { key, isHeld: true, staysHeld: false, before, ttlMs: undefined };
  return { write: async () => ((await calls.act([step])) === undefined ? undefined : 1) };
}

/** `EXPIRE key time [NX | XX | GT | LT]`. */
function expireCommand(name: string): DoorCommand {
  return {
    name,
    least: 2,
    asksCluster: true,
    check(connection, [, ...args]) {
      const way = "a script that compares the value, or SET key value IFEQ value PX milliseconds";
      demandUnproven(connection, name, way);
      expireTermsOf(name, args);
    },
    run({ locks }, [key, ...args]) {
      const terms = expireTermsOf(name, args);
      return locks.decide<number>(key as Buffer, (state) =>
        state.kind === "lock" ? expiryOf(locks, key as Buffer, state, terms) : { answer: 0 },
      );
    },
  };
}

/** What EXPIRE does to a lock by the value that holds it. */
export function expiryOf(
  { calls }: Pick<LockSpace, "calls">,
  key: Buffer,
  { value, remainingMs }: LockedState,
  terms: ExpireTerms,
): Decision<number | undefined> {
  if (!terms.allows(remainingMs)) return { answer: 0 };
  const { ttlMs } = terms;
  if (ttlMs <= 0) return endOf({ calls }, key, value);
  return {
    write: async () =>
      (await calls.extend({ keys: [key], value, ttlMs })) === undefined ? 1 : undefined,
  };
}

/** What PERSIST does to a lock. It asks for no proof, because it ends nothing and shortens nothing. */
export function endlessnessOf(
  { calls }: Pick<LockSpace, "calls">,
  key: Buffer,
  { value, remainingMs }: LockedState,
): Decision<number | undefined> {
  if (remainingMs === undefined) return { answer: 0 };
  return {
    write: async () =>
      (await calls.extend({ keys: [key], value, ttlMs: 0 })) === undefined ? 1 : undefined,
  };
}

function endOf(
  { calls }: Pick<LockSpace, "calls">,
  key: Buffer,
  value: Buffer,
): Decision<number | undefined> {
  return { write: async () => (await calls.release([key], value)).count || undefined };
}

function demandUnproven({ rules }: ConnectionState, name: string, way: string): void {
  if (rules.allowsUnproven) return;
  throw new RefusedCommand(
    `${name} without the value that holds the key would end or move the lock of anybody: use ` +
      `${way}, or start the nodes with --redis-allow-unproven`,
  );
}

async function released(ended: Promise<{ readonly count: number }>): Promise<number> {
  return (await ended).count;
}
