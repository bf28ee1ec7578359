/**
 * Watches the grants of the load and counts violations: two conflicting holds at once, a token that
 * is not larger than the tokens it must exceed, permits beyond the limit, a slot twice. It sees
 * only the locks of this process, so every violation that it counts is a fault of the cluster or
 * the SDK, but a count of 0 proves nothing.
 *
 * Grants of several connections are read in any order. A reader's token is therefore compared only
 * with the last writer's, and a permit's only with the last one of its own slot: the fencing rule
 * of each mode. A holder is removed before its release is sent, so nothing here depends on timing.
 */
import type { Lock } from "../../src/index.js";

/** The part of a lock that it needs. */
export type WitnessedLock = Pick<Lock, "items" | "token" | "isHeld">;
type WitnessedItem = WitnessedLock["items"][number];

const RULES = ["token", "overlap", "limit", "slot"] as const;
export type Rule = (typeof RULES)[number];

/** What is known of one key. */
interface KeyRecord {
  /** Largest token of any grant, and of exclusive ones. */
  token: number;
  exclusiveToken: number;
  /** The current holder. */
  exclusive: WitnessedLock | undefined;
  readonly shared: Set<WitnessedLock>;
  /** How many permits each holder has. */
  readonly permits: Map<WitnessedLock, number>;
  /** By slot: its holder, and the largest token that had it. */
  readonly slots: Map<number, { holder: WitnessedLock; token: number }>;
}

export class GrantWitness {
  readonly violations: Record<Rule, number> = { token: 0, overlap: 0, limit: 0, slot: 0 };
  readonly #limit: number;
  readonly #keys = new Map<string, KeyRecord>();

  /** `limit`: the limit of every semaphore. */
  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
  }

  get total(): number {
    return RULES.reduce((sum, rule) => sum + this.violations[rule], 0);
  }

  /** Must be called at the grant, before anything else is done with the lock. */
  onGranted(lock: WitnessedLock): void {
    for (const item of lock.items) {
      const record = this.#recordOf(item.key);
      switch (item.mode) {
        case "exclusive":
          this.#onExclusive(record, lock);
          break;
        case "shared":
          this.#onShared(record, lock);
          break;
        case "permits":
          this.#onPermits(record, lock, item);
          break;
      }
      record.token = Math.max(record.token, lock.token);
    }
  }

  /** Must be called before the release. */
  onReleasing(lock: WitnessedLock): void {
    for (const { key, slots } of lock.items) {
      const record = this.#recordOf(key);
      if (record.exclusive === lock) record.exclusive = undefined;
      record.shared.delete(lock);
      record.permits.delete(lock);
      for (const slot of slots) {
        const taken = record.slots.get(slot);
        // Its token is remembered: the next one must be larger.
        if (taken?.holder === lock) record.slots.set(slot, { ...taken, holder: NOBODY });
      }
    }
  }

  #onExclusive(record: KeyRecord, lock: WitnessedLock): void {
    if (lock.token <= record.token) this.violations.token += 1;
    if (record.exclusive?.isHeld === true) this.violations.overlap += 1;
    for (const reader of record.shared) {
      if (reader.isHeld) this.violations.overlap += 1;
      // Lost, and not released yet.
      else record.shared.delete(reader);
    }
    record.exclusive = lock;
    record.exclusiveToken = Math.max(record.exclusiveToken, lock.token);
  }

  #onShared(record: KeyRecord, lock: WitnessedLock): void {
    if (lock.token <= record.exclusiveToken) this.violations.token += 1;
    if (record.exclusive?.isHeld === true) this.violations.overlap += 1;
    record.shared.add(lock);
  }

  #onPermits(record: KeyRecord, lock: WitnessedLock, item: WitnessedItem): void {
    record.permits.set(lock, item.permits);
    let held = 0;
    for (const [holder, permits] of record.permits) {
      if (holder === lock || holder.isHeld) held += permits;
      else record.permits.delete(holder);
    }
    if (held > this.#limit) this.violations.limit += 1;
    if (new Set(item.slots).size !== item.permits) this.violations.slot += 1;
    for (const slot of item.slots) {
      const taken = record.slots.get(slot);
      if (slot >= this.#limit || taken?.holder.isHeld === true) this.violations.slot += 1;
      if (taken !== undefined && lock.token <= taken.token) this.violations.token += 1;
      record.slots.set(slot, { holder: lock, token: Math.max(lock.token, taken?.token ?? 0) });
    }
  }

  #recordOf(key: string): KeyRecord {
    let record = this.#keys.get(key);
    if (record === undefined) {
      record = {
        token: 0,
        exclusiveToken: 0,
        exclusive: undefined,
        shared: new Set(),
        permits: new Map(),
        slots: new Map(),
      };
      this.#keys.set(key, record);
    }
    return record;
  }
}

const NOBODY: WitnessedLock = Object.freeze({ items: [], token: 0, isHeld: false });
