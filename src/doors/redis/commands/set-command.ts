/**
 * SET, with its options in any order. With NX it takes a lock; with XX, with IFEQ, and without any of
 * them it can only extend the lock of the same value: to give a key another value would end the
 * lock of the client that has it.
 */
import type { Buffer } from "node:buffer";
import type { ConnectionRules, ConnectionState } from "../connection-state.js";
import { ttlOf } from "../durations.js";
import { demandExpiry } from "../locks/lease-calls.js";
import { RefusedCommand, syntaxError } from "../refusals.js";
import { OK, type RespReply } from "../resp/index.js";
import { type DoorCommand, wordOf } from "./command.js";

interface SetOptions {
  readonly condition: "NX" | "XX" | "IFEQ" | "none";
  /** The value after IFEQ. */
  readonly expected: Buffer | undefined;
  readonly wantsOld: boolean;
  /** `undefined`: without an expiry. */
  readonly ttlMs: number | undefined;
}

const CONDITIONS: ReadonlySet<string> = new Set(["NX", "XX", "IFEQ"]);
const REFUSED: ReadonlyMap<string, string> = new Map([
  [
    "KEEPTTL",
    "SET with KEEPTTL changes only the value, which would give the lock to another owner",
  ],
  ["EXAT", "SET with EXAT: cluster time is not the time of day; use EX"],
  ["PXAT", "SET with PXAT: cluster time is not the time of day; use PX"],
  ["IFNE", "SET with IFNE would end the lock of another client"],
  ["IFDEQ", "SET with IFDEQ compares digests; use IFEQ with the value"],
  ["IFDNE", "SET with IFDNE would end the lock of another client"],
]);

export const SET_COMMAND: DoorCommand = {
  name: "SET",
  least: 2,
  asksCluster: true,
  check: ({ rules }, [, value, ...words]) => demand(value as Buffer, setOptionsOf(words), rules),
  run(connection, [key, value, ...words]) {
    return set(connection, key as Buffer, value as Buffer, setOptionsOf(words));
  },
};

/** Throws `RefusedCommand`, with `ERR` for what Redis does not know either. */
export function setOptionsOf(words: readonly Buffer[]): SetOptions {
  let condition: SetOptions["condition"] = "none";
  let expected: Buffer | undefined;
  let wantsOld = false;
  let ttlMs: number | undefined;
  for (let at = 0; at < words.length; at++) {
    const word = wordOf(words[at]);
    const refused = REFUSED.get(word);
    if (refused !== undefined) throw new RefusedCommand(refused);
    if (CONDITIONS.has(word) && condition === "none") {
      condition = word as SetOptions["condition"];
      if (word === "IFEQ") {
        expected = words[++at];
        if (expected === undefined) throw syntaxError();
      }
    } else if (word === "GET" && !wantsOld) {
      wantsOld = true;
    } else if ((word === "EX" || word === "PX") && ttlMs === undefined) {
      const time = words[++at];
      if (time === undefined) throw syntaxError();
      ttlMs = ttlOf(time, word === "EX" ? 1_000 : 1, "set");
    } else {
      throw syntaxError();
    }
  }
  return { condition, expected, wantsOld, ttlMs };
}

/** Throws `RefusedCommand` for what is refused whatever the key is. */
function demand(
  value: Buffer,
  { condition, expected, wantsOld, ttlMs }: SetOptions,
  rules: Pick<ConnectionRules, "allowsEndless">,
): void {
  if (condition === "NX") {
    if (wantsOld) {
      throw new RefusedCommand("SET with NX and GET: nil would mean both taken and not taken");
    }
    demandExpiry(ttlMs ?? 0, rules);
    return;
  }
  if (ttlMs === undefined) {
    throw new RefusedCommand(
      "SET without NX and without an expiry would overwrite, and a lock must end",
    );
  }
  if (condition === "IFEQ" && expected?.equals(value) !== true) {
    throw new RefusedCommand("SET with IFEQ and another value would change the owner of the lock");
  }
  if (condition !== "IFEQ" && wantsOld) {
    throw new RefusedCommand("SET with GET is answered with IFEQ only");
  }
}

/** Needs `demand`. */
function set(
  connection: ConnectionState,
  key: Buffer,
  value: Buffer,
  { condition, wantsOld, ttlMs = 0 }: SetOptions,
): Promise<RespReply> {
  if (condition === "NX") return take(connection, key, value, ttlMs);
  if (condition === "IFEQ") return extendIfEqual(connection, key, value, ttlMs, wantsOld);
  return extendOwn(connection, key, value, ttlMs, condition);
}

async function take(
  { locks }: ConnectionState,
  key: Buffer,
  value: Buffer,
  ttlMs: number,
): Promise<RespReply> {
  return (await locks.take({ keys: [key], value, ttlMs })) === "taken" ? OK : null;
}

async function extendIfEqual(
  { locks }: ConnectionState,
  key: Buffer,
  value: Buffer,
  ttlMs: number,
  wantsOld: boolean,
): Promise<RespReply> {
  const loss = await locks.extend({ keys: [key], value, ttlMs });
  if (loss === undefined) return wantsOld ? value : OK;
  if (!wantsOld) return null;
  const state = await locks.look(key);
  return state.kind === "lock" ? state.value : null;
}

/** Redis would overwrite; here a key that another value has stays as it is. */
async function extendOwn(
  { locks }: ConnectionState,
  key: Buffer,
  value: Buffer,
  ttlMs: number,
  condition: SetOptions["condition"],
): Promise<RespReply> {
  const loss = await locks.extend({ keys: [key], value, ttlMs });
  if (loss === undefined) return OK;
  if (condition === "XX" && (await locks.look(key)).kind === "none") return null;
  throw new RefusedCommand(
    condition === "XX"
      ? "SET with XX would overwrite the value of another owner"
      : "SET without NX would overwrite: it extends the lock of the same value only",
  );
}
