/**
 * Locks with queues of constant length: waiters join them, leave them, and are handed the locks,
 * each operation in a batch with a known end. Each waiter is a task of its own in one of a few
 * sessions.
 *
 * An application does not learn when its waiter has joined the queue. But the commands of a session
 * are applied in the order in which they were called, so after each batch every session tries a
 * lock that it cannot get: when that is refused, all earlier commands have been applied.
 */
import type { Client, Lock } from "../../src/index.js";
import { GrantWitness } from "./grant-witness.js";

/** Calls of one batch, so that the event loop of this process is not blocked for long. */
const BATCH_MAX = 10_000;

interface Waiter {
  readonly queue: Queue;
  readonly session: number;
  /** Rises within a session; so must the grants of one lock. */
  readonly number: number;
  readonly cancel: AbortController;
  hasLeft: boolean;
}

/** One lock. */
interface Queue {
  readonly key: string;
  /** In the order of the calls; waiters that have left may still be in it. */
  waiters: Waiter[];
  /** How many of them have left. */
  left: number;
  /** By session: the number that was granted last. */
  readonly lastGranted: number[];
  holder: Lock | undefined;
}

export class StandingQueues {
  readonly #clients: readonly Client[];
  readonly #markerKey: string;
  readonly #signal: AbortSignal;
  readonly #witness = new GrantWitness();
  readonly #queues: readonly Queue[];
  #marker: Lock | undefined;
  #lastNumber = 0;
  #outOfOrder = 0;
  /** Why a waiter ended that should have stayed. */
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  private constructor(
    clients: readonly Client[],
    prefix: string,
    locks: number,
    signal: AbortSignal,
  ) {
    this.#clients = clients;
    this.#markerKey = `${prefix}/marker`;
    this.#signal = signal;
    this.#queues = Array.from({ length: locks }, (_, index) => {
      return {
        key: `${prefix}/${index}`,
        waiters: [],
        left: 0,
        lastGranted: [],
        holder: undefined,
      };
    });
  }

  /** Takes the locks; no request waits for them yet. `signal` makes all open calls reject. */
  static async open(
    clients: readonly Client[],
    prefix: string,
    locks: number,
    signal: AbortSignal,
  ): Promise<StandingQueues> {
    const opened = new StandingQueues(clients, prefix, locks, signal);
    opened.#marker = await opened.#client(0).acquire(opened.#markerKey, { signal });
    for (const queue of opened.#queues) {
      queue.holder = await opened.#client(0).acquire(queue.key, { signal });
      opened.#witness.onGranted(queue.holder);
    }
    return opened;
  }

  /**
   * The number of waiters, over all queues. Also removes those that have left from the lists, which
   * should not be timed.
   */
  count(): number {
    for (const queue of this.#queues) compact(queue);
    return this.#queues.reduce((sum, { waiters }) => sum + waiters.length, 0);
  }

  /** Grants in a wrong order, or with a wrong token. */
  get violations(): number {
    return this.#outOfOrder + this.#witness.total;
  }

  /** Resolves when `count` more waiters have joined, equally many per queue. */
  async enqueue(count: number): Promise<void> {
    const queues = this.#queues.length;
    for (let left = count; left > 0; left -= BATCH_MAX) {
      const batch = Math.min(left, BATCH_MAX);
      for (let index = 0; index < batch; index += 1) {
        // Each session is in each queue: the two numbers need not be coprime.
        const session = Math.floor(index / queues) % this.#clients.length;
        this.#join(this.#queues[index % queues] as Queue, session);
      }
      await this.#applied();
    }
  }

  /** Resolves when `count` waiters have left, equally many per queue and spread over all of it. */
  async cancel(count: number): Promise<void> {
    const ofEach = count / this.#queues.length;
    await this.#cancelAll(this.#queues.flatMap((queue) => spread(queue, ofEach)));
  }

  /** Resolves when `count` locks were handed over, one after the other, by each queue in turn. */
  async handOver(count: number): Promise<void> {
    const releases: Promise<{ readonly released: boolean }>[] = [];
    for (let index = 0; index < count; index += 1) {
      const queue = this.#queues[index % this.#queues.length] as Queue;
      const holder = takeHolder(queue);
      this.#witness.onReleasing(holder);
      releases.push(holder.release());
      while (queue.holder === undefined) await this.#news();
    }
    for (const { released } of await Promise.all(releases)) {
      if (!released) throw new Error("a lock was lost before it was handed over");
    }
  }

  /** All waiters leave, then the locks are released. Nothing of them is left in the table. */
  async close(): Promise<void> {
    const all = this.#queues.flatMap((queue) => spread(queue, queue.waiters.length));
    for (let start = 0; start < all.length; start += BATCH_MAX) {
      await this.#cancelAll(all.slice(start, start + BATCH_MAX));
    }
    const held = this.#queues.map(takeHolder);
    await Promise.all([this.#marker, ...held].map((lock) => lock?.release()));
  }

  #join(queue: Queue, session: number): void {
    this.#lastNumber += 1;
    const cancel = new AbortController();
    const waiter: Waiter = { queue, session, number: this.#lastNumber, cancel, hasLeft: false };
    queue.waiters.push(waiter);
    this.#client(session)
      .acquire(queue.key, { signal: cancel.signal })
      .then(
        (lock) => this.#onGranted(waiter, lock),
        (error) => this.#onRejected(waiter, error),
      );
  }

  #onGranted(waiter: Waiter, lock: Lock): void {
    const { queue, number, session } = waiter;
    this.#witness.onGranted(lock);
    if (number <= (queue.lastGranted[session] ?? 0)) this.#outOfOrder += 1;
    queue.lastGranted[session] = number;
    leave(waiter);
    queue.holder = lock;
    this.#wake?.();
  }

  #onRejected(waiter: Waiter, error: unknown): void {
    // Cancelled, as intended.
    if (waiter.hasLeft) return;
    this.#failure ??= error instanceof Error ? error : new Error(String(error));
    this.#wake?.();
  }

  async #cancelAll(waiters: readonly Waiter[]): Promise<void> {
    for (const waiter of waiters) {
      leave(waiter);
      waiter.cancel.abort();
    }
    await this.#applied();
  }

  /** Resolves when all earlier calls have been applied. */
  async #applied(): Promise<void> {
    const options = { signal: this.#signal };
    const markers = this.#clients.map((client) => client.tryAcquire(this.#markerKey, options));
    for (const lock of await Promise.all(markers)) {
      if (lock !== undefined) throw new Error("the marker was granted twice");
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Resolves when a waiter has ended. */
  #news(): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        this.#wake = undefined;
        this.#signal.removeEventListener("abort", onAbort);
        settle();
      };
      const onAbort = () => end(() => reject(this.#signal.reason));
      this.#wake = () =>
        end(() => (this.#failure === undefined ? resolve() : reject(this.#failure)));
      this.#signal.addEventListener("abort", onAbort);
      if (this.#signal.aborted) onAbort();
      else if (this.#failure !== undefined) this.#wake();
    });
  }

  #client(session: number): Client {
    const client = this.#clients[session];
    if (client === undefined) throw new RangeError(`no session ${session}`);
    return client;
  }
}

/** This many waiters, spread from the first to the last; at most all. */
function spread(queue: Queue, count: number): Waiter[] {
  compact(queue);
  const { waiters } = queue;
  const step = waiters.length / Math.min(count, waiters.length);
  return Array.from(
    { length: Math.min(count, waiters.length) },
    (_, index) => waiters[Math.floor(index * step)] as Waiter,
  );
}

function leave(waiter: Waiter): void {
  waiter.hasLeft = true;
  waiter.queue.left += 1;
}

function compact(queue: Queue): void {
  if (queue.left === 0) return;
  queue.waiters = queue.waiters.filter(({ hasLeft }) => !hasLeft);
  queue.left = 0;
}

function takeHolder(queue: Queue): Lock {
  const { holder } = queue;
  if (holder === undefined) throw new Error(`${queue.key} is not held`);
  queue.holder = undefined;
  return holder;
}
