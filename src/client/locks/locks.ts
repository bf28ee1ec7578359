/**
 * What the application asked for and what it holds, apart from the transport of commands.
 * Everything that happens to several locks and requests together is here: a lapse of the lease, the
 * end of the session, the end of the client.
 */
import {
  RECALL_STATE,
  type RecalledSequence,
  type Result,
  type Revoking,
} from "../../protocol/index.js";
import { Call } from "../calls/call.js";
import { CommandCall, type CommandWish } from "../calls/command-call.js";
import type { Outgoing } from "../calls/outgoing.js";
import { type Caller, Waiters } from "../calls/waiters.js";
import { type LossReason, lossReasonOf } from "../failures.js";
import { type CallOptions, signalOf } from "../options/checks.js";
import type { HandedOver, HandOverOptions } from "../options/hand-over-options.js";
import {
  type AdoptWish,
  type HeldItem,
  type NestedOptions,
  requireLockKeyOf,
  resolveAcquire,
  resolveUpgrade,
  resolveValue,
  type UpgradeOptions,
  type UpgradeWish,
} from "../options/lock-options.js";
import { Owner } from "../options/owner.js";
import type { SessionLease } from "../session-lease/session-lease.js";
import type { ClientLog } from "../transport/client-log.js";
import type { TaskContext } from "../transport/platform.js";
import {
  AcquireCall,
  type AcquireHost,
  AdoptCall,
  type GrantCall,
  isGrantCall,
  type LockWish,
} from "./acquire-call.js";
import { CallSites } from "./call-sites.js";
import { CallTraces, type TracedClient } from "./call-traces.js";
import { HandOvers } from "./hand-overs.js";
import { HeldLock, type LockHost, type MakeLock } from "./held-lock.js";
import { type Granted, type GrantTaker, Hold, type HoldHost, UpgradeCall } from "./hold.js";
import { EndCall, type ReleaseWaiter, UpdateCall } from "./hold-calls.js";
import { Holds } from "./holds.js";
import { LOCK_HELD, routeOf, sharedItems, Task } from "./reentrance.js";
import { UpgradeJoin } from "./upgrade-join.js";

/** What this part of a session needs from the others. */
export interface LocksHost extends TracedClient {
  /** 0 while there is none. */
  readonly sessionId: number;
  readonly isEnding: boolean;
  /** That of the session; "" before there was one. */
  readonly clusterId: string;
  /** `undefined`: tasks are named, or nested in locks. */
  readonly context: TaskContext<Owner> | undefined;
  readonly capturesStacks: boolean;
  readonly log: ClientLog;
  /** Why nothing can be asked for any more. */
  readonly endError: () => Error;
  /** How long a try, or a command that is answered at once, may look for the cluster. */
  readonly tryTimeoutMs: number;
  /** Reads the clock; runs `lapseIfDue`. */
  now(): number;
  /** The time at which this turn began. */
  turnMs(): number;
  submit(call: Call): void;
  /** Runs `handOvers.depart` as soon as a connection has the session, at once if one has it. */
  departWhenAttached(): void;
  /** 32 random hex digits that cannot be guessed. */
  freshSecret(): string;
  /** Lets any number of listeners wait on the signal. */
  allowListeners(signal: AbortSignal): void;
  /** The last open request was settled. */
  onIdle(): void;
}

export class Locks implements AcquireHost, HoldHost, LockHost {
  readonly waiters: Waiters;
  readonly traces: CallTraces;
  readonly handOvers: HandOvers;
  readonly #holds: Holds;
  /**
   * Requests that the table answered with `queued`, by number: acquires that are wanted, and
   * upgrades.
   */
  readonly #waits = new Map<number, Call>();
  /** Holds that are handed out when the lease is proven. */
  readonly #unproven = new Set<Hold>();
  readonly #sites: CallSites;
  readonly #host: LocksHost;
  readonly #lease: SessionLease;
  readonly #window: Outgoing["window"];
  /** The last deadline that was acted on. */
  #lapsedAtMs = Number.NEGATIVE_INFINITY;
  #lastOwner = 0;

  constructor(host: LocksHost, lease: SessionLease, { window }: Pick<Outgoing, "window">) {
    this.#host = host;
    this.#lease = lease;
    this.#window = window;
    this.traces = new CallTraces(host);
    this.#holds = new Holds(lease);
    this.waiters = new Waiters(() => host.onIdle());
    this.handOvers = this.#makeHandOvers();
    this.#sites = new CallSites(host.capturesStacks, this.#holds, this.#waits);
  }

  #makeHandOvers(): HandOvers {
    const [host, { waiters }] = [this.#host, this];
    return new HandOvers({
      waiters,
      get clusterId() {
        return host.clusterId;
      },
      freshSecret: () => host.freshSecret(),
      submit: (call) => host.submit(call),
      departWhenAttached: () => host.departWhenAttached(),
      takeOut: (hold) => this.#takeOut(hold),
      begin: (begin) => {
        return this.#begin(undefined, (nowMs, caller) => begin(nowMs + host.tryTimeoutMs, caller));
      },
    });
  }

  /** Whether a caller waits for an answer, or a lock is held. */
  get isBusy(): boolean {
    return this.waiters.count > 0 || this.#holds.size > 0;
  }

  /** Whether a lapse of the lease would end anything. */
  get isHolding(): boolean {
    return this.#holds.size > 0;
  }

  /** Whether no lock is held that was not given back. */
  get holdsNothing(): boolean {
    return this.#held().length === 0;
  }

  /** Grants wait for a proven lease. */
  get wantsEvidence(): boolean {
    return this.#unproven.size > 0;
  }

  /** When something is given up unless newer evidence arrives; `Infinity` if there is nothing. */
  get lapseMs(): number {
    if (this.#holds.size === 0) return Number.POSITIVE_INFINITY;
    const { deadlineMs } = this.#lease;
    const leaseMs = deadlineMs === this.#lapsedAtMs ? Number.POSITIVE_INFINITY : deadlineMs;
    return Math.min(leaseMs, this.#holds.nextEndMs);
  }

  // Tasks.

  /** A new task: it excludes, and is excluded by, all other tasks of this client. */
  newOwner(): Owner {
    this.#lastOwner += 1;
    return new Task(this.#lastOwner, this);
  }

  /** The named owner, otherwise the task whose callback runs, otherwise a new task. */
  resolveOwner(named: Owner | undefined): Owner {
    if (named === undefined) return this.#host.context?.current() ?? this.newOwner();
    if (!(named instanceof Owner) || !named.isOf(this)) {
      throw new TypeError("owner must be one of this client: client.owner() or lock.owner");
    }
    return named;
  }

  /** Runs the callback of a `using`: its requests belong to the task, if there is a context. */
  runAs<T>(owner: Owner, work: () => T): T {
    const { context } = this.#host;
    return context === undefined ? work() : context.run(owner, work);
  }

  // What the application asks for.

  request(wish: LockWish): Promise<HeldLock | undefined> {
    if (!this.traces.seesAcquires) return this.#request(wish);
    const { items, owner, waitMs, isTry } = wish;
    const several = items.length > 1 ? "acquireAll" : "acquire";
    const traced = { operation: isTry ? "tryAcquire" : several, items, owner, waitMs } as const;
    const work = () => this.#request(wish);
    return this.traces.acquire(traced, work, (lock) => lock);
  }

  #request(wish: LockWish): Promise<HeldLock | undefined> {
    const askedAt = this.#sites.capture(this.request);
    return this.#begin(wish.signal, (nowMs, caller) => {
      const call = new AcquireCall(this, wish, nowMs, this.#host.tryTimeoutMs, caller);
      call.askedAt = askedAt;
      Task.of(wish.owner).onAsked(call);
      this.#route(call);
    });
  }

  adopt(wish: AdoptWish): Promise<HeldLock> {
    if (!this.traces.seesAcquires) return this.#adopt(wish);
    const { owner } = wish;
    const traced = { operation: "adopt", items: [], owner, waitMs: 0 } as const;
    const work = () => this.#adopt(wish);
    return this.traces.acquire(traced, work, (lock) => lock);
  }

  #adopt(wish: AdoptWish): Promise<HeldLock> {
    return this.#begin(wish.signal, (nowMs, caller) => {
      this.submit(new AdoptCall(this, wish, nowMs + this.#host.tryTimeoutMs, caller));
    });
  }

  /** A command that is answered at once. */
  command(wish: CommandWish): Promise<Result> {
    return this.#begin(wish.signal, (nowMs, caller) => {
      this.submit(new CommandCall(this.waiters, wish, nowMs + this.#host.tryTimeoutMs, caller));
    });
  }

  /** A call that `make` makes, with when it begins and how long it may look for the cluster. */
  begin<T>(
    signal: AbortSignal | undefined,
    make: (times: { nowMs: number; tryTimeoutMs: number }, caller: Caller<T>) => Call,
  ): Promise<T> {
    const { tryTimeoutMs } = this.#host;
    return this.#begin<T>(signal, (nowMs, caller) => {
      this.submit(make({ nowMs, tryTimeoutMs }, caller));
    });
  }

  // What a held lock asks for.

  async acquireUnder(owner: Owner, key: string, options?: NestedOptions): Promise<HeldLock> {
    // Only a try resolves to undefined.
    return this.request(resolveAcquire(key, options, owner, "nested")) as Promise<HeldLock>;
  }

  remainingMs(hold: Hold): number {
    return this.#holds.remainingMs(hold, this.#host.now());
  }

  release(hold: Hold, lock: HeldLock): void {
    hold.removeHandle(lock);
    if (hold.endedBy !== undefined) {
      lock.onReleased({ released: false, reason: hold.endedBy });
    } else if (hold.handles.length > 0) {
      hold.balance();
      lock.onReleased({ released: true });
    } else {
      this.#giveBack(hold, lock);
    }
  }

  async upgrade(hold: Hold, lock: HeldLock, options: UpgradeOptions | undefined): Promise<void> {
    const wish = resolveUpgrade(lock, options);
    if (wish === undefined) return undefined;
    const askedAt = this.#sites.capture(this.upgrade);
    const begin = (): Promise<void> => this.#upgrade(hold, lock, wish, askedAt);
    if (!this.traces.seesAcquires) return begin();
    const items = [{ key: wish.key, mode: "exclusive" }] as const;
    const { waitMs } = wish;
    const traced = { operation: "upgrade", items, owner: hold.owner, waitMs } as const;
    return this.traces.acquire(traced, begin, () => lock);
  }

  #upgrade(
    hold: Hold,
    lock: HeldLock,
    wish: UpgradeWish,
    askedAt: string | undefined,
  ): Promise<void> {
    return this.#begin(wish.signal, (nowMs, caller) => {
      const times = { nowMs, tryTimeoutMs: this.#host.tryTimeoutMs };
      const join = new UpgradeJoin(this, { hold, handle: lock, askedAt }, wish, times, caller);
      const isUnderWay = !hold.covers(join.asks) && hold.upgrade !== undefined;
      if (wish.waitMs === 0 && isUnderWay) join.onRefusal(wish.key, LOCK_HELD);
      else hold.join(join);
    });
  }

  async downgrade(hold: Hold, lock: HeldLock, key: string | undefined): Promise<void> {
    requireLockKeyOf(lock, key);
    hold.cancelUpgrades(lock, key);
    lock.setMode(key, "shared");
    const call = hold.balance();
    if (call === undefined) return undefined;
    await this.#begin(undefined, (nowMs, caller: Caller<void>) => {
      call.await(this.waiters, nowMs + this.#host.tryTimeoutMs, caller);
    });
  }

  async update(hold: Hold, value: string, options: CallOptions | undefined): Promise<void> {
    resolveValue(value);
    const signal = signalOf(options);
    await this.#begin(signal, (nowMs, caller: Caller<void>) => {
      const deadlineMs = nowMs + this.#host.tryTimeoutMs;
      this.submit(new UpdateCall(this.waiters, hold, { value, signal }, deadlineMs, caller));
    });
  }

  handOver(hold: Hold, options: HandOverOptions): Promise<HandedOver | undefined> {
    return this.handOvers.handOver(hold, options);
  }

  allowListeners(signal: AbortSignal): void {
    this.#host.allowListeners(signal);
  }

  // What calls need.

  get sessionId(): number {
    return this.#host.sessionId;
  }

  submit(call: Call): void {
    this.#host.submit(call);
  }

  forget(hold: Hold): void {
    this.#holds.remove(hold);
  }

  traced(refusal: Result, askedAt: string | undefined): Result {
    return this.#sites.addTo(refusal, this.#host.sessionId, askedAt);
  }

  onGranted(taker: GrantTaker, granted: Granted): void {
    const hold = new Hold(this, taker, granted);
    this.#holds.add(hold);
    Task.of(hold.owner).onGranted(hold);
    if (this.#isProven) this.#handOut(hold);
    else this.#unproven.add(hold);
  }

  onGrantLost(taker: GrantTaker, granted: Granted, reason: LossReason): void {
    const hold = new Hold(this, taker, granted);
    this.#handOut(hold);
    this.#tellLoss(hold, reason);
    hold.end(reason);
  }

  /** If the lease is proven, hands out the holds that wait for that. */
  onEvidence(): void {
    if (this.#unproven.size === 0 || !this.#isProven) return;
    for (const hold of this.#unproven) this.#handOut(hold);
  }

  get #isProven(): boolean {
    return this.#host.turnMs() < this.#lease.deadlineMs;
  }

  #handOut(hold: Hold): void {
    const { taker } = hold;
    if (taker === undefined) return;
    this.#unproven.delete(hold);
    hold.taker = undefined;
    this.#holds.onHandedOut(hold, this.#host.turnMs());
    taker.handOut(hold);
    hold.balance();
  }

  lockOf(hold: Hold, items: readonly HeldItem[], makeLock?: MakeLock): HeldLock {
    return makeLock === undefined ? new HeldLock(this, hold, items) : makeLock(this, hold, items);
  }

  /** Other requests of its owner may wait for it. */
  onAcquired(call: AcquireCall): void {
    const task = Task.of(call.owner);
    task.onAnswered(call);
    for (const other of task.acquires) if (other.isPostponed) this.#route(other);
  }

  #route(call: AcquireCall): void {
    const route = routeOf(call, Task.of(call.owner));
    call.isPostponed = route.to === "later";
    switch (route.to) {
      case "table":
        this.submit(call);
        break;
      case "hold":
        call.joined = route.hold;
        route.hold.join(call);
        break;
      case "refusal":
        call.fail(route.error);
        break;
      case "held":
        call.onResult(LOCK_HELD, 0);
        break;
      default:
    }
  }

  share(call: AcquireCall): void {
    const hold = call.joined as Hold;
    call.joined = undefined;
    call.handOut(hold, sharedItems(hold, call.wish.items));
  }

  askAnew(call: AcquireCall): void {
    call.joined = undefined;
    if (this.#host.isEnding) call.fail(this.#host.endError());
    else this.#route(call);
  }

  onLeft(call: GrantCall): void {
    if (call instanceof AcquireCall && call.joined !== undefined) {
      call.joined.leave(call);
      return;
    }
    const { sequence } = call;
    // The end of the session ends all of it.
    if (sequence === 0 || this.#host.isEnding) return;
    const hold = this.#holds.get(sequence);
    if (hold !== undefined) {
      this.#giveBack(hold);
      return;
    }
    this.#waits.delete(sequence);
    this.submit(new EndCall(call));
  }

  // What the table says.

  /** It waits in the table. */
  onQueued(call: Call): void {
    // If nobody wants it, it is being ended.
    if (!(isGrantCall(call) && call.isSettled)) this.#waits.set(call.sequence, call);
  }

  /** Removes and returns the call that waits under this number. */
  takeWait(sequence: number): Call | undefined {
    const call = this.#waits.get(sequence);
    this.#waits.delete(sequence);
    return call;
  }

  /** The hold ended otherwise than by a command of this session. */
  onLost(sequence: number, reason: LossReason): void {
    const hold = this.#holds.get(sequence);
    if (hold === undefined) return;
    this.#window.acknowledge(sequence);
    if (hold.ending !== undefined) hold.ending.onLost(reason);
    else this.#lose([hold], reason);
  }

  /** What a recall found under the number of a hold. */
  onToldOfHold(told: RecalledSequence, nowMs: number): void {
    const { sequence, state } = told;
    const hold = this.#holds.get(sequence);
    if (hold === undefined) this.#endStray(sequence, state === RECALL_STATE.held);
    else if (state === RECALL_STATE.held) this.#holds.onStillHeld(hold, told, nowMs);
    else if (state === RECALL_STATE.ended) this.onLost(sequence, lossReasonOf(told.reason));
    else this.onLost(sequence, "unknown");
  }

  onStillWaiting(sequence: number): void {
    const call = this.#waits.get(sequence);
    if (call === undefined) this.#endStray(sequence, true);
    else call.isUncertain = false;
  }

  /** The connection is gone: what waits in the table may end without being told. */
  onDisconnected(): void {
    for (const call of this.#waits.values()) call.isUncertain = true;
  }

  /**
   * This client does not know it: it was given back meanwhile.
   */
  #endStray(sequence: number, isAlive: boolean): void {
    if (this.#host.isEnding) return;
    if (isAlive) this.submit(new EndCall({ sequence }));
    else this.#window.acknowledge(sequence);
  }

  onContended(sequence: number): void {
    this.#holds.get(sequence)?.contend();
  }

  onRevoking({ sequence, endsAt, reason }: Revoking, nowMs: number): void {
    if (sequence !== 0) {
      const hold = this.#holds.get(sequence);
      if (hold !== undefined) this.#holds.revoke(hold, endsAt, reason, nowMs);
      return;
    }
    this.#lease.force(endsAt, reason);
    for (const hold of this.#holds.all()) {
      hold.announce({ reason, remainingMs: this.#holds.remainingMs(hold, nowMs) });
    }
  }

  /** The numbers whose fate a new connection has to ask for. */
  sequencesToRecall(): number[] {
    const sequences = [...this.#waits.keys()];
    for (const { sequence, ending } of this.#holds.all()) {
      // The call that ends it reads its end.
      if (!(ending instanceof EndCall)) sequences.push(sequence);
    }
    return sequences;
  }

  // What happens to all of them.

  /** Ends everything here that may be over by now, for ever; the session goes on if it can. */
  lapseIfDue(nowMs: number): void {
    if (nowMs < this.lapseMs) return;
    const { deadlineMs, endReason } = this.#lease;
    const isLapse = nowMs >= deadlineMs;
    if (isLapse) this.#lapsedAtMs = deadlineMs;
    // A hold that no caller has yet is certain again as soon as the lease is.
    const holds = isLapse
      ? this.#holds.all().filter(({ taker }) => taker === undefined)
      : this.#holds.ended(nowMs);
    // Before any request of a listener.
    for (const hold of holds) if (!(hold.ending instanceof EndCall)) this.submit(new EndCall(hold));
    this.#lose(holds, isLapse ? endReason : undefined);
  }

  /**
   * The session is over, with its holds and waits. Calls that were never sent wait for the next
   * one.
   */
  onSessionLost(reason: LossReason): void {
    const calls = [...this.#window.reset(), ...this.#waits.values()];
    this.#waits.clear();
    // In the next session the number belongs to another command.
    for (const call of calls) call.sequence = 0;
    const holds = this.#held();
    const takers = holds.map(({ taker }) => taker);
    for (const hold of holds) hold.taker = undefined;
    this.#lose(holds, reason);
    for (const call of calls) call.onSessionLost(reason);
    for (const taker of takers) taker?.onSessionLost(reason);
  }

  /** The client is closing: the end of its session does what a release would do. */
  onClosing(error: Error): void {
    this.#leaveStrong(error);
    this.#lose(this.#held(), "closed");
  }

  /** The client has ended: nothing is held, and nothing will be granted. */
  onEnded(error: unknown, reason: LossReason): void {
    this.#refuseTakers(error);
    this.#lose(this.#holds.all(), reason);
    this.waiters.leaveAll(error);
  }

  /**
   * Gives everything up: hands over what is held, and withdraws what was only asked for. Resolves when
   * the fate of each hold is known, or will not be.
   */
  async departAll(ttlMs: number, error: unknown): Promise<Pick<HandedOver, "confirmed" | "holds">> {
    this.handOvers.depart();
    const held = this.#held();
    this.#refuseTakers(error);
    const moving = held.filter(({ taker }) => taker === undefined);
    for (const hold of held) if (hold.taker !== undefined) this.#giveBack(hold);
    this.#withdrawWaits();
    const departing = moving.map((hold) => this.handOvers.leave(hold, ttlMs));
    // Listeners may call anything, so the state is final before the first of them runs.
    for (const hold of moving) {
      this.#tellLoss(hold, "moved");
      hold.end("moved");
    }
    this.#leaveStrong(error);
    const outcomes = await Promise.allSettled(departing);
    const gone = outcomes.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    return {
      confirmed: gone.every(({ confirmed }) => confirmed),
      holds: gone.map(({ keys, secret, task }) => ({ keys, secret, task })),
    };
  }

  /** Ends what waits in the table, and what may do so by now. */
  #withdrawWaits(): void {
    for (const [sequence, call] of this.#waits) {
      if (!(call instanceof UpgradeCall)) this.submit(new EndCall({ sequence }));
    }
    for (const call of this.#window.sent()) {
      if (isGrantCall(call) && !call.isSettled) this.submit(new EndCall(call));
    }
  }

  #begin<T>(
    signal: AbortSignal | undefined,
    begin: (nowMs: number, caller: Caller<T>) => void,
  ): Promise<T> {
    const host = this.#host;
    // First, since it may run listeners that close the client or abort the signal.
    const nowMs = host.now();
    if (host.isEnding) return Promise.reject(host.endError());
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => begin(nowMs, { resolve, reject }));
  }

  /** Tells the table that this hold is no longer wanted here. */
  #giveBack(hold: Hold, waiter?: ReleaseWaiter): void {
    this.#takeOut(hold);
    hold.ending = new EndCall(hold, waiter);
    // Before requests are sent that wanted to share it.
    this.submit(hold.ending);
    hold.end("released");
    this.handOvers.strand();
  }

  /** Its owner does not have it any more. */
  #takeOut(hold: Hold): void {
    this.#unproven.delete(hold);
    hold.taker = undefined;
    Task.of(hold.owner).onEnded(hold);
    this.#holds.onEnding(hold);
  }

  /** The holds that were not given back yet. */
  #held(): Hold[] {
    return this.#holds.all().filter(({ ending }) => ending === undefined);
  }

  /** Refuses the callers of holds that the table has granted and that were not handed out. */
  #refuseTakers(error: unknown): void {
    for (const { taker } of this.#unproven) taker?.fail(error);
  }

  /**
   * These holds are over for this client. Runs listeners of their signals. Without a `reason`, each
   * has its own.
   */
  #lose(holds: readonly Hold[], reason: LossReason | undefined): void {
    // Listeners may call anything, so the state is final before the first of them runs.
    for (const hold of holds) {
      // A caller that has not got its grant yet gets a lost lock, like any other holder.
      this.#handOut(hold);
      this.#takeOut(hold);
      this.#holds.remove(hold);
    }
    for (const hold of holds) {
      const { ending, endReason } = hold;
      ending?.onGivenUp(reason ?? endReason);
      this.#tellLoss(hold, reason ?? endReason);
      hold.end(reason ?? endReason);
    }
    this.handOvers.strand();
  }

  /** Before listeners run, since they may end the process. */
  #tellLoss({ handles, items, token }: Hold, reason: LossReason): void {
    if (handles.length === 0) return;
    // The application wanted these.
    const isWished = reason === "closed" || reason === "moved";
    const fields = { keys: items.map(({ key }) => key), token, reason };
    this.#host.log[isWished ? "debug" : "warn"]("lock lost", fields);
  }

  /** Calls that give something back still get their answers. */
  #leaveStrong(error: unknown): void {
    this.waiters.leaveAll(error, (awaited) => !(awaited instanceof Call) || !awaited.givesBack);
  }
}
