/**
 * Locks as scripts of Redis keep them, each for one holder: what its scripts are called with, and what the
 * holder has in the keys while it holds. The answer to a take is how often the lock is held then, or 0 if it
 * is another's; the answer to a release is how often it is still held, or -1 if it was not.
 */
import { keyOfRedisName } from "../../../../src/protocol/index.js";
import type { Mark } from "../../checks/locks/door-laws.js";
import type { BeliefClaim } from "../belief.js";

/** A call of a script. */
export interface ScriptWords {
  readonly text: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** What the holder has in one key. */
export interface LockPart {
  /** As the table has it. */
  readonly key: string;
  readonly mark: Mark;
  readonly claims: readonly BeliefClaim[];
  /** Others have the key, too, under the same token. */
  readonly isShared: boolean;
}

export interface ScriptLock {
  readonly holder: string;
  /** It can be taken once more by its holder. */
  readonly counts: boolean;
  readonly parts: readonly LockPart[];
  take(ttlMs: number): ScriptWords;
  extend(ttlMs: number): ScriptWords;
  release(ttlMs: number): ScriptWords;
  /** Answered with the value by which the holder has the first key, or how often. */
  look(): ScriptWords;
}

/** The keys of pairs; HTTP has the names of the first two in the table. */
const PAIR_KEYS = ["p", "q", "s"] as const;
const COUNT_KEY = "h";
const READERS_KEY = "r";
const WRITER_KEY = "w";
/** What readers and writers exclude each other from. */
const GATE = "gate";

const TAKE_PAIR = `if redis.call('exists', KEYS[1], KEYS[2]) > 0 then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[3])
redis.call('set', KEYS[2], ARGV[2], 'PX', ARGV[3])
return 1`;
const EXTEND_PAIR = `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('get', KEYS[2]) ~= ARGV[2] then return 0 end
redis.call('pexpire', KEYS[1], ARGV[3])
return redis.call('pexpire', KEYS[2], ARGV[3])`;
const RELEASE_PAIR = `if redis.call('get', KEYS[1]) ~= ARGV[1] then return -1 end
if redis.call('get', KEYS[2]) ~= ARGV[2] then return -1 end
redis.call('del', KEYS[1])
redis.call('del', KEYS[2])
return 0`;
/** Answers 1 if it is done, 0 if the third key is another's, -1 if the pair is not held. */
const MOVE_PAIR = `if redis.call('get', KEYS[1]) ~= ARGV[1] then return -1 end
if redis.call('get', KEYS[2]) ~= ARGV[2] then return -1 end
if redis.call('exists', KEYS[3]) == 1 then return 0 end
redis.call('del', KEYS[2])
redis.call('set', KEYS[3], ARGV[3], 'PX', ARGV[4])
redis.call('pexpire', KEYS[1], ARGV[4])
return 1`;
/** All keys of pairs in one moment, each with the time that it has left. */
const LOOK_AT_PAIRS = `return {redis.call('get', KEYS[1]), redis.call('pttl', KEYS[1]),
  redis.call('get', KEYS[2]), redis.call('pttl', KEYS[2]),
  redis.call('get', KEYS[3]), redis.call('pttl', KEYS[3])}`;

const TAKE_COUNT = `if redis.call('exists', KEYS[1]) == 1
  and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
local count = redis.call('hincrby', KEYS[1], ARGV[1], 1)
redis.call('pexpire', KEYS[1], ARGV[2])
return count`;
const EXTEND_FIELD = `if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
return redis.call('pexpire', KEYS[1], ARGV[2])`;
const RELEASE_COUNT = `if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return -1 end
local count = redis.call('hincrby', KEYS[1], ARGV[1], -1)
if count > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
else
  redis.call('del', KEYS[1])
end
return count`;
const LOOK_AT_FIELD = "return redis.call('hget', KEYS[1], ARGV[1])";

const TAKE_TO_READ = `if redis.call('exists', KEYS[2]) == 1 then return 0 end
local count = redis.call('hincrby', KEYS[1], ARGV[1], 1)
redis.call('pexpire', KEYS[1], ARGV[2])
return count`;
const RELEASE_TO_READ = `if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return -1 end
local count = redis.call('hincrby', KEYS[1], ARGV[1], -1)
if count == 0 then redis.call('hdel', KEYS[1], ARGV[1]) end
return count`;
const TAKE_TO_WRITE = `if redis.call('exists', KEYS[1], KEYS[2]) > 0 then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;
const EXTEND_VALUE = `if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('pexpire', KEYS[1], ARGV[2])`;
const RELEASE_VALUE = `if redis.call('get', KEYS[1]) ~= ARGV[1] then return -1 end
redis.call('del', KEYS[1])
return 0`;
const LOOK_AT_VALUE = "return redis.call('get', KEYS[1])";

/** Two keys, each with a value of its own; the second one can be changed for a third one. */
export class PairLock implements ScriptLock {
  readonly holder: string;
  readonly counts = false;
  /** It has the third key in place of the second. */
  hasMoved = false;

  constructor(holder: string) {
    this.holder = holder;
  }

  get parts(): readonly LockPart[] {
    const [first, second, third] = this.#names.map((_, at) => this.partAt(at));
    return [first as LockPart, (this.hasMoved ? third : second) as LockPart];
  }

  /** Every key that it has or may get. */
  get allParts(): readonly LockPart[] {
    return this.#names.map((_, at) => this.partAt(at));
  }

  partAt(at: number): LockPart {
    const key = tableKeyOf(PAIR_KEYS[at] as string);
    const mark = { value: this.#names[at] as string };
    return { key, mark, claims: [exclusive(key)], isShared: false };
  }

  take(ttlMs: number): ScriptWords {
    return this.#call(TAKE_PAIR, [0, 1], ttlMs);
  }

  extend(ttlMs: number): ScriptWords {
    return this.#call(EXTEND_PAIR, this.#held, ttlMs);
  }

  release(): ScriptWords {
    return this.#call(RELEASE_PAIR, this.#held);
  }

  move(ttlMs: number): ScriptWords {
    const to = this.hasMoved ? 1 : 2;
    return this.#call(MOVE_PAIR, [...this.#held, to], ttlMs);
  }

  look(): ScriptWords {
    return { text: LOOK_AT_VALUE, keys: [PAIR_KEYS[0]], args: [this.#names[0] as string] };
  }

  get #held(): readonly number[] {
    return this.hasMoved ? [0, 2] : [0, 1];
  }

  get #names(): readonly string[] {
    return PAIR_KEYS.map((_, at) => pairValue(this.holder, at));
  }

  #call(text: string, places: readonly number[], ttlMs?: number): ScriptWords {
    const keys = places.map((at) => PAIR_KEYS[at] as string);
    const values = places.map((at) => this.#names[at] as string);
    return { text, keys, args: ttlMs === undefined ? values : [...values, String(ttlMs)] };
  }
}

export function lookAtPairs(): ScriptWords {
  return { text: LOOK_AT_PAIRS, keys: PAIR_KEYS, args: [] };
}

const PAIR_VALUE = /^(.+)\/([0-2])$/;

function pairValue(holder: string, at: number): string {
  return `${holder}/${at}`;
}

/** Whose value in which key of a pair that is; `undefined`: it is not of a pair. */
export function pairOf(
  value: string,
): { readonly holder: string; readonly at: number } | undefined {
  const [, holder, at] = PAIR_VALUE.exec(value) ?? [];
  return holder === undefined ? undefined : { holder, at: Number(at) };
}

/** A field of a hash with the count of its holder. */
class FieldLock implements ScriptLock {
  readonly holder: string;
  readonly counts = true;
  readonly parts: readonly LockPart[];
  readonly #key: string;
  readonly #others: readonly string[];
  readonly #texts: { readonly take: string; readonly release: string };

  constructor(
    holder: string,
    key: string,
    part: Pick<LockPart, "claims" | "isShared">,
    texts: { readonly take: string; readonly release: string },
    others: readonly string[] = [],
  ) {
    this.holder = holder;
    this.#key = key;
    this.#others = others;
    this.#texts = texts;
    this.parts = [{ ...part, key: tableKeyOf(key), mark: { field: holder } }];
  }

  take(ttlMs: number): ScriptWords {
    const { take } = this.#texts;
    return { ...this.#call(take, ttlMs), keys: [this.#key, ...this.#others] };
  }

  extend(ttlMs: number): ScriptWords {
    return this.#call(EXTEND_FIELD, ttlMs);
  }

  release(ttlMs: number): ScriptWords {
    return this.#call(this.#texts.release, ttlMs);
  }

  look(): ScriptWords {
    return { text: LOOK_AT_FIELD, keys: [this.#key], args: [this.holder] };
  }

  #call(text: string, ttlMs: number): ScriptWords {
    return { text, keys: [this.#key], args: [this.holder, String(ttlMs)] };
  }
}

/** A key that is taken if another one is free. */
class WriterLock implements ScriptLock {
  readonly holder: string;
  readonly counts = false;
  readonly parts: readonly LockPart[];

  constructor(holder: string) {
    this.holder = holder;
    const key = tableKeyOf(WRITER_KEY);
    const claims = [exclusive(key), exclusive(GATE)];
    this.parts = [{ key, mark: { value: holder }, claims, isShared: false }];
  }

  take(ttlMs: number): ScriptWords {
    return { ...this.#call(TAKE_TO_WRITE, ttlMs), keys: [WRITER_KEY, READERS_KEY] };
  }

  extend(ttlMs: number): ScriptWords {
    return this.#call(EXTEND_VALUE, ttlMs);
  }

  release(ttlMs: number): ScriptWords {
    return this.#call(RELEASE_VALUE, ttlMs);
  }

  look(): ScriptWords {
    return { text: LOOK_AT_VALUE, keys: [WRITER_KEY], args: [] };
  }

  #call(text: string, ttlMs: number): ScriptWords {
    return { text, keys: [WRITER_KEY], args: [this.holder, String(ttlMs)] };
  }
}

/** A hash that only one holder has. */
export function countLock(holder: string): ScriptLock {
  const part = { claims: [exclusive(tableKeyOf(COUNT_KEY))], isShared: false };
  const texts = { take: TAKE_COUNT, release: RELEASE_COUNT };
  return new FieldLock(holder, COUNT_KEY, part, texts);
}

/** A hash that readers share while the key of the writer is free. */
export function readerLock(holder: string): ScriptLock {
  const claims = [{ key: GATE, mode: "shared" as const, slots: [] }];
  const texts = { take: TAKE_TO_READ, release: RELEASE_TO_READ };
  return new FieldLock(holder, READERS_KEY, { claims, isShared: true }, texts, [WRITER_KEY]);
}

export function writerLock(holder: string): ScriptLock {
  return new WriterLock(holder);
}

function exclusive(key: string): BeliefClaim {
  return { key, mode: "exclusive", slots: [] };
}

function tableKeyOf(name: string): string {
  return keyOfRedisName({ database: 0, name }) ?? "";
}
