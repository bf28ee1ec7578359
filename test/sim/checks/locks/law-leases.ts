/**
 * Leases of named owners according to the messages in the log (docs/internals/semantics.md, 8). No
 * message says when a lease ends, so this is computed from what was promised: a lease is surely
 * there until the earliest end that any message may have given it, and surely gone from the latest
 * one on. In between, where a revoke may have come, the laws are silent.
 */
import {
  END_REASON,
  type EndReason,
  type ExtendCommand,
  type Item,
  type TakeCommand,
} from "../../../../src/protocol/index.js";
import { BEARERS, type LawClaim, type LawOwner, wantedOf } from "./law-records.js";

/** How long it is remembered why a lease ended, in cluster milliseconds. */
const REMEMBERED_MS = 60_000;
/** By then what is due has been ended, however few steps an entry may take. */
const SWEPT_MS = 2_000;
const BY_TIME: readonly EndReason[] = [END_REASON.expired, END_REASON.maxHold];
const NEVER = Number.POSITIVE_INFINITY;

/** How a lease came about and how long it may last. */
export interface LawLease extends LawOwner {
  readonly request: string;
  readonly token: number;
  readonly claims: readonly LawClaim[];
  readonly grantedAt: number;
  readonly maxHoldMs: number;
  readonly minHoldMs: number;
  readonly lockDelayMs: number;
  /** When it ends by an order that was given before it was handed over; `Infinity`: by none. */
  readonly orderedAt: number;
  /** Its own end, in cluster time; `Infinity`: it has none. */
  endsAt: number;
  /** When revokes that may concern it end it. */
  readonly revokedAt: number[];
  /** It may have been ended at once. */
  mayBeGone: boolean;
  /** The take that got it, as session/sequence; "": it was repeated, handed over, or got by an act. */
  takenAs: string;
  /** What others see of it; `undefined`: not known. */
  value: string | undefined;
}

/** Why the last lease of an owner in a key may have ended. */
interface Ended {
  readonly reasons: EndReason[];
  readonly at: number;
  /** A request (`undefined`: any) that was given back, or may have been: a copy takes nothing. */
  copy?: { readonly request: string | undefined; readonly presence: Presence };
  /** The request of the lease. */
  readonly request: string | undefined;
}

/** Whether an owner has something. */
export type Presence = "surely" | "perhaps" | "no";

export class LawLeases {
  /** Those that are not known to be over, by token. */
  readonly #leases = new Map<number, LawLease>();
  readonly #ended = new Map<string, Ended>();
  /** Ended at once by others, so that their owners could not know. */
  readonly #torn = new Set<number>();
  #stamp = 0;

  /** Returns the leases that are over by now, of whose ends nobody has heard. */
  begin(stamp: number): LawLease[] {
    this.#stamp = stamp;
    const due = [...this.#leases.values()].filter((lease) => endOf(lease) <= stamp);
    for (const lease of due) {
      const { endsAt, orderedAt } = lease;
      const reason = capOf(lease) <= endsAt ? END_REASON.maxHold : END_REASON.expired;
      this.end(lease, orderedAt < Math.min(capOf(lease), endsAt) ? END_REASON.revoked : reason);
    }
    return due;
  }

  /** Those that no revoke has ended, which somebody may count on until `stamp` comes. */
  *endingBy(stamp: number): Generator<LawLease> {
    for (const lease of this.#leases.values()) {
      if (Math.min(endOf(lease), ...lease.revokedAt) <= stamp) yield lease;
    }
  }

  get all(): Iterable<LawLease> {
    return this.#leases.values();
  }

  isThere(lease: LawLease): Presence {
    if (this.#leases.get(lease.token) !== lease) return "no";
    const isSure = !lease.mayBeGone && lease.revokedAt.every((at) => at > this.#stamp);
    return isSure ? "surely" : "perhaps";
  }

  /** What an owner has in a key. */
  of(owner: LawOwner, key: string): LawLease | undefined {
    for (const lease of this.#leases.values()) {
      if (lease.owner !== owner.owner || lease.person !== owner.person) continue;
      if (lease.claims.some((claim) => claim.key === key)) return lease;
    }
    return undefined;
  }

  withToken(token: number): LawLease | undefined {
    return this.#leases.get(token);
  }

  isTorn(token: number): boolean {
    return this.#torn.has(token);
  }

  add(lease: LawLease): void {
    this.#leases.set(lease.token, lease);
    for (const { key } of lease.claims) this.#ended.delete(nameOf(lease, key));
  }

  end(lease: LawLease, reason: EndReason): void {
    this.#leases.delete(lease.token);
    const reasons = [reason];
    const mayBeRevoked = lease.mayBeGone || lease.revokedAt.length > 0 || lease.orderedAt < NEVER;
    if (mayBeRevoked) reasons.push(END_REASON.revoked);
    for (const { key } of lease.claims) {
      const { request } = lease;
      this.#ended.set(nameOf(lease, key), { reasons, at: this.#stamp, request });
    }
  }

  /** A session has it. Returns what is wrong with the end that is reported; 0: it has none. */
  adopt(lease: LawLease, told: number): string | undefined {
    const problem = this.problemOfEnd(lease, told, Math.min(capOf(lease), lease.orderedAt));
    this.#leases.delete(lease.token);
    for (const { key } of lease.claims) {
      const reasons = [END_REASON.moved];
      this.#ended.set(nameOf(lease, key), { reasons, at: this.#stamp, request: undefined });
    }
    return problem;
  }

  /** A thief has got the key. */
  steal(key: string): void {
    for (const lease of this.#leases.values()) {
      if (!lease.claims.some((claim) => claim.key === key)) continue;
      this.#torn.add(lease.token);
      this.end(lease, END_REASON.stolen);
    }
  }

  /** A revoke was carried out that may concern it. */
  revoke(isMeant: (lease: LawLease) => boolean, graceMs: number, now: boolean): void {
    for (const lease of this.#leases.values()) {
      if (!isMeant(lease)) continue;
      if (now) {
        this.#torn.add(lease.token);
        lease.mayBeGone = true;
      } else if (lease.person === BEARERS) lease.revokedAt.push(this.#stamp + graceMs);
      else {
        const own = endOf(lease);
        // What has no end is counted on forever, and its owner hears of nothing.
        if (own === NEVER) this.#torn.add(lease.token);
        lease.revokedAt.push(Math.max(this.#stamp + graceMs, own === NEVER ? 0 : own));
      }
    }
  }

  /** Whether this may be reported as the reason why the owner has nothing in the key. */
  isReason(owner: LawOwner, key: string, reason: EndReason): boolean {
    const lease = this.of(owner, key);
    // It is gone, then: only a revoke can have ended what is not known to be over.
    if (lease !== undefined) return reason === END_REASON.revoked;
    const ended = this.#ended.get(nameOf(owner, key));
    if (ended === undefined || ended.at + REMEMBERED_MS <= this.#stamp) {
      return reason === END_REASON.unknown;
    }
    return ended.reasons.includes(reason);
  }

  /**
   * The owner gives back what it has in the keys by that request. `presence`: whether it surely had
   * something there.
   */
  giveBackRequest(
    own: LawOwner,
    keys: readonly string[],
    request: string | undefined,
    presence: Presence,
  ): void {
    for (const key of keys) {
      const name = nameOf(own, key);
      const before = this.#ended.get(name);
      const reasons = presence === "surely" ? [] : [...(before?.reasons ?? []), END_REASON.unknown];
      const copy = { request, presence };
      reasons.push(END_REASON.released);
      this.#ended.set(name, { reasons, at: this.#stamp, copy, request });
    }
  }

  /** Whether the owner gave that request back in the key, not long ago. */
  isLateCopy(owner: LawOwner, key: string, request: string): Presence {
    const { copy, at = 0 } = this.#ended.get(nameOf(owner, key)) ?? {};
    if (copy === undefined || at + REMEMBERED_MS <= this.#stamp) return "no";
    return copy.request === undefined || copy.request === request ? copy.presence : "no";
  }

  /** Whether a lease of the owner was due a moment ago, and may not have been swept. */
  isDueIn(owner: LawOwner, key: string): boolean {
    const ended = this.#ended.get(nameOf(owner, key));
    if (ended === undefined || ended.at + SWEPT_MS < this.#stamp) return false;
    return ended.reasons.some((reason) => BY_TIME.includes(reason));
  }

  /** What was due may have been ended by its owner before it was swept. */
  giveBackDue(owner: LawOwner, key: string): void {
    const ended = this.#ended.get(nameOf(owner, key));
    if (ended === undefined || !this.isDueIn(owner, key)) return;
    ended.reasons.push(END_REASON.released);
    ended.copy = { request: ended.request, presence: "perhaps" };
  }

  /** It was taken once more. */
  repeat(lease: LawLease, { ttlMs, options }: TakeCommand): void {
    if (lease.value !== (options?.value ?? "")) lease.value = undefined;
    lease.endsAt = Math.max(lease.endsAt, this.#after(ttlMs));
    lease.takenAs = "";
  }

  /** `longestMs`: what `add` may reach. */
  extend(lease: LawLease, { mode, ttlMs }: ExtendCommand, longestMs: number): void {
    const wanted = this.#after(ttlMs);
    if (mode === "exactly") lease.endsAt = wanted;
    else if (mode === "atLeast") lease.endsAt = Math.max(lease.endsAt, wanted);
    else {
      const most = Math.max(lease.endsAt, this.#after(longestMs));
      lease.endsAt = Math.min(lease.endsAt + ttlMs, most);
    }
  }

  /** The end of a lease that begins now; 0 means without. */
  #after(ttlMs: number): number {
    return ttlMs === 0 ? NEVER : this.#stamp + ttlMs;
  }

  /** The end of a lease that begins now. */
  endAfter(ttlMs: number): number {
    return this.#after(ttlMs);
  }

  /** When it ends by itself; 0 means never. */
  tellableEndOf(lease: LawLease): number {
    const end = endOf(lease);
    return end === NEVER ? 0 : end;
  }

  /** Returns what is wrong with the end that is reported; 0: it has none. */
  problemOfEnd(lease: LawLease, told: number, right = endOf(lease)): string | undefined {
    const possible = [right, ...lease.revokedAt.filter((at) => at < right)];
    const isRight = possible.includes(told === 0 ? NEVER : told);
    return isRight ? undefined : `${lease.token} ends at ${told}, not at ${possible.join(" or ")}`;
  }
}

/** When it ends if nobody ends it; `Infinity`: never. */
export function endOf(lease: LawLease): number {
  return Math.min(lease.endsAt, lease.orderedAt, capOf(lease));
}

function capOf({ grantedAt, maxHoldMs }: LawLease): number {
  return maxHoldMs === 0 ? NEVER : grantedAt + maxHoldMs;
}

/** Whether these are the keys, modes and permits of it, in any order. */
export function isOf(claims: readonly LawClaim[], items: readonly Item[]): boolean {
  if (claims.length !== items.length) return false;
  return items.every((item) => {
    const claim = claims.find(({ key }) => key === item.key);
    return claim?.mode === item.mode && claim.permits === wantedOf(item);
  });
}

function nameOf({ person, owner }: LawOwner, key: string): string {
  return `${person} ${owner} ${key}`;
}
