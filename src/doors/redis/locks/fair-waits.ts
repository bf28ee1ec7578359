/**
 * Places in the queue for clients that poll. A client that asks again and again with one value, as
 * lock libraries do within one acquire, names a waiter by it. After its first attempt failed, the
 * door waits for the lock on its behalf, in the queue that all clients of the cluster share, and
 * answers nil meanwhile; the next attempt after the grant gets the lock. A waiter that does not
 * come again in twice its interval, at most a second, loses its place, and what was granted to it
 * is given back (`kept-take.ts`).
 *
 * Each wait is a request of its own, at one node. Two programs that share a value by mistake are one
 * waiter at a node, where one attempt alone gets what was granted; were they one across nodes, each
 * node would report to its own that it has the lock.
 *
 * A reply is never held back: clients share a connection, and a release would wait behind it.
 */
import type { WantedItem } from "../../../client/index.js";
import { HoldfastError } from "../../../errors/index.js";
import type { DoorClock } from "../../clock.js";
import { KeptTake } from "../../kept-take.js";
import type { LockClient } from "../ports.js";

const GRACE_MS_MAX = 1_000;
const GRACE_INTERVALS = 2;
/** A grant that nobody comes for ends so soon, even if this node ends before that. */
const UNCLAIMED_MS_MAX = 2_000;
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

interface FairWait {
  readonly client: LockClient;
  readonly kept: KeptTake;
  /** The request of its take, and of the attempt that gets the lock. */
  readonly request: string;
  attemptMs: number;
}

export class FairWaits {
  readonly #clock: DoorClock;
  readonly #nodeId: number;
  #count = 0;
  readonly #waits = new Map<string, FairWait>();

  constructor(clock: DoorClock, nodeId: number) {
    this.#clock = clock;
    this.#nodeId = nodeId;
  }

  get count(): number {
    return this.#waits.size;
  }

  /** Whether that owner waits here already. */
  has(take: FairTake): boolean {
    return this.#find(take) !== undefined;
  }

  /** An attempt failed: waits on its behalf from now on. */
  begin(take: FairTake): void {
    if (this.has(take) || this.#waits.size >= WAITS_MAX) return;
    const { client, item, owner, value } = take;
    this.#count += 1;
    const request = `wait ${this.#count} at node ${this.#nodeId}`;
    const ttlMs = Math.min(take.ttlMs || UNCLAIMED_MS_MAX, UNCLAIMED_MS_MAX);
    const kept = new KeptTake(this.#clock, client.leases, [item], { owner, request, value, ttlMs });
    const wait: FairWait = { client, kept, request, attemptMs: this.#clock.monotonicMs() };
    const name = nameOf(take);
    this.#waits.set(name, wait);
    kept.leave(GRACE_MS_MAX);
    kept.over.then(() => {
      if (this.#waits.get(name) === wait) this.#waits.delete(name);
    });
  }

  /** Another attempt of one that waits. Resolves to whether it has the lock. */
  async attempt(take: FairTake): Promise<boolean> {
    const wait = this.#find(take);
    if (wait === undefined) return false;
    const { kept, request } = wait;
    const nowMs = this.#clock.monotonicMs();
    const intervalMs = Math.max(1, nowMs - wait.attemptMs);
    wait.attemptMs = nowMs;
    if (kept.lease === undefined) {
      kept.leave(Math.min(GRACE_MS_MAX, GRACE_INTERVALS * intervalMs));
      return false;
    }
    kept.claim();
    const { client, item, owner, value, ttlMs } = take;
    try {
      // The same request again: the lease that was granted, from now on for the time of this attempt,
      // which may differ from the attempt that began the wait.
      await client.leases.take([item], { owner, request, value, ttlMs, waitMs: 0 });
      return true;
    } catch (error) {
      if (error instanceof HoldfastError && error.code === "LOCK_HELD") return false;
      throw error;
    }
  }

  /** The owner gives up, or gives back: what was granted to it ends with what it has. */
  leave(client: LockClient, identity: string, key: string, owner: string): void {
    if (this.#waits.size === 0) return;
    const wait = this.#find({ identity, item: { key }, owner });
    if (wait?.client !== client) return;
    if (wait.kept.lease === undefined) wait.kept.withdraw();
    else wait.kept.claim();
  }

  close(): void {
    for (const { kept } of this.#waits.values()) kept.withdraw();
  }

  #find(named: Named): FairWait | undefined {
    const wait = this.#waits.get(nameOf(named));
    return wait?.kept.isEnded === true ? undefined : wait;
  }
}

type Named = Pick<FairTake, "identity" | "item" | "owner">;

function nameOf({ identity, item, owner }: Named): string {
  return JSON.stringify([identity, item.key, owner]);
}
