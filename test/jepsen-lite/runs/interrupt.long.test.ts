/**
 * Ctrl-C: the run ends everything that it started and reports on what there was; a second one ends it
 * at once. Either way no process and no network namespace stays behind.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { type JepsenRun, resultDirectory, startJepsen } from "./run-jepsen.js";

const execute = promisify(execFile);
const RUN_MS_MAX = 90_000;
/** Signals that are closer to each other are one. */
const AGAIN_MS = 400;

const canNamespace =
  process.getuid?.() === 0 &&
  (await execute("ip", ["netns", "list"]).then(
    () => true,
    () => false,
  ));
if (!canNamespace) console.warn("NOT TESTED: network namespaces need root and the command ip");

/** Everything that runs with this directory in its arguments. */
async function processesOf(directory: string): Promise<string[]> {
  const { stdout } = await execute("ps", ["-eo", "pid,args"]);
  return stdout.split("\n").filter((line) => line.includes(directory));
}

/** The namespaces of the harness with this process id. */
async function namespacesOf(pid: number | undefined): Promise<string[]> {
  const { stdout } = await execute("ip", ["netns", "list"]);
  const prefix = `hfjl${1 + (Number(pid) % 253)}-`;
  return stdout.split("\n").filter((line) => line.startsWith(prefix));
}

async function said(run: JepsenRun, words: string): Promise<void> {
  while (!run.stderr().includes(words)) await once(run.child, "progress");
}

/** Faults are under way or about to be, faults of disks among them. */
const WORDS = [
  "--workload=mutex",
  "--nemesis=pause,damage,restart,pause-clients",
  "--schedule=all",
];

test(
  "an interrupted run leaves a report of what there was, and no process",
  async () => {
    await using out = await resultDirectory();
    const run = startJepsen([...WORDS, "--time=300", "--clients=2", `--out=${out.directory}`]);
    await said(run, "attacking");
    expect((await processesOf(out.directory)).length).toBeGreaterThan(3);
    run.child.kill("SIGINT");
    const { code, stderr, stdout } = await run.ended;
    expect(code, `${stdout}\n${stderr}`).toBe(130);
    expect(stderr).toContain("a second one ends it at once");
    expect(stdout).toContain("INTERRUPTED: no violation was found until then");
    const { wasInterrupted, anomalies, checks } = await out.results();
    expect(wasInterrupted).toBe(true);
    // What was not waited for is unknown, and no accusation.
    expect(anomalies).toEqual({});
    expect(checks.find(({ name }) => name === "recovery")?.valid).toBe("unknown");
    const page = await readFile(out.report, "utf8");
    expect(page).toContain("<h1>Interrupted</h1>");
    expect(await processesOf(out.directory)).toEqual([]);
    // Data of nodes are worth nothing; logs, histories, results and report stay.
    const left = await readdir(out.directory);
    expect(left.filter((name) => name.startsWith("data-"))).toEqual([]);
    expect(left).toEqual(expect.arrayContaining(["history-mutex.jsonl", "node-1.log"]));
    // Nobody said in the history that all was well.
    const history = await readFile(`${out.directory}/history-mutex.jsonl`, "utf8");
    expect(history).not.toMatch(/"f":"(?:healed|settled)"/);
  },
  RUN_MS_MAX,
);

/** A fault that is there at once, says so, and never ends. */
const STUBBORN = `
export const nemesis = {
  name: "stubborn",
  about: "a node is stopped, and the end of that never comes",
  async begin({ nodes }) {
    nodes[0].pause();
    process.stderr.write("it began\\n");
    return { what: "node 1 stopped forever", end: () => new Promise(() => undefined) };
  },
};
`;

test(
  "a fault that cannot be ended keeps nobody from ending the run, and is in the report",
  async () => {
    await using out = await resultDirectory();
    const module = join(dirname(out.directory), "stubborn.mjs");
    await writeFile(module, STUBBORN);
    const words = ["--workload=mutex", `--nemesis=${module}`, "--time=300", "--clients=2"];
    const run = startJepsen([...words, `--out=${out.directory}`]);
    await said(run, "it began");
    run.child.kill("SIGINT");
    const { code, stderr } = await run.ended;
    expect(code, stderr).toBe(130);
    expect((await out.results()).coverage).toMatchObject([{ nemesis: "stubborn", times: 1 }]);
    expect(await readFile(out.report, "utf8")).toContain("node 1 stopped forever");
    expect(await processesOf(out.directory)).toEqual([]);
  },
  RUN_MS_MAX,
);

// Without the fault that never ends, a run could be over before the second signal.
test.each([
  ["starting", "starting"],
  ["attacking", "it began"],
])(
  "a second signal while it is %s ends it at once",
  async (_phase, words) => {
    await using out = await resultDirectory();
    const module = join(dirname(out.directory), "stubborn.mjs");
    await writeFile(module, STUBBORN);
    const where = canNamespace ? ["--netns"] : [];
    const faults = `--nemesis=${module},pause,damage,restart,pause-clients`;
    const flags = ["--workload=mutex", faults, "--schedule=all", "--time=300", "--clients=2"];
    const run = startJepsen([...flags, ...where, `--out=${out.directory}`]);
    await said(run, words);
    run.child.kill("SIGINT");
    const again = setInterval(() => run.child.kill("SIGINT"), AGAIN_MS);
    const { code, stderr } = await run.ended.finally(() => clearInterval(again));
    // A third one may come when the process that ends has stopped listening.
    expect(code ?? run.child.signalCode, stderr).toSatisfy(
      (end) => end === 130 || end === "SIGINT",
    );
    expect(stderr).toMatch(/interrupted (?:twice|before there was anything to judge): no report/);
    // A node that was being started ends by itself when its standard input does.
    await expect.poll(() => processesOf(out.directory), { timeout: 10_000 }).toEqual([]);
    if (canNamespace) expect(await namespacesOf(run.child.pid)).toEqual([]);
  },
  RUN_MS_MAX,
);
