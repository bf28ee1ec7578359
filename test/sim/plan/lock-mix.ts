/**
 * What clients do with locks, by the seed: each thing is in a plan with probability one half,
 * like the kinds of faults. Drawn from streams of their own.
 */

import type { RandomStream } from "../../../lab/random-stream.js";
import type { LockMix } from "./client-plan.js";
import type { SemaphorePlan } from "./plan.js";

const SEMAPHORE_KEYS = ["s", "t"] as const;
const LIMIT_MOST = 4;
/** The permits of one request. */
export const PERMITS_MOST = LIMIT_MOST;

const WIDE = { least: 10, most: 16 } as const;

export function semaphoresOf(random: RandomStream): SemaphorePlan[] {
  const keys = SEMAPHORE_KEYS.slice(0, random.integer(1, SEMAPHORE_KEYS.length));
  return keys.map((key) => ({ key, limit: random.integer(1, LIMIT_MOST) }));
}

/** With room for many holds, so that what is free has gaps. */
export function wideSemaphoresOf(random: RandomStream): SemaphorePlan[] {
  return SEMAPHORE_KEYS.map((key) => ({ key, limit: random.integer(WIDE.least, WIDE.most) }));
}

export function lockMixOf(random: RandomStream): LockMix {
  const share = (most: number): number => (random.chance(0.5) ? random.next() * most : 0);
  return {
    permits: share(0.6),
    priority: share(0.4),
    nested: share(0.8),
    reentrant: share(0.6),
    maxHold: share(0.3),
    minHold: share(0.3),
    lockDelay: share(0.4),
    value: share(0.5),
    steal: share(0.04),
    undetected: share(0.2),
    upgrade: share(0.35),
    downgrade: share(0.15),
    update: share(0.1),
    revoke: share(0.05),
    endSession: share(0.008),
    setLimit: share(0.03),
    handOver: share(0.1),
    adopt: share(0.2),
    depart: share(0.02),
    changeSetting: share(0.02),
    endAgain: 0,
    write: random.between(0.1, 0.4),
  };
}

export function operatorMixOf(random: RandomStream, mix: LockMix): LockMix {
  const share = (most: number): number => random.next() * most;
  return {
    ...mix,
    revoke: share(0.3),
    endSession: share(0.04),
    setLimit: share(0.15),
    changeSetting: share(0.1),
    steal: share(0.15),
  };
}
