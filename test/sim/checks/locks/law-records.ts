/** What the laws of locks remember of the messages. Times are cluster milliseconds. */
import type { Claim } from "../../../../lab/laws/exclusion.js";
import { leadOf, type Place } from "../../../../lab/laws/order.js";
import type { ClaimMode, Item } from "../../../../src/protocol/index.js";

export interface LawClaim extends Claim {
  mode: ClaimMode;
  readonly slots: readonly number[];
}

/** A hold is one for as long as its session has it: a session that adopts it has another one. */
export interface LawHold {
  readonly session: number;
  /** The sequence of the acquire or adopt that brought it. */
  readonly sequence: number;
  readonly task: number;
  /** The newest that was reported. */
  token: number;
  /** It was taken away without time for its holder to hear of it. */
  isTorn: boolean;
  readonly claims: readonly LawClaim[];
  readonly grantedAt: number;
  readonly maxHoldMs: number;
  readonly minHoldMs: number;
  readonly lockDelayMs: number;
  isContended: boolean;
  /** 0: not revoked. */
  revokedAt: number;
}

/** In place of a person: the name is a bearer's, no matter who adopts what it has. */
export const BEARERS = -1;

/** Who has leases: a name, and the person whose sessions use it. */
export interface LawOwner {
  /** As the commands name it. */
  readonly owner: string;
  /** `BEARERS`: it is a bearer. `undefined`: nobody that is known. */
  readonly person: number | undefined;
}

/** What a take waits for. */
export interface LawLeaseWait extends LawOwner {
  readonly request: string;
}

export interface LawWait {
  readonly session: number;
  readonly sequence: number;
  readonly task: number;
  readonly items: readonly Item[];
  readonly enqueuedAt: number;
  /** By arrival. */
  readonly number: number;
  /** The head start that it asked for; it may have had to give it up. */
  readonly headStartMs: number;
  /** 0: it waits without a deadline. */
  readonly deadline: number;
  readonly detects: boolean;
  /** The hold that it is to make exclusive. */
  readonly upgrades: LawHold | undefined;
  /** `undefined`: it is not a take. */
  readonly lease: LawLeaseWait | undefined;
}

export interface LawCooldown {
  readonly claims: readonly LawClaim[];
  readonly token: number;
  readonly until: number;
  /** A lease with a computed end left it: a thief may have taken the lease before that end. */
  readonly isOfLease?: boolean;
}

export function wantedOf(item: Item): number {
  return item.mode === "permits" ? item.permits : 0;
}

/** Whether `wait` comes before a request, however the head start of `wait` turned out. */
export function isSurelyBefore(wait: LawWait, request: LawWait): boolean {
  if (wait.upgrades !== undefined) return true;
  const [one, other] = [wait, request].map(({ enqueuedAt, detects, headStartMs }) => ({
    arrived: { earliest: enqueuedAt, latest: enqueuedAt },
    headStart: { least: detects ? 0 : headStartMs, most: headStartMs },
  })) as [Place, Place];
  const lead = leadOf(one, other);
  return lead > 0 || (lead === 0 && wait.number < request.number);
}
