/**
 * What a script means for a semaphore that is a sorted set: its members are identifiers, its scores the
 * times at which they were added by the clock of a client. Followed through each of: whether there is
 * room, and whether the identifier is a member.
 */
import { durationOf, isNumber } from "./lock-situation.js";
import type { ArgumentRole, DurationRole, Meaning, ScriptReply } from "./meaning.js";
import { replyOf } from "./script-reply.js";
import {
  constant,
  FALSE,
  isSame,
  NotUnderstood,
  type Script,
  type Situation,
  symbol,
  type Value,
  walk,
} from "./walk.js";

const CARD = symbol("card");
const SCORE = symbol("score");
const REMOVED = symbol("removed");

interface Roles {
  limit: number | undefined;
  permits: number | undefined;
  identifier: number | undefined;
  now: number | undefined;
  ttl: DurationRole | undefined;
}

class SemaphoreSituation implements Situation {
  readonly keyCount = 1;
  readonly knowsPlaces = true;
  readonly roles: Roles = {
    limit: undefined,
    permits: undefined,
    identifier: undefined,
    now: undefined,
    ttl: undefined,
  };
  /** What it did, in order. */
  readonly acts: string[] = [];
  readonly #hasRoom: boolean;
  readonly #isMember: boolean;

  constructor(hasRoom: boolean, isMember: boolean) {
    this.#hasRoom = hasRoom;
    this.#isMember = isMember;
  }

  call(command: string, [key, ...args]: readonly Value[]): Value {
    if (key?.kind !== "key") throw new NotUnderstood();
    this.acts.push(command);
    switch (command) {
      case "ZREMRANGEBYSCORE":
        return this.#removeExpired(args);
      case "ZCARD":
        return CARD;
      case "ZSCORE":
        this.#identify(args[0]);
        return this.#isMember ? SCORE : FALSE;
      case "ZADD":
        return this.#add(args);
      case "PEXPIRE":
        this.#lasts(durationOf(args[0], "ms"));
        return constant(1);
      case "ZREM":
        this.#identify(args[0]);
        return REMOVED;
      default:
        throw new NotUnderstood();
    }
  }

  equals(): boolean {
    throw new NotUnderstood();
  }

  isGiven(): boolean {
    return false;
  }

  /** `card < limit`, and `limit < card + permits` */
  less(left: Value, right: Value): boolean {
    if (isSame(left, CARD)) {
      if (!isNumber(right)) throw new NotUnderstood();
      this.#play("limit", right);
      return this.#hasRoom;
    }
    if (
      !isNumber(left) ||
      right.kind !== "symbol" ||
      right.name !== "+" ||
      !isSame(right.parts[0] ?? FALSE, CARD)
    ) {
      throw new NotUnderstood();
    }
    this.#play("limit", left);
    this.#play("permits", right.parts[1]);
    return !this.#hasRoom;
  }

  /** All that are older than the timeout. */
  #removeExpired([from, to]: readonly Value[]): Value {
    if (from === undefined || !isSame(from, constant("-inf"))) throw new NotUnderstood();
    if (to?.kind !== "symbol" || to.name !== "-") throw new NotUnderstood();
    this.#play("now", to.parts[0]);
    this.#lasts(durationOf(to.parts[1], "ms"));
    return constant(0);
  }

  #add([score, member, ...more]: readonly Value[]): Value {
    if (more.length > 0) throw new NotUnderstood();
    this.#play("now", score);
    this.#identify(member);
    return constant(1);
  }

  /** The identifier itself, that of the first permit, or those of all permits. */
  #identify(member: Value | undefined): void {
    if (member?.kind === "argument") {
      this.#play("identifier", member);
      return;
    }
    if (member?.kind !== "symbol" || member.name !== "..") throw new NotUnderstood();
    const parts = chainOf(member);
    this.#play("identifier", parts[0]);
    const [, separator, place] = parts;
    if (parts.length === 2 && separator !== undefined && isSame(separator, constant("_0"))) return;
    if (parts.length !== 3 || separator === undefined || !isSame(separator, constant("_"))) {
      throw new NotUnderstood();
    }
    this.#playPlace(place);
  }

  /** From 0 to the number of permits less 1. */
  #playPlace(place: Value | undefined): void {
    if (place?.kind !== "symbol" || place.name !== "place") throw new NotUnderstood();
    const [from, to] = place.parts;
    if (from === undefined || !isSame(from, constant(0))) throw new NotUnderstood();
    if (to?.kind !== "symbol" || to.name !== "-") throw new NotUnderstood();
    const [permits, one] = to.parts;
    if (one === undefined || !isSame(one, constant(1))) throw new NotUnderstood();
    this.#play("permits", permits);
  }

  #lasts(ttl: DurationRole): void {
    const { roles } = this;
    if (roles.ttl !== undefined && JSON.stringify(roles.ttl) !== JSON.stringify(ttl)) {
      throw new NotUnderstood();
    }
    roles.ttl = ttl;
  }

  #play(role: "limit" | "permits" | "identifier" | "now", value: Value | undefined): void {
    if (value?.kind !== "argument" || value.each || typeof value.at !== "number") {
      throw new NotUnderstood();
    }
    const known = this.roles[role];
    if (known !== undefined && known !== value.at) throw new NotUnderstood();
    this.roles[role] = value.at;
  }
}

function chainOf(value: Value): readonly Value[] {
  if (value.kind !== "symbol" || value.name !== "..") return [value];
  return value.parts.flatMap(chainOf);
}

interface Followed {
  readonly acts: string;
  readonly reply: Value;
  readonly roles: Roles;
}

const CLEARS = "ZREMRANGEBYSCORE";
const ADDS = "ZADD PEXPIRE";

export function meaningForSemaphore(script: Script): Meaning | undefined {
  try {
    const follow = (hasRoom: boolean, isMember: boolean): Followed => {
      const situation = new SemaphoreSituation(hasRoom, isMember);
      const reply = walk(script, situation);
      return { acts: situation.acts.join(" "), reply, roles: situation.roles };
    };
    return meaningOf({
      stranger: follow(true, false),
      member: follow(true, true),
      late: follow(false, false),
      lateMember: follow(false, true),
    });
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined;
    throw error;
  }
}

function meaningOf(followed: {
  readonly stranger: Followed;
  readonly member: Followed;
  readonly late: Followed;
  readonly lateMember: Followed;
}): Meaning | undefined {
  const { stranger, member, late, lateMember } = followed;
  const { identifier, permits, limit, ttl } = { ...stranger.roles, ...defined(member.roles) };
  if (identifier === undefined) return undefined;
  const isRoomAsked = !(isAlike(stranger, late) && isAlike(member, lateMember));
  const isMemberAsked = !(isAlike(stranger, member) && isAlike(late, lateMember));
  const common = { database: undefined, identifier: role(identifier) };
  const roleOfPermits = permits === undefined ? undefined : role(permits);
  if (!(isRoomAsked || isMemberAsked)) {
    const isRelease = stranger.acts === "ZREM" && isSame(stranger.reply, REMOVED);
    if (!isRelease || roleOfPermits === undefined) return undefined;
    return { kind: "semaphoreRelease", ...common, permits: roleOfPermits };
  }
  if (ttl === undefined || (isRoomAsked && isMemberAsked)) return undefined;
  if (isRoomAsked) {
    if (stranger.acts !== `${CLEARS} ZCARD ${ADDS}` || late.acts !== `${CLEARS} ZCARD`) {
      return undefined;
    }
    if (limit === undefined) return undefined;
    const replies = { taken: reply(stranger), full: reply(late) };
    return {
      kind: "semaphoreTake",
      ...common,
      permits: roleOfPermits,
      limit: role(limit),
      ttl,
      replies,
    };
  }
  if (member.acts !== `${CLEARS} ZSCORE ${ADDS}` || stranger.acts !== `${CLEARS} ZSCORE`) {
    return undefined;
  }
  const replies = { extended: reply(member), lacking: reply(stranger) };
  return { kind: "semaphoreExtend", ...common, permits: roleOfPermits, ttl, replies };
}

function defined(roles: Roles): Partial<Roles> {
  return Object.fromEntries(Object.entries(roles).filter(([, value]) => value !== undefined));
}

function isAlike(left: Followed, right: Followed): boolean {
  return left.acts === right.acts && isSame(left.reply, right.reply);
}

function role(argument: number): ArgumentRole {
  return { argument };
}

function reply({ reply: value }: Followed): ScriptReply {
  return replyOf(value, {
    isHeldValue: () => false,
    keyCount: { kind: "integer", integer: 1 },
    ofKey: () => {
      throw new NotUnderstood();
    },
  });
}
