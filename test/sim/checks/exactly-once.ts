/**
 * Calls of applications against the log. Each acquire carries a value that no other has, so that the
 * log shows what became of it, under whichever sequence it was sent: it was executed once or never,
 * its caller is told what happened, and what is said not to have happened never does.
 */
import { ERROR_NUMBERS, type ErrorCode } from "../../../src/errors.js";
import { type Result, STATUS } from "../../../src/protocol/index.js";
import type { CallEnding } from "../clients/client-watch.js";
import type { Fail } from "./violation.js";

/** Values of holds that begin so are those of a call. */
export const MARKER = "call ";

/** Refusals that only an entry can decide: the log must show the same one. */
const DECIDED: readonly ErrorCode[] = [
  "LOCK_HELD",
  "DEADLOCK",
  "QUEUE_FULL",
  "WRONG_KIND",
  "LIMIT_MISMATCH",
  "QUOTA",
  "INVALID_ARGUMENT",
];
/** These are decided by the client, or leave open what happened. */
const OPEN_ENDED: readonly ErrorCode[] = [
  "LOCK_TIMEOUT",
  "SESSION_EXPIRED",
  "UNAVAILABLE",
  "BUSY",
  "DISK_FULL",
  "CANCELLED",
  "LOCK_LOST",
];

interface CallRecord {
  /** Session and sequence that executed it. */
  call: string;
  result: Result | undefined;
  /** Its caller knows that it never happened. */
  isExcluded: boolean;
}

export class ExactlyOnce {
  readonly #fail: Fail;
  readonly #calls = new Map<string, CallRecord>();

  constructor(fail: Fail) {
    this.#fail = fail;
  }

  /** An entry executed it, or ended its wait. `call`: session and sequence. */
  onAnswered(marker: string, call: string, result: Result): void {
    // Said of a sequence that was never executed.
    const { status } = result;
    if (status === ERROR_NUMBERS.SESSION_EXPIRED || status === ERROR_NUMBERS.CANCELLED) return;
    const record = this.#of(marker);
    if (record.call !== "" && record.call !== call) {
      this.#complain(`"${marker}" is executed as ${record.call} and as ${call}`);
    }
    if (record.isExcluded) this.#complain(`"${marker}" was said not to happen, and is executed`);
    record.call = call;
    record.result = result;
  }

  onCallEnded(marker: string, ending: CallEnding): void {
    const record = this.#of(marker);
    const status = record.result?.status;
    switch (ending.kind) {
      case "granted":
        if (record.result?.status !== STATUS.granted) {
          this.#complain(`"${marker}" has ${ending.token}, the log says ${status}`);
        } else if (ending.token < record.result.token) {
          this.#complain(`"${marker}" has ${ending.token}, the log ${record.result.token}`);
        }
        return;
      case "none":
        this.#demand(marker, status, "LOCK_HELD");
        return;
      case "aborted":
        return;
      case "failed":
        this.#onFailed(marker, record, ending.code, ending.isDefinite);
    }
  }

  #onFailed(marker: string, record: CallRecord, code: ErrorCode, isDefinite: boolean): void {
    if (DECIDED.includes(code)) this.#demand(marker, record.result?.status, code);
    else if (!OPEN_ENDED.includes(code)) this.#complain(`"${marker}" fails with ${code}`);
    if (!isDefinite) return;
    record.isExcluded = true;
    if (record.call !== "") {
      this.#complain(`"${marker}" is said not to happen, and was executed as ${record.call}`);
    }
  }

  #demand(marker: string, status: number | undefined, code: ErrorCode): void {
    if (status !== ERROR_NUMBERS[code]) {
      this.#complain(`"${marker}" is told ${code}, the log says ${status}`);
    }
  }

  #complain(what: string): void {
    this.#fail("exactly once", what);
  }

  #of(marker: string): CallRecord {
    let record = this.#calls.get(marker);
    if (record === undefined) {
      record = { call: "", result: undefined, isExcluded: false };
      this.#calls.set(marker, record);
    }
    return record;
  }
}
