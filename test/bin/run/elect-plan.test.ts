import { expect, test } from "vitest";
import { Failure } from "../../../bin/exit/failure.js";
import { type ElectFlags, planElect } from "../../../bin/run/elect-plan.js";

const FLAGS: ElectFlags = { ttl: 15_000, killGrace: 5_000, conflictExitCode: 3 };

/** As the command line gives it: operands without `--`, and everything as typed. */
function plan(typed: readonly string[], flags: Partial<ElectFlags> = {}) {
  const operands = typed.filter((word) => word !== "--");
  return planElect(operands, { ...FLAGS, ...flags }, ["elect", ...typed]);
}

function refusal(typed: readonly string[], flags: Partial<ElectFlags> = {}): string {
  try {
    plan(typed, flags);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    expect(error.exitCode).toBe(2);
    return error.message;
  }
  throw new Error(`${typed.join(" ")} was accepted`);
}

test("a campaign without a command leads, as the lock of that name with the value", () => {
  expect(plan(["jobs", "host-7"], { wait: 5_000, priority: 3, maxHold: 60_000 })).toEqual({
    kind: "lead",
    name: "jobs",
    value: "host-7",
    run: {
      name: "jobs",
      items: [{ key: "jobs", mode: "exclusive" }],
      options: { value: "host-7", priority: 3, maxHoldMs: 60_000 },
      argv: [],
      waitMs: 5_000,
      ttlMs: 15_000,
      killGraceMs: 5_000,
      maxHoldMs: 60_000,
      conflictExitCode: 3,
      isQuiet: false,
    },
  });
});

test("what stands behind the dashes is the command, whatever it looks like", () => {
  const planned = plan(["jobs", "host-7", "--", "./work", "-n"], { wait: false });
  expect(planned).toMatchObject({ kind: "run", run: { argv: ["./work", "-n"], waitMs: 0 } });
  const forEver = plan(["jobs", "v", "--", "x"], { wait: Number.POSITIVE_INFINITY });
  expect(forEver).toMatchObject({ run: { waitMs: undefined } });
});

test("to observe needs a name and nothing else", () => {
  expect(plan(["jobs"], { observe: true, count: 2 })).toEqual({
    kind: "observe",
    name: "jobs",
    count: 2,
  });
  expect(refusal(["jobs", "host-7"], { observe: true })).toContain("neither a value nor a command");
  expect(refusal(["jobs", "--", "x"], { observe: true })).toContain(
    "neither a value nor a command",
  );
});

test("what is missing or too much is wrong usage, with what would be right", () => {
  expect(refusal([])).toContain("no election was given");
  expect(refusal(["jobs"])).toContain("no value was given");
  expect(refusal(["jobs", "host-7", "work"])).toContain('"work" is one argument too many');
  expect(refusal(["jobs", "host-7", "--"])).toContain("no command was given after --");
  expect(refusal(["jobs", "host-7"], { count: 1 })).toContain("--count requires --observe");
  expect(refusal(["jobs", "v", "--", "x"], { json: true })).toContain("standard output");
});

test("a command must have its grace, a leader without one needs none", () => {
  expect(plan(["jobs", "v"], { ttl: 1_000 })).toMatchObject({ kind: "lead" });
  expect(refusal(["jobs", "v", "--", "x"], { ttl: 1_000 })).toContain("--ttl 1s is too short");
});
