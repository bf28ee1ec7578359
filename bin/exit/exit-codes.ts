/**
 * Every exit code of the `holdfast` command, in one table: what the commands return, what the help
 * shows and what the documents quote. A code is a contract with scripts; its meaning never changes.
 * `run` returns the code of its command, so these must also differ from the codes that common
 * programs use: 1 and 2 follow the shells, 124 to 127 follow `timeout` and `env`.
 */
import { constants } from "node:os";
import type { ErrorCode } from "../../src/errors/index.js";

export const EXIT = Object.freeze({
  done: 0,
  failed: 1,
  usage: 2,
  held: 3,
  noCluster: 4,
  refused: 5,
  lost: 6,
  altered: 7,
  internal: 70,
  timedOut: 124,
  notStarted: 125,
  notExecutable: 126,
  notFound: 127,
});

/** Added to the number of the signal that ended something. */
const SIGNAL_BASE = 128;

/** Each code with its meaning, as help and documents show it. */
export const EXIT_CODES: readonly (readonly [string, string])[] = [
  [`${EXIT.done}`, "done"],
  [`${EXIT.failed}`, "failed; standard error says why"],
  [`${EXIT.usage}`, "wrong usage: an invalid option or argument"],
  [`${EXIT.held}`, "another holds the lock (--conflict-exit-code changes this)"],
  [`${EXIT.noCluster}`, "no cluster could be reached, or it has no leader"],
  [`${EXIT.refused}`, "the cluster refused the request"],
  [`${EXIT.lost}`, "the lock was lost while held; a command under it was stopped"],
  [`${EXIT.altered}`, "audit verify: records are lost or were altered"],
  [`${EXIT.internal}`, "internal error (HOLDFAST_DEBUG=1 shows where)"],
  [`${EXIT.timedOut}`, "run, elect, lease, member: not done within --wait"],
  [`${EXIT.notStarted}`, "run, elect: the lock was granted, but the command could not be started"],
  [`${EXIT.notExecutable}`, "run, elect: the command was found but cannot be executed"],
  [`${EXIT.notFound}`, "run, elect: the command was not found"],
  [`${SIGNAL_BASE}+n`, "ended by signal n (130: interrupted, 143: terminated)"],
  ["other", "run, elect: the exit code of the command"],
];

/** The table as text, for `holdfast help exit-codes`. */
export function exitCodesText(): string {
  const lines = EXIT_CODES.map(([code, meaning]) => `  ${code.padEnd(7)} ${meaning}`);
  return ["Exit codes:", ...lines].join("\n");
}

/** The exit code of a process that `signal` ended. */
export function exitCodeOfSignal(signal: NodeJS.Signals): number {
  return SIGNAL_BASE + constants.signals[signal];
}

const BY_ERROR_CODE: Readonly<Record<ErrorCode, number>> = Object.freeze({
  LOCK_HELD: EXIT.held,
  LOCK_TIMEOUT: EXIT.timedOut,
  LOCK_LOST: EXIT.lost,
  DEADLOCK: EXIT.refused,
  QUEUE_FULL: EXIT.refused,
  WRONG_KIND: EXIT.refused,
  LIMIT_MISMATCH: EXIT.refused,
  NOT_HELD: EXIT.refused,
  STALE_TOKEN: EXIT.refused,
  SESSION_EXPIRED: EXIT.noCluster,
  TOO_MANY_IN_FLIGHT: EXIT.refused,
  QUOTA: EXIT.refused,
  BUSY: EXIT.refused,
  UNAVAILABLE: EXIT.noCluster,
  UNAUTHENTICATED: EXIT.refused,
  FORBIDDEN: EXIT.refused,
  INVALID_ARGUMENT: EXIT.usage,
  PROTOCOL: EXIT.refused,
  DISK_FULL: EXIT.refused,
  COMPACTED: EXIT.refused,
  INTERNAL: EXIT.internal,
  CANCELLED: EXIT.failed,
  TOKENS_EXHAUSTED: EXIT.refused,
  UNKNOWN_IDENTITY: EXIT.refused,
  LAST_ADMIN: EXIT.refused,
  OUTDATED_ORDER: EXIT.refused,
});

/** The exit code for an error of the SDK. */
export function exitCodeOfError(code: ErrorCode): number {
  return BY_ERROR_CODE[code];
}
