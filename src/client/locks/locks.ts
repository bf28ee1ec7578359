/**
 * What the application asks for: tasks, locks for them, and what a lock that it holds can do. What
 * becomes of the requests is in `claims.ts`.
 */
import type { Result } from "../../protocol/index.js";
import { type Beginning, beginCall } from "../calls/begin-call.js";
import type { Call } from "../calls/call.js";
import { CommandCall, type CommandWish } from "../calls/command-call.js";
import type { Deferred, Waiters } from "../calls/waiters.js";
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
import { Task } from "../options/task.js";
import type { TaskContext } from "../transport/platform.js";
import { AcquireCall, type AcquireHost, AdoptCall, type LockWish } from "./acquire-call.js";
import { CallTraces, type TracedClient } from "./call-traces.js";
import type { Claims } from "./claims.js";
import { HeldLock, type LockHost, type MakeLock } from "./held-lock.js";
import type { Hold } from "./hold.js";
import { UpdateCall } from "./hold-calls.js";
import { LOCK_HELD, routeOf, SessionTask, sharedItems } from "./reentrance.js";
import { UpgradeJoin } from "./upgrade-join.js";

/** What this part of a session needs from the others. */
export interface LocksHost extends TracedClient, Beginning {
  /** `undefined`: tasks are named, or nested in locks. */
  readonly context: TaskContext<Task> | undefined;
  /** How long a try, or a command that is answered at once, may look for the cluster. */
  readonly tryTimeoutMs: number;
  submit(call: Call): void;
  /** Lets any number of listeners wait on the signal. */
  allowListeners(signal: AbortSignal): void;
}

export class Locks implements AcquireHost, LockHost {
  readonly claims: Claims;
  readonly traces: CallTraces;
  readonly #host: LocksHost;
  #lastTask = 0;

  constructor(host: LocksHost, claims: Claims) {
    this.#host = host;
    this.claims = claims;
    this.traces = new CallTraces(host);
  }

  // Tasks.

  /** A new task: it excludes, and is excluded by, all other tasks of this client. */
  newTask(): Task {
    this.#lastTask += 1;
    return new SessionTask(this.#lastTask, this);
  }

  /** The named task, otherwise the task whose callback runs, otherwise a new task. */
  resolveTask(named: Task | undefined): Task {
    if (named === undefined) return this.#host.context?.current() ?? this.newTask();
    if (!(named instanceof Task) || !named.isOf(this)) {
      throw new TypeError("task must be one of this client: client.task() or lock.task");
    }
    return named;
  }

  /** Runs the callback of a `using`: its requests belong to the task, if there is a context. */
  runAs<T>(task: Task, work: () => T): T {
    const { context } = this.#host;
    return context === undefined ? work() : context.run(task, work);
  }

  // What the application asks for.

  request(wish: LockWish): Promise<HeldLock | undefined> {
    if (!this.traces.seesAcquires) return this.#request(wish);
    const { items, task, waitMs, isTry } = wish;
    const several = items.length > 1 ? "acquireAll" : "acquire";
    const traced = { operation: isTry ? "tryAcquire" : several, items, task, waitMs } as const;
    const work = () => this.#request(wish);
    return this.traces.acquire(traced, work, (lock) => lock);
  }

  #request(wish: LockWish): Promise<HeldLock | undefined> {
    const askedAt = this.claims.sites.capture(this.request);
    return beginCall(this.#host, wish.signal, (nowMs, caller) => {
      const call = new AcquireCall(this, wish, nowMs, this.#host.tryTimeoutMs, caller);
      call.askedAt = askedAt;
      SessionTask.of(wish.task).onAsked(call);
      this.#route(call);
    });
  }

  adopt(wish: AdoptWish): Promise<HeldLock> {
    if (!this.traces.seesAcquires) return this.#adopt(wish);
    const { task } = wish;
    const traced = { operation: "adopt", items: [], task, waitMs: 0 } as const;
    const work = () => this.#adopt(wish);
    return this.traces.acquire(traced, work, (lock) => lock);
  }

  #adopt(wish: AdoptWish): Promise<HeldLock> {
    return beginCall(this.#host, wish.signal, (nowMs, caller) => {
      this.submit(new AdoptCall(this, wish, nowMs + this.#host.tryTimeoutMs, caller));
    });
  }

  /** A command that is answered at once. */
  command(wish: CommandWish): Promise<Result> {
    return beginCall(this.#host, wish.signal, (nowMs, caller) => {
      this.submit(new CommandCall(this.waiters, wish, nowMs + this.#host.tryTimeoutMs, caller));
    });
  }

  /** A call that `make` makes, with when it begins and how long it may look for the cluster. */
  begin<T>(
    signal: AbortSignal | undefined,
    make: (times: { nowMs: number; tryTimeoutMs: number }, caller: Deferred<T>) => Call,
  ): Promise<T> {
    const { tryTimeoutMs } = this.#host;
    return beginCall<T>(this.#host, signal, (nowMs, caller) => {
      this.submit(make({ nowMs, tryTimeoutMs }, caller));
    });
  }

  // What a held lock asks for.

  async acquireUnder(task: Task, key: string, options?: NestedOptions): Promise<HeldLock> {
    // Only a try resolves to undefined.
    return this.request(resolveAcquire(key, options, task, "nested")) as Promise<HeldLock>;
  }

  remainingMs(hold: Hold): number {
    return this.claims.remainingMs(hold, this.#host.now());
  }

  release(hold: Hold, lock: HeldLock): void {
    hold.removeHandle(lock);
    if (hold.endedBy !== undefined) {
      lock.onReleased({ released: false, reason: hold.endedBy });
    } else if (hold.handles.length > 0) {
      hold.balance();
      lock.onReleased({ released: true });
    } else {
      this.claims.giveBack(hold, lock);
    }
  }

  async upgrade(hold: Hold, lock: HeldLock, options: UpgradeOptions | undefined): Promise<void> {
    const wish = resolveUpgrade(lock, options);
    if (wish === undefined) return undefined;
    const askedAt = this.claims.sites.capture(this.upgrade);
    const begin = (): Promise<void> => this.#upgrade(hold, lock, wish, askedAt);
    if (!this.traces.seesAcquires) return begin();
    const items = [{ key: wish.key, mode: "exclusive" }] as const;
    const { waitMs } = wish;
    const traced = { operation: "upgrade", items, task: hold.task, waitMs } as const;
    return this.traces.acquire(traced, begin, () => lock);
  }

  #upgrade(
    hold: Hold,
    lock: HeldLock,
    wish: UpgradeWish,
    askedAt: string | undefined,
  ): Promise<void> {
    return beginCall(this.#host, wish.signal, (nowMs, caller) => {
      const times = { nowMs, tryTimeoutMs: this.#host.tryTimeoutMs };
      const join = new UpgradeJoin(
        this.claims,
        { hold, handle: lock, askedAt },
        wish,
        times,
        caller,
      );
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
    await beginCall(this.#host, undefined, (nowMs, caller: Deferred<void>) => {
      call.await(this.waiters, nowMs + this.#host.tryTimeoutMs, caller);
    });
  }

  async update(hold: Hold, value: string, options: CallOptions | undefined): Promise<void> {
    resolveValue(value);
    const signal = signalOf(options);
    await beginCall(this.#host, signal, (nowMs, caller: Deferred<void>) => {
      const deadlineMs = nowMs + this.#host.tryTimeoutMs;
      this.submit(new UpdateCall(this.waiters, hold, { value, signal }, deadlineMs, caller));
    });
  }

  handOver(hold: Hold, options: HandOverOptions): Promise<HandedOver | undefined> {
    return this.claims.handOvers.handOver(hold, options);
  }

  allowListeners(signal: AbortSignal): void {
    this.#host.allowListeners(signal);
  }

  // What calls need.

  get sessionId(): number {
    return this.#host.sessionId;
  }

  get waiters(): Waiters {
    return this.claims.waiters;
  }

  submit(call: Call): void {
    this.#host.submit(call);
  }

  lockOf(hold: Hold, items: readonly HeldItem[], makeLock?: MakeLock): HeldLock {
    return makeLock === undefined ? new HeldLock(this, hold, items) : makeLock(this, hold, items);
  }

  /** Other requests of its task may wait for it. */
  onAcquired(call: AcquireCall): void {
    const task = SessionTask.of(call.task);
    task.onAnswered(call);
    for (const other of task.acquires) if (other.isPostponed) this.#route(other);
  }

  #route(call: AcquireCall): void {
    const route = routeOf(call, SessionTask.of(call.task));
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
}
