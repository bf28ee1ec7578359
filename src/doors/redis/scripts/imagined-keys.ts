/**
 * The keys of one call, as they are guessed or were looked at, and what a script makes of them. The
 * difference between before and after is what the call means: of each key that is changed a take, an
 * extension or a release, which a lock service does in one step, and only if the key is as it was
 * imagined.
 *
 * It must never let a script end or move the lock of a value that it has not compared.
 */
import { NeedsLook, NotServed, RedisError, Unknown } from "./lua-value.js";

/** What is known, or guessed, of a key. */
export type KnownKey =
  | { readonly kind: "free" }
  | {
      readonly kind: "lock";
      /** A character for each byte; `Unknown`: it is another one than was wanted. */
      readonly value: string | Unknown;
      /** `undefined`: without end. */
      readonly remainingMs: number | undefined | "unknown";
    }
  | { readonly kind: "semaphore"; readonly remainingMs: number | undefined };

/** What becomes of a key. `ttlMs`: from now on; of a take, 0 without end. */
export type KeyEffect =
  | { readonly kind: "take"; readonly key: string; readonly value: string; readonly ttlMs: number }
  | {
      readonly kind: "extend";
      readonly key: string;
      readonly value: string;
      readonly ttlMs: number;
    }
  | { readonly kind: "release"; readonly key: string; readonly value: string };

export interface Publication {
  readonly channel: string;
  readonly message: string;
}

/** No lock script sends more, and each goes to every subscriber. */
const PUBLICATIONS_MAX = 4;
const ABSENT = -2;
const ENDLESS = -1;

/** One step of several keys does the same with each; only takes may have a value each. */
function isAlike(one: KeyEffect, other: KeyEffect): boolean {
  if (one.kind === "take") return other.kind === "take" && one.ttlMs === other.ttlMs;
  if (one.kind !== other.kind || one.value !== other.value) return false;
  return one.kind === "release" || one.ttlMs === (other as typeof one).ttlMs;
}

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

export class ImaginedKeys {
  readonly publications: Publication[] = [];
  readonly #entries: ReadonlyMap<string, ImaginedKey>;
  readonly #allowsUnproven: boolean;

  /**
   * @param known the keys of the call
   * @param allowsUnproven locks may be ended and moved without a comparison
   */
  constructor(known: ReadonlyMap<string, KnownKey>, allowsUnproven: boolean) {
    this.#allowsUnproven = allowsUnproven;
    this.#entries = new Map(
      [...known].map(([key, before]) => [
        key,
        { before, now: before, ttlMs: undefined, isProven: false, isUsed: false },
      ]),
    );
  }

  /** Two texts of the script were equal. */
  noteEqual(text: string): void {
    for (const entry of this.#entries.values()) {
      const { before, isUsed } = entry;
      if (isUsed && before.kind === "lock" && before.value === text) entry.isProven = true;
    }
  }

  /** What is to be done; throws `NotServed` for what a lock service cannot do in one step. */
  changes(): readonly KeyEffect[] {
    const entries = [...this.#entries];
    const changes = entries.flatMap(([key, entry]) => this.#changeOf(key, entry) ?? []);
    if (changes.length > 0 && entries.filter(([, each]) => each.isUsed).length > changes.length) {
      throw new NotServed("it changes a key by what another key is, which it leaves as it is");
    }
    if (!changes.every((change) => isAlike(change, changes[0] as KeyEffect))) {
      throw new NotServed("it does something else with one of its keys than with another");
    }
    // That a lock is free again is news of that lock, which only its holder can make.
    const ended = changes.filter(({ kind }) => kind === "release");
    for (const { channel, message } of this.publications) {
      if (!ended.some(({ key }) => channel.includes(key) || message.includes(key))) {
        throw new NotServed("it publishes something else than that a lock was released");
      }
    }
    return changes;
  }

  #changeOf(key: string, entry: ImaginedKey): KeyEffect | undefined {
    const { before, now, ttlMs } = entry;
    if (before === now && ttlMs === undefined) return undefined;
    if (before.kind === "semaphore") throw new NotServed("it changes a semaphore");
    if (before.kind === "free") {
      if (now.kind !== "lock" || now.value instanceof Unknown) return undefined;
      return { kind: "take", key, value: now.value, ttlMs: ttlMs ?? 0 };
    }
    const { value, remainingMs } = before;
    if (value instanceof Unknown) throw new NeedsLook();
    if (now.kind === "lock" && now.value !== value) {
      throw new NotServed("it would overwrite the value of a lock");
    }
    if (!entry.isProven && !this.#allowsUnproven) {
      throw new NotServed("it would end or move a lock whose value it has not compared");
    }
    if (now.kind !== "lock") return { kind: "release", key, value };
    if (ttlMs !== undefined && ttlMs > 0) return { kind: "extend", key, value, ttlMs };
    if (remainingMs === "unknown") throw new NeedsLook();
    if (remainingMs === undefined) return undefined;
    throw new NotServed("a lock that loses its expiry would outlive who took it");
  }

  #use(key: string): ImaginedKey {
    const entry = this.#entries.get(key);
    if (entry === undefined) throw new NotServed("it uses a key that is none of its KEYS");
    entry.isUsed = true;
    return entry;
  }

  isHeld(key: string): boolean {
    return this.#use(key).now.kind !== "free";
  }

  /** `undefined`: there is none. */
  valueOf(key: string): string | Unknown | undefined {
    const { now } = this.#use(key);
    if (now.kind === "lock") return now.value;
    if (now.kind === "free") return undefined;
    throw new RedisError("Operation against a key holding the wrong kind of value", "WRONGTYPE");
  }

  /** As PTTL answers it. */
  remainingOf(key: string): number {
    const { now, ttlMs } = this.#use(key);
    if (now.kind === "free") return ABSENT;
    const remainingMs = ttlMs === undefined ? now.remainingMs : ttlMs || undefined;
    if (remainingMs === "unknown") throw new NeedsLook();
    return remainingMs ?? ENDLESS;
  }

  typeOf(key: string): string {
    const { kind } = this.#use(key).now;
    return kind === "free" ? "none" : kind === "lock" ? "string" : "zset";
  }

  /** Whatever it was before. `ttlMs`: 0 without end. */
  put(key: string, value: string, ttlMs: number): void {
    const entry = this.#use(key);
    entry.now = { kind: "lock", value, remainingMs: undefined };
    entry.ttlMs = ttlMs;
    if (entry.before.kind === "lock" && entry.before.value === value) entry.isProven = true;
  }

  /** Whether there was something to extend. */
  expire(key: string, ttlMs: number): boolean {
    const entry = this.#use(key);
    if (entry.now.kind === "free") return false;
    if (ttlMs > 0) entry.ttlMs = ttlMs;
    else this.delete(key);
    return true;
  }

  /** Whether there was something to delete. */
  delete(key: string): boolean {
    const entry = this.#use(key);
    if (entry.now.kind === "free") return false;
    entry.now = { kind: "free" };
    entry.ttlMs = undefined;
    return true;
  }

  publish(publication: Publication): void {
    if (this.publications.length === PUBLICATIONS_MAX) throw new NotServed("it publishes often");
    this.publications.push(publication);
  }
}
