/**
 * What a lock script of Redis means, as data: which arguments play which role, and what each outcome
 * answers. The door acts by this alone and never runs a script.
 *
 * How to use it: `recogniseScript(text)` and `knownScript(sha1)` give a `RecognisedScript` or
 * `undefined`; `meaningOf(script, keyCount)` is its meaning for a call with so many keys, `undefined`
 * if it has none. Most meanings are a `OneKeyMeaning`: for each state of the key, what happens and
 * what is answered. `take` in the state `absent` alone is a plain try; `take` in `absent` and `extend`
 * in `mine` is a take that its owner may repeat; and so on.
 *
 * Nothing here may know of the cluster.
 */

/** An argument of the call: `ARGV[position]`, from 1. */
export interface ArgumentRole {
  readonly argument: number;
}

/** How long, as a time from now, or added to what remains. */
export interface DurationRole {
  /** `last`: the last one of the call. */
  readonly argument: number | "last";
  readonly unit: "ms" | "s";
  readonly mode: "fromNow" | "added";
}

/** What is answered, as the reply of Redis to a call in which no script changed the protocol. */
export type ScriptReply =
  | { readonly kind: "nil" }
  | { readonly kind: "integer"; readonly integer: number }
  | { readonly kind: "status"; readonly text: string }
  | { readonly kind: "bulk"; readonly text: string }
  /** `text` begins with the code, such as `ERR`. */
  | { readonly kind: "error"; readonly text: string }
  /** A bulk string: the value of the hold. */
  | { readonly kind: "value" }
  /** An integer: what PTTL (ms) or TTL (s, rounded) answers: −1 without end, −2 without hold. */
  | { readonly kind: "remaining"; readonly unit: "ms" | "s" }
  /** An integer: the number of the call's keys. */
  | { readonly kind: "keyCount" }
  /** An integer: in how many of the keys a hold ended. */
  | { readonly kind: "endedCount" }
  /** The position, from 1, of the first key that is held; then the key itself. */
  | { readonly kind: "heldPosition" }
  | { readonly kind: "heldKey" }
  | { readonly kind: "list"; readonly items: readonly ScriptReply[] };

/** What happens to the hold of a key. */
export type Act =
  | { readonly kind: "none" }
  /** The key is free: `value` takes it. `undefined`: without end. */
  | { readonly kind: "take"; readonly ttl: DurationRole | undefined }
  /**
   * The hold of `value` ends so much later, or earlier than before. `mayRelease`: at once if the
   * duration is not positive, as by EXPIRE; otherwise that is an error, as in SET. `ttl` `undefined`:
   * without end.
   */
  | {
      readonly kind: "extend";
      readonly ttl: DurationRole | undefined;
      readonly mayRelease: boolean;
    }
  | { readonly kind: "release" };

/** A message for subscribers, which the script sends if this outcome is reached. */
export interface Publication {
  /** One after the other. */
  readonly channel: readonly TextPart[];
  readonly message: readonly TextPart[];
}

export type TextPart = ArgumentRole | KeyRole | { readonly text: string };

/** `KEYS[position]`, from 1. */
export interface KeyRole {
  readonly key: number;
}

export interface Outcome {
  readonly act: Act;
  readonly reply: ScriptReply;
  readonly publications: readonly Publication[];
}

interface InDatabase {
  /** The number of the database, if the script selects one for itself. */
  readonly database: ArgumentRole | undefined;
}

/**
 * One lock, `KEYS[1]`. A hold of another owner is never changed. Scripts for several keys have this
 * meaning for a call with one key.
 */
export interface OneKeyMeaning extends InDatabase {
  readonly kind: "oneKey";
  /** `undefined`: the script only reads, and `mine` and `other` are alike. */
  readonly value: ArgumentRole | undefined;
  /** Nobody holds the key. */
  readonly absent: Outcome;
  /** `value` holds it, and the hold has an end. */
  readonly mine: Outcome;
  /** `value` holds it without end. */
  readonly mineEndless: Outcome;
  /** Another value holds it. */
  readonly other: Outcome;
}

/** One lock; what is meant depends on an argument that is compared with a text, or as a number. */
export interface ByArgumentMeaning {
  readonly kind: "byArgument";
  readonly argument: number;
  readonly equals: string | number;
  readonly ifEqual: Meaning;
  readonly ifNot: Meaning;
}

/** Extends only while at least so much remains. */
export interface ExtendInTimeMeaning extends InDatabase {
  readonly kind: "extendInTime";
  readonly value: ArgumentRole;
  /** The least that must remain, in milliseconds. */
  readonly least: ArgumentRole;
  readonly ttl: DurationRole;
  readonly replies: {
    readonly absent: ScriptReply;
    readonly late: ScriptReply;
    readonly other: ScriptReply;
    readonly extended: ScriptReply;
  };
}

/** All keys or none; the keys are held separately afterwards. */
export interface TakeAllMeaning extends InDatabase {
  readonly kind: "takeAll";
  /** `each`: the value of `KEYS[i]` is `ARGV[i]`. */
  readonly value: ArgumentRole | "each";
  readonly ttl: DurationRole | undefined;
  readonly replies: {
    readonly taken: ScriptReply;
    readonly held: ScriptReply;
    /** If the value holds all keys already, they are extended and this is answered. */
    readonly repeated: ScriptReply | undefined;
  };
}

/** The holds of all keys, or none if the value lacks one of them. */
export interface ExtendAllMeaning extends InDatabase {
  readonly kind: "extendAll";
  readonly value: ArgumentRole;
  readonly ttl: DurationRole;
  readonly replies: { readonly extended: ScriptReply; readonly lacking: ScriptReply };
}

/** Each hold of the value among the keys. */
export interface ReleaseEachMeaning extends InDatabase {
  readonly kind: "releaseEach";
  readonly value: ArgumentRole;
  readonly reply: ScriptReply;
}

/** The holds of all keys, or none if the value lacks one of them. */
export interface ReleaseAllMeaning extends InDatabase {
  readonly kind: "releaseAll";
  readonly value: ArgumentRole;
  readonly replies: { readonly released: ScriptReply; readonly lacking: ScriptReply };
}

/**
 * Permits of the semaphore `KEYS[1]`. Scripts that count by the clock of their client are meant as
 * what they are for: a permit lasts `ttl` from now. With `permits`, the members are the identifier
 * with `_0`, `_1` … after it.
 */
export interface SemaphoreTakeMeaning extends InDatabase {
  readonly kind: "semaphoreTake";
  readonly identifier: ArgumentRole;
  readonly permits: ArgumentRole | undefined;
  readonly limit: ArgumentRole;
  readonly ttl: DurationRole;
  readonly replies: { readonly taken: ScriptReply; readonly full: ScriptReply };
}

export interface SemaphoreExtendMeaning extends InDatabase {
  readonly kind: "semaphoreExtend";
  readonly identifier: ArgumentRole;
  readonly permits: ArgumentRole | undefined;
  readonly ttl: DurationRole;
  readonly replies: { readonly extended: ScriptReply; readonly lacking: ScriptReply };
}

/** Answers the number of permits that ended, as ZREM does. */
export interface SemaphoreReleaseMeaning extends InDatabase {
  readonly kind: "semaphoreRelease";
  readonly identifier: ArgumentRole;
  readonly permits: ArgumentRole;
}

export type Meaning =
  | OneKeyMeaning
  | ByArgumentMeaning
  | ExtendInTimeMeaning
  | TakeAllMeaning
  | ExtendAllMeaning
  | ReleaseEachMeaning
  | ReleaseAllMeaning
  | SemaphoreTakeMeaning
  | SemaphoreExtendMeaning
  | SemaphoreReleaseMeaning;

/** A script and what it means; one may mean something for one key and nothing for several. */
export interface RecognisedScript {
  readonly forOneKey: Meaning | undefined;
  /** For two keys and more. */
  readonly forSeveralKeys: Meaning | undefined;
}
