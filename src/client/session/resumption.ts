/**
 * Continues the session of another process. It first tells the table what that process may not have
 * told it, then asks for the fate of the rest, and only then hands out locks and waits. Holds get
 * new tokens; waits keep their places.
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

/** The locks and waits of a session that a client took over. */
export interface Resumed {
  /**
   * The holds of the session, each with a new token and one handle. A hold that ended on the way is
   * included, with an aborted signal.
   */
  readonly locks: readonly Lock[];
  /** The requests that wait, in their old places. */
  readonly waits: readonly ResumedWait[];
}

/** One waiting request of a session that was taken over. */
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
  /** The calls to ask for when the table knows what the previous process gave back. */
  #inherited: AcquireCall[] = [];
  /** What the table must be told first. */
  #loose: Loose | undefined;
  /** The order of the last of those calls. */
  #lastLoose = 0;
  /**
   * The highest number that the previous process knew to be answered, and the highest before the
   * takeover.
   */
  readonly #answered: number;
  #highest = 0;
  /** Up to this number, what yet another process left behind was asked for, in order to end it. */
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

  /** Whether it has finished: nothing more will be handed out because of it. */
  get isDone(): boolean {
    return this.#isAsked;
  }

  /** Called at the end of every turn in which a connection has the session. */
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

  /** Numbers that the previous process did not know to be executed. */
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
    // A number that was not executed by now never will be.
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
      // The session ended; `connect` rejects because of that.
      reject: () => undefined,
    };
  }

  #waiter({ owner, items }: ExportedWait): Caller<HeldLock | undefined> {
    let caller: Caller<HeldLock | undefined> | undefined;
    const lock = new Promise<Lock>((resolve, reject) => {
      caller = { resolve: (held) => resolve(held as HeldLock), reject };
    });
    // A caller may read it only after it has failed; that alone must not end the process.
    lock.catch(() => undefined);
    const keys = items.map(({ key }) => key);
    this.waits.push({ keys, owner: this.#ownerOf(owner), lock });
    return caller as unknown as Caller<HeldLock | undefined>;
  }
}
