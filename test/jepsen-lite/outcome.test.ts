/** What becomes of an operation in the history, judged by what its call said of itself. */
import { expect, test } from "vitest";
import { failureOf } from "../../jepsen-lite/clients/outcome.js";
import { type ErrorCode, HoldfastError } from "../../jepsen-lite/sdk.js";

const failed = (code: ErrorCode, details: object = {}) =>
  failureOf(new HoldfastError(code, "why", { details: { ...details } }));

test("a refusal by the table is believed", () => {
  expect(failed("LOCK_HELD")).toEqual({ type: "fail", error: "LOCK_HELD" });
  expect(failed("NOT_HELD")).toEqual({ type: "fail", error: "NOT_HELD" });
  const timeout = failed("LOCK_TIMEOUT", { decidedBy: "service" });
  expect(timeout).toEqual({ type: "fail", error: "LOCK_TIMEOUT" });
});

test("what only a client denies is marked as that", () => {
  const denied = (error: string) => ({ type: "fail", error, denied: true });
  expect(failed("UNAVAILABLE", { indeterminate: false })).toEqual(denied("UNAVAILABLE"));
  expect(failed("BUSY")).toEqual(denied("BUSY"));
  const timeout = failed("LOCK_TIMEOUT", { decidedBy: "client", indeterminate: false });
  expect(timeout).toEqual(denied("LOCK_TIMEOUT"));
});

test("everything else may have happened, whatever its code", () => {
  const unknown = (error: string) => ({ type: "info", error });
  expect(failed("UNAVAILABLE")).toEqual(unknown("UNAVAILABLE"));
  expect(failed("FORBIDDEN", { indeterminate: true })).toEqual(unknown("FORBIDDEN"));
  expect(failed("LOCK_TIMEOUT", { decidedBy: "client" })).toEqual(unknown("LOCK_TIMEOUT"));
  expect(failureOf(new DOMException("left", "AbortError"))).toEqual(unknown("AbortError"));
  expect(() => failureOf(new TypeError("a bug"))).toThrow("a bug");
});
