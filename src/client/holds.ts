/**
 * What this session holds as far as its client may believe: the locks that were handed out, and the
 * grants that are kept aside because it is not certain that they still stand. Rule: while a lock in
 * here is not aborted, the table still has it.
 *
 * A grant is certain when it was pushed to this connection while the lease was proven. One that was
 * told again, after a reconnect, may have been lost, capped or revoked since; so its token is
 * recalled first.
 */
import type { RecalledToken } from "../protocol/index.js";
import { EndsHeap } from "./ends-heap.js";
import { FormerHolds } from "./former-holds.js";
import { HeldLock, type LockHost } from "./held-lock.js";
import { type Granted, type GrantTaker, Hold, type OldToken } from "./hold.js";
import type { Lease } from "./lease.js";
import type { LossReason } from "./lock-types.js";
import type { Outgoing } from "./outgoing.js";

const NEVER = Number.POSITIVE_INFINITY;

type HeldToken = Extract<RecalledToken, { held: true }>;

interface AsideGrant {
  readonly taker: GrantTaker;
  readonly granted: Granted;
}

export class Holds {
  readonly #host: LockHost;
  readonly #lease: Lease;
  readonly #outgoing: Pick<Outgoing, "window" | "pulses">;
  /** By every token that a message may still name: the newest, and those an upgrade replaced. */
  readonly #byToken = new Map<number, Hold>();
  readonly #ends = new EndsHeap();
  readonly #former: FormerHolds;
  /** Holds, however many tokens each has. */
  #size = 0;
  #aside: AsideGrant[] = [];

  constructor(host: LockHost, lease: Lease, outgoing: Pick<Outgoing, "window" | "pulses">) {
    this.#host = host;
    this.#lease = lease;
    this.#outgoing = outgoing;
    this.#former = new FormerHolds(outgoing.window);
  }

  get size(): number {
    return this.#size;
  }

  /** Grants wait for the word that they still stand, under a lease that is proven. */
  get wantsEvidence(): boolean {
    return this.#aside.length > 0;
  }

  get aside(): readonly AsideGrant[] {
    return this.#aside;
  }

  /** The tokens to ask about; the newest, since an upgrade makes older ones unknown. */
  get asideTokens(): number[] {
    return this.#aside.map(({ granted: { token } }) => this.newestOf(token));
  }

  /** When the first hold that ends by itself is given up; `Infinity` when none does. */
  get nextEndMs(): number {
    const { first } = this.#ends;
    return first === undefined ? NEVER : this.#lease.localMs(first.endsAt);
  }

  find(token: number): Hold | undefined {
    return this.#byToken.get(token);
  }

  /** Of a token that a grant named: under which the table knows the hold by now. */
  newestOf(token: number): number {
    return (this.#byToken.get(token) ?? this.#former.find(token))?.token ?? token;
  }

  *all(): Generator<Hold> {
    for (const [token, hold] of this.#byToken) if (hold.token === token) yield hold;
  }

  onGranted(taker: GrantTaker, granted: Granted, nowMs: number): void {
    const known = this.#byToken.get(granted.token);
    const isCertain = known === undefined ? granted.isCertain : !known.isLeaving;
    if (isCertain && nowMs < this.#lease.deadlineMs) this.#handOut(taker, granted);
    else this.putAside(taker, granted);
  }

  putAside(taker: GrantTaker, granted: Granted): void {
    taker.putAside(granted.token);
    this.#aside.push({ taker, granted });
  }

  /**
   * The table says how a token that is held stands: its newest token, and when it ends by itself.
   */
  limit({ token, current, endsAt, isRevoked }: HeldToken): void {
    const hold = this.#byToken.get(token);
    if (hold === undefined) {
      const former = this.#former.find(token);
      if (former !== undefined) this.setToken(former, current);
      return;
    }
    this.setToken(hold, current);
    if (endsAt > 0) this.#setEnd(hold, endsAt, isRevoked ? "revoked" : "maxHold");
  }

  /** And that it is held: grants that waited for that are handed out. */
  onHeld(told: HeldToken, nowMs: number): void {
    const { token, current, isContended, isRevoked } = told;
    let hold = this.#byToken.get(token);
    if (hold?.isLeaving !== true && nowMs < this.#lease.deadlineMs) {
      const former = this.#former.find(token) ?? this.#former.find(current);
      for (const { taker, granted } of this.#takeAside(token)) {
        if (taker.isSettled) continue;
        const endsAt = told.endsAt === 0 ? NEVER : told.endsAt;
        hold = this.#handOut(taker, { ...granted, token: current, endsAt }, former);
        taker.onStillHeld();
        if (isRevoked) hold.endReason = "revoked";
      }
    }
    if (hold === undefined) return;
    if (isRevoked && hold.revocation === undefined) {
      // The reason went to the connection that broke.
      hold.announce({ reason: "", remainingMs: this.remainingMs(hold, nowMs) });
    }
    if (isContended) hold.contend();
  }

  /** The hold will be ended at `endsAt` in cluster time. */
  revoke(hold: Hold, endsAt: number, reason: string, nowMs: number): void {
    if (!this.#setEnd(hold, endsAt, "revoked")) return;
    hold.announce({ reason, remainingMs: this.remainingMs(hold, nowMs) });
  }

  /** How long the hold is still held by what is known. */
  remainingMs(hold: Hold, nowMs: number): number {
    const endMs = Math.min(this.#lease.deadlineMs, this.#lease.localMs(hold.endsAt));
    return Math.max(0, endMs - nowMs);
  }

  /**
   * The table has the hold under this token, or had it since: what is told again may come in another
   * order than it happened, and larger tokens are newer. The others may still be named.
   */
  setToken(hold: Hold, token: number): void {
    if (hold.hasToken(token)) return;
    const here = this.hereOf(hold);
    if (here !== hold) this.setToken(here, token);
    const isHere = this.#byToken.get(hold.token) === hold;
    if (isHere) this.#forgetUnnamed(hold);
    const { window, pulses } = this.#outgoing;
    hold.rename(token, { sequenceEnd: window.nextSequence, pulse: pulses.lastNumber });
    if (isHere) this.#byToken.set(token, hold);
  }

  /** The same, unless all its handles were given back and an answer brought others since. */
  hereOf(hold: Hold): Hold {
    return this.#byToken.get(hold.token) ?? hold;
  }

  /**
   * What was sent before a token was replaced may be answered in its name, notices may not: they come
   * in the order of the log. A hold that is upgraded over and over keeps no more than that.
   */
  #forgetUnnamed(hold: Hold): void {
    const { window, pulses } = this.#outgoing;
    const isNamed = ({ token, sequenceEnd, pulse }: OldToken): boolean =>
      window.mark < sequenceEnd ||
      pulses.oldestNumber <= pulse ||
      this.#aside.some(({ granted }) => granted.token === token);
    const named = hold.oldTokens.filter(isNamed);
    if (named.length === hold.oldTokens.length) return;
    for (const old of hold.oldTokens) if (!isNamed(old)) this.#byToken.delete(old.token);
    hold.oldTokens = named;
  }

  /** A handle was released. */
  forget(hold: Hold, lock: HeldLock): void {
    hold.removeHandle(lock);
    if (hold.handles.length === 0) this.remove(hold);
  }

  /** Nobody here has anything to do with the hold any more. */
  remove(hold: Hold): void {
    if (this.#byToken.get(hold.token) !== hold) return;
    this.#byToken.delete(hold.token);
    for (const { token } of hold.oldTokens) this.#byToken.delete(token);
    this.#ends.remove(hold);
    this.#size -= 1;
    this.#former.add(hold, this.#isAside);
  }

  /** The tokens whose fate a new connection has to ask for. */
  tokensToRecall(): number[] {
    const tokens = this.asideTokens;
    for (const hold of this.all()) if (hold.heldCount > 0) tokens.push(hold.token);
    // Under which token the table knows them by now, for answers that name that one.
    for (const { token } of this.#former.all()) tokens.push(token);
    return tokens;
  }

  loseOne(token: number, reason: LossReason): void {
    this.#handOutLost(token);
    const hold = this.#byToken.get(token);
    if (hold === undefined) return;
    this.remove(hold);
    hold.lose(reason);
  }

  /**
   * Gives up everything, listeners first. Returns what nobody has released yet, as often as it
   * counts.
   */
  loseAll(reason: LossReason): Hold[] {
    // Listeners may call anything, so the state is final before the first of them runs.
    const holds = [...this.all()];
    const owed: Hold[] = [];
    for (const hold of holds) for (let n = hold.heldCount; n > 0; n--) owed.push(hold);
    this.#byToken.clear();
    this.#ends.clear();
    this.#size = 0;
    for (const hold of holds) this.#former.add(hold, this.#isAside);
    for (const hold of holds) hold.lose(reason);
    return owed;
  }

  /** What nobody here has any more and is not what its grant said: an answer may still name it. */
  *left(): Generator<Hold> {
    yield* this.#former.all();
    for (const hold of this.all()) if (hold.heldCount === 0 && hold.isAltered) yield hold;
  }

  /** A hold that the process before had left like that. */
  onLeft(taker: Pick<GrantTaker, "owner" | "askedAt">, granted: Granted): void {
    const hold = new Hold(taker, granted, undefined);
    hold.isAltered = true;
    this.#former.add(hold, this.#isAside);
  }

  /** The session is no more: no answer can name what was in it. */
  forgetFormer(): void {
    this.#former.clear();
  }

  /** Like `loseAll`, but releases that are on their way still get their answer. */
  loseHeld(reason: LossReason): void {
    for (const hold of [...this.all()]) if (hold.heldCount > 0) this.loseOne(hold.token, reason);
  }

  /** Gives up what ends by itself and may have ended. Returns what to release, as `loseAll`. */
  loseEnded(nowMs: number): Hold[] {
    const owed: Hold[] = [];
    const ended: Hold[] = [];
    for (let { first } = this.#ends; first !== undefined; first = this.#ends.first) {
      if (nowMs < this.#lease.localMs(first.endsAt)) break;
      for (let n = first.heldCount; n > 0; n--) owed.push(first);
      this.remove(first);
      ended.push(first);
    }
    for (const hold of ended) hold.lose(hold.endReason);
    return owed;
  }

  /** Whose grants were kept aside, which are forgotten. */
  takeAside(): GrantTaker[] {
    const aside = this.#aside;
    this.#aside = [];
    return aside.map(({ taker }) => taker);
  }

  /** A grant that was kept aside, and ended meanwhile, is told like any other: as a lost lock. */
  #handOutLost(token: number): void {
    for (const { taker, granted } of this.#takeAside(token)) {
      if (!taker.isSettled) this.#handOut(taker, { ...granted, token });
    }
  }

  /** In cluster time, if not earlier. Returns whether that is news. */
  #setEnd(hold: Hold, endsAt: number, reason: "maxHold" | "revoked"): boolean {
    if (endsAt > hold.endsAt || (endsAt === hold.endsAt && reason === hold.endReason)) return false;
    hold.endsAt = endsAt;
    hold.endReason = reason;
    this.#ends.place(hold);
    return true;
  }

  #takeAside(token: number): AsideGrant[] {
    const hold = this.#byToken.get(token);
    const former = this.#former.find(token);
    const taken = this.#aside.filter(({ granted }) => {
      if (granted.token === token || hold?.hasToken(granted.token)) return true;
      return former?.hasToken(granted.token) === true;
    });
    if (taken.length > 0) this.#aside = this.#aside.filter((each) => !taken.includes(each));
    return taken;
  }

  readonly #isAside = (hold: Hold): boolean => {
    return this.#aside.some(({ granted }) => hold.hasToken(granted.token));
  };

  #handOut(taker: GrantTaker, granted: Granted, former = this.#former.find(granted.token)): Hold {
    let hold = this.#byToken.get(granted.token);
    if (hold === undefined) {
      hold = new Hold(taker, granted, former);
      this.#byToken.set(granted.token, hold);
      this.#size += 1;
      this.#ends.place(hold);
    }
    const { makeLock } = taker;
    const host = this.#host;
    taker.handOut(makeLock === undefined ? new HeldLock(host, hold) : makeLock(host, hold));
    return hold;
  }
}
