/**
 * Answers calls of lock scripts. A script is run over keys that are imagined; what it would change is
 * one command to the table, which fails unless the keys are as they were imagined. First a guess is
 * tried, that the keys are free or held by an argument, since most calls are takes and releases and
 * need no look then. If the guess was wrong, the keys are looked at, and what follows counts only if
 * they still are as they were seen. So each script has the effect of one moment, as in Redis.
 *
 * `docs/reference/redis-port.md` names the two kinds of scripts for several keys whose effect has no single
 * moment.
 */
import { Buffer } from "node:buffer";
import { isDeepStrictEqual } from "node:util";
import type { ConnectionState } from "./connection-state.js";
import type { KeyState, TakeResult } from "./locks/lease-calls.js";
import { changesTooOften, LOOKS_MAX, type LockSpace, type LockSteps } from "./locks/lock-space.js";
import { RefusedCommand } from "./refusals.js";
import type { RespReply } from "./resp/index.js";
import {
  type KeyEffect,
  type KnownKey,
  type LockScript,
  type Meaning,
  NeedsLook,
  NotServed,
  OtherDatabase,
  Unknown,
} from "./scripts/index.js";

/** The values of redlock, new for each acquire. */
const REDLOCK_VALUE = /^[0-9a-f]{32}$/;
/** Arguments that are guessed to be the value of the holder. */
const GUESSED_MAX = 4;
/** What is certain to remain of locks that are about to be released together. */
const RELEASED_WITHIN_MS = 1_000;
const FREE: KnownKey = { kind: "free" };

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
type Done = "done" | "lacking" | Exclude<TakeResult, "taken">;

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
    if (this.#names.length === 0) return Promise.resolve(this.#meaningOf(new Map()).reply);
    const keys = this.#keys();
    this.#locks.calls.tableKeys(keys);
    const guess = this.#firstGuess();
    return this.#locks.course(keys, async (steps) => {
      const reply = guess && (await this.#attempt(guess.meaning, steps));
      return reply === undefined ? this.#decide(keys, steps) : reply;
    });
  }

  #keys(): readonly Buffer[] {
    return this.#names.map((name) => Buffer.from(name, "latin1"));
  }

  #meaningOf(known: ReadonlyMap<string, KnownKey>): Meaning {
    const { script, keys, args, isReadOnly } = this.#call;
    const { allowsUnproven } = this.#connection.rules;
    const meaning = script.meaningOf({
      ...{ keys, args, known, allowsUnproven },
      database: this.#database,
    });
    if (isReadOnly && meaning.changes.length + meaning.publications.length > 0) {
      throw new RefusedCommand("Write commands are not allowed from read-only scripts.", "ERR");
    }
    return meaning;
  }

  /** What would be changed if the keys were free, or held by one of the arguments. */
  #firstGuess(): Guess | undefined {
    const holders = new Set(this.#call.args.map((arg) => arg.toString("latin1")));
    for (const key of [FREE, ...[...holders].slice(0, GUESSED_MAX).map(heldBy)]) {
      const guess = this.#guessOf(key);
      if (guess !== undefined && guess.meaning.changes.length > 0) return guess;
    }
    return undefined;
  }

  /** That all keys are so; `undefined`: the call has no meaning then, or it does not say enough. */
  #guessOf(key: KnownKey): Guess | undefined {
    const known = new Map(this.#names.map((name) => [name, key]));
    try {
      return { known, meaning: this.#meaningOf(known) };
    } catch (error) {
      if (error instanceof NotServed || error instanceof NeedsLook) return undefined;
      throw error;
    }
  }

  /** Resolves to `undefined` if it was in vain, and does not say what is to be answered. */
  async #attempt(meaning: Meaning, steps: LockSteps): Promise<RespReply | undefined> {
    const { changes } = meaning;
    const [first] = changes as [KeyEffect];
    if (this.#isRedlock && first.kind === "release") {
      return steps.releaseRepeatably(keysOf(changes), bytesOf(first.value));
    }
    const done = await this.#commit(changes, steps);
    if (done === "done") return this.#reached(meaning);
    if (this.#names.length > 1) return undefined;
    const guesses = this.#learned(first, done).map((key) => this.#guessOf(key));
    const meanings = guesses.flatMap((guess) => guess?.meaning ?? []);
    const [one] = meanings;
    if (one === undefined || meanings.length < guesses.length) return undefined;
    // The value holds the key that it was to take: now that is known.
    if (done === "mine" && one.changes.length > 0) return this.#attempt(one, steps);
    const isAnswer = (each: Meaning): boolean =>
      each.changes.length === 0 && isDeepStrictEqual(each.reply, one.reply);
    return meanings.every(isAnswer) ? this.#reached(one) : undefined;
  }

  /** What a change that failed says of the key. */
  #learned({ value }: KeyEffect, done: Done): readonly KnownKey[] {
    if (done === "mine") return [heldBy(value)];
    const other: KnownKey = {
      kind: "lock",
      value: new Unknown(() => new NeedsLook(), value),
      remainingMs: "unknown",
    };
    return done === "other" ? [other] : [FREE, other];
  }

  /** Looks at the keys, and does what the call means for them as they are. */
  async #decide(keys: readonly Buffer[], steps: LockSteps): Promise<RespReply> {
    for (let i = 0; i < LOOKS_MAX; i++) {
      const states = await steps.lookAtOnce(keys);
      const meaning = this.#meaningOf(this.#knownOf(states));
      this.#requireOwn(meaning.changes, states);
      const isDone =
        meaning.changes.length === 0 || (await this.#commit(meaning.changes, steps)) === "done";
      if (isDone) return this.#reached(meaning);
    }
    throw changesTooOften();
  }

  #knownOf(states: readonly KeyState[]): ReadonlyMap<string, KnownKey> {
    return new Map(
      states.map((state, at) => [
        this.#names[at] as string,
        state.kind === "none"
          ? FREE
          : state.kind === "semaphore"
            ? state
            : { ...state, value: state.value.toString("latin1") },
      ]),
    );
  }

  /** An identity changes only its own locks, whatever their values are. */
  #requireOwn(changes: readonly KeyEffect[], states: readonly KeyState[]): void {
    for (const { kind, key, value } of changes) {
      const state = states[this.#names.indexOf(key)] as KeyState;
      if (kind !== "take" && !this.#locks.calls.isMine(state, bytesOf(value))) {
        throw new RefusedCommand("the key is held by a client of another identity", "NOPERM");
      }
    }
  }

  #commit(changes: readonly KeyEffect[], locks: LockSteps): Promise<Done> {
    const [first] = changes as [KeyEffect];
    const keys = keysOf(changes);
    const value = bytesOf(first.value);
    const hasMargin = this.#isRedlock;
    switch (first.kind) {
      case "take": {
        const { ttlMs } = first;
        if (changes.some((change) => change.value !== first.value)) {
          return takeOneByOne(changes, ttlMs, locks);
        }
        return takenAs(locks.take({ keys, value, ttlMs, hasMargin, isRepeatable: hasMargin }));
      }
      case "extend":
        return extendedAs(locks.extend({ keys, value, ttlMs: first.ttlMs, hasMargin }));
      case "release":
        return releaseAll(keys, value, locks);
    }
  }

  #reached({ reply, publications }: Meaning): RespReply {
    const { publisher } = this.#connection.rules;
    for (const { channel, message } of publications) {
      publisher.publishRelease(channel, message);
    }
    return reply;
  }
}

function heldBy(value: string): KnownKey {
  return { kind: "lock", value, remainingMs: "unknown" };
}

function keysOf(changes: readonly KeyEffect[]): readonly Buffer[] {
  return changes.map(({ key }) => bytesOf(key));
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

async function takenAs(taking: Promise<TakeResult>): Promise<Done> {
  const result = await taking;
  return result === "taken" ? "done" : result;
}

async function extendedAs(extending: Promise<unknown>): Promise<Done> {
  return (await extending) === undefined ? "done" : "lacking";
}

/** Several keys are made certain first, since their release alone would end those that are left. */
async function releaseAll(keys: readonly Buffer[], value: Buffer, locks: LockSteps): Promise<Done> {
  if (keys.length > 1) {
    const wish = { keys, value, ttlMs: RELEASED_WITHIN_MS, mode: "atLeast" as const };
    if ((await locks.extend(wish)) !== undefined) return "lacking";
  }
  return (await locks.release(keys, value)).count > 0 ? "done" : "lacking";
}

/**
 * Each key has its own value, and so is a command of its own. They are taken one after the other, and
 * given back if one of them is held: others may find a key taken for that moment.
 */
async function takeOneByOne(
  changes: readonly KeyEffect[],
  ttlMs: number,
  locks: LockSteps,
): Promise<Done> {
  const giveBack = (taken: readonly KeyEffect[]): Promise<unknown> =>
    Promise.all(taken.map(({ key, value }) => locks.release([bytesOf(key)], bytesOf(value))));
  for (const [at, { key, value }] of changes.entries()) {
    let result: TakeResult;
    try {
      result = await locks.take({ keys: [bytesOf(key)], value: bytesOf(value), ttlMs });
    } catch (error) {
      // An error says that nothing was done.
      await giveBack(changes.slice(0, at));
      throw error;
    }
    if (result === "taken") continue;
    await giveBack(changes.slice(0, at));
    return result;
  }
  return "done";
}
