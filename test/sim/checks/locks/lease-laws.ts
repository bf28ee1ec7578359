/**
 * The laws of leases of named owners (docs/internals/semantics.md, 8), held against what was said
 * in the order of the log: an owner has one claim in a key, which a repeat finds and nothing else
 * does; a repeat keeps the token, and in the queue the place; nothing is revived, nothing is lost
 * before its end, and what ends is what was named; and the reason why something is gone is
 * reported.
 */
import { ERROR_NUMBERS } from "../../../../src/errors/index.js";
import type { TableCommand } from "../../../../src/lockfsm/index.js";
import {
  type ActCommand,
  type AdoptCommand,
  END_REASON,
  type EndReason,
  type ExtendCommand,
  type GiveBackCommand,
  type HandOverCommand,
  type Item,
  OP,
  type Result,
  STATUS,
  type TakeCommand,
} from "../../../../src/protocol/index.js";
import { problemOfAct } from "./act-laws.js";
import type { LawHolds } from "./law-holds.js";
import { isOf, type LawLease, type Presence } from "./law-leases.js";
import {
  BEARERS,
  type LawClaim,
  type LawHold,
  type LawOwner,
  type LawWait,
  wantedOf,
} from "./law-records.js";
import type { LawWaits } from "./law-waits.js";

type ResultOf<S extends number> = Extract<Result, { readonly status: S }>;

const LONGEST_MS = 86_400_000;
const BEARER_MS = { least: 1_000, most: 600_000 } as const;
/** A take may be refused so before anybody looks for what its owner has. */
const BEFORE_ALL: readonly number[] = [
  ERROR_NUMBERS.INVALID_ARGUMENT,
  ERROR_NUMBERS.FORBIDDEN,
  ERROR_NUMBERS.TOO_MANY_IN_FLIGHT,
  ERROR_NUMBERS.TOKENS_EXHAUSTED,
];

/** What the laws of leases share with the laws of the other locks. */
export interface LeaseSurroundings {
  readonly holds: LawHolds;
  readonly waits: LawWaits;
  /** Whether what it waits for still stands in the queues. */
  readonly isWaiting: (wait: LawWait) => Presence;
  /** Returns what is wrong with the token of a new grant. */
  readonly newToken: (token: number) => string | undefined;
}

/** What an owner has in a key. */
interface Possession {
  readonly presence: Presence;
  readonly lease: LawLease | undefined;
  readonly wait: LawWait | undefined;
  /** A lease of its was due a moment ago. */
  readonly isDue: boolean;
}

const NOTHING: Possession = { presence: "no", lease: undefined, wait: undefined, isDue: false };

export class LeaseLaws {
  /** The longest that a lease may be made, in milliseconds. */
  longestMs = LONGEST_MS;
  mayBeEndless = false;
  readonly #world: LeaseSurroundings;
  #stamp = 0;
  #commands: readonly TableCommand[] = [];
  /** Waits of this entry that are repeated by a take, which was not answered yet. */
  #moved: LawWait[] = [];
  /** Waits that the answered command gives back; their ends are reported next. */
  #givenBack: readonly LawWait[] = [];

  constructor(world: LeaseSurroundings) {
    this.#world = world;
  }

  /** With the hundredth that doors add. */
  get #mostMs(): number {
    return Math.ceil((this.longestMs * 101) / 100);
  }

  begin(stamp: number, commands: readonly TableCommand[]): void {
    this.#stamp = stamp;
    this.#commands = commands;
    this.#moved = [];
    this.#givenBack = [];
  }

  /** The next command is answered. */
  next(): void {
    this.#givenBack = [];
  }

  changeSetting(name: string, value: number | undefined): void {
    if (name === "leaseTtlMsMax") this.longestMs = value ?? LONGEST_MS;
    if (name === "endlessLeases") this.mayBeEndless = value === 1;
  }

  /** Returns what is wrong. */
  acted(person: number | undefined, command: ActCommand, result: Result): string | undefined {
    const { holds, waits, newToken } = this.#world;
    const mayLast = (ttlMs: number): boolean => this.mayLast(ttlMs);
    return problemOfAct(
      { holds, waits, newToken, mayLast, stamp: this.#stamp },
      person,
      command,
      result,
    );
  }

  /** Returns the wait that a take continues, which no other take does. */
  resume({ lease, items }: LawWait): LawWait | undefined {
    const continued = this.#moved.find((wait) => {
      const isTheirs = wait.lease?.owner === lease?.owner && wait.lease?.person === lease?.person;
      return isTheirs && wait.lease?.request === lease?.request && hasItems(wait, items);
    });
    this.#moved = this.#moved.filter((wait) => wait !== continued);
    return continued;
  }

  /** Whether what is given for the item `at` of a take is a lease that was granted before. */
  isRepeated(result: Result, at: number): boolean {
    if (result.status !== STATUS.leased) return false;
    return this.#leases.withToken(result.tokens[at] ?? result.tokens[0] ?? 0) !== undefined;
  }

  /** Returns what is wrong with a take that is answered at once. */
  problemOfAnswer(wait: LawWait, command: TakeCommand, result: Result): string | undefined {
    const { status } = result;
    const own = wait.lease;
    if (own === undefined) return "is not a take";
    if (
      !this.mayLast(command.ttlMs) &&
      status !== ERROR_NUMBERS.INVALID_ARGUMENT &&
      !BEFORE_ALL.includes(status)
    ) {
      return `is to last ${command.ttlMs} ms, which nothing may`;
    }
    if (BEFORE_ALL.includes(status) || status === STATUS.leased) return undefined;
    const found = command.items.map((item) => {
      const parts = command.isSplit ? [item] : command.items;
      return { ...this.#of(own, item.key), parts };
    });
    if ("isSameOwner" in result && result.isSameOwner === true) {
      if (found.every(({ presence }) => presence === "no")) return "is told that it has a claim";
      const first = found.find(({ presence }) => presence !== "no");
      if (command.isSplit) {
        const isAllRight = found.every(({ presence, lease, parts }) => {
          return presence === "no" || isRepeated(presence, lease, own.request, parts);
        });
        return isAllRight ? "could be granted or repeats what it has, and is refused" : undefined;
      }
      if (first?.presence !== "surely") return undefined;
      const { lease, wait: other } = first;
      if (isRepeated("surely", lease, own.request, command.items)) {
        return `repeats ${lease?.token}, and is refused`;
      }
      const isSame = other?.lease?.request === own.request && hasItems(other, command.items);
      return isSame ? "repeats what waits, and is refused" : undefined;
    }
    if (status === ERROR_NUMBERS.NOT_HELD) {
      const isCopy = command.items.some(({ key }) => this.#isCopy(own, key, own.request) !== "no");
      if (!isCopy) return "is told that it was given back, and it was not";
    }
    const claimed = found.find(({ presence }) => presence === "surely");
    if (claimed === undefined) return undefined;
    if (command.isSplit) {
      const isForeign = found.some(({ presence, lease, parts }) => {
        return presence === "surely" && !isRepeated(presence, lease, own.request, parts);
      });
      return isForeign ? `gets ${status}, and has another claim` : undefined;
    }
    const what = claimed.lease === undefined ? "waits already" : `has ${claimed.lease.token}`;
    return `gets ${status}, and its owner ${what}`;
  }

  mayLast(ttlMs: number): boolean {
    return ttlMs === 0 ? this.mayBeEndless : ttlMs <= this.#mostMs;
  }

  /** `hold`: what is to be handed over; `undefined`: nothing. Returns what is wrong. */
  handedOver(
    hold: LawHold | undefined,
    { target, to, isBearer, ttlMs }: HandOverCommand,
    giver: { readonly person: number | undefined; readonly orderedAt: number },
    result: Result,
  ): string | undefined {
    const own = { owner: to, person: isBearer ? BEARERS : giver.person };
    const { status } = result;
    if (hold === undefined) {
      return status === STATUS.leased ? `${target} is handed over, and not held` : undefined;
    }
    if (status === ERROR_NUMBERS.NOT_HELD) return `${target} is held, and told that it is not`;
    const found = hold.claims.map(({ key }) => this.#of(own, key));
    if ("isSameOwner" in result && result.isSameOwner === true) {
      const hasNothing = found.every(({ presence }) => presence === "no");
      return hasNothing ? "is told that its owner has a claim" : undefined;
    }
    if (status !== STATUS.leased) return undefined;
    const isInBounds = ttlMs >= BEARER_MS.least && ttlMs <= BEARER_MS.most;
    const mayLast = isBearer ? isInBounds : this.mayLast(ttlMs);
    if (!mayLast) return `is handed over for ${ttlMs} ms, which nothing may last`;
    if (found.some(({ presence }) => presence === "surely")) {
      return `${target} is handed over, and its owner has a claim already`;
    }
    for (const { lease: gone } of found) {
      if (gone !== undefined) this.#leases.end(gone, END_REASON.revoked);
    }
    const [token = 0, ...others] = result.tokens;
    const problem = this.#world.newToken(token);
    const endsAt = this.#leases.endAfter(ttlMs);
    const lease = this.#world.holds.handOver(hold, own, token, endsAt, giver.orderedAt);
    if (others.length > 0) return `${result.tokens.length} tokens`;
    const slots = lease.claims.filter(({ mode }) => mode === "permits").map((claim) => claim.slots);
    if (slots.join(";") !== result.slots.join(";")) return `has ${slots.join(";")} of its slots`;
    return problem ?? this.#leases.problemOfEnd(lease, result.endsAt);
  }

  /** Nothing was adopted. Returns what is wrong with the reason that is reported. */
  problemOfGone({ key, secret }: AdoptCommand, reason: EndReason | undefined): string | undefined {
    const bearer = { owner: secret, person: BEARERS };
    const { presence } = this.#of(bearer, key);
    // Whether its identity may not have it, the laws of access know.
    if (reason === undefined)
      return presence === "no" ? "is told that there is something" : undefined;
    if (presence === "surely") return `${key} is reported gone, and is there`;
    if (this.#leases.isReason(bearer, key, reason)) return undefined;
    return `${key} is gone, but not for reason ${reason}`;
  }

  /** A take is granted, now or after a wait. Returns what is wrong. */
  leased(
    wait: LawWait,
    command: TakeCommand,
    result: ResultOf<typeof STATUS.leased>,
  ): string | undefined {
    const { items, isSplit } = command;
    const parts = isSplit ? items.map((item) => [item]) : [items];
    if (result.tokens.length !== parts.length) return `${result.tokens.length} tokens`;
    let semaphores = 0;
    let first: number | undefined;
    for (const [at, part] of parts.entries()) {
      const token = result.tokens[at] ?? 0;
      const claims = part.map((item): LawClaim => {
        const slots = item.mode === "permits" ? (result.slots[semaphores] ?? []) : [];
        if (item.mode === "permits") semaphores += 1;
        return { key: item.key, mode: item.mode, permits: wantedOf(item), slots };
      });
      const problem = this.#leasedOne(wait, command, token, claims);
      if (problem !== undefined) return problem;
      const lease = this.#leases.withToken(token);
      if (lease === undefined || !isSplit) continue;
      const endsAt = this.#leases.tellableEndOf(lease);
      if (endsAt !== 0) first = Math.min(first ?? endsAt, endsAt);
    }
    const lease = this.#leases.withToken(result.tokens[0] ?? 0);
    if (!isSplit) {
      return lease === undefined ? undefined : this.#leases.problemOfEnd(lease, result.endsAt);
    }
    const isSure = result.tokens.every(
      (token) => this.#leases.withToken(token)?.revokedAt.length === 0,
    );
    if (!isSure || result.endsAt === (first ?? 0)) return undefined;
    return `the first of its leases ends at ${first}, not at ${result.endsAt}`;
  }

  #leasedOne(
    wait: LawWait,
    command: TakeCommand,
    token: number,
    claims: readonly LawClaim[],
  ): string | undefined {
    const { holds, waits } = this.#world;
    const { session, lease: own } = wait;
    if (own === undefined) return "is not a take";
    const known = this.#leases.withToken(token);
    if (known !== undefined) {
      if (known.owner !== own.owner || known.person !== own.person) {
        return `is given ${token}, which another owner has`;
      }
      if (known.request !== own.request) return `is given ${token}, which another request got`;
      const isSame = claims.every((claim) => {
        const theirs = known.claims.find(({ key }) => key === claim.key);
        return theirs?.mode === claim.mode && theirs.slots.join() === claim.slots.join();
      });
      if (!isSame || claims.length !== known.claims.length)
        return `is given other keys of ${token}`;
      this.#leases.repeat(known, command);
      return undefined;
    }
    for (const { key } of claims) {
      const { presence, lease, wait: other } = this.#of(own, key);
      if (presence === "surely" && other !== wait) {
        const what = lease === undefined ? "waits for it" : `has it by ${lease.token}`;
        return `gets ${key} by ${token}, and its owner ${what}`;
      }
      if (this.#isCopy(own, key, own.request) === "surely") {
        return `gets ${key} by ${token}, and its owner has given that request back`;
      }
      const gone = this.#leases.of(own, key);
      if (gone !== undefined) this.#leases.end(gone, END_REASON.revoked);
    }
    const { options, ttlMs, sequence } = command;
    const items = wait.items.filter(({ key }) => claims.some((claim) => claim.key === key));
    const problem =
      this.#world.newToken(token) ??
      waits.problemOfOrder({ ...wait, items }) ??
      holds.problemOfGrant(claims, undefined);
    this.#leases.add({
      ...own,
      token,
      claims,
      grantedAt: this.#stamp,
      maxHoldMs: options?.maxHoldMs ?? 0,
      minHoldMs: options?.minHoldMs ?? 0,
      lockDelayMs: options?.lockDelayMs ?? 0,
      orderedAt: Number.POSITIVE_INFINITY,
      endsAt: this.#leases.endAfter(ttlMs),
      revokedAt: [],
      mayBeGone: false,
      takenAs: `${session}/${sequence}`,
      value: options?.value ?? "",
    });
    return problem;
  }

  /** Returns what is wrong. */
  extended(person: number | undefined, command: ExtendCommand, result: Result): string | undefined {
    const { keys, owner, ttlMs } = command;
    const own = { person, owner };
    if (result.status === STATUS.extended) {
      if (ttlMs > this.#mostMs) return `is extended by ${ttlMs} ms, which nothing may`;
      if (result.leases.length !== keys.length) return `${result.leases.length} leases`;
      const found = keys.map((key) => this.#leases.of(own, key));
      for (const lease of new Set(found)) {
        if (lease !== undefined) this.#leases.extend(lease, command, this.#mostMs);
      }
      for (const [at, lease] of found.entries()) {
        const told = result.leases[at];
        if (lease === undefined || told === undefined) return `${keys[at]} is extended, and gone`;
        if (told.token !== lease.token)
          return `${keys[at]} is ${lease.token}'s, not ${told.token}'s`;
        const problem = this.#leases.problemOfEnd(lease, told.endsAt);
        if (problem !== undefined) return problem;
      }
      return undefined;
    }
    if (result.status !== ERROR_NUMBERS.NOT_HELD) return undefined;
    for (const key of keys) {
      const lease = this.#leases.of(own, key);
      if (lease !== undefined && this.#leases.isThere(lease) === "surely") continue;
      // The reason is about the first key that is gone; a lease may still be in this one.
      if (this.#leases.isReason(own, key, reasonOf(result))) return undefined;
      if (lease === undefined) return `${key} is gone, but not for reason ${reasonOf(result)}`;
    }
    return "is told that something is gone, and has everything";
  }

  /** Returns what is wrong. */
  gaveBack(
    session: number,
    person: number | undefined,
    { keys, owner, taken }: GiveBackCommand,
    result: Result,
  ): string | undefined {
    if (result.status !== STATUS.givenBack) return undefined;
    const { holds } = this.#world;
    const found = keys.map((key) => {
      const possession = this.#of({ person, owner }, key);
      if (taken === 0 || isNamed(possession, session, taken)) return possession;
      // What is due may be what was named.
      return possession.isDue ? { ...NOTHING, presence: "perhaps" as const, isDue: true } : NOTHING;
    });
    const count = (isMeant: (possession: Possession) => boolean): number => {
      return found.filter(isMeant).length;
    };
    const leases = [
      count(({ presence, lease }) => presence === "surely" && lease !== undefined),
      count(({ lease, isDue }) => lease !== undefined || isDue),
    ];
    const waits = [
      count(({ presence, wait }) => presence === "surely" && wait !== undefined),
      count(({ wait }) => wait !== undefined),
    ];
    this.#givenBack = found.flatMap(({ wait }) => (wait === undefined ? [] : [wait]));
    const reason = this.#reasonOfGiveBack({ person, owner }, keys, found, result.reason);
    for (const lease of new Set(found.map((possession) => possession.lease))) {
      if (lease !== undefined) holds.giveBack(lease);
    }
    for (const key of keys) this.#leases.giveBackDue({ person, owner }, key);
    // Who waits has no lease any more: a revoke has ended it.
    for (const [at, key] of keys.entries()) {
      const isWaiting = found[at]?.wait !== undefined && found[at].presence === "surely";
      const gone = isWaiting ? this.#leases.of({ person, owner }, key) : undefined;
      if (gone !== undefined) this.#leases.end(gone, END_REASON.revoked);
    }
    if (taken === 0) {
      for (const [at, key] of keys.entries()) {
        this.#refuseCopies({ person, owner }, key, found[at] ?? NOTHING);
      }
    }
    if (!isBetween(result.count, leases)) {
      return `gives ${result.count} leases back, and has ${leases.join(" to ")}`;
    }
    if (!isBetween(result.waits, waits)) {
      return `gives ${result.waits} waits back, and has ${waits.join(" to ")}`;
    }
    return reason;
  }

  #refuseCopies(own: LawOwner, key: string, { lease, wait, presence }: Possession): void {
    const request = lease?.request ?? wait?.lease?.request;
    if (presence === "no" || request === own.owner) return;
    const keys = (lease?.claims ?? wait?.items ?? [{ key }]).map((claim) => claim.key);
    this.#leases.giveBackRequest(own, keys, request, presence);
  }

  #isCopy(own: LawOwner, key: string, request: string): Presence {
    return this.#leases.isLateCopy(own, key, request);
  }

  /** What is wrong with the reason reported for the first key in which the owner had nothing. */
  #reasonOfGiveBack(
    own: LawOwner,
    keys: readonly string[],
    found: readonly Possession[],
    told: EndReason,
  ): string | undefined {
    for (const [at, key] of keys.entries()) {
      const presence = found[at]?.presence;
      if (presence === "surely") continue;
      // If another take has what is there, nothing ended, or a lease of before did.
      if (presence === "perhaps" || this.#of(own, key).presence !== "no") return undefined;
      if (this.#leases.isReason(own, key, told)) return undefined;
      return `${key} is gone, but not for reason ${told}`;
    }
    return told === END_REASON.unknown ? undefined : `has everything, and gets reason ${told}`;
  }

  /** The tokens of what an act ends. */
  endedBy(person: number | undefined, { steps }: ActCommand): number[] {
    return steps.flatMap(({ owner, key, before, after }) => {
      const isEnd = before !== undefined && after === undefined;
      const lease = isEnd ? this.#leases.of({ person, owner }, key) : undefined;
      return lease === undefined ? [] : [lease.token];
    });
  }

  /** The tokens that a command of their owner gives up. */
  givenUpBy(session: number, person: number | undefined, command: GiveBackCommand): number[] {
    const { owner, keys, taken } = command;
    return keys.flatMap((key) => {
      const possession = this.#of({ person, owner }, key);
      const isMeant = taken === 0 || isNamed(possession, session, taken);
      return isMeant && possession.lease !== undefined ? [possession.lease.token] : [];
    });
  }

  /** The wait of a take was withdrawn. Returns what is wrong. */
  cancelled(wait: LawWait): string | undefined {
    if (this.#givenBack.includes(wait)) return undefined;
    this.#moved.push(wait);
    const isRepeated = this.#commands.some(({ command }) => {
      const { lease } = wait;
      if (command?.op !== OP.take) return false;
      return command.owner === lease?.owner && command.request === lease.request;
    });
    return isRepeated ? undefined : "was withdrawn, and nobody repeats it or gives it back";
  }

  get #leases() {
    return this.#world.holds.leases;
  }

  #of(own: LawOwner, key: string): Possession {
    const lease = this.#leases.of(own, key);
    if (lease !== undefined && this.#leases.isThere(lease) === "surely") {
      return { presence: "surely", lease, wait: undefined, isDue: false };
    }
    const isDue = this.#leases.isDueIn(own, key);
    for (const wait of this.#world.waits.ofOwner(own, key)) {
      const presence = this.#world.isWaiting(wait);
      // Where it surely waits, it has no lease any more: it has one claim in a key.
      return { presence, lease: presence === "surely" ? undefined : lease, wait, isDue };
    }
    const isLeft = isDue || this.#world.waits.isLeaving(own, key);
    const presence = lease !== undefined || isLeft ? "perhaps" : "no";
    return { presence, lease, wait: undefined, isDue };
  }
}

function isNamed({ lease, wait }: Possession, session: number, taken: number): boolean {
  if (wait !== undefined) return wait.session === session && wait.sequence === taken;
  return lease?.takenAs === `${session}/${taken}`;
}

/** Whether a take must find this lease. */
function isRepeated(
  presence: Presence | undefined,
  lease: LawLease | undefined,
  request: string,
  items: readonly Item[],
): boolean {
  if (presence !== "surely" || lease === undefined) return false;
  return lease.request === request && isOf(lease.claims, items);
}

function hasItems(wait: LawWait, items: readonly Item[]): boolean {
  if (wait.items.length !== items.length) return false;
  return items.every((item) => {
    const theirs = wait.items.find(({ key }) => key === item.key);
    return theirs?.mode === item.mode && wantedOf(theirs) === wantedOf(item);
  });
}

function isBetween(told: number, [least = 0, most = 0]: readonly number[]): boolean {
  return told >= least && told <= most;
}

function reasonOf(result: Result): EndReason {
  return "reason" in result && result.reason !== undefined ? result.reason : END_REASON.unknown;
}
