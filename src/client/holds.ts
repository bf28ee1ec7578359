/**
 * What this session holds as far as its client may believe: the locks that were handed out, and the
 * grants that are kept aside because the lease was not proven when they arrived. Rule: while a lock
 * in here is not aborted, the table still has it.
 */
import type { AcquireCall } from "./acquire-call.js";
import { HeldLock, type LockHost } from "./held-lock.js";
import type { Lease } from "./lease.js";
import type { LossReason } from "./types.js";

interface Grant {
  readonly call: AcquireCall;
  readonly token: number;
}

export class Holds {
  readonly #host: LockHost;
  readonly #lease: Lease;
  /** By token: held, or released and not answered yet. */
  readonly #locks = new Map<number, HeldLock>();
  #aside: Grant[] = [];

  constructor(host: LockHost, lease: Lease) {
    this.#host = host;
    this.#lease = lease;
  }

  get size(): number {
    return this.#locks.size;
  }

  /** Grants wait for evidence that the lease they came under still runs. */
  get wantsEvidence(): boolean {
    return this.#aside.length > 0;
  }

  onGranted(call: AcquireCall, token: number, nowMs: number): void {
    if (nowMs < this.#lease.deadlineMs) {
      this.#handOut(call, token);
    } else {
      call.putAside(token);
      this.#aside.push({ call, token });
    }
  }

  /** Evidence arrived. */
  onRenewed(nowMs: number): void {
    if (this.#aside.length === 0 || nowMs >= this.#lease.deadlineMs) return;
    const aside = this.#aside;
    this.#aside = [];
    for (const { call, token } of aside) {
      // Whoever left meanwhile had its token released when it left.
      if (!call.isSettled) this.#handOut(call, token);
    }
  }

  forget(token: number): void {
    this.#locks.delete(token);
  }

  /** The tokens whose fate a new connection has to ask for. */
  heldTokens(): number[] {
    const tokens: number[] = [];
    for (const lock of this.#locks.values()) if (!lock.isReleasing) tokens.push(lock.token);
    return tokens;
  }

  loseOne(token: number, reason: LossReason): void {
    this.#handOutLost(token);
    const lock = this.#locks.get(token);
    this.#locks.delete(token);
    lock?.lose(reason);
  }

  /** Gives up everything, listeners first. Returns the tokens that nobody has released yet. */
  loseAll(reason: LossReason): number[] {
    // Listeners may call anything, so the state is final before the first of them runs.
    const locks = [...this.#locks.values()];
    const tokens = this.heldTokens();
    this.#locks.clear();
    for (const lock of locks) lock.lose(reason);
    return tokens;
  }

  /** Like `loseAll`, but releases that are on their way still get their answer. */
  loseHeld(reason: LossReason): void {
    for (const token of this.heldTokens()) this.loseOne(token, reason);
  }

  /** The calls whose grants were kept aside, which are forgotten. */
  takeAside(): AcquireCall[] {
    const aside = this.#aside;
    this.#aside = [];
    return aside.map(({ call }) => call);
  }

  /** A grant that was kept aside, and ended meanwhile, is told like any other: as a lost lock. */
  #handOutLost(token: number): void {
    const grant = this.#aside.find((each) => each.token === token);
    if (grant === undefined) return;
    this.#aside = this.#aside.filter((each) => each !== grant);
    if (!grant.call.isSettled) this.#handOut(grant.call, token);
  }

  #handOut(call: AcquireCall, token: number): void {
    const { key, mode, owner } = call.wish;
    const lock = new HeldLock(this.#host, key, mode, owner, token);
    this.#locks.set(token, lock);
    call.handOut(lock);
  }
}
