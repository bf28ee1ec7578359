import { expect, test } from "vitest";
import { EXIT } from "../../bin/exit-codes.js";
import { Failure } from "../../bin/failure.js";
import { planRun, type RunFlags } from "../../bin/run/run-plan.js";

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
    key: "key",
    argv: ["git", "checkout", "--", "file", "-q"],
    mode: "exclusive",
    waitMs: undefined,
  });
});

test("-n is a wait of nothing, -w a wait of its time, -s shared", () => {
  expect(plan(["k", "--", "x"], { wait: false }).waitMs).toBe(0);
  expect(plan(["k", "--", "x"], { wait: 5_000 }).waitMs).toBe(5_000);
  expect(plan(["k", "--", "x"], { shared: true }).mode).toBe("shared");
});

test("-c hands one line to the shell, given as its value or behind --", () => {
  const argv = ["/bin/sh", "-c", "a | b"];
  expect(plan(["k"], { command: "a | b" })).toMatchObject({ key: "k", argv });
  expect(plan(["k", "--", "a | b"], { command: true })).toMatchObject({ key: "k", argv });
  expect(plan(["--", "a | b"], { command: "k" })).toMatchObject({ key: "k", argv });
});

test("what is missing or too much is named, with exit code 2", () => {
  const messages = [
    failure(() => plan([])),
    failure(() => plan(["--", "x"])),
    failure(() => plan(["k"])),
    failure(() => plan(["k", "--"])),
    failure(() => plan(["a", "b", "--", "x"])),
    failure(() => plan(["k", "--", "x"], { command: "y" })),
  ].map(({ message, exitCode }) => {
    expect(exitCode).toBe(EXIT.usage);
    return message;
  });
  expect(messages).toEqual([
    "no key is given: holdfast run KEY -- COMMAND [ARGUMENT…]",
    "no key is given: holdfast run KEY -- COMMAND [ARGUMENT…]",
    "-- must stand between the key and the command: holdfast run KEY -- COMMAND [ARGUMENT…]",
    "no command is given: holdfast run KEY -- COMMAND [ARGUMENT…]",
    'more than one key: "a", "b"',
    "-c LINE and a command behind -- exclude each other",
  ]);
});

test("a TTL without room for the grace is refused with the numbers", () => {
  const refused = failure(() => plan(["k", "--", "x"], { ttl: 6_000 }));
  expect(refused.exitCode).toBe(EXIT.usage);
  expect(refused.message).toBe(
    "--ttl 6s is too short for --kill-grace 5s: it must be larger than the grace + " +
      "safety margin 600ms + keepalive interval 1.5s = 7.1s",
  );
  for (const ttl of [999, 600_001]) {
    const tooFar = failure(() => plan(["k", "--", "x"], { ttl, killGrace: 0 }));
    expect(tooFar.message).toContain("is not between 1s and 10m 00s");
  }
  expect(plan(["k", "--", "x"], { ttl: 6_000, killGrace: 3_000 }).ttlMs).toBe(6_000);
});
