/**
 * One hold of the table as its session knows it: the number by which both know it, the token that
 * it carries now, and its items as the table has them. All handles of one task share it. In each
 * key the hold must be as strong as the strongest of its handles and joins asks for: it is upgraded
 * when that rises and downgraded when it falls. The end of the hold ends all handles.
 *
 * No handle may be given out, or called exclusive, beyond the table's last answer. Answers come in
 * the order of the log, and nothing passes a downgrade, so the last answer is the current state.
 * The only exception is the answer to an abandoned upgrade, which comes while a downgrade is under
 * way.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../../errors/index.js";
import {
  type LockMode,
  OP,
  type Result,
  type SequencedCommand,
  STATUS,
  WAIT_FOREVER,
} from "../../protocol/index.js";
import { Call, type CommandHead } from "../calls/call.js";
import { remainingWaitMs } from "../calls/waiters.js";
import type { LossReason } from "../failures.js";
import type { HeldItem } from "../options/lock-options.js";
import type { Task } from "../options/task.js";
import type { HandOverTarget } from "./hand-over-call.js";
import {
  DowngradeCall,
  EndCall,
  type Ending,
  type UpdateCall,
  type UpdateTarget,
} from "./hold-calls.js";
import type { LockEvents, Revocation } from "./lock.js";

/** What the table granted. */
export interface Granted {
  readonly sequence: number;
  readonly token: number;
  readonly items: readonly HeldItem[];
  readonly value: string;
  /** When it ends by itself, in cluster time; `Infinity`: with the session. */
  readonly endsAt: number;
  readonly isRevoked: boolean;
  readonly isContended: boolean;
}

/** A call that will get the lock. */
export interface GrantTaker {
  readonly task: Task;
  /** Stack of the call, if stacks are captured. */
  readonly askedAt: string | undefined;
  /** The hold is certain: its caller gets the first handle. */
  handOut(hold: Hold): void;
  fail(reason: unknown): void;
  onSessionLost(reason: LossReason): void;
}

/** One handle of a hold, as the hold knows it. */
export interface Handle {
  /** The requested items: the hold may be stronger, for another handle. */
  readonly items: readonly HeldItem[];
  notify(event: keyof LockEvents): void;
  /** The hold is over forever. */
  lose(reason: LossReason): void;
}

/** A request for more than the hold is now: a nested acquire, or the upgrade of a handle. */
export interface Join {
  readonly asks: readonly Pick<HeldItem, "key" | "mode">[];
  /** 0: it does not wait; if it cannot be granted at once, it is refused. */
  readonly waitMs: number;
  readonly startedMs: number;
  /** Whether it is refused if waiting would never end. */
  readonly detects: boolean;
  readonly askedAt: string | undefined;
  /** The handle that asks; `undefined` for a nested acquire. */
  readonly handle: Handle | undefined;
  /** The hold is now what it asks for. */
  onCovered(): void;
  /** The table refused the upgrade. */
  onRefusal(key: string, result: Result): void;
  /** The hold is over. */
  onHoldLost(reason: LossReason): void;
}

/** What a hold needs from its session. */
export interface HoldHost {
  submit(call: Call): void;
  /** The table does not have it any more. */
  forget(hold: Hold): void;
}

const NO_HANDLES: readonly Handle[] = Object.freeze([]);
const NO_JOINS: readonly Join[] = Object.freeze([]);

export class Hold implements HandOverTarget, UpdateTarget {
  readonly sequence: number;
  /** The newest token. */
  token: number;
  readonly task: Task;
  items: readonly HeldItem[];
  value: string;
  /** Why it ends at `endsAt`. */
  endReason: "maxHold" | "revoked";
  /** When it ends by itself, in cluster time; `Infinity`: with the session. */
  endsAt: number;
  /** Its place in the heap of holds that end by themselves; -1: it has none. */
  heapIndex = -1;
  isContended: boolean;
  revocation: Revocation | undefined = undefined;
  /** Stack of the call that brought it, if stacks are captured. */
  readonly askedAt: string | undefined;
  /** The call that gets the first handle, until the lease is proven. */
  taker: GrantTaker | undefined;
  /** Handles that were not given back yet. */
  handles: readonly Handle[] = NO_HANDLES;
  /** The one upgrade that its handles and joins wait for. */
  upgrade: UpgradeCall | undefined = undefined;
  /** Why it is over for this client; the table may not know yet. */
  endedBy: LossReason | undefined = undefined;
  /** The call that informs the table, if it was given back here. */
  ending: Ending | undefined = undefined;
  readonly #host: HoldHost;
  #joins = NO_JOINS;
  /** Made with the first update: nearly every hold has none. */
  #updates: Set<UpdateCall> | undefined;

  constructor(host: HoldHost, taker: GrantTaker, granted: Granted) {
    this.#host = host;
    this.taker = taker;
    this.task = taker.task;
    this.askedAt = taker.askedAt;
    this.sequence = granted.sequence;
    this.token = granted.token;
    this.items = granted.items;
    this.value = granted.value;
    this.endsAt = granted.endsAt;
    this.endReason = granted.isRevoked ? "revoked" : "maxHold";
    this.isContended = granted.isContended;
  }

  // Handles.

  addHandle(lock: Handle): void {
    // Nearly every hold has one handle.
    this.handles = this.handles.length === 0 ? [lock] : [...this.handles, lock];
  }

  /** The handle was given back; what it asked for is not wanted any more. */
  removeHandle(lock: Handle): void {
    const { handles } = this;
    const isOnly = handles.length === 1 && handles[0] === lock;
    this.handles = isOnly ? NO_HANDLES : handles.filter((each) => each !== lock);
    for (const join of this.#joins) {
      if (join.handle !== lock) continue;
      this.#remove(join);
      join.onHoldLost("released");
    }
  }

  /** A request began to wait for it. */
  contend(): void {
    if (this.isContended) return;
    this.isContended = true;
    for (const handle of this.handles) handle.notify("contended");
  }

  /** The end was set, or moved to earlier. */
  announce(revocation: Revocation): void {
    this.revocation = revocation;
    for (const handle of this.handles) handle.notify("revoking");
  }

  /**
   * It is over for this client: ends all handles forever, and runs the listeners of their signals
   * before it returns.
   */
  end(reason: LossReason): void {
    if (this.endedBy !== undefined) return;
    this.endedBy = reason;
    const { handles } = this;
    const joins = this.#joins;
    this.handles = NO_HANDLES;
    this.#joins = NO_JOINS;
    this.upgrade = undefined;
    for (const handle of handles) handle.lose(reason);
    for (const join of joins) join.onHoldLost(reason);
  }

  /** The table has answered the call that gave it back. */
  onGivenBack(): void {
    this.#host.forget(this);
    // Otherwise a hold that lived long would keep newer objects alive until it is collected itself.
    this.ending = undefined;
  }

  /** The application gave it up, and it was not handed over: it is released. */
  onNotHandedOver(): void {
    const ending = new EndCall(this);
    this.ending = ending;
    this.#host.submit(ending);
  }

  // Modes.

  /** Whether the table's last answer is at least that. */
  covers(asks: Join["asks"]): boolean {
    return asks.every(({ key, mode }) => mode !== "exclusive" || this.#isExclusive(key));
  }

  join(join: Join): void {
    this.#joins = [...this.#joins, join];
    this.balance();
  }

  /** Cancels what the handle asks for in that key, or, without a key, in all keys. */
  cancelUpgrades(handle: Handle, key: string | undefined): void {
    for (const join of this.#joins) {
      const [asked] = join.asks;
      if (join.handle !== handle || asked === undefined) continue;
      if (key !== undefined && asked.key !== key) continue;
      this.#remove(join);
      join.onRefusal(asked.key, { status: ERROR_NUMBERS.CANCELLED });
    }
  }

  /** The join is not wanted any more. */
  leave(join: Join): void {
    this.#remove(join);
    this.balance();
  }

  /**
   * Hands out what it can, and asks the table for exactly what its users need. Returns the last
   * downgrade that was sent, if any.
   */
  balance(): DowngradeCall | undefined {
    if (this.#isPlain || this.endedBy !== undefined || this.taker !== undefined) return undefined;
    for (const join of this.#joins) {
      if (!this.covers(join.asks)) continue;
      this.#remove(join);
      join.onCovered();
    }
    const downgrade = this.#lower();
    this.#raise();
    return downgrade;
  }

  /** The usual case: one handle, which asks for what the hold is. */
  get #isPlain(): boolean {
    if (this.handles.length !== 1 || this.#joins.length > 0) return false;
    return this.upgrade === undefined && this.handles[0]?.items === this.items;
  }

  #lower(): DowngradeCall | undefined {
    const keys = new Set<string>();
    const { upgrade } = this;
    if (upgrade !== undefined && !this.#needs(upgrade.key)) {
      this.upgrade = undefined;
      // It may wait or be granted by now; one that was not sent needs nothing.
      if (upgrade.sequence !== 0) keys.add(upgrade.key);
    }
    for (const { key, mode } of this.items) {
      if (mode === "exclusive" && !this.#needs(key)) keys.add(key);
    }
    if (keys.size === 0) return undefined;
    // Before others can be let in. If the downgrade fails, the hold counts as weaker than it is.
    for (const key of keys) this.setMode(key, "shared");
    const isAll =
      this.upgrade === undefined && this.items.every((item) => item.mode !== "exclusive");
    let last: DowngradeCall | undefined;
    for (const key of isAll ? [undefined] : keys) {
      last = new DowngradeCall(this, key);
      this.#host.submit(last);
    }
    return last;
  }

  #raise(): void {
    if (this.upgrade !== undefined) return;
    for (const { asks } of this.#joins) {
      const item = asks.find(({ key, mode }) => mode === "exclusive" && !this.#isExclusive(key));
      if (item === undefined) continue;
      this.upgrade = new UpgradeCall(this, item.key);
      this.#host.submit(this.upgrade);
      return;
    }
  }

  setMode(key: string, mode: LockMode): void {
    this.items = this.items.map((item) => (item.key === key ? { ...item, mode } : item));
  }

  /** Whether the table may have made it what the join asks for. */
  mayCover({ asks }: Join): boolean {
    const { upgrade } = this;
    return upgrade?.mayBeExecuted === true && asksFor(asks, upgrade.key);
  }

  /** The joins that wait for that key to become exclusive. */
  joinsOf(key: string): readonly Join[] {
    return this.#joins.filter(({ asks }) => asksFor(asks, key));
  }

  onUpgraded(upgrade: UpgradeCall, token: number): void {
    this.token = Math.max(this.token, token);
    // The table is told to undo an upgrade that was given up.
    if (this.upgrade !== upgrade) return;
    this.upgrade = undefined;
    this.setMode(upgrade.key, "exclusive");
    this.balance();
  }

  onUpgradeRefused(upgrade: UpgradeCall, result: Result): void {
    if (this.upgrade !== upgrade) return;
    // The hold has ended. Its joins learn why, which a recall lists after this answer.
    if (result.status === ERROR_NUMBERS.NOT_HELD) return;
    this.upgrade = undefined;
    for (const join of upgrade.refusedBy(result.status)) {
      this.#remove(join);
      join.onRefusal(upgrade.key, result);
    }
    this.balance();
  }

  #remove(join: Join): void {
    this.#joins = this.#joins.filter((each) => each !== join);
  }

  #isExclusive(wanted: string): boolean {
    return this.items.some(({ key, mode }) => key === wanted && mode === "exclusive");
  }

  #needs(key: string): boolean {
    const isAsked = ({ items }: Handle): boolean => asksFor(items, key);
    return this.handles.some(isAsked) || this.#joins.some(({ asks }) => asksFor(asks, key));
  }

  // The value.

  addUpdate(update: UpdateCall): void {
    this.#updates ??= new Set();
    this.#updates.add(update);
  }

  removeUpdate(update: UpdateCall): void {
    this.#updates?.delete(update);
  }

  /** A command that gives back part of it is sent before commands that were called earlier. */
  onPassed(order: number): void {
    for (const update of this.#updates ?? []) update.onPassed(order);
  }
}

/** Shared becomes exclusive, on behalf of all joins that ask for that key when it is sent. */
export class UpgradeCall extends Call {
  readonly isStrong = true;
  readonly hold: Hold;
  readonly key: string;
  /** The joins that asked for it when it was sent. */
  #served: readonly Join[] = NO_JOINS;

  constructor(hold: Hold, key: string) {
    super();
    this.hold = hold;
    this.key = key;
  }

  override get isUnwanted(): boolean {
    return this.hold.upgrade !== this;
  }

  override get mayWait(): boolean {
    return true;
  }

  command(head: CommandHead, nowMs: number): SequencedCommand {
    const { key } = this;
    const joins = this.hold.joinsOf(key);
    this.#served = joins;
    let longestMs = 0;
    for (const { waitMs, startedMs } of joins) {
      const ms = remainingWaitMs(waitMs, startedMs, nowMs);
      longestMs =
        ms === WAIT_FOREVER || longestMs === WAIT_FOREVER ? WAIT_FOREVER : Math.max(longestMs, ms);
    }
    const detect = joins.some(({ detects }) => detects);
    return { op: OP.upgrade, ...head, target: this.hold.sequence, key, waitMs: longestMs, detect };
  }

  onResult(result: Result): void {
    if (result.status === STATUS.upgraded) this.hold.onUpgraded(this, result.token);
    else this.hold.onUpgradeRefused(this, result);
  }

  /** The joins that this answer concerns; for the others the upgrade is sent again. */
  refusedBy(status: number): readonly Join[] {
    const joins = this.hold.joinsOf(this.key);
    switch (status) {
      case ERROR_NUMBERS.LOCK_HELD:
      case ERROR_NUMBERS.LOCK_TIMEOUT:
        return joins.filter((join) => this.#served.includes(join));
      case ERROR_NUMBERS.DEADLOCK:
        return joins.filter(({ detects }) => detects);
      default:
        return joins;
    }
  }

  override onRefused(status: ErrorNumber): void {
    this.hold.onUpgradeRefused(this, { status });
  }

  onSessionLost(): void {}
}

function asksFor(asks: Join["asks"], wanted: string): boolean {
  return asks.some(({ key, mode }) => key === wanted && mode === "exclusive");
}
