/** What the laws of locks remember of the words that were said. Times are cluster milliseconds. */
import type { ClaimMode, Item } from "../../../src/protocol/index.js";

export interface LawClaim {
  readonly key: string;
  mode: ClaimMode;
  /** Permits; 0 of locks. */
  readonly wanted: number;
  readonly slots: readonly number[];
}

export interface LawHold {
  token: number;
  session: number;
  owner: number;
  readonly claims: readonly LawClaim[];
  readonly grantedAt: number;
  readonly maxHoldMs: number;
  readonly minHoldMs: number;
  readonly lockDelayMs: number;
  count: number;
  isContended: boolean;
  /** 0: not revoked. */
  revokedAt: number;
  ticket: { readonly secret: string; readonly endsAt: number } | undefined;
  /** Of a ticket, whose end nobody is told: it may be gone. */
  mayBeGone: boolean;
}

/** Of an upgrade, in the place of its owner, when the laws never saw whose its hold is. */
export const UNSEEN_OWNER = -1;

export interface LawWait {
  readonly session: number;
  /** Or `UNSEEN_OWNER`. */
  readonly owner: number;
  readonly items: readonly Item[];
  readonly enqueuedAt: number;
  /** By arrival. */
  readonly number: number;
  /** The head start that it asked for; it may have had to give it up. */
  readonly headStartMs: number;
  /** 0: it waits without a deadline. */
  readonly deadline: number;
  readonly detects: boolean;
  /** The token of the hold that it is to make exclusive; 0: none. */
  readonly upgrades: number;
}

export interface LawClosing {
  readonly claims: readonly LawClaim[];
  readonly token: number;
  readonly until: number;
}

export function wantedOf(item: Item): number {
  return item.mode === "permits" ? item.permits : 0;
}

export function areLocksInConflict(one: ClaimMode, other: ClaimMode): boolean {
  return one !== "shared" || other !== "shared";
}

/** Whether it may be a wait of that task. */
export function mayBeOf(wait: LawWait, session: number, owner: number): boolean {
  return wait.session === session && (wait.owner === owner || wait.owner === UNSEEN_OWNER);
}

/** Whether `wait` comes before a request, however the head start of `wait` turned out. */
export function isSurelyBefore(wait: LawWait, request: LawWait): boolean {
  if (wait.upgrades !== 0) return true;
  const rank = wait.enqueuedAt - (wait.detects ? 0 : wait.headStartMs);
  const other = request.enqueuedAt - request.headStartMs;
  return rank < other || (rank === other && wait.number < request.number);
}
