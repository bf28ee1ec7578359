/**
 * From the codes of the wire to what callers see: one place for every text.
 */
import { errorCodeOf, HoldfastError } from "../errors.js";
import { BLOCKED_BY, END_REASON, type EndReason, type Result } from "../protocol/index.js";
import type { LossReason } from "./types.js";

const LOSS_REASONS = new Map(
  (Object.keys(END_REASON) as LossReason[]).map((name) => [END_REASON[name], name]),
);

export function lossReasonOf(reason: EndReason): LossReason {
  return LOSS_REASONS.get(reason) ?? "unknown";
}

const LOSS_TEXTS: Readonly<Record<LossReason, string>> = {
  released: "was released",
  expired: "may have expired: its lease was not renewed in time",
  closed: "ended with its client",
  cancelled: "was cancelled",
  maxHold: "was held for as long as it may be",
  revoked: "was revoked",
  stolen: "was stolen",
  unknown: "is not held any more",
};

/** The reason of `lock.signal` and of everything that needed the lock. */
export function lockLost(key: string, token: number, reason: LossReason): HoldfastError {
  const details = { key, token, reason };
  return new HoldfastError("LOCK_LOST", `lock ${quote(key)} ${LOSS_TEXTS[reason]}`, { details });
}

const BLOCKED_BY_NAMES: ReadonlyMap<number, string> = new Map(
  (Object.keys(BLOCKED_BY) as (keyof typeof BLOCKED_BY)[]).map((name) => [BLOCKED_BY[name], name]),
);

/** Why an acquire of `key` failed. */
export function acquireFailure(key: string, result: Result): HoldfastError {
  const code = errorCodeOf(result.status);
  if (code === undefined) {
    return new HoldfastError("PROTOCOL", `lock ${quote(key)}: unknown status ${result.status}`);
  }
  const blockedBy =
    "blockedBy" in result ? BLOCKED_BY_NAMES.get(result.blockedBy ?? -1) : undefined;
  const blockers = "blockers" in result ? result.blockers : undefined;
  const details = {
    key,
    ...(blockedBy === undefined ? {} : { blockedBy }),
    ...(blockers === undefined ? {} : { blockers }),
  };
  return new HoldfastError(code, `lock ${quote(key)}: ${ACQUIRE_TEXTS[code] ?? code}`, { details });
}

const ACQUIRE_TEXTS: Readonly<Record<string, string>> = {
  LOCK_HELD: "held or waited for by another",
  LOCK_TIMEOUT: "not granted in time",
  DEADLOCK: "waiting for it would never end",
  QUEUE_FULL: "too many wait for it",
  SESSION_EXPIRED: "the session expired",
  CANCELLED: "the request was cancelled",
  BUSY: "the cluster is busy",
};

export function lockTimeout(key: string, waitMs: number): HoldfastError {
  const details = { key, waitMs };
  return new HoldfastError("LOCK_TIMEOUT", `lock ${quote(key)}: not granted in ${waitMs} ms`, {
    details,
  });
}

/** `indeterminate`: what was asked for may have happened all the same. */
export function unavailable(what: string, why: string, indeterminate = false): HoldfastError {
  return new HoldfastError("UNAVAILABLE", `${what}: ${why}`, { details: { indeterminate } });
}

/** The session in which something waited is gone, and with it its place in the queue. */
export function sessionExpired(key: string): HoldfastError {
  const text = `lock ${quote(key)}: the session expired while waiting; nothing is held`;
  return new HoldfastError("SESSION_EXPIRED", text, { details: { key } });
}

export function clientClosed(): HoldfastError {
  return new HoldfastError("CANCELLED", "the client is closed");
}

/** The platform's shape of an abort that nobody has to worry about. */
export function releasedAbort(key: string): Error {
  return new DOMException(`lock ${quote(key)} was released`, "AbortError");
}

function quote(key: string): string {
  return JSON.stringify(key);
}
