/**
 * The results that consist only of a status, made once. A table stores many replies that refer to
 * them. They are frozen because they leave the table.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../errors/index.js";
import { END_REASON, type EndReason, type Result, STATUS } from "../protocol/index.js";

export const OK: Result = Object.freeze({ status: STATUS.ok });
export const QUEUED: Result = Object.freeze({ status: STATUS.queued });
export const RELEASED: Result = Object.freeze({ status: STATUS.released });

const REFUSALS: ReadonlyMap<number, Result> = new Map(
  Object.values(ERROR_NUMBERS).map((status) => [status, Object.freeze({ status })]),
);

export const CANCELLED = refusal(ERROR_NUMBERS.CANCELLED);
export const LOCK_TIMEOUT = refusal(ERROR_NUMBERS.LOCK_TIMEOUT);
export const QUEUE_FULL = refusal(ERROR_NUMBERS.QUEUE_FULL);
export const TOO_MANY_IN_FLIGHT = refusal(ERROR_NUMBERS.TOO_MANY_IN_FLIGHT);
export const WRONG_KIND = refusal(ERROR_NUMBERS.WRONG_KIND);
export const NOT_HELD = refusal(ERROR_NUMBERS.NOT_HELD);
/**
 * Equal to `NOT_HELD` for the client, and counted as a refusal: something has the token that was
 * named, which those who may not have it do not learn.
 */
export const NOT_SHOWN: Result = Object.freeze({ status: ERROR_NUMBERS.NOT_HELD });
export const FORBIDDEN = refusal(ERROR_NUMBERS.FORBIDDEN);
export const UNAUTHENTICATED = refusal(ERROR_NUMBERS.UNAUTHENTICATED);
export const QUOTA = refusal(ERROR_NUMBERS.QUOTA);
export const TOKENS_EXHAUSTED = refusal(ERROR_NUMBERS.TOKENS_EXHAUSTED);
export const INVALID_ARGUMENT = refusal(ERROR_NUMBERS.INVALID_ARGUMENT);
export const SAME_OWNER: Result = Object.freeze({
  status: ERROR_NUMBERS.LOCK_HELD,
  isSameOwner: true,
});

const REASONS = Object.values(END_REASON).sort((left, right) => left - right);
const NOT_RELEASED = REASONS.map((reason) => {
  return Object.freeze<Result>({ status: STATUS.notReleased, reason });
});
const NOT_HELD_FOR = REASONS.map((reason) => {
  return Object.freeze<Result>({ status: ERROR_NUMBERS.NOT_HELD, reason });
});

/** For a lease: with the reason of its end. */
export function notHeld(reason: EndReason): Result {
  return NOT_HELD_FOR[reason] as Result;
}

export function notReleased(reason: EndReason): Result {
  return NOT_RELEASED[reason] as Result;
}

/** Whether rights are the reason, said or not. */
export function isRefusal(result: Result): boolean {
  return result === FORBIDDEN || result === NOT_SHOWN;
}

/** The refusal that consists only of that number; `undefined` if there is none. */
export function findRefusal(status: number): Result | undefined {
  return REFUSALS.get(status);
}

function refusal(status: ErrorNumber): Result {
  return REFUSALS.get(status) as Result;
}
