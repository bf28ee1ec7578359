/**
 * Whether an operation happened, judged by its error. `fail` only if the service refused it, or if the
 * client says that it was certainly not carried out; everything else is unknown. The checker compares
 * what only the client says (`denied`) with the rest of the history. A wrong `fail` would hide
 * violations; a wrong `info` only costs the checker time.
 */
import { type ErrorCode, HoldfastError } from "../sdk.js";

/** The table refused it, at its place in the log. */
const BY_THE_TABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "LOCK_HELD",
  "LOCK_TIMEOUT",
  "DEADLOCK",
  "QUEUE_FULL",
  "WRONG_KIND",
  "LIMIT_MISMATCH",
  "NOT_HELD",
  "STALE_TOKEN",
  "QUOTA",
  "FORBIDDEN",
  "INVALID_ARGUMENT",
  "COMPACTED",
]);
/** No node admitted it. */
const NOT_ADMITTED: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["BUSY", "DISK_FULL"]);

export interface Failure {
  readonly type: "fail" | "info";
  readonly error: string;
  /** For a `fail`: no answer of the table says so. */
  readonly denied?: true;
}

/** Throws any other error: it is a bug in the workload or in the SDK. */
export function failureOf(error: unknown): Failure {
  if (error instanceof HoldfastError) {
    const { code, details } = error;
    const { indeterminate, decidedBy } = details;
    if (indeterminate === true) return { type: "info", error: code };
    // A client that gives a wait up by itself says in `indeterminate` what may have become of it.
    const isTimeout = code === "LOCK_TIMEOUT" && decidedBy !== "service";
    if (BY_THE_TABLE.has(code) && !isTimeout) return { type: "fail", error: code };
    const isDenied = indeterminate === false || NOT_ADMITTED.has(code);
    return isDenied ? { type: "fail", error: code, denied: true } : { type: "info", error: code };
  }
  if (error instanceof DOMException) return { type: "info", error: error.name };
  if (error instanceof StoreUnreachable) return { type: "info", error: "STORE_UNREACHABLE" };
  throw error;
}

/** The guarded store did not answer; the request may have been carried out. */
export class StoreUnreachable extends Error {
  override readonly name = "StoreUnreachable";
}
