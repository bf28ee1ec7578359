/**
 * The commands of Redis that a lock script may call, on imagined keys: each answers and checks its
 * arguments as Redis does. A command that is not here is not answered at all.
 */
import type { ImaginedKeys } from "./imagined-keys.js";
import {
  FencingToken,
  LuaTable,
  type LuaValue,
  NotServed,
  RedisError,
  tableWith,
  Unknown,
} from "./lua-value.js";

type Words = readonly string[];

interface ScriptCommand {
  /** Arguments: the least, and the most if it is another number. */
  readonly least: number;
  readonly most?: number;
  readonly run: (keys: ImaginedKeys, args: Words) => LuaValue;
}

const OPTIONS_MAX = 8;
const KEYS_MAX = 64;
const INTEGER = /^(?:0|-?[1-9]\d{0,14})$/;
const OK = "OK";

/** What Redis answers; throws `RedisError` where it answers with an error. */
export function runCommand(keys: ImaginedKeys, [name = "", ...args]: Words): LuaValue {
  const command = COMMANDS.get(name.toUpperCase());
  if (command === undefined) throw new NotServed(`it uses ${name.slice(0, 64).toUpperCase()}`);
  const { least, most = least, run } = command;
  if (args.length < least || args.length > most) {
    throw new RedisError("Wrong number of args calling Redis command from script");
  }
  return run(keys, args);
}

export function isCommand(name: string): boolean {
  return COMMANDS.has(name.toUpperCase());
}

/** A whole number as Redis reads it. */
export function integerOf(text: string): number {
  if (INTEGER.test(text)) return Number(text);
  throw new RedisError("value is not an integer or out of range");
}

function syntaxError(): RedisError {
  return new RedisError("syntax error");
}

/** A time to live that a value is set with. */
function ttlOf(text: string, unitMs: number, command: string): number {
  const ms = integerOf(text) * unitMs;
  if (ms > 0 && Number.isSafeInteger(ms)) return ms;
  throw new RedisError(`invalid expire time in '${command}' command`);
}

function status(): LuaValue {
  return tableWith("ok", OK);
}

function get(keys: ImaginedKeys, key: string): LuaValue {
  return keys.valueOf(key) ?? false;
}

/** MGET shows no error for a key of another kind. */
function getOfMany(keys: ImaginedKeys, key: string): LuaValue {
  return keys.typeOf(key) === "string" ? get(keys, key) : false;
}

function getRange(keys: ImaginedKeys, [key = "", from = "", to = ""]: Words): LuaValue {
  const [start, end] = [integerOf(from), integerOf(to)];
  const value = keys.valueOf(key) ?? "";
  const { length } = value;
  if (start < 0 && end < 0 && start > end) return "";
  const first = Math.max(0, start < 0 ? length + start : start);
  const last = Math.min(length - 1, Math.max(0, end < 0 ? length + end : end));
  return first > last ? "" : value.slice(first, last + 1);
}

function set(keys: ImaginedKeys, [key = "", value = "", ...options]: Words): LuaValue {
  let condition: string | undefined;
  let ttlMs: number | undefined;
  for (let at = 0; at < options.length; at++) {
    const option = (options[at] as string).toUpperCase();
    if ((option === "NX" || option === "XX") && (condition ?? option) === option) {
      condition = option;
    } else if ((option === "PX" || option === "EX") && ttlMs === undefined) {
      at += 1;
      const time = options[at];
      if (time === undefined) throw syntaxError();
      ttlMs = ttlOf(time, option === "PX" ? 1 : 1_000, "set");
    } else if (["GET", "KEEPTTL", "EXAT", "PXAT"].includes(option)) {
      throw new NotServed(`it uses SET with ${option}`);
    } else {
      throw syntaxError();
    }
  }
  if (condition !== undefined && keys.isHeld(key) !== (condition === "XX")) return false;
  keys.put(key, value, ttlMs ?? 0);
  return status();
}

function setEx(name: string, unitMs: number): ScriptCommand {
  return {
    least: 3,
    run(keys, [key = "", time = "", value = ""]) {
      keys.put(key, value, ttlOf(time, unitMs, name));
      return status();
    },
  };
}

function setMany(keys: ImaginedKeys, words: Words): void {
  for (let at = 0; at < words.length; at += 2) {
    keys.put(words[at] as string, words[at + 1] as string, 0);
  }
}

/** Every second word from the first on. */
function keysOfPairs(words: Words): Words {
  if (words.length % 2 === 1) throw new RedisError("wrong number of arguments");
  return words.filter((_, at) => at % 2 === 0);
}

function expire(unitMs: number): ScriptCommand {
  return {
    least: 2,
    most: OPTIONS_MAX,
    run(keys, [key = "", time = "", ...conditions]) {
      if (conditions.length > 0) throw new NotServed("it uses EXPIRE with a condition");
      const ms = integerOf(time) * unitMs;
      if (!Number.isSafeInteger(ms)) throw new RedisError("invalid expire time");
      return keys.expire(key, ms) ? 1 : 0;
    },
  };
}

function remaining(inUnit: (ms: number) => number): ScriptCommand {
  return {
    least: 1,
    run(keys, [key = ""]) {
      const ms = keys.remainingOf(key);
      return ms < 0 ? ms : inUnit(ms);
    },
  };
}

/** How many of the keys it was so for. */
function counted(isSo: (keys: ImaginedKeys, key: string) => boolean): ScriptCommand {
  return {
    least: 1,
    most: KEYS_MAX,
    run: (keys, args) => args.filter((key) => isSo(keys, key)).length,
  };
}

function pairsOf(words: Words): readonly (readonly [string, string])[] {
  const fields = keysOfPairs(words);
  return fields.map((field, at) => [field, words[2 * at + 1] as string]);
}

function listOf(items: Iterable<string>): LuaTable {
  return new LuaTable([...items]);
}

function increaseField(keys: ImaginedKeys, [key = "", field = "", by = ""]: Words): LuaValue {
  const more = integerOf(by);
  const before = keys.fieldOf(key, field) ?? "0";
  if (!INTEGER.test(before)) throw new RedisError("hash value is not an integer");
  const sum = Number(before) + more;
  if (!Number.isSafeInteger(sum)) throw new NotServed("it counts further than 2^53");
  keys.putFields(key, [[field, String(sum)]]);
  return sum;
}

/**
 * Counters are answered for one thing: a lock that counts its holders has a fencing token here, which is
 * that number.
 */
const INCREASE: ScriptCommand = {
  least: 1,
  run(keys) {
    keys.isTokenWanted = true;
    return new FencingToken();
  },
};

const DELETE = counted((keys, key) => keys.delete(key));
const PUBLISH: ScriptCommand = {
  least: 2,
  run(keys, [channel = "", message = ""]) {
    keys.publish({ channel, message });
    return new Unknown(() => new NotServed("it uses how many subscribers there are"));
  },
};

const COMMANDS: ReadonlyMap<string, ScriptCommand> = new Map<string, ScriptCommand>([
  ["GET", { least: 1, run: (keys, [key = ""]) => get(keys, key) }],
  [
    "MGET",
    {
      least: 1,
      most: KEYS_MAX,
      run: (keys, args) => new LuaTable(args.map((key) => getOfMany(keys, key))),
    },
  ],
  ["GETRANGE", { least: 3, run: getRange }],
  ["EXISTS", counted((keys, key) => keys.isHeld(key))],
  ["TYPE", { least: 1, run: (keys, [key = ""]) => tableWith("ok", keys.typeOf(key)) }],
  ["PTTL", remaining((ms) => ms)],
  ["TTL", remaining((ms) => Math.round(ms / 1_000))],
  ["SET", { least: 2, most: OPTIONS_MAX, run: set }],
  [
    "SETNX",
    {
      least: 2,
      run(keys, [key = "", value = ""]) {
        if (keys.isHeld(key)) return 0;
        keys.put(key, value, 0);
        return 1;
      },
    },
  ],
  ["SETEX", setEx("setex", 1_000)],
  ["PSETEX", setEx("psetex", 1)],
  [
    "MSETNX",
    {
      least: 2,
      most: KEYS_MAX,
      run(keys, args) {
        // All of them are looked at, whichever is held.
        if (keysOfPairs(args).filter((key) => keys.isHeld(key)).length > 0) return 0;
        setMany(keys, args);
        return 1;
      },
    },
  ],
  [
    "MSET",
    {
      least: 2,
      most: KEYS_MAX,
      run(keys, args) {
        keysOfPairs(args);
        setMany(keys, args);
        return status();
      },
    },
  ],
  ["HGET", { least: 2, run: (keys, [key = "", field = ""]) => keys.fieldOf(key, field) ?? false }],
  [
    "HMGET",
    {
      least: 2,
      most: KEYS_MAX,
      run: (keys, [key = "", ...fields]) =>
        new LuaTable(fields.map((field) => keys.fieldOf(key, field) ?? false)),
    },
  ],
  [
    "HEXISTS",
    {
      least: 2,
      run: (keys, [key = "", field = ""]) => (keys.fieldOf(key, field) === undefined ? 0 : 1),
    },
  ],
  ["HLEN", { least: 1, run: (keys, [key = ""]) => keys.fieldsOf(key).size }],
  ["HKEYS", { least: 1, run: (keys, [key = ""]) => listOf(keys.fieldsOf(key).keys()) }],
  ["HVALS", { least: 1, run: (keys, [key = ""]) => listOf(keys.fieldsOf(key).values()) }],
  ["HGETALL", { least: 1, run: (keys, [key = ""]) => listOf([...keys.fieldsOf(key)].flat()) }],
  [
    "HSET",
    {
      least: 3,
      most: KEYS_MAX,
      run: (keys, [key = "", ...words]) => keys.putFields(key, pairsOf(words)),
    },
  ],
  [
    "HMSET",
    {
      least: 3,
      most: KEYS_MAX,
      run(keys, [key = "", ...words]) {
        keys.putFields(key, pairsOf(words));
        return status();
      },
    },
  ],
  [
    "HSETNX",
    {
      least: 3,
      run(keys, [key = "", field = "", value = ""]) {
        if (keys.fieldOf(key, field) !== undefined) return 0;
        return keys.putFields(key, [[field, value]]);
      },
    },
  ],
  ["HINCRBY", { least: 3, run: increaseField }],
  [
    "HDEL",
    {
      least: 2,
      most: KEYS_MAX,
      run: (keys, [key = "", ...fields]) => keys.deleteFields(key, fields),
    },
  ],
  ["INCR", INCREASE],
  ["EXPIRE", expire(1_000)],
  ["PEXPIRE", expire(1)],
  ["DEL", DELETE],
  ["UNLINK", DELETE],
  ["PUBLISH", PUBLISH],
  ["SPUBLISH", PUBLISH],
]);
