import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Ending } from "../../../bin/exit/ending.js";
import { Failure } from "../../../bin/exit/failure.js";
import { CommandProcess } from "../../../bin/run/command-process.js";
import { parentDeathPrefix } from "../../../bin/run/parent-death.js";

let directory = "";

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-command-"));
});

afterAll(() => rmSync(directory, { recursive: true }));

async function endingOf(argv: readonly string[], environment = {}): Promise<Ending> {
  const command = await CommandProcess.start({ argv, environment, sharesTerminal: false });
  return command.ended;
}

async function startFailure(argv: readonly string[]): Promise<number> {
  const started = CommandProcess.start({ argv, environment: {}, sharesTerminal: false });
  return started.then(
    () => -1,
    (error: unknown) => {
      if (error instanceof Failure) return error.exitCode;
      throw error;
    },
  );
}

test("the exit code of the command passes through, and the signal that ended it", async () => {
  expect(await endingOf(["/bin/sh", "-c", "exit 0"])).toBe(0);
  expect(await endingOf(["/bin/sh", "-c", "exit 77"])).toBe(77);
  expect(await endingOf(["/bin/sh", "-c", "kill -KILL $$"])).toBe("SIGKILL");
  expect(await endingOf(["/bin/sh", "-c", "kill -TERM $$"])).toBe("SIGTERM");
});

test("a command that cannot be started is 126 or 127", async () => {
  const file = join(directory, "plain");
  writeFileSync(file, "x", { mode: 0o644 });
  expect(await startFailure([join(directory, "none")])).toBe(127);
  expect(await startFailure([file])).toBe(126);
});

test("what proves who this process is does not reach the command", async () => {
  const variables = ["HOLDFAST_ACCESS_TOKEN", "HOLDFAST_ACCESS_TOKEN_FILE"];
  for (const name of variables) process.env[name] = "secret";
  const check =
    'test -z "$HOLDFAST_ACCESS_TOKEN$HOLDFAST_ACCESS_TOKEN_FILE" && ! env | grep secret';
  const code = await endingOf(["sh", "-c", check]);
  for (const name of variables) delete process.env[name];
  expect(code).toBe(0);
});

test("what the lock says comes last into the environment", async () => {
  const out = join(directory, "token");
  process.env["HOLDFAST_TOKEN"] = "outer";
  const code = await endingOf(["/bin/sh", "-c", `printf %s "$HOLDFAST_TOKEN" > ${out}`], {
    HOLDFAST_TOKEN: "inner",
  });
  delete process.env["HOLDFAST_TOKEN"];
  expect([code, readFileSync(out, "utf8")]).toEqual([0, "inner"]);
});

test("codes and arguments pass through whatever stands in front for the death of the parent", async () => {
  const prefix = await parentDeathPrefix();
  expect(await endingOf([...prefix, "/bin/sh", "-c", 'exit "$1"', "sh", "41"])).toBe(41);
  expect(await endingOf([...prefix, "/bin/sh", "-c", "kill -INT $$"])).toBe("SIGINT");
});
