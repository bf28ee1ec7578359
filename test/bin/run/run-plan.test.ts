import { expect, test } from "vitest";
import { quietExitCode } from "../../../bin/commands/locks/run.js";
import { EXIT } from "../../../bin/exit/exit-codes.js";
import { Failure } from "../../../bin/exit/failure.js";
import { planRun, type RunFlags } from "../../../bin/run/run-plan.js";
import { HoldfastError } from "../../../src/errors/index.js";

const FLAGS: RunFlags = { ttl: 15_000, killGrace: 5_000, conflictExitCode: 3 };

/** As commander hands it over: operands without `--`, and the line as it was typed. */
function plan(typed: readonly string[], flags: Partial<RunFlags> = {}) {
  return planRun(
    typed.filter((word, index) => word !== "--" || index > typed.indexOf("--")),
    { ...FLAGS, ...flags },
    ["run", ...typed],
  );
}

function failure(action: () => unknown): Failure {
  try {
    action();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error("did not fail");
}

test("everything behind the first -- is the command, options of its own and further -- included", () => {
  expect(plan(["key", "--", "git", "checkout", "--", "file", "-q"])).toMatchObject({
    items: [{ key: "key", mode: "exclusive" }],
    options: {},
    argv: ["git", "checkout", "--", "file", "-q"],
    waitMs: undefined,
  });
});

test("-n is a wait of nothing, -w a wait of its time, -s shared", () => {
  expect(plan(["k", "--", "x"], { wait: false }).waitMs).toBe(0);
  expect(plan(["k", "--", "x"], { wait: 5_000 }).waitMs).toBe(5_000);
  for (const wait of [undefined, Number.POSITIVE_INFINITY]) {
    expect(plan(["k", "--", "x"], { wait }).waitMs).toBe(undefined);
  }
  expect(plan(["k", "--", "x"], { shared: true }).items).toEqual([{ key: "k", mode: "shared" }]);
});

test("-c hands one line to the shell, given as its value or behind --", () => {
  const argv = ["/bin/sh", "-c", "a | b"];
  expect(plan(["k"], { command: "a | b" })).toMatchObject({ name: "k", argv });
  expect(plan(["k", "--", "a | b"], { command: true })).toMatchObject({ name: "k", argv });
  expect(plan(["--", "a | b"], { command: "k" })).toMatchObject({ name: "k", argv });
});

test("what is missing or too much is named, with exit code 2", () => {
  const messages = [
    failure(() => plan([])),
    failure(() => plan(["--", "x"])),
    failure(() => plan(["k"])),
    failure(() => plan(["k", "--"])),
    failure(() => plan(["a", "b", "a", "--", "x"])),
    failure(() => plan([..."abcdefghijklmnopq", "--", "x"])),
    failure(() => plan(["k", "--", "x"], { command: "y" })),
  ].map(({ message, exitCode }) => {
    expect(exitCode).toBe(EXIT.usage);
    return message;
  });
  expect(messages).toEqual([
    "no key was given: holdfast run KEY… -- COMMAND [ARGUMENT…]",
    "no key was given: holdfast run KEY… -- COMMAND [ARGUMENT…]",
    "put -- between the keys and the command: holdfast run KEY… -- COMMAND [ARGUMENT…]",
    "no command was given: holdfast run KEY… -- COMMAND [ARGUMENT…]",
    'the key "a" is given twice',
    "17 keys: 16 at most in one request",
    "-c LINE and a command after -- exclude each other",
  ]);
});

test("a TTL without room for the grace is refused with the numbers", () => {
  const refused = failure(() => plan(["k", "--", "x"], { ttl: 6_000 }));
  expect(refused.exitCode).toBe(EXIT.usage);
  expect(refused.message).toBe(
    "--ttl 6s is too short for --kill-grace 5s: it must be larger than the grace + " +
      "safety margin 600ms + keepalive interval 1.5s = 7.1s",
  );
  expect(plan(["k", "--", "x"], { ttl: 6_000, killGrace: 3_000 }).ttlMs).toBe(6_000);
});

test("several keys are one request, in the order they were typed", () => {
  expect(plan(["b", "a", "--", "x"])).toMatchObject({
    name: "b, a",
    items: [
      { key: "b", mode: "exclusive" },
      { key: "a", mode: "exclusive" },
    ],
  });
});

test("permits and a limit make every key a semaphore; what contradicts itself is refused", () => {
  expect(plan(["a", "b", "--", "x"], { permits: 2, limit: 8 }).items).toEqual([
    { key: "a", permits: 2, limit: 8 },
    { key: "b", permits: 2, limit: 8 },
  ]);
  expect(plan(["a", "--", "x"], { limit: 8 }).items).toEqual([{ key: "a", permits: 1, limit: 8 }]);
  expect(plan(["a", "--", "x"], { permits: 3 }).items).toEqual([{ key: "a", permits: 3 }]);
  const refusals = [{ permits: 9, limit: 8 }, { permits: 2, shared: true }, { permits: 600 }].map(
    (flags) => failure(() => plan(["a", "b", "--", "x"], flags)).message,
  );
  expect(refusals).toEqual([
    "--permits 9 is more than --limit 8",
    "--shared and --permits 2 exclude each other: a key is a lock or a semaphore",
    "--permits 600 of 2 keys are 1200: 1024 at most in one request",
  ]);
});

test("what describes the hold is passed on under the names of the SDK", () => {
  const flags = { priority: 7, value: "v", maxHold: 60_000, minHold: 0, lockDelay: 9 };
  expect(plan(["k", "--", "x"], flags).options).toEqual({
    priority: 7,
    value: "v",
    maxHoldMs: 60_000,
    minHoldMs: 0,
    lockDelayMs: 9,
  });
});

test("a cap without room for the grace is refused with the numbers", () => {
  const refused = failure(() => plan(["k", "--", "x"], { maxHold: 5_500 }));
  expect(refused.exitCode).toBe(EXIT.usage);
  expect(refused.message).toBe(
    "--max-hold 5.5s is too short for --kill-grace 5s: it must be larger than the grace + " +
      "safety margin 550ms = 5.55s",
  );
  expect(plan(["k", "--", "x"], { maxHold: 5_600 }).maxHoldMs).toBe(5_600);
});

test("--quiet leaves every loss to the exit code, also one before the command ran", () => {
  const quiet = plan(["k", "--", "x"], { quiet: true });
  const lost = new HoldfastError("LOCK_LOST", 'lock "k" was revoked');
  expect(quietExitCode(lost, quiet)).toBe(EXIT.lost);
  expect(() => quietExitCode(lost, { ...quiet, isQuiet: false })).toThrow("was revoked");
  const away = new HoldfastError("UNAVAILABLE", "no node serves");
  expect(() => quietExitCode(away, quiet)).toThrow("no node serves");
});
