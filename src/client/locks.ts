/**
 * What the application asked for and what it holds, apart from how commands travel. Everything that
 * must happen to locks and requests together happens here: a lapse of the lease, the end of the
 * session, the end of the client.
 */
import { OP, type Result, type Revoking } from "../protocol/index.js";
import {
  AcquireCall,
  type AcquireHost,
  type AcquireWish,
  ClaimCall,
  type ClaimWish,
} from "./acquire-call.js";
import { type AwaitedCall, type Caller, CommandCall, type CommandWish } from "./awaited-call.js";
import type { Call } from "./call.js";
import { CallSites } from "./call-sites.js";
import type { CommandWindow } from "./command-window.js";
import { DowngradeCall } from "./downgrade-call.js";
import { lockLost, nameOf } from "./failures.js";
import type { HeldLock, LockHost } from "./held-lock.js";
import type { Granted, GrantTaker, Hold } from "./hold.js";
import { DetachCall, type DetachHost, type DetachWish, ReleaseCall } from "./hold-calls.js";
import { Holds } from "./holds.js";
import type { Lease } from "./lease.js";
import {
  requireKeyOf,
  resolveAcquire,
  resolveTicketTtl,
  resolveUpgrade,
  resolveValue,
} from "./lock-options.js";
import type {
  CallOptions,
  DetachOptions,
  LossReason,
  NestedOptions,
  Ticket,
  UpgradeOptions,
} from "./lock-types.js";
import { type Lowering, Lowerings } from "./lowerings.js";
import { OpenCalls } from "./open-calls.js";
import { requireKey, signalOf } from "./options.js";
import type { Outgoing } from "./outgoing.js";
import { Owner } from "./owner.js";
import type { TaskContext } from "./task-context.js";
import { UpgradeCall, type UpgradeHost } from "./upgrade-call.js";

/** What this part of a session needs of the others. */
export interface LocksHost {
  /** 0 while there is none. */
  readonly sessionId: number;
  readonly isEnding: boolean;
  /** `undefined`: tasks are named, or nested in locks. */
  readonly context: TaskContext<Owner> | undefined;
  readonly capturesStacks: boolean;
  /** Why nothing can be asked for any more. */
  readonly endError: () => Error;
  /** How long a try, or a command that is answered at once, may look for the cluster. */
  readonly tryTimeoutMs: number;
  /** Reads the clock; runs `lapseIfDue`. */
  now(): number;
  /** The time at which this turn began. */
  turnMs(): number;
  submit(call: Call): void;
  /** 32 hex digits that nobody can guess. */
  freshSecret(): string;
  /** The last open request was settled. */
  onIdle(): void;
}

export class Locks implements AcquireHost, UpgradeHost, DetachHost, LockHost {
  readonly holds: Holds;
  readonly lowerings = new Lowerings();
  readonly calls = new OpenCalls(this.lowerings);
  readonly #sites: CallSites;
  readonly #host: LocksHost;
  readonly #lease: Lease;
  readonly #window: CommandWindow;
  /** Whoever waits for a hold to become a ticket. */
  readonly #detaching = new Map<DetachWish, Caller<Ticket>>();
  #lastOwner = 0;

  constructor(host: LocksHost, lease: Lease, outgoing: Pick<Outgoing, "window" | "pulses">) {
    this.#host = host;
    this.#lease = lease;
    this.#window = outgoing.window;
    this.holds = new Holds(this, lease, outgoing);
    this.#sites = new CallSites(host.capturesStacks, this.holds, this.calls);
  }

  /** Whether somebody waits for an answer, or holds something. */
  get isBusy(): boolean {
    return this.calls.count > 0 || this.holds.size > 0;
  }

  /** A task of its own: it excludes, and is excluded by, all others of this client. */
  newOwner(): Owner {
    this.#lastOwner += 1;
    return new Owner(this.#lastOwner, this);
  }

  /** Whoever is named, else the task whose callback runs, else a task of its own. */
  resolveOwner(named: Owner | undefined): Owner {
    if (named === undefined) return this.#host.context?.current() ?? this.newOwner();
    if (!(named instanceof Owner) || !named.isOf(this)) {
      throw new TypeError("owner must be one of this client: client.owner() or lock.owner");
    }
    return named;
  }

  /** Those of another process that had the session come before. */
  ownerOf(id: number): Owner {
    this.#lastOwner = Math.max(this.#lastOwner, id);
    return new Owner(id, this);
  }

  /** The callback of a `using`: what it asks for belongs to the task, if there is a context. */
  runAs<T>(owner: Owner, work: () => T): T {
    const { context } = this.#host;
    return context === undefined ? work() : context.run(owner, work);
  }

  // What the application asks for.

  request(wish: AcquireWish): Promise<HeldLock | undefined> {
    const askedAt = this.#sites.capture(this.request);
    return this.#begin(wish.signal, (nowMs, caller: Caller<HeldLock | undefined>) => {
      const call = new AcquireCall(this, wish, nowMs, this.#host.tryTimeoutMs, caller);
      call.askedAt = askedAt;
      return call;
    });
  }

  claim(wish: ClaimWish): Promise<HeldLock> {
    return this.#begin(wish.signal, (nowMs, caller: Caller<HeldLock>) => {
      return new ClaimCall(this, wish, nowMs + this.#host.tryTimeoutMs, caller);
    });
  }

  /** A command that is answered at once. */
  command(wish: CommandWish): Promise<Result> {
    return this.#begin(wish.signal, (nowMs, caller: Caller<Result>) => {
      return new CommandCall(this, wish, nowMs + this.#host.tryTimeoutMs, caller);
    });
  }

  // What a held lock asks for.

  async acquireUnder(
    owner: Owner,
    key: string,
    options: NestedOptions | undefined,
  ): Promise<HeldLock> {
    // Only a try resolves to undefined.
    return this.request(resolveAcquire(key, options, owner, "nested")) as Promise<HeldLock>;
  }

  remainingMs(hold: Hold): number {
    return this.holds.remainingMs(hold, this.#host.now());
  }

  release(hold: Hold, lock: HeldLock): void {
    this.#host.submit(new ReleaseCall(this, hold, lock));
  }

  releaseToken(token: number): void {
    // By its newest token, should an upgrade have replaced this one.
    const bearer = this.holds.find(token) ?? { token: this.holds.newestOf(token) };
    this.#host.submit(new ReleaseCall(this, bearer, undefined));
  }

  forget(hold: Hold, lock: HeldLock): void {
    this.holds.forget(hold, lock);
  }

  async upgrade(hold: Hold, options: UpgradeOptions | undefined): Promise<void> {
    const wish = resolveUpgrade(hold, options);
    if (wish === undefined) return undefined;
    const askedAt = this.#sites.capture(this.upgrade);
    return this.#begin(wish.signal, (nowMs, caller: Caller<void>) => {
      const call = new UpgradeCall(this, wish, nowMs, this.#host.tryTimeoutMs, caller);
      call.askedAt = askedAt;
      return call;
    });
  }

  async downgrade(hold: Hold, key: string | undefined): Promise<void> {
    if (key !== undefined) {
      requireKey(key);
      requireKeyOf(hold, key);
    }
    // Before others can be let in. Should it fail, less is believed than there is.
    hold.setMode(key, "shared");
    await this.#begin(undefined, (nowMs, caller: Caller<Result>) => {
      return new DowngradeCall(this, hold, key, nowMs + this.#host.tryTimeoutMs, caller);
    });
  }

  async update(hold: Hold, value: string, options: CallOptions | undefined): Promise<void> {
    resolveValue(value);
    await this.command({
      command: (head) => ({ op: OP.update, ...head, token: hold.token, value }),
      what: `the value of ${nameOf(hold.items)}`,
      signal: signalOf(options),
    });
    hold.value = value;
  }

  async detach(hold: Hold, options: DetachOptions): Promise<Ticket> {
    const ticketTtlMs = resolveTicketTtl(options);
    if (this.#host.isEnding) throw this.#host.endError();
    const { heldCount } = hold;
    const secret = this.#host.freshSecret();
    const wish = { bearer: hold, secret, ticketTtlMs, heldCount, isGivenUp: false };
    const ticket = new Promise<Ticket>((resolve, reject) => {
      this.#detaching.set(wish, { resolve, reject });
    });
    hold.isLeaving = true;
    hold.failUpgrades("detached");
    for (const handle of hold.handles) handle.leave();
    this.#host.submit(new DetachCall(this, wish));
    return ticket;
  }

  // What calls need.

  submit(call: Call): void {
    this.#host.submit(call);
  }

  acknowledge(number: number): void {
    this.#window.acknowledge(number);
  }

  onGranted(taker: GrantTaker, granted: Granted): void {
    this.holds.onGranted(taker, granted, this.#host.turnMs());
  }

  traced(refusal: Result, askedAt: string | undefined): Result {
    return this.#sites.addTo(refusal, this.#host.sessionId, askedAt);
  }

  onToken(hold: Hold, token: number): Hold {
    this.holds.setToken(hold, token);
    return this.holds.hereOf(hold);
  }

  onLowered(lowering: Lowering): void {
    for (const call of this.lowerings.end(lowering)) this.#host.submit(call);
  }

  onSettled(call: AwaitedCall<never>): void {
    this.lowerings.onSettled(call);
    this.calls.count -= 1;
    if (this.calls.count === 0) this.#host.onIdle();
  }

  onDetached(wish: DetachWish): void {
    const { secret, bearer } = wish;
    const { token } = bearer;
    const hold = this.holds.find(token);
    if (hold !== undefined) this.holds.remove(hold);
    this.#endDetaching(wish)?.resolve({ token, secret });
  }

  onNotDetached(wish: DetachWish, reason: LossReason): void {
    const hold = wish.bearer as Hold;
    this.holds.remove(hold);
    const error = lockLost(hold.items, hold.token, hold.lostBy ?? reason);
    this.#endDetaching(wish)?.reject(error);
  }

  // What the table says.

  onLost(token: number, reason: LossReason): void {
    this.holds.loseOne(token, reason);
    this.acknowledge(token);
    if (this.#detaching.size > 0) this.#failDetaching();
  }

  onContended(token: number): void {
    this.holds.find(token)?.contend();
  }

  onRevoking({ token, endsAt, reason }: Revoking, nowMs: number): void {
    if (token !== 0) {
      const hold = this.holds.find(token);
      if (hold !== undefined) this.holds.revoke(hold, endsAt, reason, nowMs);
      return;
    }
    this.#lease.force(endsAt);
    for (const hold of this.holds.all()) {
      hold.announce({ reason, remainingMs: this.holds.remainingMs(hold, nowMs) });
    }
  }

  // What happens to all of them.

  /** What may be over by now is given up for good; the session goes on if it can. */
  lapseIfDue(nowMs: number): void {
    const { holds } = this;
    if (holds.size === 0) return;
    if (nowMs >= this.#lease.deadlineMs) this.#releaseAll(holds.loseAll(this.#lease.endReason));
    else if (nowMs >= holds.nextEndMs) this.#releaseAll(holds.loseEnded(nowMs));
    if (this.#detaching.size > 0) this.#failDetaching();
  }

  /** The session is no more: so are its holds and waits. What was never sent waits for the next. */
  onSessionLost(reason: LossReason): void {
    const calls: Call[] = this.#window.reset((call) => call.outlivesSession);
    calls.push(...this.calls.takeQueued());
    for (const call of this.lowerings.clear()) {
      if (call.outlivesSession) this.#window.enqueue(call);
      else calls.push(call);
    }
    // A listener of what is lost may leave any of them: to the next session that sequence would be
    // another call's, which a cancel must not undo.
    for (const call of calls) call.sequence = 0;
    const takers = this.holds.takeAside();
    this.holds.loseAll(reason);
    this.holds.forgetFormer();
    for (const call of calls) call.onSessionLost(reason);
    for (const taker of takers) taker.onSessionLost(reason);
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
    for (const { reject } of this.#detaching.values()) reject(error);
    this.#detaching.clear();
  }

  #begin<T>(
    signal: AbortSignal | undefined,
    make: (nowMs: number, caller: Caller<T>) => AwaitedCall<T>,
  ): Promise<T> {
    const host = this.#host;
    // First of all, since it may run listeners that close the client or abort the signal.
    const nowMs = host.now();
    if (host.isEnding) return Promise.reject(host.endError());
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const call = make(nowMs, { resolve, reject });
      this.calls.begin(call);
      if (!this.lowerings.holdBack(call)) host.submit(call);
    });
  }

  /** Each as often as nobody did so yet. */
  #releaseAll(holds: readonly Hold[]): void {
    for (const hold of holds) this.#host.submit(new ReleaseCall(this, hold, undefined));
  }

  /** Nobody waits for a ticket longer than for a release. One that is made later just ends. */
  #failDetaching(): void {
    const over = [...this.#detaching.keys()].filter(({ bearer }) => {
      return (bearer as Hold).lostBy !== undefined;
    });
    for (const wish of over) {
      const hold = wish.bearer as Hold;
      wish.isGivenUp = true;
      this.#endDetaching(wish)?.reject(lockLost(hold.items, hold.token, hold.lostBy ?? "unknown"));
      this.#releaseAll(Array<Hold>(wish.heldCount).fill(hold));
    }
  }

  #endDetaching(wish: DetachWish): Caller<Ticket> | undefined {
    const caller = this.#detaching.get(wish);
    this.#detaching.delete(wish);
    return caller;
  }

  #failWaiting(error: unknown): void {
    for (const call of this.calls.open(this.#window)) call.fail(error);
    for (const taker of this.holds.takeAside()) taker.fail(error);
  }
}
