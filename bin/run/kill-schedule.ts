/**
 * When a command that runs under a lock must be asked to end, and when it must be gone. Pure
 * arithmetic on milliseconds; nothing here reads a clock.
 *
 * The lock is given up at a local deadline that moves forward with every renewal of the lease.
 * SIGTERM is due early enough before it for the whole grace period; SIGKILL is due at the deadline
 * itself, which is a safety margin before the cluster can grant the lock to another task.
 */

export type KillStep =
  /** Look again then: the lease may have been renewed. */
  | { readonly action: "wait"; readonly forMs: number }
  /** Too late to wait for a renewal: end the command, and kill it `killAfterMs` later. */
  | { readonly action: "terminate"; readonly killAfterMs: number };

/** `remainingMs`: until the lock is given up unless it is renewed; 0 or less when it is lost. */
export function killStep(remainingMs: number, killGraceMs: number): KillStep {
  const forMs = remainingMs - killGraceMs;
  if (forMs > 0) return { action: "wait", forMs };
  return { action: "terminate", killAfterMs: Math.max(0, Math.min(remainingMs, killGraceMs)) };
}

export interface LeaseRoom {
  readonly ttlMs: number;
  readonly killGraceMs: number;
  /** How long before the cluster this side gives a lock up: 10 % of the TTL, at least 250 ms. */
  readonly marginMs: number;
  /** The lease is renewed a quarter of the TTL after the last renewal. */
  readonly keepaliveMs: number;
  /** The TTL must be larger than this, or a command would be ended between two renewals. */
  readonly neededMs: number;
}

/** What is subtracted from a span of time before it is trusted here. */
function marginOf(spanMs: number): number {
  return Math.max(spanMs / 10, 250);
}

/** How a TTL is used up. */
export function leaseRoom(ttlMs: number, killGraceMs: number): LeaseRoom {
  const marginMs = marginOf(ttlMs);
  const keepaliveMs = ttlMs / 4;
  return {
    ttlMs,
    killGraceMs,
    marginMs,
    keepaliveMs,
    neededMs: killGraceMs + marginMs + keepaliveMs,
  };
}

/** Whether a command has its grace period even right before a renewal. */
export function hasRoomForGrace(room: LeaseRoom): boolean {
  return room.ttlMs > room.neededMs;
}

export interface CapRoom {
  readonly marginMs: number;
  /** `--max-hold` must be larger than this, or a command would be ended as soon as it begins. */
  readonly neededMs: number;
}

/** How `--max-hold` is used up. */
export function capRoom(maxHoldMs: number, killGraceMs: number): CapRoom {
  const marginMs = marginOf(maxHoldMs);
  return { marginMs, neededMs: killGraceMs + marginMs };
}

/**
 * Whether a hold that ends in `remainingMs` and has lasted for `heldMs` ends by `--max-hold`, which
 * no renewal of the lease extends. The figures may be as old as a keepalive interval.
 */
export function endsByCap(
  maxHoldMs: number | undefined,
  ttlMs: number,
  heldMs: number,
  remainingMs: number,
): boolean {
  if (maxHoldMs === undefined) return false;
  return heldMs + remainingMs >= maxHoldMs - marginOf(maxHoldMs + ttlMs);
}
