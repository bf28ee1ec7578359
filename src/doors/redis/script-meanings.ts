/**
 * Does what a recognised script means. Where one command of the table is the whole script, it is given
 * at once; otherwise the key is looked at first, and what was decided counts only if the key is still
 * as it was seen, or is decided again. So each script has the effect of one moment, as in Redis.
 *
 * Two meanings are wider than one command of the table: keys that are taken with a value each, and keys
 * that are released only if all are held. `docs/doors/redis.md` says what differs there.
 */
import type { Buffer } from "node:buffer";
import { integerOf, luaNumberOf } from "./durations.js";
import type { KeyState, TakeResult } from "./lease-calls.js";
import type { LockSpace } from "./lock-space.js";
import { RefusedCommand, syntaxError } from "./refusals.js";
import type { Reply } from "./resp/index.js";
import {
  type ArgumentRole,
  type DurationRole,
  type ExtendAllMeaning,
  type ExtendInTimeMeaning,
  type Meaning,
  meaningOf,
  type OneKeyMeaning,
  type Outcome,
  type Publication,
  type RecognisedScript,
  type ReleaseAllMeaning,
  type ReleaseEachMeaning,
  type ScriptReply,
  type SemaphoreExtendMeaning,
  type SemaphoreReleaseMeaning,
  type SemaphoreTakeMeaning,
  type TakeAllMeaning,
  type TextPart,
} from "./scripts/index.js";
import type { Session } from "./session.js";

/** The values of redlock, new for each acquire. */
const REDLOCK_VALUE = /^[0-9a-f]{32}$/;
const MS: Readonly<Record<DurationRole["unit"], number>> = { ms: 1, s: 1_000 };

/** One call of a script. */
interface Call {
  readonly session: Session;
  readonly locks: LockSpace;
  readonly keys: readonly Buffer[];
  readonly args: readonly Buffer[];
  /**
   * It is one of redlock's, which keeps a margin for clocks by itself, and asks every node of what it
   * takes for independent servers: an answer is repeated there.
   */
  readonly isRedlock: boolean;
}

export function runScript(
  session: Session,
  script: RecognisedScript,
  keys: readonly Buffer[],
  args: readonly Buffer[],
): Promise<Reply> {
  const meaning = meaningOf(script, keys.length);
  if (meaning === undefined) {
    throw new RefusedCommand(`this lock script is not answered with ${keys.length} keys`);
  }
  return run({ session, keys, args, isRedlock: isRedlock(script, args) }, meaning);
}

/** Only its scripts have one value for any number of keys, and that is new for each acquire. */
function isRedlock({ forSeveralKeys }: RecognisedScript, args: readonly Buffer[]): boolean {
  if (forSeveralKeys === undefined || !args.some(isRedlockValue)) return false;
  const { kind } = forSeveralKeys;
  if (kind === "takeAll") return forSeveralKeys.value !== "each";
  return kind === "extendAll" || kind === "releaseEach";
}

function isRedlockValue(argument: Buffer): boolean {
  return argument.length === 32 && REDLOCK_VALUE.test(argument.toString("latin1"));
}

function run(call: Omit<Call, "locks">, meaning: Meaning): Promise<Reply> {
  if (meaning.kind === "byArgument") {
    const text = call.args[meaning.argument - 1]?.toString("utf8");
    const isNumber = typeof meaning.equals === "number";
    const isEqual = (isNumber ? luaNumberOf(text) : text) === meaning.equals;
    return run(call, isEqual ? meaning.ifEqual : meaning.ifNot);
  }
  const { database } = meaning;
  const { session } = call;
  const locks =
    database === undefined
      ? session.locks
      : session.locksOf(integerOf(argumentOf(call.args, database)));
  const placed: Call = { ...call, locks };
  switch (meaning.kind) {
    case "oneKey":
      return new OneKeyScript(placed, meaning).run();
    case "extendInTime":
      return extendInTime(placed, meaning);
    case "takeAll":
      return meaning.value === "each" ? takeEachValue(placed, meaning) : takeAll(placed, meaning);
    case "extendAll":
      return extendAll(placed, meaning);
    case "releaseEach":
      return releaseEach(placed, meaning);
    case "releaseAll":
      return releaseAll(placed, meaning);
    case "semaphoreTake":
      return takePermits(placed, meaning);
    case "semaphoreExtend":
      return extendPermits(placed, meaning);
    case "semaphoreRelease":
      return releasePermits(placed, meaning);
  }
}

/** What changes a lock, in the order of the connection or within a decision. */
type LockActs = Pick<LockSpace, "take" | "extend" | "release" | "releaseRepeatably">;

/** The state of a key in the words of a meaning. */
type StateName = "absent" | "mine" | "mineEndless" | "other";

class OneKeyScript {
  readonly #call: Call;
  readonly #meaning: OneKeyMeaning;
  readonly #facts: OneKeyFacts;
  readonly #key: Buffer;
  readonly #value: Buffer | undefined;

  constructor(call: Call, meaning: OneKeyMeaning) {
    this.#call = call;
    this.#meaning = meaning;
    this.#facts = factsOf(meaning);
    const [key] = call.keys;
    if (key === undefined) throw syntaxError();
    this.#key = key;
    this.#value = meaning.value && argumentOf(call.args, meaning.value);
  }

  run(): Promise<Reply> {
    const value = this.#value;
    if (value !== undefined && this.#facts.isTake) return this.#take(value);
    if (value !== undefined && this.#facts.isChange) return this.#changeMine(value);
    return this.#decide();
  }

  /** Most attempts find the key free, or taken by somebody else: one command says which. */
  async #take(value: Buffer): Promise<Reply> {
    const { locks, isRedlock } = this.#call;
    const { absent, mine, other } = this.#meaning;
    const ttlMs = this.#ttlMs(absent);
    const result = await locks.take({
      ...{ keys: [this.#key], value, ttlMs, hasMargin: isRedlock },
      isRepeatable: this.#facts.isRepeatable || isRedlock,
    });
    if (result === "taken") return this.#reached(absent, undefined);
    if (result === "other" && this.#facts.isOtherKnown) return this.#reached(other, undefined);
    if (result === "mine" && this.#facts.isMineKnown) return this.#reached(mine, undefined);
    return this.#decide();
  }

  /** Extends or releases; whoever has nothing there is told so, if it makes no difference why. */
  async #changeMine(value: Buffer): Promise<Reply> {
    const { absent, mine } = this.#meaning;
    if (await this.#act(mine, value, this.#call.locks)) return this.#reached(mine, undefined);
    return this.#facts.isLackKnown ? this.#reached(absent, undefined) : this.#decide();
  }

  /** Looks at the key, and does what is meant in the state that it has. */
  #decide(): Promise<Reply> {
    const { locks } = this.#call;
    const value = this.#value;
    return locks.decide<Reply>(this.#key, (state) => {
      const outcome = this.#meaning[this.#nameOf(state)];
      if (outcome.act.kind === "none" || value === undefined) {
        return { answer: this.#reached(outcome, state) };
      }
      return {
        write: async () => {
          const isDone = await this.#act(outcome, value, locks.calls);
          return isDone ? this.#reached(outcome, state) : undefined;
        },
      };
    });
  }

  #nameOf(state: KeyState): StateName {
    if (state.kind === "none") return "absent";
    const value = this.#value;
    if (value === undefined || !this.#call.locks.calls.isMine(state, value)) {
      return value === undefined && isEndless(state) ? "mineEndless" : "other";
    }
    return isEndless(state) ? "mineEndless" : "mine";
  }

  /** Resolves to whether it could be done. `locks`: those that keep an order, or its calls. */
  async #act({ act }: Outcome, value: Buffer, locks: LockActs): Promise<boolean> {
    const { isRedlock, args } = this.#call;
    const keys = [this.#key];
    if (act.kind === "none") return true;
    if (act.kind === "release") {
      if (isRedlock) return (await locks.releaseRepeatably(keys, value)) > 0;
      return (await locks.release(keys, value)).count > 0;
    }
    const { ttl } = act;
    const ttlMs = ttl === undefined ? 0 : durationOf(args, ttl);
    if (act.kind === "take") {
      const wish = { keys, value, ttlMs: positive(ttlMs, ttl), hasMargin: isRedlock };
      return (await locks.take(wish)) === "taken";
    }
    if (ttl === undefined) {
      throw new RefusedCommand("a lock that loses its expiry would outlive who took it");
    }
    if (!act.mayRelease) positive(ttlMs, ttl);
    if (ttlMs <= 0 && ttl.mode === "fromNow") return (await locks.release(keys, value)).count > 0;
    const mode = ttl.mode === "added" ? ("add" as const) : ("exactly" as const);
    return (await locks.extend({ keys, value, ttlMs, mode, hasMargin: isRedlock })) === undefined;
  }

  #ttlMs({ act }: Outcome): number {
    if (act.kind !== "take" || act.ttl === undefined) return 0;
    return positive(durationOf(this.#call.args, act.ttl), act.ttl);
  }

  /** `state`: if it was looked at. */
  #reached({ reply, publications }: Outcome, state: KeyState | undefined): Reply {
    publish(this.#call, publications);
    return replyOf(reply, {
      call: this.#call,
      state,
      value: this.#value,
      ended: 1,
      held: undefined,
    });
  }
}

function extendInTime(call: Call, meaning: ExtendInTimeMeaning): Promise<Reply> {
  const { locks, args } = call;
  const [key] = call.keys as [Buffer];
  const value = argumentOf(args, meaning.value);
  const leastMs = integerOf(argumentOf(args, meaning.least));
  const ttlMs = positive(durationOf(args, meaning.ttl), meaning.ttl);
  const { replies } = meaning;
  return locks.decide<Reply>(key, (state) => {
    const answer = (reply: ScriptReply): Reply => plainReply(call, reply, { state });
    if (state.kind === "none") return { answer: answer(replies.absent) };
    // The scripts ask for the time before they ask whose it is; without end −1 is left.
    const { remainingMs = -1 } = state;
    if (remainingMs < leastMs) return { answer: answer(replies.late) };
    if (!locks.calls.isMine(state, value)) return { answer: answer(replies.other) };
    return {
      write: async () => {
        const loss = await locks.calls.extend({ keys: [key], value, ttlMs });
        return loss === undefined ? answer(replies.extended) : undefined;
      },
    };
  });
}

async function takeAll(call: Call, { value, ttl, replies }: TakeAllMeaning): Promise<Reply> {
  const { locks, keys, args, isRedlock } = call;
  const result = await locks.take({
    keys,
    value: argumentOf(args, value as ArgumentRole),
    ttlMs: allTtlOf(args, ttl),
    isRepeatable: replies.repeated !== undefined || isRedlock,
    hasMargin: isRedlock,
  });
  return result === "taken" ? plainReply(call, replies.taken) : heldReply(call, replies.held);
}

/**
 * Each key has its own value, and so is a command of its own. They are taken one after the other, and
 * given back if one of them is held: others may find a key taken for that moment.
 */
async function takeEachValue(call: Call, { ttl, replies }: TakeAllMeaning): Promise<Reply> {
  const { locks, keys, args } = call;
  const ttlMs = allTtlOf(args, ttl);
  const valueAt = (at: number): Buffer => argumentOf(args, { argument: at + 1 });
  const giveBack = (end: number): Promise<unknown> => {
    return Promise.all(keys.slice(0, end).map((key, at) => locks.release([key], valueAt(at))));
  };
  for (let at = 0; at < keys.length; at++) {
    let taken: TakeResult;
    try {
      taken = await locks.take({ keys: [keys[at] as Buffer], value: valueAt(at), ttlMs });
    } catch (error) {
      // An error says that nothing was done.
      await giveBack(at);
      throw error;
    }
    if (taken === "taken") continue;
    await giveBack(at);
    return heldReply(call, replies.held, at);
  }
  return plainReply(call, replies.taken);
}

function allTtlOf(args: readonly Buffer[], ttl: DurationRole | undefined): number {
  return ttl === undefined ? 0 : positive(durationOf(args, ttl), ttl);
}

/** `at`: the first key that is held, if that is known. */
async function heldReply(call: Call, reply: ScriptReply, at?: number): Promise<Reply> {
  if (!mentionsHeld(reply)) return plainReply(call, reply);
  const states = await Promise.all(call.keys.map((key) => call.locks.look(key)));
  const held = at ?? states.findIndex(({ kind }) => kind !== "none");
  // It was free again when it was looked at.
  return plainReply(call, reply, { held: Math.max(0, held) });
}

function mentionsHeld(reply: ScriptReply): boolean {
  if (reply.kind === "list") return reply.items.some(mentionsHeld);
  return reply.kind === "heldPosition" || reply.kind === "heldKey";
}

async function extendAll(call: Call, { value, ttl, replies }: ExtendAllMeaning): Promise<Reply> {
  const { locks, keys, args, isRedlock } = call;
  const ttlMs = positive(durationOf(args, ttl), ttl);
  const wish = { keys, value: argumentOf(args, value), ttlMs, hasMargin: isRedlock };
  const mode = ttl.mode === "added" ? ("add" as const) : ("exactly" as const);
  const loss = await locks.extend({ ...wish, mode });
  return plainReply(call, loss === undefined ? replies.extended : replies.lacking);
}

async function releaseEach(call: Call, { value, reply }: ReleaseEachMeaning): Promise<Reply> {
  const { locks, keys, args } = call;
  const ended = await locks.releaseRepeatably(keys, argumentOf(args, value));
  return plainReply(call, reply, { ended });
}

/** Between the look and the release, only the owner itself or an expiry can change what was seen. */
async function releaseAll(call: Call, { value, replies }: ReleaseAllMeaning): Promise<Reply> {
  const { locks, keys, args } = call;
  const owner = argumentOf(args, value);
  const states = await Promise.all(keys.map((key) => locks.look(key)));
  if (!states.every((state) => locks.calls.isMine(state, owner))) {
    return plainReply(call, replies.lacking);
  }
  const { count } = await locks.release(keys, owner);
  return plainReply(call, count === keys.length ? replies.released : replies.lacking);
}

async function takePermits(call: Call, meaning: SemaphoreTakeMeaning): Promise<Reply> {
  const { locks, keys, args } = call;
  const { identifier, permits, limit, ttl, replies } = meaning;
  const result = await locks.take({
    keys,
    value: argumentOf(args, identifier),
    ttlMs: positive(durationOf(args, ttl), ttl),
    limit: integerOf(argumentOf(args, limit)),
    permits: permits === undefined ? 1 : integerOf(argumentOf(args, permits)),
    isRepeatable: true,
  });
  return plainReply(call, result === "taken" ? replies.taken : replies.full);
}

async function extendPermits(call: Call, meaning: SemaphoreExtendMeaning): Promise<Reply> {
  const { locks, keys, args } = call;
  const { identifier, ttl, replies } = meaning;
  const ttlMs = positive(durationOf(args, ttl), ttl);
  const loss = await locks.extend({ keys, value: argumentOf(args, identifier), ttlMs });
  return plainReply(call, loss === undefined ? replies.extended : replies.lacking);
}

async function releasePermits(call: Call, meaning: SemaphoreReleaseMeaning): Promise<Reply> {
  const { locks, keys, args } = call;
  const { count } = await locks.release(keys, argumentOf(args, meaning.identifier));
  return count === 0 ? 0 : integerOf(argumentOf(args, meaning.permits));
}

function argumentOf(args: readonly Buffer[], { argument }: ArgumentRole): Buffer {
  const found = args[argument - 1];
  if (found === undefined)
    throw new RefusedCommand(`this lock script needs ARGV[${argument}]`, "ERR");
  return found;
}

function durationOf(args: readonly Buffer[], role: DurationRole): number {
  const argument = role.argument === "last" ? args.length : role.argument;
  return integerOf(argumentOf(args, { argument })) * MS[role.unit];
}

/** A lock that is taken must have an expiry; `undefined`: the script gives none. */
function positive(ms: number, role: DurationRole | undefined): number {
  if (role === undefined || ms > 0) return ms;
  throw new RefusedCommand("invalid expire time in 'set' command", "ERR");
}

function isEndless(state: KeyState): boolean {
  return state.kind !== "none" && state.remainingMs === undefined;
}

/** What follows from a meaning for each call of it. */
interface OneKeyFacts {
  /** It takes a free key, and releases nothing: a take says what to answer, mostly. */
  readonly isTake: boolean;
  /** A take by the value that holds already is answered like the first. */
  readonly isRepeatable: boolean;
  /** It changes the lock of the value, the same with an end and without. */
  readonly isChange: boolean;
  /** No look is needed to answer whoever finds the key held by another value, or by the own one … */
  readonly isOtherKnown: boolean;
  readonly isMineKnown: boolean;
  /** … or whoever does not hold it. */
  readonly isLackKnown: boolean;
}

const FACTS = new WeakMap<OneKeyMeaning, OneKeyFacts>();

function factsOf(meaning: OneKeyMeaning): OneKeyFacts {
  const known = FACTS.get(meaning);
  if (known !== undefined) return known;
  const { absent, mine, mineEndless, other } = meaning;
  const isChange = mine.act.kind === "extend" || mine.act.kind === "release";
  const facts = {
    isTake: absent.act.kind === "take" && mine.act.kind !== "release",
    isRepeatable: isExtendedLike(absent, mine),
    isChange: isChange && absent.act.kind === "none" && isEqual(mine, mineEndless),
    isOtherKnown: isKnown(other),
    isMineKnown: isKnown(mine) && isEqual(mine, mineEndless),
    isLackKnown: isKnown(absent) && isEqual(absent, other),
  };
  FACTS.set(meaning, facts);
  return facts;
}

/** Whether who holds the key already gets what whoever takes it gets, for as long from now on. */
function isExtendedLike(absent: Outcome, mine: Outcome): boolean {
  if (absent.act.kind !== "take" || mine.act.kind !== "extend") return false;
  return isEqual(absent.act.ttl, mine.act.ttl) && isEqual(absent.reply, mine.reply);
}

/** Whether nothing is to be done, and nothing to be known of the key. */
function isKnown({ act, reply }: Outcome): boolean {
  return act.kind === "none" && !needsState(reply);
}

function needsState(reply: ScriptReply): boolean {
  if (reply.kind === "list") return reply.items.some(needsState);
  return reply.kind === "value" || reply.kind === "remaining";
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function publish({ session, keys, args }: Call, publications: readonly Publication[]): void {
  const textOf = (parts: readonly TextPart[]): string =>
    parts
      .map((part) => {
        if ("text" in part) return part.text;
        const bytes = "key" in part ? keys[part.key - 1] : args[part.argument - 1];
        return bytes?.toString("latin1") ?? "";
      })
      .join("");
  for (const { channel, message } of publications) {
    session.rules.publisher.publishRelease(textOf(channel), textOf(message));
  }
}

interface ReplyContext {
  readonly call: Call;
  readonly state: KeyState | undefined;
  readonly value: Buffer | undefined;
  readonly ended: number;
  /** The first key that is held, from 0. */
  readonly held: number | undefined;
}

function plainReply(
  call: Call,
  reply: ScriptReply,
  {
    ended = 0,
    held,
    state,
  }: { readonly ended?: number; readonly held?: number; readonly state?: KeyState } = {},
): Reply {
  return replyOf(reply, { call, state, value: undefined, ended, held });
}

function replyOf(reply: ScriptReply, context: ReplyContext): Reply {
  const { call, state, value, ended, held = 0 } = context;
  switch (reply.kind) {
    case "nil":
      return null;
    case "integer":
      return reply.integer;
    case "status":
      return { status: reply.text };
    case "bulk":
      return reply.text;
    case "error": {
      const [code = "ERR", ...words] = reply.text.split(" ");
      return { code, message: words.join(" ") };
    }
    case "value":
      return state?.kind === "lock" ? state.value : (value ?? null);
    case "remaining":
      return remainingOf(state, reply.unit);
    case "keyCount":
      return call.keys.length;
    case "endedCount":
      return ended;
    case "heldPosition":
      return held + 1;
    case "heldKey":
      return call.keys[held] ?? null;
    case "list":
      return reply.items.map((item) => replyOf(item, context));
  }
}

function remainingOf(state: KeyState | undefined, unit: "ms" | "s"): number {
  if (state === undefined || state.kind === "none") return -2;
  const { remainingMs } = state;
  if (remainingMs === undefined) return -1;
  return unit === "ms" ? remainingMs : Math.round(remainingMs / 1_000);
}
