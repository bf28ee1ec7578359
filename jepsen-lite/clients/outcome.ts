/**
 * What an error says about whether the operation happened. `fail` only where the cluster said that
 * it did not; everything else is unknown. Guessing `fail` would hide violations, guessing `info`
 * only costs the checker time.
 */
import { type ErrorCode, HoldfastError } from "../sdk.js";

/** The cluster refused, at its place in the log. */
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
  "DISK_FULL",
  "FORBIDDEN",
  "INVALID_ARGUMENT",
  "COMPACTED",
]);

export interface Failure {
  readonly type: "fail" | "info";
  readonly error: string;
}

/**
 * A wait that the client ended by itself, later than the table should have, was perhaps granted and
 * is then given back by a cancel: it did happen, for a moment. The client waits so long.
 */
const TABLE_ANSWER_MS_MAX = 450;

/**
 * Throws what is no operating error: a defect of the workload or of the SDK. `tookMs`: from the call
 * to the error.
 */
export function failureOf(error: unknown, tookMs: number): Failure {
  if (error instanceof HoldfastError) {
    const { waitMs } = error.details;
    const isLate = typeof waitMs === "number" && tookMs > waitMs + TABLE_ANSWER_MS_MAX;
    if (error.code === "LOCK_TIMEOUT" && isLate) return { type: "info", error: "LOCK_TIMEOUT" };
    const isDefinite =
      REFUSALS.has(error.code) ||
      (error.code === "UNAVAILABLE" && error.details["indeterminate"] === false);
    return { type: isDefinite ? "fail" : "info", error: error.code };
  }
  if (error instanceof DOMException) return { type: "info", error: error.name };
  if (error instanceof StoreUnreachable) return { type: "info", error: "STORE_UNREACHABLE" };
  throw error;
}

/** The guarded store did not answer; what was asked may have happened. */
export class StoreUnreachable extends Error {
  override readonly name = "StoreUnreachable";
}
