/**
 * Answers calls of lock scripts. A script is run over keys that are imagined; what it would change is
 * one command to the table, which fails unless the keys are as they were imagined. First a guess is
 * tried, that the keys are free or held by an argument, since most calls are takes and releases and
 * need no look then. If the guess was wrong, the keys are looked at, and what follows counts only if
 * they still are as they were seen. So each script has the effect of one moment, as in Redis.
 *
 * One lock, or several that are treated alike, is taken, extended or released by the command for that,
 * which knows polling clients and Redlock. Everything else is compare and act.
 */
import { Buffer } from "node:buffer";
import { isDeepStrictEqual } from "node:util";
import type { ConnectionState } from "./connection-state.js";
import type { KeyState, StepWish, TakeResult } from "./locks/lease-calls.js";
import { changesTooOften, LOOKS_MAX, type LockSpace, type LockSteps } from "./locks/lock-space.js";
import { RefusedCommand } from "./refusals.js";
import type { RespReply } from "./resp/index.js";
import {
  type KeyEffect,
  type KnownKey,
  type LockEffect,
  type LockScript,
  lockRecordsIn,
  type Meaning,
  NeedsKey,
  NeedsLook,
  NotServed,
  OtherDatabase,
  type ScriptReply,
} from "./scripts/index.js";

/** The values of redlock, new for each acquire. */
const REDLOCK_VALUE = /^[0-9a-f]{32}$/;
/** Arguments that are guessed to be the value of the holder. */
const GUESSED_MAX = 4;
/** Keys that a script may use, with those that it makes of its keys. */
const KEYS_MAX = 16;
const FREE: KnownKey = { kind: "free" };
const HELD: KnownKey = { kind: "held" };

export interface CallOfScript {
  readonly script: LockScript;
  readonly keys: readonly Buffer[];
  readonly args: readonly Buffer[];
  /** It may change nothing. */
  readonly isReadOnly: boolean;
  /**
   * It is one of redlock's, which keeps a margin for clocks by itself, and asks every node of what it
   * takes for independent servers: an answer is repeated there.
   */
  readonly isOfRedlock: boolean;
}

/** The keys as they are imagined, and what the call means then. */
interface Guess {
  readonly known: ReadonlyMap<string, KnownKey>;
  readonly meaning: Meaning;
}

/** What became of changes; a take says who has one of the keys. */
type Done = Reached | "lacking" | Exclude<TakeResult, "taken">;

/** They are done. */
interface Reached {
  /** The token of the lock that is held now, if it is a hash; otherwise 0. */
  readonly token: number;
}

/** Throws or rejects with `NotServed` for a call that is not answered; then nothing was done. */
export function runScript(connection: ConnectionState, call: CallOfScript): Promise<RespReply> {
  try {
    return new ScriptRun(connection, call, connection.database).run();
  } catch (error) {
    if (!(error instanceof OtherDatabase)) throw error;
    return new ScriptRun(connection, call, error.database).run();
  }
}

class ScriptRun {
  readonly #connection: ConnectionState;
  readonly #call: CallOfScript;
  readonly #database: number;
  readonly #locks: LockSpace;
  /** Each once, in latin1 as the script has them. */
  readonly #names: readonly string[];
  readonly #isRedlock: boolean;

  constructor(connection: ConnectionState, call: CallOfScript, database: number) {
    this.#connection = connection;
    this.#call = call;
    this.#database = database;
    this.#locks = connection.locksOf(database);
    this.#names = [...new Set(call.keys.map((key) => key.toString("latin1")))];
    this.#isRedlock =
      call.isOfRedlock && call.args.some((arg) => REDLOCK_VALUE.test(arg.toString("latin1")));
  }

  run(): Promise<RespReply> {
    if (this.#names.length === 0) return Promise.resolve(this.#replyOf(new Map()));
    const keys = this.#names.map(bytesOf);
    const hot = this.#locks.calls.tableKeys(keys).some((key) => this.#isHot(key));
    const guess = this.#firstGuess();
    // A hash that was found held lately is looked at first, so that attempts that fail are not logged.
    const isTried = guess !== undefined && !(hot && this.#call.script.usesHashes);
    return this.#locks.course(keys, async (steps) => {
      const reply = isTried ? await this.#attempt(guess.meaning, steps) : undefined;
      return reply === undefined ? this.#decide(steps) : reply;
    });
  }

  #isHot(key: string): boolean {
    return this.#connection.rules.hotKeys.has(key);
  }

  #replyOf(known: ReadonlyMap<string, KnownKey>): RespReply {
    return replyWith(this.#meaningOf(known, false).reply, 0);
  }

  #meaningOf(known: ReadonlyMap<string, KnownKey>, isGuess: boolean): Meaning {
    const { script, keys, args, isReadOnly } = this.#call;
    const { allowsUnproven } = this.#connection.rules;
    const meaning = script.meaningOf({
      ...{ keys, args, known, allowsUnproven, isGuess },
      database: this.#database,
    });
    if (isReadOnly && meaning.effects.length + meaning.publications.length > 0) {
      throw new RefusedCommand("Write commands are not allowed from read-only scripts.", "ERR");
    }
    return meaning;
  }

  /** What would be changed if the keys were free, or held by one of the arguments. */
  #firstGuess(): Guess | undefined {
    const holders = [...new Set(this.#call.args.map((arg) => arg.toString("latin1")))];
    const { usesHashes } = this.#call.script;
    const held = holders.slice(0, GUESSED_MAX).map((holder) => heldBy(holder, usesHashes));
    for (const key of [FREE, ...held]) {
      const guess = this.#guessOf(key);
      // A hash that would be made without an expiry may be there, and have one.
      const isCertain = guess?.meaning.effects.every((effect) => !isEndlessHash(effect)) === true;
      if (guess !== undefined && isCertain && guess.meaning.effects.length > 0) return guess;
    }
    return undefined;
  }

  /**
   * The guess that all keys are like this; of a hash, that the first one is and the others are free.
   * `undefined`: the call has no meaning then, or the guess does not say enough.
   */
  #guessOf(key: KnownKey): Guess | undefined {
    const known = new Map(
      this.#names.map((name, at) => [name, key.kind === "hash" && at > 0 ? FREE : key]),
    );
    try {
      return { known, meaning: this.#meaningOf(known, true) };
    } catch (error) {
      if (error instanceof NotServed || error instanceof NeedsLook) return undefined;
      throw error;
    }
  }

  /** Resolves to `undefined` if it was in vain, and does not say what is to be answered. */
  async #attempt(meaning: Meaning, steps: LockSteps): Promise<RespReply | undefined> {
    const changes = alikeIn(meaning.effects);
    const [first] = changes ?? [];
    if (changes !== undefined && this.#isRedlock && first?.kind === "release") {
      return steps.releaseRepeatably(keysOf(changes), bytesOf(first.value));
    }
    const done = await this.#commit(meaning.effects, steps);
    if (typeof done === "object") return this.#reached(meaning, done);
    if (first === undefined || this.#names.length > 1) return undefined;
    const guesses = this.#learned(first, done).map((key) => this.#guessOf(key));
    const meanings = guesses.flatMap((guess) => guess?.meaning ?? []);
    const [one] = meanings;
    if (one === undefined || meanings.length < guesses.length) return undefined;
    // The value holds the key that it was to take: now that is known.
    if (done === "mine" && one.effects.length > 0) return this.#attempt(one, steps);
    const isAnswer = (each: Meaning): boolean =>
      each.effects.length === 0 && isDeepStrictEqual(each.reply, one.reply);
    return meanings.every(isAnswer) ? this.#reached(one, { token: 0 }) : undefined;
  }

  /** What a change that failed says of the key. */
  #learned({ value }: LockEffect, done: Done): readonly KnownKey[] {
    if (done === "mine") return [heldBy(value, false)];
    return done === "other" ? [HELD] : [FREE, HELD];
  }

  /** Looks at the keys, and does what the call means for them as they are. */
  async #decide(steps: LockSteps): Promise<RespReply> {
    const names = [...this.#names];
    for (let i = 0; i < LOOKS_MAX; i++) {
      const states = await steps.lookAtOnce(names.map(bytesOf));
      const found = new Map(names.map((name, at) => [name, states[at] as KeyState]));
      let meaning: Meaning;
      try {
        meaning = this.#meaningOf(knownOf(found), false);
      } catch (error) {
        if (!(error instanceof NeedsKey)) throw error;
        if (names.length === KEYS_MAX) throw new NotServed(`it uses more than ${KEYS_MAX} keys`);
        names.push(error.key);
        i -= 1;
        continue;
      }
      const { effects } = meaning;
      this.#requireOwn(effects, found);
      const done = effects.length === 0 ? { token: 0 } : await this.#commit(effects, steps);
      if (typeof done === "object") return this.#reached(meaning, done);
    }
    throw changesTooOften();
  }

  /** An identity changes only its own locks, whatever their values are. */
  #requireOwn(effects: readonly KeyEffect[], found: ReadonlyMap<string, KeyState>): void {
    const { calls } = this.#locks;
    for (const effect of effects) {
      const state = found.get(effect.key) as KeyState;
      const value = valueIn(effect);
      const isOwn =
        state.kind === "none" ||
        (value === undefined ? calls.isOwnRecord(state) : calls.isMine(state, bytesOf(value)));
      if (effect.kind !== "take" && !isOwn) {
        throw new RefusedCommand("the key is held by a client of another identity", "NOPERM");
      }
    }
  }

  /** To give several keys back ends those that are left, so that compare and act releases them. */
  #commit(effects: readonly KeyEffect[], locks: LockSteps): Promise<Done> {
    const changes = alikeIn(effects);
    if (changes === undefined || (changes.length > 1 && changes[0]?.kind === "release")) {
      return act(effects, locks);
    }
    return this.#commitAlike(changes, locks);
  }

  #commitAlike(changes: readonly LockEffect[], locks: LockSteps): Promise<Done> {
    const [first] = changes as [LockEffect];
    const keys = keysOf(changes);
    const value = bytesOf(first.value);
    const hasMargin = this.#isRedlock;
    switch (first.kind) {
      case "take": {
        const { ttlMs } = first;
        return takenAs(locks.take({ keys, value, ttlMs, hasMargin, isRepeatable: hasMargin }));
      }
      case "extend":
        return extendedAs(locks.extend({ keys, value, ttlMs: first.ttlMs, hasMargin }));
      case "release":
        return releasedAs(locks.release(keys, value));
    }
  }

  #reached({ reply, publications }: Meaning, { token }: Reached): RespReply {
    const { publisher } = this.#connection.rules;
    for (const { channel, message } of publications) {
      publisher.publishRelease(channel, message);
    }
    return replyWith(reply, token);
  }
}

function heldBy(holder: string, isHash: boolean): KnownKey {
  if (!isHash) return { kind: "lock", value: holder, remainingMs: "unknown" };
  return { kind: "hash", fields: new Map([[holder, "1"]]), remainingMs: "unknown" };
}

function knownOf(found: ReadonlyMap<string, KeyState>): ReadonlyMap<string, KnownKey> {
  return new Map([...found].map(([name, state]) => [name, knownAs(state)]));
}

function knownAs(state: KeyState): KnownKey {
  if (state.kind === "none") return FREE;
  return state.kind === "lock" ? { ...state, value: state.value.toString("latin1") } : state;
}

function isEndlessHash(effect: KeyEffect): boolean {
  return effect.kind === "record" && effect.before === undefined && effect.ttlMs === 0;
}

/** The value that has the key, or gets it; `undefined`: it is a record, or free. */
function valueIn(effect: KeyEffect): string | undefined {
  if (effect.kind === "record") return undefined;
  if (effect.kind !== "same") return effect.value;
  const { known } = effect;
  if (known.kind !== "lock") return undefined;
  return known.value;
}

/** Changes of locks that are treated alike, and nothing else; `undefined`: it is more than that. */
function alikeIn(effects: readonly KeyEffect[]): readonly LockEffect[] | undefined {
  const changes: LockEffect[] = [];
  for (const effect of effects) {
    if (effect.kind === "same" || effect.kind === "record") return undefined;
    changes.push(effect);
  }
  const [first] = changes;
  const isAlike = (change: LockEffect): boolean =>
    isDeepStrictEqual({ ...change, key: first?.key }, first);
  return changes.every(isAlike) ? changes : undefined;
}

async function act(effects: readonly KeyEffect[], locks: LockSteps): Promise<Done> {
  const tokens = await locks.act(effects.map(stepOf));
  if (tokens === undefined) return "lacking";
  const [record] = lockRecordsIn(effects);
  return { token: record === undefined ? 0 : (tokens[effects.indexOf(record)] as number) };
}

function stepOf(effect: KeyEffect): StepWish {
  const key = bytesOf(effect.key);
  const text = valueIn(effect);
  const value = text === undefined ? {} : { value: bytesOf(text) };
  switch (effect.kind) {
    case "take":
      return { key, ...value, isHeld: false, staysHeld: true, ttlMs: effect.ttlMs };
    case "extend":
      return { key, ...value, isHeld: true, staysHeld: true, ttlMs: effect.ttlMs };
    case "release":
      return { key, ...value, isHeld: true, staysHeld: false, ttlMs: undefined };
    case "record": {
      const { before, after, ttlMs } = effect;
      const [isHeld, staysHeld] = [before !== undefined, after !== undefined];
      return { key, isHeld, staysHeld, before, after, ttlMs: staysHeld ? ttlMs : undefined };
    }
    case "same": {
      const { known } = effect;
      if (known.kind === "semaphore") {
        throw new NotServed("it changes a key by what a semaphore is");
      }
      const isHeld = known.kind !== "free";
      const content = known.kind === "hash" || known.kind === "note" ? known : undefined;
      return {
        ...{ key, ...value, isHeld, staysHeld: isHeld, ttlMs: undefined },
        ...{ before: content, after: content },
      };
    }
  }
}

/** The reply, with the token of the lock where the script has asked for it. */
function replyWith(reply: ScriptReply, token: number): RespReply {
  if (Array.isArray(reply)) return reply.map((each: ScriptReply) => replyWith(each, token));
  if (reply !== null && typeof reply === "object" && "isToken" in reply) return token;
  return reply as Exclude<ScriptReply, { readonly isToken: true }> as RespReply;
}

function keysOf(changes: readonly LockEffect[]): readonly Buffer[] {
  return changes.map(({ key }) => bytesOf(key));
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

async function takenAs(taking: Promise<TakeResult>): Promise<Done> {
  const result = await taking;
  return result === "taken" ? { token: 0 } : result;
}

async function extendedAs(extending: Promise<unknown>): Promise<Done> {
  return (await extending) === undefined ? { token: 0 } : "lacking";
}

async function releasedAs(releasing: Promise<{ readonly count: number }>): Promise<Done> {
  return (await releasing).count > 0 ? { token: 0 } : "lacking";
}
