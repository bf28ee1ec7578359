import { expect, test } from "vitest";
import { LoadProgram } from "../../../bench/peers/load-program.js";

const { signal } = new AbortController();
const LOAD = { connections: 1, workers: 1, keys: ["a"], isShared: false, signal };

/** A program that answers each word as the table says, and nothing else. */
function program(answers: Readonly<Record<string, unknown>>): LoadProgram {
  const code = `
    const answers = ${JSON.stringify(answers)};
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      if (line === "stop") process.exit();
      if (answers[line]) console.log(JSON.stringify(answers[line]));
      else if (line in answers) { console.error("no more"); process.exit(1); }
    }).on("close", () => process.exit());`;
  return new LoadProgram([process.execPath, "-e", code], [], LOAD);
}

const REPORT = {
  event: "report",
  cycles: 4,
  acquires: [
    [100, 3],
    [20_095, 1],
  ],
  maxMicros: 20_000,
  errors: { TIMEOUT: 2 },
  violations: { overlap: 1, token: 2 },
};

test("what a program reports is what was measured", async () => {
  const load = program({ start: { event: "start" }, reset: { event: "reset" }, report: REPORT });
  await load.begin();
  await load.reset();
  await load.collect();
  expect(load.cycles).toBe(4);
  expect([load.acquireTimes.count, load.acquireTimes.quantileMs(0.5)]).toEqual([4, 0.1]);
  expect(load.acquireTimes.maxMs).toBe(20);
  expect([...load.errors]).toEqual([["TIMEOUT", 2]]);
  expect(load.violations).toEqual({ overlap: 1, token: 2, limit: 0, slot: 0 });
  await load.stop();
});

test("a program that fails, ends, or writes something else is reported with its words", async () => {
  const failing = program({ start: { event: "failed", message: "no server" } });
  await expect(failing.begin()).rejects.toThrow("the load program failed: no server");
  const ending = program({ start: null });
  await expect(ending.begin()).rejects.toThrow("the load program ended\nno more");
  await expect(ending.reset()).rejects.toThrow("the load program ended");
  const talking = program({ start: { event: "hello" } });
  await expect(talking.begin()).rejects.toThrow('the load program wrote: {"event":"hello"}');
  const missing = new LoadProgram(["/nowhere/at-all"], [], LOAD);
  await expect(missing.begin()).rejects.toThrow("ENOENT");
  for (const each of [failing, ending, talking]) await each.stop();
});
