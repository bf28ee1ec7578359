/** Ctrl-C: the run heals, ends everything that it started, and reports on what there was. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { resultDirectory, startJepsen } from "./run-jepsen.js";

/** Everything that runs with this directory in its arguments. */
async function processesOf(directory: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid,args"]);
  return stdout.split("\n").filter((line) => line.includes(directory));
}

test("an interrupted run heals, leaves a report of what there was, and no process", async () => {
  await using out = await resultDirectory();
  const words = ["--workload=mutex", "--nemesis=pause,pause-clients", "--schedule=all"];
  const run = startJepsen([...words, "--time=300", "--clients=2", `--out=${out.directory}`]);
  // By then faults are under way or about to be.
  while (!run.stderr().includes("attacking")) await once(run.child, "progress");
  expect((await processesOf(out.directory)).length).toBeGreaterThan(3);
  run.child.kill("SIGINT");
  const { code, stderr, stdout } = await run.ended;
  expect(code, `${stdout}\n${stderr}`).toBe(130);
  expect(stderr).toContain("healing");
  expect((await out.results()).wasInterrupted).toBe(true);
  expect(await readFile(out.report, "utf8")).toContain("The run was interrupted.");
  expect(await processesOf(out.directory)).toEqual([]);
  // Data of nodes are worth nothing; logs, histories, results and report stay.
  const left = await readdir(out.directory);
  expect(left.filter((name) => name.startsWith("data-"))).toEqual([]);
  expect(left).toEqual(expect.arrayContaining(["history-mutex.jsonl", "node-1.log"]));
}, 90_000);
