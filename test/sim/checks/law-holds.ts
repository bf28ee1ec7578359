/** What is held and what is closed, by the words of the log. */
import {
  type ClaimCommand,
  END_REASON,
  type EndReason,
  type RecalledToken,
  type Result,
  type STATUS,
} from "../../../src/protocol/index.js";
import {
  areLocksInConflict,
  type LawClaim,
  type LawClosing,
  type LawHold,
  type LawWait,
  wantedOf,
} from "./law-records.js";

const WISHED: readonly EndReason[] = [END_REASON.released, END_REASON.cancelled, END_REASON.closed];

export class LawHolds {
  readonly #holds = new Map<number, LawHold>();
  /** The newer token of a hold, by an older one. */
  readonly #newer = new Map<number, number>();
  /** Of sessions that were taken over, by the newest token that was told: they have a newer one. */
  readonly #obscured = new Map<number, LawHold>();
  readonly #obscuredSessions = new Set<number>();
  readonly #limits = new Map<string, number>();
  readonly #torn = new Set<number>();
  #closings: LawClosing[] = [];
  #stamp = 0;
  #lastToken = 0;

  begin(stamp: number): void {
    this.#stamp = stamp;
    this.#closings = this.#closings.filter(({ until }) => until > stamp);
    for (const hold of this.#holds.values()) {
      const { ticket, maxHoldMs, grantedAt } = hold;
      if (ticket === undefined) continue;
      if (ticket.endsAt <= stamp) hold.mayBeGone = true;
      if (maxHoldMs > 0 && grantedAt + maxHoldMs <= stamp) hold.mayBeGone = true;
      if (hold.revokedAt > 0 && hold.revokedAt <= stamp) hold.mayBeGone = true;
    }
  }

  of(token: number): LawHold | undefined {
    return this.#holds.get(this.#newestOf(token));
  }

  /** Of a hold by any of its tokens, be the newest one told or not; `undefined`: it was never seen. */
  ownerOf(token: number): number | undefined {
    return this.#known(token)?.owner;
  }

  /** By any of its tokens, be the newest one told or not. */
  #known(token: number): LawHold | undefined {
    return this.of(token) ?? this.#obscured.get(this.#newestOf(token));
  }

  add(hold: LawHold): void {
    this.#holds.set(hold.token, hold);
  }

  limitOf(key: string): number | undefined {
    return this.#limits.get(key);
  }

  /** `undefined`: the key remembers none; those who use it go on under the one that it has. */
  setLimit(key: string, limit: number | undefined): void {
    if (limit !== undefined) this.#limits.set(key, limit);
  }

  /** Somebody may have ended any of them, which nobody is told. */
  doubtTickets(): void {
    for (const hold of this.#holds.values()) if (hold.ticket !== undefined) hold.mayBeGone = true;
  }

  tear(token: number): void {
    this.#torn.add(token);
  }

  isTorn(token: number): boolean {
    return this.#torn.has(this.#newestOf(token));
  }

  /** The session was taken over: what it holds has tokens that were not told yet. */
  obscure(session: number): void {
    this.#obscuredSessions.add(session);
    for (const [token, hold] of this.#holds) {
      if (hold.session !== session) continue;
      this.#holds.delete(token);
      this.#obscured.set(token, hold);
    }
  }

  isObscured(session: number): boolean {
    return this.#obscuredSessions.has(session);
  }

  /** Somebody asked what became of an old token. */
  reveal(
    session: number,
    {
      token,
      current,
      count,
      isContended,
      isRevoked,
      endsAt,
    }: Extract<RecalledToken, { held: true }>,
  ): void {
    // It may be asked for by any token that it had.
    const hold = this.#obscured.get(this.#newestOf(token));
    if (hold === undefined || hold.session !== session || this.#holds.has(current)) return;
    this.#clear(hold);
    this.#rename(hold, current);
    hold.isContended = isContended;
    // Counted up and down under the new token, before anybody knew it.
    hold.count = count;
    // Revoked under the new token, before anybody knew it.
    if (isRevoked && hold.revokedAt === 0) hold.revokedAt = endsAt;
  }

  problemOfToken(token: number): string | undefined {
    if (token <= this.#lastToken) return `token ${token} after ${this.#lastToken}`;
    this.#lastToken = token;
    return undefined;
  }

  /** What keeps `claims` from being granted. `own`: a hold that is not in its own way; 0: none. */
  problemOfGrant(claims: readonly LawClaim[], own: number): string | undefined {
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

  *#inTheWay(key: string, own: number): Generator<readonly [number, LawClaim]> {
    for (const { token, claims, mayBeGone } of this.#holds.values()) {
      if (token === own || mayBeGone) continue;
      for (const claim of claims) if (claim.key === key) yield [token, claim];
    }
    for (const { token, claims } of this.#closings) {
      for (const claim of claims) if (claim.key === key) yield [token, claim];
    }
  }

  /** What holds of these tokens left closed is open in these keys, and there alone. */
  open(keys: readonly string[], newestToken: number): void {
    this.#closings = this.#closings.map((closing) => {
      if (closing.token > newestToken) return closing;
      return { ...closing, claims: closing.claims.filter(({ key }) => !keys.includes(key)) };
    });
  }

  countUp(hold: LawHold, { session, owner, items }: LawWait, count: number): string | undefined {
    if (hold.session !== session || hold.owner !== owner) return "counts what is another's";
    if (items.length !== hold.claims.length) return "counts a hold of other keys";
    for (const item of items) {
      const claim = hold.claims.find(({ key }) => key === item.key);
      if (claim === undefined || claim.wanted < wantedOf(item)) return `${item.key} is not so held`;
      if (item.mode === "exclusive" && claim.mode !== "exclusive") return `${item.key} is shared`;
    }
    hold.count += 1;
    return hold.count === count ? undefined : `is held ${hold.count} times, not ${count}`;
  }

  weaken(token: number, key: string | undefined): void {
    for (const claim of this.#known(token)?.claims ?? []) {
      const isMeant = key === undefined || claim.key === key;
      if (isMeant && claim.mode === "exclusive") claim.mode = "shared";
    }
  }

  upgrade(token: number, renewed: number, key: string): string | undefined {
    const hold = this.#known(token);
    if (hold === undefined) return undefined;
    const claim = hold.claims.find((other) => other.key === key);
    if (claim === undefined) return `${key} is not of ${token}`;
    const problem = this.problemOfGrant([{ ...claim, mode: "exclusive" }], hold.token);
    claim.mode = "exclusive";
    this.#rename(hold, renewed);
    return problem;
  }

  detach(token: number, ticket: NonNullable<LawHold["ticket"]>): void {
    const hold = this.#known(token);
    if (hold === undefined) return;
    hold.session = 0;
    hold.owner = 0;
    hold.count = 1;
    hold.ticket = ticket;
  }

  claim(
    session: number,
    { token, secret, owner }: ClaimCommand,
    result: Extract<Result, { status: typeof STATUS.claimed }>,
  ): string | undefined {
    const hold = this.#holds.get(token) ?? this.#obscured.get(token);
    const ticket = hold?.ticket;
    if (hold === undefined || ticket === undefined) return undefined;
    if (ticket.secret !== secret) return `${token} is claimed with another secret`;
    if (result.grantedAt !== hold.grantedAt) return `${token} was granted at ${hold.grantedAt}`;
    hold.session = session;
    hold.owner = owner;
    hold.ticket = undefined;
    hold.isContended = false;
    // Revoked under a token that nobody knew, or it has a cap.
    if (this.#clear(hold) && hold.revokedAt === 0) hold.revokedAt = result.endsAt;
    this.#rename(hold, result.token);
    // A revoke of a ticket is told to nobody; its claimer hears of it behind this.
    return undefined;
  }

  end(hold: LawHold, reason: EndReason): void {
    this.#holds.delete(hold.token);
    const { grantedAt, minHoldMs, lockDelayMs, claims, token } = hold;
    if (reason === END_REASON.stolen || hold.mayBeGone) return;
    const delayMs = WISHED.includes(reason) ? 0 : lockDelayMs;
    const until = Math.max(grantedAt + minHoldMs, this.#stamp + delayMs);
    if (until > this.#stamp) this.#closings.push({ claims, token, until });
  }

  endAll(session: number, reason: EndReason): void {
    for (const hold of [...this.#holds.values()]) {
      if (hold.session === session) this.end(hold, reason);
    }
    for (const [token, hold] of this.#obscured) {
      if (hold.session === session) this.#obscured.delete(token);
    }
  }

  /** Its newest token is told; returns whether it was not before. */
  #clear(hold: LawHold): boolean {
    if (!this.#obscured.delete(hold.token)) return false;
    this.#holds.set(hold.token, hold);
    return true;
  }

  #rename(hold: LawHold, token: number): void {
    if (token === hold.token) return;
    const holds = this.#obscured.has(hold.token) ? this.#obscured : this.#holds;
    holds.delete(hold.token);
    this.#newer.set(hold.token, token);
    hold.token = token;
    holds.set(token, hold);
  }

  #newestOf(token: number): number {
    let newest = token;
    for (let next = this.#newer.get(newest); next !== undefined; next = this.#newer.get(newest)) {
      newest = next;
    }
    return newest;
  }
}
