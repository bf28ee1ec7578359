/**
 * A lock in etcd as in its own library (`concurrency.Mutex` of the client for Go): a lease that is
 * kept alive, and a key under the lock's name for each request, whose creation revision is its
 * place in the queue and its fencing token; the first key has the lock, and the end of the lease
 * deletes it. Each request has a lease of its own, as in the client for Node, so that a request of
 * unknown outcome ends with its lease. It waits by polling.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type Etcd3, EtcdLeaseInvalidError, type IRequestOp, type IResponseOp } from "etcd3";
import { LeasedLock, refused, unanswered } from "../workloads/leases/leased-lock.js";
import type { HeldLock, PlainLocks } from "../workloads/workload.js";
import { connectEtcd } from "./etcd-connection.js";
import { type Lease, LeaseKeeper } from "./etcd-lease.js";

/** Tries of one request, each at any of the members: all of them can be repeated. */
const TRIES_MAX = 4;
const ASK_AGAIN_MS = 60;
const NO_VALUE = Buffer.alloc(0);

/** One request for one lock: its key, among those under the lock's name. */
interface Place {
  readonly own: Buffer;
  readonly prefix: Buffer;
  readonly prefixEnd: Buffer;
}

/** A revision, when the request is the first in line; 0 while it waits. */
type Turn = number;

export class EtcdLocks implements PlainLocks {
  readonly session = undefined;
  readonly #etcd: Etcd3;
  readonly #ttlMs: number;

  /** `ttlMs`: rounded up to whole seconds, which is what etcd grants. */
  constructor(endpoints: readonly string[], ttlMs: number) {
    this.#ttlMs = ttlMs;
    this.#etcd = connectEtcd(endpoints);
  }

  async acquire(key: string, { waitMs }: { readonly waitMs: number }): Promise<HeldLock> {
    const endMs = performance.now() + waitMs;
    const lease = await this.#lease(key);
    const keeper = new LeaseKeeper(this.#etcd, lease);
    const place = placeOf(key);
    let isHeld = false;
    try {
      for (let turn = await this.#enter(key, place, lease); ; turn = await this.#ask(key, place)) {
        if (turn > 0) {
          isHeld = true;
          return this.#held(key, turn, lease, keeper);
        }
        if (performance.now() >= endMs) {
          await this.#revoke(key, lease);
          throw refused(key, waitMs);
        }
        await delay(ASK_AGAIN_MS);
      }
    } finally {
      if (!isHeld) keeper.stop();
    }
  }

  async close(): Promise<void> {
    this.#etcd.close();
  }

  #held(key: string, token: number, lease: Lease, keeper: LeaseKeeper): HeldLock {
    const giveBack = async () => {
      const isEnded = await this.#revoke(key, lease);
      return isEnded
        ? ({ released: true } as const)
        : ({ released: false, reason: "cancelled" } as const);
    };
    const lock = new LeasedLock({ token, untilMs: lease.untilMs, giveBack });
    keeper.onRenewal = () => lock.extend(lease.untilMs);
    lock.signal.addEventListener("abort", () => keeper.stop());
    return lock;
  }

  async #lease(key: string): Promise<Lease> {
    const TTL = Math.ceil(this.#ttlMs / 1_000);
    const askedMs = performance.now();
    const granted = await this.#call(key, () => this.#etcd.leaseClient.leaseGrant({ TTL }), false);
    const ttlMs = Number(granted.TTL) * 1_000;
    return { id: granted.ID, ttlMs, untilMs: askedMs + ttlMs };
  }

  /** Puts the key into the queue unless it is there, and returns whether it is first. */
  async #enter(key: string, place: Place, lease: Lease): Promise<Turn> {
    const { own } = place;
    const look = lookAt(place);
    const { responses, succeeded } = await this.#call(key, () =>
      this.#etcd.kv.txn({
        compare: [{ key: own, result: "Equal", target: "Create", create_revision: 0 }],
        success: [{ request_put: { key: own, value: NO_VALUE, lease: lease.id } }, ...look],
        failure: look,
      }),
    );
    return turnOf(key, place, succeeded ? responses.slice(1) : responses);
  }

  async #ask(key: string, place: Place): Promise<Turn> {
    const { responses } = await this.#call(key, () => {
      return this.#etcd.kv.txn({ compare: [], success: lookAt(place), failure: [] });
    });
    return turnOf(key, place, responses);
  }

  /** Ends the lease, and the key with it; false: it had ended. */
  async #revoke(key: string, lease: Lease): Promise<boolean> {
    let tries = 0;
    try {
      await this.#call(key, () => {
        tries += 1;
        return this.#etcd.leaseClient.leaseRevoke({ ID: lease.id });
      });
      return true;
    } catch (error) {
      if (!isLeaseGone((error as Error).cause)) throw error;
      // An earlier try may have ended it without an answer.
      if (tries > 1) throw unanswered(key, error);
      return false;
    }
  }

  /** `isIndeterminate`: whether a request without an answer may have had an effect. */
  async #call<T>(key: string, act: () => Promise<T>, isIndeterminate = true): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await act();
      } catch (error) {
        if (isLeaseGone(error) || tries >= TRIES_MAX) throw unanswered(key, error, isIndeterminate);
      }
    }
  }
}

function placeOf(key: string): Place {
  // The character after "/" ends the range of all keys that begin with it.
  const [prefix, prefixEnd] = [Buffer.from(`${key}/`), Buffer.from(`${key}0`)];
  const own = Buffer.from(`${key}/${randomBytes(12).toString("hex")}`);
  return { own, prefix, prefixEnd };
}

/** Reads the own key, and the first of all. */
function lookAt({ own, prefix, prefixEnd }: Place): IRequestOp[] {
  return [
    { request_range: { key: own } },
    {
      request_range: {
        key: prefix,
        range_end: prefixEnd,
        limit: 1,
        sort_order: "Ascend",
        sort_target: "Create",
      },
    },
  ];
}

/** `responses`: the answers to `lookAt`. */
function turnOf(key: string, { own }: Place, responses: readonly IResponseOp[]): Turn {
  const [mine, first] = responses.map(({ response_range: { kvs } }) => kvs[0]);
  // Its lease ended while it waited: it holds nothing, and never will.
  if (mine === undefined) throw unanswered(key, "the place in the queue is gone", false);
  return first?.key.equals(own) === true ? Number(mine.create_revision) : 0;
}

function isLeaseGone(error: unknown): boolean {
  return error instanceof EtcdLeaseInvalidError;
}
