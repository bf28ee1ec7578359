/**
 * Calls of applications against the log. Each acquire carries a value that no other has, so that
 * the log shows what became of it, under whichever sequence it was sent: it was executed once or
 * never, its caller learns what happened, and what is reported as not having happened never does.
 */
import { ERROR_NUMBERS, type ErrorCode } from "../../../../src/errors/index.js";
import { type Result, STATUS } from "../../../../src/protocol/index.js";
import type { CallEnding } from "../../clients/client-watch.js";
import type { Fail } from "../violation.js";

/** The value of a hold that begins with this belongs to a call. */
export const MARKER = "call ";
/** Ends the number of a call that need not be executed in its turn. */
const OUT_OF_TURN = "+";

/** By which the log knows the call `number` of a process. */
export function markerOf(process: string, number: number, isOutOfTurn: boolean): string {
  return `${MARKER}${process} ${number}${isOutOfTurn ? OUT_OF_TURN : ""}`;
}

/** Refusals that only an entry can decide: the log must show the same one. */
const DECIDED: readonly ErrorCode[] = [
  "LOCK_HELD",
  "DEADLOCK",
  "QUEUE_FULL",
  "WRONG_KIND",
  "LIMIT_MISMATCH",
  "QUOTA",
  "INVALID_ARGUMENT",
  "FORBIDDEN",
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
  "UNAUTHENTICATED",
  "PROTOCOL",
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
  /** The latest call of a process that was executed, of those that come in turn. */
  readonly #latest = new Map<string, number>();

  constructor(fail: Fail) {
    this.#fail = fail;
  }

  /** An entry executed it, or ended its wait. `call`: session and sequence. */
  onAnswered(marker: string, call: string, result: Result): void {
    const record = this.#of(marker);
    if (record.call === "") this.#inTurn(marker);
    if (record.call !== "" && record.call !== call) {
      this.#complain(`"${marker}" is executed as ${record.call} and as ${call}`);
    }
    if (record.isExcluded) this.#complain(`"${marker}" was said not to happen, and is executed`);
    record.call = call;
    record.result = result;
  }

  /** Calls that ask for locks take effect in the order in which they were made. */
  #inTurn(marker: string): void {
    const [process = "", number = ""] = marker.slice(MARKER.length).split(" ");
    if (number.endsWith(OUT_OF_TURN)) return;
    const latest = this.#latest.get(process) ?? 0;
    if (Number(number) < latest) {
      this.#fail("program order", `"${marker}" is executed behind call ${latest}`);
    }
    this.#latest.set(process, Number(number));
  }

  onCallEnded(marker: string, ending: CallEnding): void {
    const record = this.#of(marker);
    const status = record.result?.status;
    switch (ending.kind) {
      case "granted":
        if (isDecidedByClient(marker, record)) return;
        if (record.result?.status !== STATUS.granted) {
          this.#complain(`"${marker}" has ${ending.token}, the log says ${status}`);
        } else if (ending.token < record.result.token) {
          this.#complain(`"${marker}" has ${ending.token}, the log ${record.result.token}`);
        }
        return;
      case "none":
        if (!isDecidedByClient(marker, record)) this.#demand(marker, status, "LOCK_HELD");
        return;
      case "aborted":
        return;
      case "failed":
        this.#onFailed(marker, record, ending.code, ending.isDefinite);
    }
  }

  #onFailed(marker: string, record: CallRecord, code: ErrorCode, isDefinite: boolean): void {
    // Who may have no session any more hears of its calls what it hears of the session.
    const isSessionless = code === "FORBIDDEN" && record.result === undefined;
    if (DECIDED.includes(code) && !isSessionless) {
      if (!isDecidedByClient(marker, record)) this.#demand(marker, record.result?.status, code);
    } else if (!isSessionless && !OPEN_ENDED.includes(code))
      this.#complain(`"${marker}" fails with ${code}`);
    if (!isDefinite) return;
    record.isExcluded = true;
    if (record.call !== "") {
      this.#complain(`"${marker}" is said not to happen, and was executed as ${record.call}`);
    }
  }

  #demand(marker: string, status: number | undefined, code: ErrorCode): void {
    if (status !== ERROR_NUMBERS[code]) {
      this.#complain(`"${marker}" gets ${code}, the log says ${status}`);
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

/** About a hold that its task had, or asked for before: the log need not know of such a call. */
function isDecidedByClient(marker: string, { result }: CallRecord): boolean {
  return result === undefined && marker.endsWith(OUT_OF_TURN);
}
