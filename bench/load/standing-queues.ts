/**
 * Locks with queues that are kept at a length: waiters join them, leave them, and are handed the
 * locks, each kind in a batch whose end is known. Each waiter is a task of its own in one of a few
 * sessions.
 *
 * That a waiter stands in the queue is nothing an application is told. But the commands of a session
 * are applied in the order in which they were called, so after each batch every session tries for a
 * lock that it cannot have: when that is refused, all before it was applied.
 */
import type { Client, Lock } from "../../src/index.js";
import { GrantWitness } from "./grant-witness.js";

/** Calls of one batch, so that the loop of this process is not held up for long. */
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
  /** In the order of the calls; who has left may still be among them. */
  waiters: Waiter[];
  /** How many of them have. */
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
  /** Why a waiter left that should not have. */
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

  /** Takes the locks; nobody waits for them yet. `signal` makes whatever is under way reject. */
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

  /** Who waits, over all queues. Also frees the lists of who has left: work that is not to be timed. */
  count(): number {
    for (const queue of this.#queues) compact(queue);
    return this.#queues.reduce((sum, { waiters }) => sum + waiters.length, 0);
  }

  /** Grants in a wrong order, or with a wrong token. */
  get violations(): number {
    return this.#outOfOrder + this.#witness.total;
  }

  /** Resolves when `count` more, as many in each queue, stand there. */
  async enqueue(count: number): Promise<void> {
    const queues = this.#queues.length;
    for (let left = count; left > 0; left -= BATCH_MAX) {
      const batch = Math.min(left, BATCH_MAX);
      for (let index = 0; index < batch; index += 1) {
        // Each session is in each queue: the numbers of both need not be prime to each other.
        const session = Math.floor(index / queues) % this.#clients.length;
        this.#join(this.#queues[index % queues] as Queue, session);
      }
      await this.#applied();
    }
  }

  /** Resolves when `count` of them, as many of each queue and spread over all of it, have left. */
  async cancel(count: number): Promise<void> {
    const ofEach = count / this.#queues.length;
    await this.#cancelAll(this.#queues.flatMap((queue) => spread(queue, ofEach)));
  }

  /** Resolves when `count` locks were handed over, one after the other, each queue in its turn. */
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

  /** All leave, then the locks are given back. Nothing of them is left in the table. */
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
    // Cancelled, which is what was wanted.
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

  /** Resolves when all that was called before has been applied. */
  async #applied(): Promise<void> {
    const options = { signal: this.#signal };
    const markers = this.#clients.map((client) => client.tryAcquire(this.#markerKey, options));
    for (const lock of await Promise.all(markers)) {
      if (lock !== undefined) throw new Error("the marker was granted twice");
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Resolves when a waiter was told something. */
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

/** So many of those who wait, from the first to the last; at most all. */
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
  if (holder === undefined) throw new Error(`nobody holds ${queue.key}`);
  queue.holder = undefined;
  return holder;
}
