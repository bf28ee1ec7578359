import { expect, test } from "vitest";
import {
  EXIT,
  exitCodeOfError,
  exitCodeOfSignal,
  exitCodesText,
} from "../../../bin/exit/exit-codes.js";
import { Failure, failureOf } from "../../../bin/exit/failure.js";
import { ERROR_NUMBERS, type ErrorCode, HoldfastError } from "../../../src/errors/index.js";

test("the exit codes are the documented ones and all different", () => {
  expect(EXIT).toEqual({
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
  expect(new Set(Object.values(EXIT)).size).toBe(Object.keys(EXIT).length);
});

test("the table shown to people names every exit code", () => {
  const shown = [...exitCodesText().matchAll(/^ {2}(\d+) /gm)].map((match) => Number(match[1]));
  expect(shown).toEqual(Object.values(EXIT));
});

test("a signal's exit code is 128 and its number", () => {
  expect(exitCodeOfSignal("SIGHUP")).toBe(129);
  expect(exitCodeOfSignal("SIGINT")).toBe(130);
  expect(exitCodeOfSignal("SIGKILL")).toBe(137);
  expect(exitCodeOfSignal("SIGTERM")).toBe(143);
});

test("no error of the SDK ends in the exit code of success or of a child's start", () => {
  for (const code of Object.keys(ERROR_NUMBERS) as ErrorCode[]) {
    expect([1, 2, 3, 4, 5, 6, 70, 124], code).toContain(exitCodeOfError(code));
  }
  expect(exitCodeOfError("LOCK_HELD")).toBe(EXIT.held);
  expect(exitCodeOfError("LOCK_TIMEOUT")).toBe(EXIT.timedOut);
  expect(exitCodeOfError("LOCK_LOST")).toBe(EXIT.lost);
  expect(exitCodeOfError("UNAVAILABLE")).toBe(EXIT.noCluster);
});

test("whatever is thrown becomes one line and a code", () => {
  const own = new Failure(EXIT.notFound, "x: command not found");
  expect(failureOf(own)).toBe(own);
  const refused = failureOf(new HoldfastError("FORBIDDEN", "not\nallowed"));
  expect([refused.exitCode, refused.message]).toEqual([EXIT.refused, "not (FORBIDDEN)"]);
  const bug = failureOf(new TypeError("a is not a function\n  at b"));
  expect([bug.exitCode, bug.message]).toEqual([
    EXIT.internal,
    "internal error: a is not a function",
  ]);
  expect(failureOf("text").message).toBe("internal error: text");
});
