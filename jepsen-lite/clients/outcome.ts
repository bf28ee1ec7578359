/**
 * Whether an operation happened, judged by its error. `fail` only if the cluster said that it did
 * not; everything else is unknown. A wrong `fail` would hide violations; a wrong `info` only costs
 * the checker time.
 */
import { type ErrorCode, HoldfastError } from "../sdk.js";

/** The cluster refused it, at its place in the log, or no node ever admitted it. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "LOCK_HELD",
  "LOCK_TIMEOUT",
  "DEADLOCK",
  "QUEUE_FULL",
  "WRONG_KIND",
  "LIMIT_MISMATCH",
  "NOT_HELD",
  "STALE_TOKEN",
  "QUOTA",
  "BUSY",
  "DISK_FULL",
  "FORBIDDEN",
  "INVALID_ARGUMENT",
  "COMPACTED",
]);

export interface Failure {
  readonly type: "fail" | "info";
  readonly error: string;
}

/** Throws any other error: it is a bug in the workload or in the SDK. */
export function failureOf(error: unknown): Failure {
  if (error instanceof HoldfastError) {
    // It may have been granted, and then given back by a cancel: it did happen, for a moment.
    const isGuess = error.code === "LOCK_TIMEOUT" && error.details["decidedBy"] !== "service";
    if (isGuess) return { type: "info", error: "LOCK_TIMEOUT" };
    const isDefinite = REFUSALS.has(error.code) || error.details["indeterminate"] === false;
    return { type: isDefinite ? "fail" : "info", error: error.code };
  }
  if (error instanceof DOMException) return { type: "info", error: error.name };
  if (error instanceof StoreUnreachable) return { type: "info", error: "STORE_UNREACHABLE" };
  throw error;
}

/** The guarded store did not answer; the request may have been carried out. */
export class StoreUnreachable extends Error {
  override readonly name = "StoreUnreachable";
}
