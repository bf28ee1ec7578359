/**
 * The keys of one call, as they are guessed or were looked at, and what a script makes of them. The
 * difference between before and after is what the call means: of each key that is changed a take, an
 * extension, a release, or another content of a record, which the table does in one step, and only if
 * every key that the script has used is as it was imagined.
 *
 * It must never let a script end or move the lock of a holder that it has not named.
 */
import type { RecordContent } from "../record-content.js";
import { NeedsKey, NeedsLook, NotServed, RedisError } from "./lua-value.js";

/** How long a key lasts; `undefined`: without end. */
type Remaining = number | undefined | "unknown";

/** What is known, or guessed, of a key. */
export type KnownKey =
  | { readonly kind: "free" }
  /** Held by something: a take that failed does not say what. */
  | { readonly kind: "held" }
  /** `value`: a character for each byte. */
  | { readonly kind: "lock"; readonly value: string; readonly remainingMs: Remaining }
  | (RecordContent & { readonly remainingMs: Remaining })
  | { readonly kind: "semaphore"; readonly remainingMs: number | undefined };

/** What becomes of the lock of a key. `ttlMs`: from now on; of a take, 0 without end. */
export type LockEffect =
  | { readonly kind: "take"; readonly key: string; readonly value: string; readonly ttlMs: number }
  | {
      readonly kind: "extend";
      readonly key: string;
      readonly value: string;
      readonly ttlMs: number;
    }
  | { readonly kind: "release"; readonly key: string; readonly value: string };

/** What becomes of a record; `ttlMs`: `undefined` as long as before. */
export interface RecordEffect {
  readonly kind: "record";
  readonly key: string;
  readonly before: RecordContent | undefined;
  readonly after: RecordContent | undefined;
  readonly ttlMs: number | undefined;
}

/** What a key must be, without being changed. */
export interface KeyCondition {
  readonly kind: "same";
  readonly key: string;
  readonly known: KnownKey;
}

export type KeyEffect = LockEffect | RecordEffect | KeyCondition;

export interface Publication {
  readonly channel: string;
  readonly message: string;
}

/** What a script may name and change of keys. */
export interface Rights {
  /** Locks may be ended and moved without a comparison. */
  readonly allowsUnproven: boolean;
  /** Whether that text is an argument of the call. */
  isArgument(text: string): boolean;
}

/** No lock script sends more, and each goes to every subscriber. */
const PUBLICATIONS_MAX = 4;
const ABSENT = -2;
const ENDLESS = -1;
/** Holds of a lock whose script makes a key for each: its release needs all of them in one step of 16. */
const COUNTED_MAX = 12;
const COUNT = /^[1-9]\d*$/;
const UNPROVEN = "it would end or move a lock whose value it has not compared";

interface ImaginedKey {
  readonly before: KnownKey;
  now: KnownKey;
  /** As the script has set it, from now on, 0 without end; `undefined`: it has not. */
  ttlMs: number | undefined;
  /** The script has compared the value with something that is equal, or has written it. */
  isProven: boolean;
  /** What the script does may depend on the key. */
  isUsed: boolean;
}

const FREE: KnownKey = { kind: "free" };

export class ImaginedKeys {
  readonly publications: Publication[] = [];
  /** The script has asked for the fencing token of its lock. */
  isTokenWanted = false;
  readonly #entries: Map<string, ImaginedKey>;
  readonly #names: readonly string[];
  readonly #rights: Rights;
  readonly #isGuess: boolean;

  /**
   * @param names the keys of the call
   * @param known what is known of them, and of others that the script has asked for
   * @param isGuess other keys are guessed to be free; otherwise `NeedsKey` asks for them
   */
  constructor(
    names: readonly string[],
    known: ReadonlyMap<string, KnownKey>,
    rights: Rights,
    isGuess: boolean,
  ) {
    this.#names = names;
    this.#rights = rights;
    this.#isGuess = isGuess;
    this.#entries = new Map([...known].map(([key, before]) => [key, entryOf(before)]));
  }

  /** Two texts of the script were equal. */
  noteEqual(text: string): void {
    for (const entry of this.#entries.values()) {
      const { before, isUsed } = entry;
      if (!isUsed) continue;
      if (before.kind === "lock" && before.value === text) entry.isProven = true;
      if (before.kind === "hash" && this.#rights.isArgument(text)) {
        if ([...before.fields.values()].includes(text)) entry.isProven = true;
      }
    }
  }

  /**
   * What is to be done, with the conditions under which; empty if nothing is to be done. Throws
   * `NotServed` for what a lock service cannot do in one step.
   */
  effects(): readonly KeyEffect[] {
    const used = [...this.#entries].filter(([, { isUsed }]) => isUsed);
    const hasHash = used.some(([, { before, now }]) => [before.kind, now.kind].includes("hash"));
    const effects = used.map(([key, entry]) => this.#effectOf(key, entry, hasHash));
    const changes = effects.filter(({ kind }) => kind !== "same");
    if (this.isTokenWanted && lockRecordsIn(changes).length !== 1) {
      throw new NotServed("it counts what is not a lock");
    }
    // That a lock is free again is news of that lock, which only its holder can make, or which is old.
    const free = used.filter(([, { now }]) => now.kind === "free").map(([key]) => key);
    const ended = [...free, ...changes.filter(isEnd).map(({ key }) => key)];
    for (const { channel, message } of this.publications) {
      if (!ended.some((key) => channel.includes(key) || message.includes(key))) {
        throw new NotServed("it publishes something else than that a lock was released");
      }
    }
    return changes.length === 0 ? [] : effects;
  }

  #effectOf(key: string, entry: ImaginedKey, hasHash: boolean): KeyEffect {
    const { before, now, ttlMs } = entry;
    const same: KeyEffect = { kind: "same", key, known: before };
    if (before === now && ttlMs === undefined) return same;
    if (before.kind === "held") throw new NeedsLook();
    if (before.kind === "semaphore") throw new NotServed("it changes a semaphore");
    if (before.kind === "hash" || now.kind === "hash")
      return this.#hashEffectOf(key, entry) ?? same;
    if (before.kind === "note" || (hasHash && before.kind === "free")) {
      if (before.kind === "free" && now.kind === "free") return same;
      const value = now.kind === "lock" || now.kind === "note" ? now.value : undefined;
      const after = value === undefined ? undefined : ({ kind: "note", value } as const);
      return { kind: "record", key, before: contentOf(before), after, ttlMs };
    }
    return this.#lockEffectOf(key, entry) ?? same;
  }

  #lockEffectOf(key: string, { before, now, ttlMs, isProven }: ImaginedKey): KeyEffect | undefined {
    if (before.kind !== "lock") {
      if (now.kind !== "lock") return undefined;
      return { kind: "take", key, value: now.value, ttlMs: ttlMs ?? 0 };
    }
    const { value, remainingMs } = before;
    if (now.kind === "lock" && now.value !== value) {
      throw new NotServed("it would overwrite the value of a lock");
    }
    if (!isProven && !this.#rights.allowsUnproven) throw new NotServed(UNPROVEN);
    if (now.kind !== "lock") return { kind: "release", key, value };
    if (ttlMs !== undefined && ttlMs > 0) return { kind: "extend", key, value, ttlMs };
    if (remainingMs === "unknown") throw new NeedsLook();
    if (remainingMs === undefined) return undefined;
    throw new NotServed("a lock that loses its expiry would outlive who took it");
  }

  #hashEffectOf(key: string, entry: ImaginedKey): RecordEffect | undefined {
    const { before, now, ttlMs } = entry;
    if (before.kind !== "hash" && before.kind !== "free") {
      throw new NotServed("it would overwrite the value of a lock");
    }
    if (now.kind !== "hash" && now.kind !== "free") {
      throw new NotServed("it would overwrite a hash");
    }
    if (before.kind === "free" && now.kind === "free") return undefined;
    if (before.kind === "hash") this.#demandProof(before, entry);
    if (now.kind === "hash") this.#demandRoom(now.fields);
    const isTaken = before.kind === "free";
    const [content, after] = [contentOf(before), contentOf(now)];
    return { kind: "record", key, before: content, after, ttlMs: isTaken ? (ttlMs ?? 0) : ttlMs };
  }

  /**
   * A script that has named no holder may add one, if it takes nothing away from the others. It cannot
   * shorten the time of the hash either (`expire`).
   */
  #demandProof(before: KnownKey & { kind: "hash" }, { now, isProven }: ImaginedKey): void {
    if (isProven || this.#rights.allowsUnproven) return;
    const isKept =
      now.kind === "hash" &&
      [...before.fields].every(([field, value]) => now.fields.get(field) === value);
    if (!isKept) throw new NotServed(UNPROVEN);
  }

  #demandRoom(fields: ReadonlyMap<string, string>): void {
    if ([...this.#entries.keys()].every((key) => this.#names.includes(key))) return;
    const counts = [...fields.values()].filter((value) => COUNT.test(value)).map(Number);
    if (counts.reduce((sum, count) => sum + count, 0) <= COUNTED_MAX) return;
    throw new NotServed(`it would have more than ${COUNTED_MAX} holders at a time`);
  }

  #use(key: string): ImaginedKey {
    const entry = this.#entries.get(key) ?? this.#add(key);
    entry.isUsed = true;
    return entry;
  }

  /** A key that the script has made of one of its keys. */
  #add(key: string): ImaginedKey {
    if (!this.#names.some((name) => name !== "" && key.startsWith(`${name}:`))) {
      throw new NotServed("it uses a key that is none of its KEYS");
    }
    if (!this.#isGuess) throw new NeedsKey(key);
    const entry = entryOf(FREE);
    this.#entries.set(key, entry);
    return entry;
  }

  isHeld(key: string): boolean {
    return this.#use(key).now.kind !== "free";
  }

  /** What the key is now. */
  #seen(key: string): Exclude<KnownKey, { kind: "held" }> {
    const { now } = this.#use(key);
    if (now.kind === "held") throw new NeedsLook();
    return now;
  }

  /** `undefined`: there is none. */
  valueOf(key: string): string | undefined {
    const now = this.#seen(key);
    if (now.kind === "lock" || now.kind === "note") return now.value;
    if (now.kind === "free") return undefined;
    throw wrongType();
  }

  /** As PTTL answers it. */
  remainingOf(key: string): number {
    const now = this.#seen(key);
    const { ttlMs } = this.#use(key);
    if (now.kind === "free") return ABSENT;
    const remainingMs = ttlMs === undefined ? now.remainingMs : ttlMs || undefined;
    if (remainingMs === "unknown") throw new NeedsLook();
    return remainingMs ?? ENDLESS;
  }

  typeOf(key: string): string {
    const { kind } = this.#seen(key);
    if (kind === "free") return "none";
    if (kind === "hash") return "hash";
    return kind === "semaphore" ? "zset" : "string";
  }

  /** The fields of a hash; of a key that is free, none. */
  fieldsOf(key: string): ReadonlyMap<string, string> {
    const now = this.#seen(key);
    if (now.kind === "hash") return now.fields;
    if (now.kind === "free") return new Map();
    throw wrongType();
  }

  /** The value of a field; asking for a holder by an argument proves that it is known. */
  fieldOf(key: string, field: string): string | undefined {
    const value = this.fieldsOf(key).get(field);
    const entry = this.#use(key);
    const { before } = entry;
    const wasThere = before.kind === "hash" && before.fields.has(field);
    if (wasThere && this.#rights.isArgument(field)) entry.isProven = true;
    return value;
  }

  /** Returns how many of the fields are new. */
  putFields(key: string, fields: readonly (readonly [string, string])[]): number {
    const before = this.fieldsOf(key);
    for (const [field] of fields) this.fieldOf(key, field);
    const now = new Map([...before, ...fields]);
    this.#become(key, now);
    return now.size - before.size;
  }

  /** Returns how many of the fields there were. A hash without fields is gone. */
  deleteFields(key: string, fields: readonly string[]): number {
    const now = new Map(this.fieldsOf(key));
    const count = fields.filter((field) => {
      this.fieldOf(key, field);
      return now.delete(field);
    }).length;
    if (now.size === 0) this.delete(key);
    else if (count > 0) this.#become(key, now);
    return count;
  }

  #become(key: string, fields: ReadonlyMap<string, string>): void {
    const entry = this.#use(key);
    const remainingMs = entry.now.kind === "hash" ? entry.now.remainingMs : undefined;
    // What is made again after its end has no time yet.
    if (entry.now.kind === "free") entry.ttlMs = 0;
    entry.now = { kind: "hash", fields, remainingMs };
  }

  /** Whatever it was before. `ttlMs`: 0 without end. */
  put(key: string, value: string, ttlMs: number): void {
    const entry = this.#use(key);
    entry.now = { kind: "lock", value, remainingMs: undefined };
    entry.ttlMs = ttlMs;
    if (entry.before.kind === "lock" && entry.before.value === value) entry.isProven = true;
  }

  /**
   * Whether its time was set. A hash gets a longer one only, as with GT, if no holder was named:
   * several locks of Redisson are given their time so, once all are taken.
   */
  expire(key: string, ttlMs: number): boolean {
    const entry = this.#use(key);
    if (entry.now.kind === "free") return false;
    const { before, isProven } = entry;
    if (ttlMs > 0 && before.kind === "hash" && entry.now.kind === "hash") {
      const isFree = isProven || this.#rights.allowsUnproven;
      if (!isFree && isShorter(ttlMs, before.remainingMs)) return false;
    }
    if (ttlMs > 0) entry.ttlMs = ttlMs;
    else this.delete(key);
    return true;
  }

  /** Whether there was something to delete. */
  delete(key: string): boolean {
    const entry = this.#use(key);
    if (entry.now.kind === "free") return false;
    entry.now = entry.before.kind === "free" ? entry.before : FREE;
    entry.ttlMs = undefined;
    return true;
  }

  publish(publication: Publication): void {
    if (this.publications.length === PUBLICATIONS_MAX) throw new NotServed("it publishes often");
    this.publications.push(publication);
  }
}

/** Throws `NeedsLook` if that is not known. */
function isShorter(ttlMs: number, remainingMs: Remaining): boolean {
  if (remainingMs === "unknown") throw new NeedsLook();
  return remainingMs === undefined || ttlMs < remainingMs;
}

/** The changes that leave a lock, in a hash. */
export function lockRecordsIn(effects: readonly KeyEffect[]): readonly RecordEffect[] {
  return effects.filter(
    (effect): effect is RecordEffect => effect.kind === "record" && effect.after?.kind === "hash",
  );
}

function isEnd(effect: KeyEffect): boolean {
  if (effect.kind !== "record") return effect.kind === "release";
  return effect.before?.kind === "hash" && hasFewer(effect);
}

/** A holder of several has gone, or all have. */
function hasFewer({ before, after }: RecordEffect): boolean {
  if (before?.kind !== "hash") return false;
  return after?.kind !== "hash" || after.fields.size < before.fields.size;
}

function contentOf(key: KnownKey): RecordContent | undefined {
  if (key.kind === "hash") return { kind: "hash", fields: key.fields };
  return key.kind === "note" ? { kind: "note", value: key.value } : undefined;
}

function entryOf(before: KnownKey): ImaginedKey {
  return { before, now: before, ttlMs: undefined, isProven: false, isUsed: false };
}

function wrongType(): RedisError {
  return new RedisError("Operation against a key holding the wrong kind of value", "WRONGTYPE");
}
