/** What is held and what is closed, according to the messages in the log. */
import {
  type ClaimCommand,
  type ClaimedItem,
  END_REASON,
  type EndReason,
  type RecalledHold,
  type Result,
  type STATUS,
} from "../../../../src/protocol/index.js";
import { endOf, type LawLease, LawLeases } from "./law-leases.js";
import { areLocksInConflict, type LawClaim, type LawClosing, type LawHold } from "./law-records.js";

const WISHED: readonly EndReason[] = [END_REASON.released, END_REASON.closed];

export class LawHolds {
  readonly leases = new LawLeases();
  /** By session and sequence. What is a ticket now is not among them. */
  readonly #holds = new Map<string, LawHold>();
  readonly #tickets = new Set<LawHold>();
  /** By each token that was told of it, also when it is over. */
  readonly #byToken = new Map<number, LawHold>();
  readonly #limits = new Map<string, number>();
  /** Keys whose limit stays when nobody uses them. */
  readonly #remembered = new Set<string>();
  #closings: LawClosing[] = [];
  #stamp = 0;
  #lastToken = 0;

  begin(stamp: number): void {
    this.#stamp = stamp;
    for (const lease of this.leases.begin(stamp)) {
      const isSure = !lease.mayBeGone && lease.revokedAt.length === 0;
      if (isSure) this.#closeAfter(lease, endOf(lease) + lease.lockDelayMs);
    }
    this.#closings = this.#closings.filter(({ until }) => until > stamp);
    for (const hold of this.#tickets) {
      const { ticket, maxHoldMs, grantedAt } = hold;
      if (ticket !== undefined && ticket.endsAt <= stamp) hold.mayBeGone = true;
      if (maxHoldMs > 0 && grantedAt + maxHoldMs <= stamp) hold.mayBeGone = true;
      if (hold.revokedAt > 0 && hold.revokedAt <= stamp) hold.mayBeGone = true;
    }
  }

  of(session: number, sequence: number): LawHold | undefined {
    return this.#holds.get(`${session}/${sequence}`);
  }

  /** Of a session. */
  *all(session: number): Generator<LawHold> {
    for (const hold of this.#holds.values()) if (hold.session === session) yield hold;
  }

  /** Which hold had, or has, that token; `undefined`: none that was told. */
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
    this.#closings = [...before.#closings];
    for (const { claims, token, grantedAt, minHoldMs, mayBeGone } of [
      ...before.#holds.values(),
      ...before.#tickets,
    ]) {
      const until = grantedAt + minHoldMs;
      if (until > before.#stamp && !mayBeGone) this.#closings.push({ claims, token, until });
    }
    for (const lease of before.leases.all) {
      const { claims, token, grantedAt, minHoldMs, endsAt } = lease;
      const quietUntil = before.#stamp + quietMs;
      const isLong = quietMs > 0 && endsAt > quietUntil && endsAt < Number.POSITIVE_INFINITY;
      const until = Math.max(grantedAt + minHoldMs, isLong ? endsAt : 0);
      const isSure = before.leases.isThere(lease) === "surely";
      if (until > before.#stamp && isSure) this.#closings.push({ claims, token, until });
    }
    const closed = this.#closings.flatMap(({ claims }) => claims.map(({ key }) => key));
    for (const key of [...before.#remembered, ...closed]) {
      this.setLimit(key, before.#limits.get(key));
    }
    for (const key of before.#remembered) this.remember(key, true);
  }

  /** Somebody may have ended any of them, which nobody is told. */
  doubtTickets(): void {
    for (const hold of this.#tickets) hold.mayBeGone = true;
  }

  /** It was taken away without time for its holder to hear of it. */
  tear(hold: LawHold): void {
    hold.tornToken = Number.POSITIVE_INFINITY;
  }

  isTorn(token: number): boolean {
    const hold = this.#byToken.get(token);
    return hold !== undefined && token <= hold.tornToken;
  }

  /** What the session holds has tokens that were not told yet; those before are nobody's any more. */
  takeOver(session: number): void {
    for (const hold of this.all(session)) {
      hold.isTokenUntold = true;
      hold.tornToken = hold.token;
    }
  }

  /** Somebody asked how it stands. Returns what is wrong. */
  recall(hold: LawHold, told: RecalledHold): string | undefined {
    const problem = this.learnToken(hold, told.token);
    if (problem !== undefined) return problem;
    if (told.isContended !== hold.isContended) return `contended: ${told.isContended}`;
    if (told.grantedAt !== hold.grantedAt) return `granted at ${told.grantedAt}`;
    return differenceOf(hold.claims, told.items);
  }

  /** Returns what is wrong with the token that is told of a hold. */
  learnToken(hold: LawHold, token: number): string | undefined {
    if (!hold.isTokenUntold) {
      return token === hold.token ? undefined : `has ${hold.token}, not ${token}`;
    }
    if (token <= hold.token) return `was taken over and has ${token}, after ${hold.token}`;
    return this.#rename(hold, token);
  }

  problemOfToken(token: number): string | undefined {
    if (token <= this.#lastToken) return `token ${token} after ${this.#lastToken}`;
    this.#lastToken = token;
    return undefined;
  }

  /** What keeps `claims` from being granted. `own`: a hold that is not in its own way. */
  problemOfGrant(claims: readonly LawClaim[], own: LawHold | undefined): string | undefined {
    for (const claim of claims) {
      let held = claim.wanted;
      for (const [token, theirs] of this.#inTheWay(claim.key, own)) {
        if (claim.mode !== "permits" || theirs.mode !== "permits") {
          if (areLocksInConflict(claim.mode, theirs.mode)) {
            return `${claim.key} is ${theirs.mode} by ${token}`;
          }
          continue;
        }
        held += theirs.wanted;
        const twice = claim.slots.find((slot) => theirs.slots.includes(slot));
        if (twice !== undefined) return `slot ${twice} of ${claim.key} is ${token}'s`;
      }
      const limit = this.#limits.get(claim.key) ?? 0;
      if (claim.mode !== "permits") continue;
      if (held > limit) return `${held} permits of ${claim.key} are held, of ${limit}`;
      if (claim.slots.length !== claim.wanted) return `${claim.slots.length} slots of ${claim.key}`;
      if (claim.slots.some((slot) => slot >= limit)) return `slots beyond ${limit} of ${claim.key}`;
    }
    return undefined;
  }

  *#inTheWay(key: string, own: LawHold | undefined): Generator<readonly [number, LawClaim]> {
    for (const hold of [...this.#holds.values(), ...this.#tickets]) {
      if (hold === own || hold.mayBeGone) continue;
      for (const claim of hold.claims) if (claim.key === key) yield [hold.token, claim];
    }
    for (const lease of this.leases.all) {
      if (this.leases.isThere(lease) !== "surely") continue;
      for (const claim of lease.claims) if (claim.key === key) yield [lease.token, claim];
    }
    for (const { token, claims } of this.#closings) {
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
    if (until > this.#stamp) this.#closings.push({ claims, token, until, isOfLease: true });
  }

  /** A thief gets these keys: nothing of what had them is left. */
  steal(keys: ReadonlySet<string>): void {
    this.doubtTickets();
    for (const key of keys) this.leases.steal(key);
    this.#closings = this.#closings.filter(({ isOfLease, claims }) => {
      return isOfLease !== true || !claims.some(({ key }) => keys.has(key));
    });
    this.open(keys);
  }

  /** What the hold of that token left closed is open. */
  openToken(token: number): void {
    this.#closings = this.#closings.filter((closing) => closing.token !== token);
  }

  /** What keeps these keys closed is gone, and there alone. */
  open(keys: ReadonlySet<string>): void {
    this.#closings = this.#closings.map((closing) => {
      return { ...closing, claims: closing.claims.filter(({ key }) => !keys.has(key)) };
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
    if (claim.mode === "exclusive") return this.learnToken(hold, token);
    const problem = this.problemOfGrant([{ ...claim, mode: "exclusive" }], hold);
    claim.mode = "exclusive";
    return problem ?? this.problemOfToken(token) ?? this.#rename(hold, token);
  }

  /** @param orderedAt when its session is to end by an order, which is its end too; 0: by none */
  detach(hold: LawHold, ticket: NonNullable<LawHold["ticket"]>, orderedAt: number): void {
    const { revokedAt } = hold;
    if (orderedAt > 0) hold.revokedAt = revokedAt > 0 ? Math.min(revokedAt, orderedAt) : orderedAt;
    this.#holds.delete(`${hold.session}/${hold.sequence}`);
    hold.ticket = ticket;
    this.#tickets.add(hold);
  }

  /** Returns what is wrong. */
  claim(
    session: number,
    { sequence, token, secret, owner }: ClaimCommand,
    result: Extract<Result, { status: typeof STATUS.claimed }>,
  ): string | undefined {
    const ticket = [...this.#tickets].find((other) => {
      return other.isTokenUntold ? other.ticket?.secret === secret : other.token === token;
    });
    if (ticket === undefined) return `${token} is claimed, and is no ticket`;
    if (ticket.ticket?.secret !== secret) return `${token} is claimed with another secret`;
    if (result.grantedAt !== ticket.grantedAt) return `${token} was granted at ${ticket.grantedAt}`;
    const { revokedAt } = ticket;
    const outlives = revokedAt > 0 && (result.endsAt === 0 || result.endsAt > revokedAt);
    if (outlives) return `${token} ends at ${result.endsAt}, and was to end at ${revokedAt}`;
    this.#tickets.delete(ticket);
    // A revoke of a ticket is told to nobody; its claimer hears of it behind this.
    const kept = { ...ticket, ticket: undefined, isContended: false, isTokenUntold: false };
    this.add({ ...kept, session, sequence, owner, token: result.token, tornToken: 0 });
    return differenceOf(ticket.claims, result.items);
  }

  end(hold: LawHold, reason: EndReason): void {
    this.#holds.delete(`${hold.session}/${hold.sequence}`);
    const { grantedAt, minHoldMs, lockDelayMs, claims, token } = hold;
    if (reason === END_REASON.stolen) return;
    const delayMs = WISHED.includes(reason) ? 0 : lockDelayMs;
    const until = Math.max(grantedAt + minHoldMs, this.#stamp + delayMs);
    if (until > this.#stamp) this.#closings.push({ claims, token, until });
  }

  endAll(session: number, reason: EndReason): void {
    for (const hold of [...this.all(session)]) this.end(hold, reason);
  }

  #rename(hold: LawHold, token: number): string | undefined {
    hold.token = token;
    hold.isTokenUntold = false;
    const other = this.#byToken.get(token);
    this.#byToken.set(token, hold);
    if (other === undefined || other === hold) return undefined;
    return `has ${token}, which ${other.session}/${other.sequence} has`;
  }
}

/** Between what is held by the words of the log and what is told of it. */
function differenceOf(
  claims: readonly LawClaim[],
  items: readonly ClaimedItem[],
): string | undefined {
  if (claims.length !== items.length) return `has ${claims.length} keys, not ${items.length}`;
  for (const { key, mode, wanted, slots } of claims) {
    const told = items.find((item) => item.key === key);
    if (told === undefined) return `${key} is left out`;
    if (told.mode !== mode) return `${key} is ${mode}, not ${told.mode}`;
    const isSame = told.permits === wanted && told.slots.join() === slots.join();
    if (!isSame) return `has ${wanted} of ${key} (${slots}), not ${told.permits} (${told.slots})`;
  }
  return undefined;
}
