/**
 * The lock operations of workloads, recorded by the names of the lock model. What the client itself
 * notices about a hold (a loss, a renewal of the lease) is noted too, because the checks of time
 * and exclusion need it.
 */
import { trueMs } from "../clocks/clock-rate.js";
import { HoldfastError, type LockMode, type ReleaseResult } from "../sdk.js";
import type { HeldLock, PlainWorker } from "./workload.js";

const NANOSECONDS = 1_000_000;
/** How often a lease is checked while a lock is held. */
const LOOK_MS = 100;
/** The smallest extension of a lease that is noted. */
const RENEWED_MS_MIN = 150;

export interface Wish {
  readonly mode?: LockMode;
  readonly permits?: number;
  readonly limit?: number;
  readonly items?: readonly unknown[];
  readonly waitMs?: number;
  readonly priority?: number;
  readonly reentrant?: boolean;
  readonly steal?: boolean;
  readonly maxHoldMs?: number;
}

/**
 * `act` asks the SDK for what `wish` describes. It gets a mark that nobody else uses: as the value of
 * the hold, it shows others whose it is. `undefined`: not granted, or unknown.
 */
export async function acquire<L extends HeldLock>(
  worker: PlainWorker,
  key: string | undefined,
  wish: Wish,
  act: (mark: string) => Promise<L>,
  task?: number,
): Promise<L | undefined> {
  const mark = `m${worker.unique()}`;
  const operation = {
    f: "acquire",
    value: { ...wish, ttlMs: worker.ttlMs, mark },
    ...(key === undefined ? {} : { key }),
    ...(task === undefined ? {} : { task }),
  };
  const lock = await worker.record(
    operation,
    () => act(mark),
    (granted) => grantOf(worker, granted),
  );
  if (lock !== undefined) noteLoss(worker, lock, key);
  return lock;
}

/** A grant as it is recorded in the history. */
export function grantOf(worker: PlainWorker, lock: HeldLock): unknown {
  const slots = lock.items.filter((item) => item.slots.length > 0);
  return {
    token: lock.token,
    untilNs: untilNs(worker, lock),
    ...(slots.length === 0
      ? {}
      : { slots: Object.fromEntries(slots.map((item) => [item.key, item.slots])) }),
  };
}

export async function release(worker: PlainWorker, lock: HeldLock, key?: string): Promise<void> {
  const operation = { f: "release", value: { token: lock.token }, ...keyed(key) };
  await worker.record(operation, async () => definite(await lock.release()));
}

/** Holds for this long, or until it is lost; notes renewals of the lease on the way. */
export async function hold(
  worker: PlainWorker,
  lock: HeldLock,
  milliseconds: number,
): Promise<void> {
  const endMs = performance.now() + milliseconds;
  let seenUntilNs = untilNs(worker, lock);
  for (;;) {
    const restMs = endMs - performance.now();
    if (restMs <= 0 || worker.signal.aborted || !lock.isHeld) return;
    await worker.sleep(Math.min(restMs, LOOK_MS));
    const until = untilNs(worker, lock);
    if (!lock.isHeld || until < seenUntilNs + RENEWED_MS_MIN * NANOSECONDS) continue;
    seenUntilNs = until;
    noteRenewal(worker, lock);
  }
}

export function noteRenewal(worker: PlainWorker, lock: HeldLock): void {
  if (!lock.isHeld) return;
  worker.note({ f: "renewed", value: { token: lock.token, untilNs: untilNs(worker, lock) } });
}

/**
 * The client's own deadline: until then it is certain of the hold. 0: it is over already, because
 * only the SDK knows when that was.
 */
function untilNs(worker: PlainWorker, lock: HeldLock): number {
  // The clock is read first: a pause in between makes this earlier than the deadline, never later.
  const nowNs = worker.now();
  const { remainingMs } = lock;
  return remainingMs > 0 ? nowNs + Math.floor(trueMs(remainingMs) * NANOSECONDS) : 0;
}

export function noteLoss(worker: PlainWorker, lock: HeldLock, key: string | undefined): void {
  const { signal } = lock;
  signal.addEventListener("abort", () => {
    const error: unknown = signal.reason;
    // A release aborts the signal too, and is recorded as such.
    if (!(error instanceof HoldfastError) || error.code !== "LOCK_LOST") return;
    const { token } = lock;
    worker.note({ f: "lost", value: { token, reason: error.details["reason"] }, ...keyed(key) });
  });
}

/** For these reasons a client gives a hold up by its own clock, before the table ends it. */
const BY_OWN_CLOCK: ReadonlySet<string> = new Set(["expired", "maxHold", "revoked"]);

/** The result of a release that could not be sent, or was not, is not an answer of the cluster. */
function definite(result: ReleaseResult): ReleaseResult {
  if (!result.released && (result.reason === "unknown" || BY_OWN_CLOCK.has(result.reason))) {
    throw new HoldfastError("UNAVAILABLE", `not released: ${result.reason}`, {
      details: { indeterminate: true },
    });
  }
  return result;
}

function keyed(key: string | undefined): { key?: string } {
  return key === undefined ? {} : { key };
}
