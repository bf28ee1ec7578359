/**
 * What the application asked for and what it holds, apart from how commands travel. Everything that
 * must happen to locks and requests together happens here: a lapse of the lease, the end of the
 * session, the end of the client.
 */
import { AcquireCall, type AcquireHost, type AcquireWish } from "./acquire-call.js";
import { type Call, CancelCall, ReleaseCall } from "./call.js";
import type { CommandWindow } from "./command-window.js";
import type { HeldLock, LockHost } from "./held-lock.js";
import { Holds } from "./holds.js";
import type { Lease } from "./lease.js";
import { resolveAcquire } from "./options.js";
import type { AcquireOptions, LossReason } from "./types.js";
import { Waits } from "./waits.js";

/** What this part of a session needs of the others. */
export interface LocksHost {
  readonly isEnding: boolean;
  /** Why nothing can be asked for any more. */
  readonly endError: () => Error;
  /** How long a try may look for the cluster. */
  readonly tryTimeoutMs: number;
  /** Reads the clock; runs `lapseIfDue`. */
  now(): number;
  /** The time at which this turn began. */
  turnMs(): number;
  submit(call: Call): void;
  /** The last open request was settled. */
  onIdle(): void;
}

export class Locks implements AcquireHost, LockHost {
  readonly holds: Holds;
  readonly waits = new Waits();
  readonly #host: LocksHost;
  readonly #lease: Lease;
  readonly #window: CommandWindow;
  #openAcquires = 0;
  #lastOwner = 0;

  constructor(host: LocksHost, lease: Lease, window: CommandWindow) {
    this.#host = host;
    this.#lease = lease;
    this.#window = window;
    this.holds = new Holds(this, lease);
  }

  /** Whether somebody waits for a lock, or holds one. */
  get isBusy(): boolean {
    return this.#openAcquires > 0 || this.holds.size > 0;
  }

  /** A task of its own: it excludes, and is excluded by, all others of this client. */
  nextOwner(): number {
    this.#lastOwner += 1;
    return this.#lastOwner;
  }

  acquireUnder(owner: number, key: string, options?: AcquireOptions): Promise<HeldLock> {
    // Only a try resolves to undefined.
    return this.request(resolveAcquire(key, options, owner, false)) as Promise<HeldLock>;
  }

  request(wish: AcquireWish): Promise<HeldLock | undefined> {
    const host = this.#host;
    // First of all, since it may run listeners that close the client or abort the signal.
    const nowMs = host.now();
    if (host.isEnding) return Promise.reject(host.endError());
    if (wish.signal?.aborted) return Promise.reject(wish.signal.reason);
    return new Promise((resolve, reject) => {
      const call = new AcquireCall(this, wish, nowMs, host.tryTimeoutMs, resolve, reject);
      this.#openAcquires += 1;
      this.waits.watch(call);
      host.submit(call);
    });
  }

  checkLease(): number {
    return Math.max(0, this.#lease.deadlineMs - this.#host.now());
  }

  release(lock: HeldLock): void {
    this.#host.submit(new ReleaseCall(lock.token, lock));
  }

  releaseToken(token: number): void {
    this.#host.submit(new ReleaseCall(token, undefined));
  }

  forget(token: number): void {
    this.holds.forget(token);
  }

  cancel(sequence: number): void {
    this.#host.submit(new CancelCall(sequence));
  }

  onGranted(call: AcquireCall, token: number): void {
    this.holds.onGranted(call, token, this.#host.turnMs());
  }

  onSettled(): void {
    this.#openAcquires -= 1;
    if (this.#openAcquires === 0) this.#host.onIdle();
  }

  /** When the lease may be over, its holds are given up for good; the session goes on if it can. */
  lapseIfDue(nowMs: number): void {
    if (nowMs < this.#lease.deadlineMs || this.holds.size === 0) return;
    for (const token of this.holds.loseAll("expired")) this.releaseToken(token);
  }

  /** The session is no more: so are its holds and waits. What was never sent waits for the next. */
  onSessionLost(reason: LossReason): void {
    const calls: Call[] = this.#window.reset((call) => call instanceof AcquireCall);
    calls.push(...this.waits.takeAll(), ...this.holds.takeAside());
    this.holds.loseAll(reason);
    for (const call of calls) call.onSessionLost();
  }

  /** The client is closing: the end of its session will do what a release or cancel would. */
  onClosing(error: Error): void {
    this.#failWaiting(error);
    this.holds.loseHeld("closed");
  }

  /** The client has ended: nothing is held, and nothing will be granted. */
  onEnded(error: unknown, reason: LossReason): void {
    this.holds.loseAll(reason);
    this.#failWaiting(error);
  }

  #failWaiting(error: unknown): void {
    for (const call of this.waits.open(this.#window)) call.fail(error);
    for (const call of this.holds.takeAside()) call.fail(error);
  }
}
