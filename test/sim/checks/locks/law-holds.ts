/** What is held and what is closed, according to the messages in the log. */
import { type Conflict, conflictOf, problemOfSlots } from "../../../../lab/laws/exclusion.js";
import {
  type AdoptCommand,
  END_REASON,
  type EndReason,
  type HeldItem,
  type RecalledHold,
  type Result,
  type STATUS,
} from "../../../../src/protocol/index.js";
import { endOf, type LawLease, LawLeases } from "./law-leases.js";
import {
  BEARERS,
  type LawClaim,
  type LawCooldown,
  type LawHold,
  type LawOwner,
} from "./law-records.js";

const WISHED: readonly EndReason[] = [END_REASON.released, END_REASON.closed];

export class LawHolds {
  readonly leases = new LawLeases();
  /** By session and sequence. What an owner has is not among them. */
  readonly #holds = new Map<string, LawHold>();
  /** By each token that was reported for it, also after its end. */
  readonly #byToken = new Map<number, LawHold>();
  readonly #limits = new Map<string, number>();
  /** Keys whose limit stays when nobody uses them. */
  readonly #remembered = new Set<string>();
  #cooldowns: LawCooldown[] = [];
  /** What may be closed: whether, depends on when something ended that may have been revoked. */
  #doubtful: Pick<LawCooldown, "claims" | "until">[] = [];
  #stamp = 0;
  #lastToken = 0;

  begin(stamp: number): void {
    this.#stamp = stamp;
    for (const lease of this.leases.begin(stamp)) {
      const isSure = !lease.mayBeGone && lease.revokedAt.length === 0;
      const until = endOf(lease) + lease.lockDelayMs;
      if (isSure) this.#closeAfter(lease, until);
      else this.#doubtful.push({ claims: lease.claims, until });
    }
    this.#cooldowns = this.#cooldowns.filter(({ until }) => until > stamp);
    this.#doubtful = this.#doubtful.filter(({ until }) => until > stamp);
  }

  of(session: number, sequence: number): LawHold | undefined {
    return this.#holds.get(`${session}/${sequence}`);
  }

  /** The holds of a session. */
  *all(session: number): Generator<LawHold> {
    for (const hold of this.#holds.values()) if (hold.session === session) yield hold;
  }

  /** The hold that has, or had, that token; `undefined`: none that was reported. */
  withToken(token: number): LawHold | undefined {
    return this.#byToken.get(token);
  }

  isHeld(hold: LawHold): boolean {
    return this.of(hold.session, hold.sequence) === hold;
  }

  add(hold: LawHold): void {
    this.#holds.set(`${hold.session}/${hold.sequence}`, hold);
    this.#byToken.set(hold.token, hold);
  }

  limitOf(key: string): number | undefined {
    return this.#limits.get(key);
  }

  /** `undefined`: the key remembers none; those who use it go on under the one that it has. */
  setLimit(key: string, limit: number | undefined): void {
    if (limit !== undefined) this.#limits.set(key, limit);
  }

  remember(key: string, isSet: boolean): void {
    if (isSet) this.#remembered.add(key);
    else this.#remembered.delete(key);
  }

  get newestToken(): number {
    return this.#lastToken;
  }

  /**
   * A cluster begins that was restored from what `before` was: nobody holds anything in it, but what
   * was closed stays so, and what was to be closed for a while after its grant. A lease that may last
   * for longer than the quiet time keeps its keys closed. No token is used again.
   */
  outlive(before: LawHolds, newestToken: number, quietMs: number): void {
    this.#stamp = before.#stamp;
    this.#lastToken = newestToken;
    this.#cooldowns = [...before.#cooldowns];
    for (const { claims, token, grantedAt, minHoldMs } of before.#holds.values()) {
      const until = grantedAt + minHoldMs;
      if (until > before.#stamp) this.#cooldowns.push({ claims, token, until });
    }
    // A key that may be closed may have kept its limit.
    const doubtful = before.#doubtful.flatMap(({ claims }) => claims);
    for (const lease of before.leases.all) {
      const { claims, token, grantedAt, minHoldMs, endsAt, person } = lease;
      const quietUntil = before.#stamp + quietMs;
      const isUsed = person !== BEARERS && endsAt < Number.POSITIVE_INFINITY;
      const isLong = quietMs > 0 && endsAt > quietUntil && isUsed;
      const until = Math.max(grantedAt + minHoldMs, isLong ? endsAt : 0);
      if (before.leases.isThere(lease) !== "surely") doubtful.push(...claims);
      else if (until > before.#stamp) this.#cooldowns.push({ claims, token, until });
    }
    const claims = [...this.#cooldowns.flatMap((cooldown) => cooldown.claims), ...doubtful];
    for (const key of [...before.#remembered, ...claims.map((claim) => claim.key)]) {
      this.setLimit(key, before.#limits.get(key));
    }
    for (const key of before.#remembered) this.remember(key, true);
  }

  /** It was taken away without time for its holder to hear of it. */
  tear(hold: LawHold): void {
    hold.isTorn = true;
  }

  isTorn(token: number): boolean {
    return this.#byToken.get(token)?.isTorn === true;
  }

  /** Somebody asked how it stands. Returns what is wrong. */
  recall(hold: LawHold, told: RecalledHold): string | undefined {
    const problem = problemOfName(hold, told.token);
    if (problem !== undefined) return problem;
    if (told.isContended !== hold.isContended) return `contended: ${told.isContended}`;
    if (told.grantedAt !== hold.grantedAt) return `granted at ${told.grantedAt}`;
    return differenceOf(hold.claims, told.items);
  }

  problemOfToken(token: number): string | undefined {
    if (token <= this.#lastToken) return `token ${token} after ${this.#lastToken}`;
    this.#lastToken = token;
    return undefined;
  }

  /** What keeps `claims` from being granted. `own`: a hold that is not in its own way. */
  problemOfGrant(claims: readonly LawClaim[], own: LawHold | undefined): string | undefined {
    for (const claim of claims) {
      const isOfPermits = claim.mode === "permits";
      const limit = isOfPermits ? (this.#limits.get(claim.key) ?? 0) : undefined;
      const conflict = conflictOf(claim, this.#inTheWay(claim.key, own), limit);
      if (conflict !== undefined) return textOf(claim.key, conflict);
      const problem = isOfPermits ? problemOfSlots({ ...claim, limit }) : undefined;
      if (problem !== undefined) return `${claim.key}: ${problem}`;
    }
    return undefined;
  }

  *#inTheWay(key: string, own: LawHold | undefined): Generator<readonly [number, LawClaim]> {
    for (const hold of this.#holds.values()) {
      if (hold === own) continue;
      for (const claim of hold.claims) if (claim.key === key) yield [hold.token, claim];
    }
    for (const lease of this.leases.all) {
      if (this.leases.isThere(lease) !== "surely") continue;
      for (const claim of lease.claims) if (claim.key === key) yield [lease.token, claim];
    }
    for (const { token, claims } of this.#cooldowns) {
      for (const claim of claims) if (claim.key === key) yield [token, claim];
    }
  }

  /** The owner of a lease that is surely there gives it back. */
  giveBack(lease: LawLease): void {
    const isSure = this.leases.isThere(lease) === "surely";
    this.leases.end(lease, END_REASON.released);
    if (isSure) this.#closeAfter(lease, this.#stamp);
  }

  #closeAfter({ claims, token, grantedAt, minHoldMs }: LawLease, least: number): void {
    const until = Math.max(grantedAt + minHoldMs, least);
    if (until > this.#stamp) this.#cooldowns.push({ claims, token, until, isOfLease: true });
  }

  /** A thief gets these keys: nothing of what had them is left. */
  steal(keys: ReadonlySet<string>): void {
    for (const key of keys) this.leases.steal(key);
    this.#cooldowns = this.#cooldowns.filter(({ isOfLease, claims }) => {
      return isOfLease !== true || !claims.some(({ key }) => keys.has(key));
    });
    this.open(keys);
  }

  /** What the hold of that token left closed is open. */
  openToken(token: number): void {
    this.#cooldowns = this.#cooldowns.filter((cooldown) => cooldown.token !== token);
  }

  /** What keeps these keys closed is gone, and there alone. */
  open(keys: ReadonlySet<string>): void {
    this.#cooldowns = this.#cooldowns.map((cooldown) => {
      return { ...cooldown, claims: cooldown.claims.filter(({ key }) => !keys.has(key)) };
    });
  }

  weaken(hold: LawHold, key: string | undefined): void {
    for (const claim of hold.claims) {
      const isMeant = key === undefined || claim.key === key;
      if (isMeant && claim.mode === "exclusive") claim.mode = "shared";
    }
  }

  /** Returns what is wrong. */
  upgrade(hold: LawHold, token: number, key: string): string | undefined {
    const claim = hold.claims.find((other) => other.key === key);
    if (claim === undefined) return `${key} is not of ${hold.token}`;
    if (claim.mode === "exclusive") return problemOfName(hold, token);
    const problem = this.problemOfGrant([{ ...claim, mode: "exclusive" }], hold);
    claim.mode = "exclusive";
    return problem ?? this.problemOfToken(token) ?? this.#rename(hold, token);
  }

  /**
   * Its session gives it to an owner. Returns the lease that it is now.
   * @param orderedAt when its session is to end by an order, which is its end too; 0: by none
   */
  handOver(
    hold: LawHold,
    to: LawOwner,
    token: number,
    endsAt: number,
    orderedAt: number,
  ): LawLease {
    this.#holds.delete(`${hold.session}/${hold.sequence}`);
    const { claims, grantedAt, maxHoldMs, minHoldMs, lockDelayMs } = hold;
    const kept = { claims, grantedAt, maxHoldMs, minHoldMs, lockDelayMs };
    const orders = [hold.revokedAt, orderedAt].filter((at) => at > 0);
    const ends = { endsAt, orderedAt: Math.min(...orders), revokedAt: [], mayBeGone: false };
    const lease = { ...to, token, request: "", ...kept, ...ends, takenAs: "", value: undefined };
    this.leases.add(lease);
    return lease;
  }

  /** Returns what is wrong. */
  adopt(
    session: number,
    { sequence, key, secret, task }: AdoptCommand,
    result: Extract<Result, { status: typeof STATUS.adopted }>,
  ): string | undefined {
    const lease = this.leases.of({ owner: secret, person: BEARERS }, key);
    if (lease === undefined) return `${key} is adopted, and ${secret} has nothing in it`;
    const { claims, grantedAt, maxHoldMs, minHoldMs, lockDelayMs } = lease;
    const kept = { claims, grantedAt, maxHoldMs, minHoldMs, lockDelayMs };
    // A revoke that would end it before the reported end has left it as it was.
    const told = result.endsAt === 0 ? Number.POSITIVE_INFINITY : result.endsAt;
    const orders = [lease.orderedAt, ...lease.revokedAt].filter((at) => at >= told);
    const revokedAt = Math.min(...orders);
    const problem = this.leases.adopt(lease, result.endsAt);
    this.add({
      session,
      sequence,
      task,
      token: result.token,
      isTorn: false,
      ...kept,
      isContended: false,
      // Nobody learns of a revoke of a bearer's hold before this.
      revokedAt: revokedAt === Number.POSITIVE_INFINITY ? 0 : revokedAt,
    });
    if (result.grantedAt !== grantedAt) return `${lease.token} was granted at ${grantedAt}`;
    return problem ?? differenceOf(claims, result.items);
  }

  end(hold: LawHold, reason: EndReason): void {
    this.#holds.delete(`${hold.session}/${hold.sequence}`);
    const { grantedAt, minHoldMs, lockDelayMs, claims, token } = hold;
    if (reason === END_REASON.stolen) return;
    const delayMs = WISHED.includes(reason) ? 0 : lockDelayMs;
    const until = Math.max(grantedAt + minHoldMs, this.#stamp + delayMs);
    if (until > this.#stamp) this.#cooldowns.push({ claims, token, until });
  }

  endAll(session: number, reason: EndReason): void {
    for (const hold of [...this.all(session)]) this.end(hold, reason);
  }

  #rename(hold: LawHold, token: number): string | undefined {
    hold.token = token;
    const other = this.#byToken.get(token);
    this.#byToken.set(token, hold);
    if (other === undefined || other === hold) return undefined;
    return `has ${token}, which ${other.session}/${other.sequence} has`;
  }
}

function textOf(key: string, conflict: Conflict<number>): string {
  const { kind, holder } = conflict;
  if (kind === "mode") return `${key} is ${conflict.theirs.mode} by ${holder}`;
  if (kind === "slot") return `slot ${conflict.slot} of ${key} is ${holder}'s`;
  return `${conflict.held} permits of ${key} are held, of ${conflict.limit}`;
}

/** What is wrong with the token that is reported for a hold. */
export function problemOfName(hold: LawHold, token: number): string | undefined {
  return token === hold.token ? undefined : `has ${hold.token}, not ${token}`;
}

/** How what is reported of a hold differs from what it has by the words of the log. */
function differenceOf(claims: readonly LawClaim[], items: readonly HeldItem[]): string | undefined {
  if (claims.length !== items.length) return `has ${claims.length} keys, not ${items.length}`;
  for (const { key, mode, permits, slots } of claims) {
    const told = items.find((item) => item.key === key);
    if (told === undefined) return `${key} is left out`;
    if (told.mode !== mode) return `${key} is ${mode}, not ${told.mode}`;
    const isSame = told.permits === permits && told.slots.join() === slots.join();
    if (!isSame) return `has ${permits} of ${key} (${slots}), not ${told.permits} (${told.slots})`;
  }
  return undefined;
}
