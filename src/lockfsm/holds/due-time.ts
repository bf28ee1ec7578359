/**
 * When a hold ends by itself while its session lives: at its maximum duration, at the forced end of
 * a revoke, or, if an owner has it, when its lease is over. One due time represents the earliest of
 * these.
 */
import { END_REASON, type EndReason } from "../../protocol/index.js";
import { type Hold, HoldEnd, type HoldExtras } from "../records/hold.js";
import type { TableState } from "../records/state.js";

/** In cluster time; `undefined` if it ends only with its session. */
export function endOf(hold: Hold): number | undefined {
  const { extras } = hold;
  return extras === undefined ? undefined : earliest(hold, extras);
}

/** Whether it has ended, and is still in the table only because it has not been swept. */
export function isDue({ stamp }: TableState, hold: Hold): boolean {
  const endsAt = endOf(hold);
  return endsAt !== undefined && endsAt <= stamp;
}

/** Must be called after any change of these times. */
export function scheduleEnd(state: TableState, hold: Hold): void {
  const { extras } = hold;
  if (extras === undefined) return;
  const dueAt = earliest(hold, extras);
  const { end } = extras;
  if (end?.dueAt === dueAt) return;
  if (end !== undefined) state.due.remove(end);
  const next = dueAt === undefined ? undefined : new HoldEnd(hold, dueAt, state.takeNumber());
  hold.changeExtras().end = next;
  if (next !== undefined) state.due.add(next);
}

/** Must be called when the hold has ended. */
export function cancelEnd(state: TableState, hold: Hold): void {
  const end = hold.extras?.end;
  if (end === undefined) return;
  state.due.remove(end);
  hold.changeExtras().end = undefined;
}

/**
 * Why a hold that is due now ends: the earliest cause. Among equally early ones a revoke comes
 * first, then the maximum duration.
 */
export function reasonAtEnd(hold: Hold): EndReason {
  const { extras } = hold;
  const dueAt = extras === undefined ? undefined : earliest(hold, extras);
  if (extras?.revokedAt === dueAt) return END_REASON.revoked;
  return capOf(hold, extras) === dueAt ? END_REASON.maxHold : END_REASON.expired;
}

function earliest(hold: Hold, extras: HoldExtras): number | undefined {
  const { revokedAt, lease } = extras;
  const leaseEndsAt = lease?.endsAt ?? 0;
  let first = capOf(hold, extras);
  if (revokedAt > 0) first = Math.min(first ?? revokedAt, revokedAt);
  if (leaseEndsAt > 0) first = Math.min(first ?? leaseEndsAt, leaseEndsAt);
  return first;
}

function capOf({ grantedAt }: Hold, extras: HoldExtras | undefined): number | undefined {
  const maxHoldMs = extras?.maxHoldMs ?? 0;
  return maxHoldMs > 0 ? grantedAt + maxHoldMs : undefined;
}
