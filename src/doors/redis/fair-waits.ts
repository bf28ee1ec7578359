/**
 * Places in the queue for clients that poll. A client that asks again and again with one value, as
 * lock libraries do within one acquire, names a waiter by it. After its first attempt failed, the
 * door waits for the lock on its behalf, in the queue that all clients of the cluster share, and
 * answers nil meanwhile; the next attempt after the grant gets the lock. A waiter that does not
 * come again in twice its interval, at most a second, loses its place, and what was granted to it
 * is given back.
 *
 * Each wait is a request of its own, at one node. Two programs that share a value by mistake are one
 * waiter at a node, where one attempt alone gets what was granted; were they one across nodes, each
 * node would report to its own that it has the lock.
 *
 * A reply is never held back: clients share a connection, and a release would wait behind it.
 */
import type { Lease, Timer, WantedItem } from "../../client/index.js";
import { HoldfastError } from "../../errors/index.js";
import type { DoorClock } from "../clock.js";
import type { LockClient } from "./ports.js";

const GRACE_MS_MAX = 1_000;
const GRACE_INTERVALS = 2;
/** A grant that nobody comes for ends so soon, even if this node ends before that. */
const PARKED_MS_MAX = 2_000;
/** The limit of one node. Any further waiter polls as before. */
const WAITS_MAX = 20_000;

export interface FairTake {
  readonly client: LockClient;
  readonly identity: string;
  readonly item: WantedItem;
  readonly owner: string;
  readonly value: string;
  readonly ttlMs: number;
}

interface Wait {
  readonly take: FairTake;
  /** The request of its take, and of the attempt that gets the lock. */
  readonly request: string;
  readonly leaving: AbortController;
  /** `undefined` until it is granted. */
  lease: Lease | undefined;
  attemptMs: number;
  timer: Timer | undefined;
}

export class FairWaits {
  readonly #clock: DoorClock;
  readonly #nodeId: number;
  #count = 0;
  readonly #waits = new Map<string, Wait>();

  constructor(clock: DoorClock, nodeId: number) {
    this.#clock = clock;
    this.#nodeId = nodeId;
  }

  get count(): number {
    return this.#waits.size;
  }

  /** Whether that owner waits here already. */
  has(take: FairTake): boolean {
    return this.#waits.has(nameOf(take));
  }

  /** An attempt failed: waits on its behalf from now on. */
  begin(take: FairTake): void {
    const name = nameOf(take);
    if (this.#waits.has(name) || this.#waits.size >= WAITS_MAX) return;
    const leaving = new AbortController();
    this.#count += 1;
    const wait: Wait = {
      take,
      request: `wait ${this.#count} at node ${this.#nodeId}`,
      leaving,
      lease: undefined,
      attemptMs: this.#clock.monotonicMs(),
      timer: undefined,
    };
    this.#waits.set(name, wait);
    this.#giveTime(name, wait, GRACE_MS_MAX);
    const ttlMs = Math.min(take.ttlMs || PARKED_MS_MAX, PARKED_MS_MAX);
    const options = { ...optionsOf(wait), ttlMs, signal: leaving.signal };
    take.client.leases.take([take.item], options).then(
      (lease) => {
        wait.lease = lease;
        if (this.#waits.get(name) !== wait) giveBack(wait, lease);
      },
      () => {
        // Its next attempt is one like the first, and finds what ended this one.
        if (this.#waits.get(name) === wait) this.#end(name, wait);
      },
    );
  }

  /** Another attempt of one that waits. Resolves to whether it has the lock. */
  async attempt(take: FairTake): Promise<boolean> {
    const name = nameOf(take);
    const wait = this.#waits.get(name);
    if (wait === undefined) return false;
    const nowMs = this.#clock.monotonicMs();
    const intervalMs = Math.max(1, nowMs - wait.attemptMs);
    wait.attemptMs = nowMs;
    if (wait.lease === undefined) {
      this.#giveTime(name, wait, Math.min(GRACE_MS_MAX, GRACE_INTERVALS * intervalMs));
      return false;
    }
    this.#end(name, wait);
    try {
      // The same request again: the lease that was granted, from now on for the time of this attempt,
      // which may differ from the attempt that began the wait.
      const { ttlMs } = take;
      await take.client.leases.take([take.item], { ...optionsOf(wait), ttlMs, waitMs: 0 });
      return true;
    } catch (error) {
      if (error instanceof HoldfastError && error.code === "LOCK_HELD") return false;
      throw error;
    }
  }

  /** The owner gives up, or gives back. */
  leave(client: LockClient, identity: string, key: string, owner: string): void {
    if (this.#waits.size === 0) return;
    const name = nameOf({ identity, item: { key }, owner });
    const wait = this.#waits.get(name);
    if (wait === undefined || wait.take.client !== client) return;
    this.#end(name, wait);
    wait.leaving.abort();
  }

  close(): void {
    for (const [name, wait] of [...this.#waits]) this.#expire(name, wait);
  }

  #giveTime(name: string, wait: Wait, graceMs: number): void {
    wait.timer?.cancel();
    wait.timer = this.#clock.setTimer(graceMs, () => this.#expire(name, wait));
  }

  #expire(name: string, wait: Wait): void {
    this.#end(name, wait);
    if (wait.lease !== undefined) giveBack(wait, wait.lease);
    else wait.leaving.abort();
  }

  #end(name: string, wait: Wait): void {
    wait.timer?.cancel();
    this.#waits.delete(name);
  }
}

/** Nothing else of the owner: at another node, or since then, its value may have taken the lock. */
function giveBack({ take }: Wait, lease: Lease): void {
  const { client, item, owner } = take;
  // If this fails, the lease ends by itself in a moment.
  client.leases.giveBack(item.key, { owner, only: lease }).catch(() => {});
}

function optionsOf({ take: { owner, value, ttlMs }, request }: Wait) {
  return { owner, request, value, ttlMs };
}

function nameOf({ identity, item, owner }: Pick<FairTake, "identity" | "item" | "owner">): string {
  return JSON.stringify([identity, item.key, owner]);
}
