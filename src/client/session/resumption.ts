/**
 * Goes on with the session of another process: first tells the table what the process before may not
 * have told it, then asks what became of the rest, and only then hands it out. What was held comes
 * under new tokens; what waits keeps its place.
 */
import { ACQUIRE_DEFAULTS, RECALL_MAX, WAIT_FOREVER } from "../../protocol/index.js";
import type { Outgoing } from "../calls/outgoing.js";
import type { Caller } from "../calls/waiters.js";
import { AcquireCall } from "../locks/acquire-call.js";
import type { HeldLock } from "../locks/held-lock.js";
import { DowngradeCall, EndCall } from "../locks/hold-calls.js";
import type { Lock } from "../locks/lock.js";
import type { Locks } from "../locks/locks.js";
import type {
  ExportedHold,
  ExportedSession,
  ExportedWait,
  Loose,
} from "../options/exported-session.js";
import type { AcquireWish } from "../options/lock-options.js";
import type { Owner } from "../options/owner.js";

/** What a client got that took over a session. */
export interface Resumed {
  /**
   * What the session held, each with a new token and one handle; what ended on the way is there
   * too, with an aborted signal.
   */
  readonly locks: readonly Lock[];
  /** What it waits for, in its old places. */
  readonly waits: readonly ResumedWait[];
}

/** One request of a session that was taken over. */
export interface ResumedWait {
  readonly keys: readonly string[];
  readonly owner: Owner;
  /** Rejects like an acquire. */
  readonly lock: Promise<Lock>;
}

/** A hold or a wait. */
type Inherited = Omit<ExportedHold, "items"> & {
  readonly items: readonly { readonly key: string }[];
  readonly maxHoldMs?: number;
};

export class Resumption implements Resumed {
  readonly locks: Lock[] = [];
  readonly waits: ResumedWait[] = [];
  readonly #locks: Locks;
  readonly #outgoing: Outgoing;
  readonly #owners = new Map<number, Owner>();
  /** What is asked for when the table knows what the process before gave back. */
  #inherited: AcquireCall[] = [];
  /** What is to be told to the table first. */
  #loose: Loose | undefined;
  /** The last call of that. */
  #lastLoose = 0;
  /** What the process before knew to be answered, and the highest number before the takeover. */
  readonly #answered: number;
  #highest = 0;
  /** Up to here it was asked for what yet another process left, to end that. */
  #asked: number;
  #isAsked = false;

  constructor(exported: ExportedSession, locks: Locks, outgoing: Outgoing, nowMs: number) {
    const { loose, holds, waits } = exported;
    this.#locks = locks;
    this.#outgoing = outgoing;
    this.#loose = loose;
    this.#answered = exported.answered;
    this.#asked = this.#answered;
    for (const hold of holds) this.#inherit(hold, nowMs, this.#holder());
    for (const wait of waits) this.#inherit(wait, nowMs, this.#waiter(wait));
  }

  /** Nothing is handed out any more because of it. */
  get isDone(): boolean {
    return this.#isAsked;
  }

  /** At the end of every turn in which a connection has the session. */
  goOn(nowMs: number): void {
    this.#endLoose();
    const { keepalives, window } = this.#outgoing;
    if (this.#isAsked || keepalives.isCatchingUp || window.answeredUpTo < this.#lastLoose) return;
    const unknown = this.#nextUnknown();
    if (unknown.length > 0) {
      this.#outgoing.recall(nowMs, unknown);
      return;
    }
    this.#isAsked = true;
    for (const call of this.#inherited) this.#locks.inherit(call);
    this.#outgoing.recall(
      nowMs,
      this.#inherited.map(({ sequence }) => sequence),
    );
    this.#inherited = [];
  }

  /** The connection is gone, and with it the last answer. */
  restart(): void {
    this.#asked = this.#answered;
  }

  /** Numbers of which the process before did not know that they were executed. */
  #nextUnknown(): number[] {
    const inherited = new Set(this.#inherited.map(({ sequence }) => sequence));
    const unknown: number[] = [];
    while (this.#asked < this.#highest && unknown.length < RECALL_MAX) {
      this.#asked += 1;
      if (!inherited.has(this.#asked)) unknown.push(this.#asked);
    }
    return unknown;
  }

  #endLoose(): void {
    if (this.#loose === undefined) return;
    const { ends, downgrades } = this.#loose;
    this.#loose = undefined;
    const { window } = this.#outgoing;
    // What was not executed by now never will be.
    const isExecuted = (sequence: number): boolean => sequence <= window.resumedAt;
    for (const { sequence, key } of downgrades) {
      const target = { sequence, token: 0, items: [], onPassed: () => undefined };
      if (isExecuted(sequence)) window.enqueue(new DowngradeCall(target, key));
    }
    for (const sequence of ends.filter(isExecuted)) window.enqueue(new EndCall({ sequence }));
    this.#lastLoose = window.lastOrder;
    this.#highest = window.resumedAt;
  }

  #inherit(
    { sequence, owner: id, items, value, maxHoldMs = 0 }: Inherited,
    nowMs: number,
    caller: Caller<HeldLock | undefined>,
  ): void {
    const wish: AcquireWish = {
      items: items.map((item) => ({ limit: undefined, ...item }) as AcquireWish["items"][number]),
      owner: this.#ownerOf(id),
      waitMs: WAIT_FOREVER,
      isTry: false,
      isReentrant: false,
      signal: undefined,
      options: { ...ACQUIRE_DEFAULTS, value, maxHoldMs },
    };
    const call = new AcquireCall(this.#locks, wish, nowMs, 0, caller);
    call.sequence = sequence;
    this.#inherited.push(call);
  }

  #ownerOf(id: number): Owner {
    let owner = this.#owners.get(id);
    if (owner === undefined) {
      owner = this.#locks.ownerOf(id);
      this.#owners.set(id, owner);
    }
    return owner;
  }

  #holder(): Caller<HeldLock | undefined> {
    return {
      resolve: (lock) => this.locks.push(lock as HeldLock),
      // The session ended, of which `connect` tells.
      reject: () => undefined,
    };
  }

  #waiter({ owner, items }: ExportedWait): Caller<HeldLock | undefined> {
    let caller: Caller<HeldLock | undefined> | undefined;
    const lock = new Promise<Lock>((resolve, reject) => {
      caller = { resolve: (held) => resolve(held as HeldLock), reject };
    });
    // Nobody may look at it before it fails, and that alone is no reason to end the process.
    lock.catch(() => undefined);
    const keys = items.map(({ key }) => key);
    this.waits.push({ keys, owner: this.#ownerOf(owner), lock });
    return caller as unknown as Caller<HeldLock | undefined>;
  }
}
