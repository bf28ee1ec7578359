/**
 * `holdfast top` on a real terminal and a real cluster, of which a node is killed; that it gives the
 * terminal back however it ends; and what it prints where there is no terminal.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, connect } from "../../../src/index.js";
import { ClusterScene } from "../world/cluster-scene.js";
import { COMMAND } from "../world/command-line.js";
import { documentOf } from "../world/command-result.js";
import { expectDocumented } from "../world/documented-json.js";
import { until } from "../world/process-life.js";
import { TMUX, TmuxTerminal } from "../world/tmux-terminal.js";

if (TMUX === undefined) {
  console.warn("\n*** tmux is not installed: holdfast top on a terminal is NOT tested ***\n");
}

const scene = new ClusterScene({ nodes: 3 }, { name: "billing-7" });
let other: Client;
const over = new AbortController();

beforeAll(async () => {
  await scene.start();
  other = await connect({ endpoints: scene.endpoints, name: "worker-3" });
  await scene.client.acquire("jobs/nightly");
  await scene.client.acquire("orders/1001");
  await scene.client.acquire("evil\u202ekey");
  other.acquire("jobs/nightly", { signal: over.signal }).catch(() => undefined);
  const waits = async () => (await scene.client.inspect("jobs/nightly")).waiters.length === 1;
  await until("the waiter", waits);
});
afterAll(async () => {
  over.abort();
  await other?.close();
  await scene.stop();
});

describe("without a terminal", () => {
  test("it prints one table, the lock with most waiters first, and ends", async () => {
    const { code, stdout, stderr } = await scene.holdfast(["top"]);
    expect([code, stderr]).toEqual([0, ""]);
    const lines = stdout.split("\n");
    expect(lines[0]).toMatch(/^All is well: 3 nodes serve, node \d leads\.$/);
    expect(lines[2]).toMatch(/^KEY +MODE +HELD BY +FOR +LEASE +TOKEN +WAITING$/);
    expect(lines[3]).toMatch(/^jobs\/nightly +exclusive +billing-7 .* 1$/);
    expect(stdout).toContain("evil\\u{202e}key");
    expect(stdout).not.toContain("\u001b");
  });

  test("the document is as documented, with every name exactly", async () => {
    const result = await scene.holdfast(["top", "--once", "--json", "--sort", "key"]);
    const document = documentOf<{ locks: { key: string }[]; lockCount: number }>(result);
    expectDocumented(document, "top");
    expect(document.lockCount).toBe(3);
    expect(document.locks.map(({ key }) => key)).toEqual([
      ...["evil\u202ekey", "jobs/nightly", "orders/1001"],
    ]);
  });

  test("a prefix leaves out the others, and through a local socket it is the same table", async () => {
    const { stdout } = await scene.holdfast(["top", "--once", "--prefix", "orders/"]);
    expect(stdout).not.toContain("jobs/");
    const [node] = scene.cluster.nodes;
    const local = `${scene.cluster.directory}/n${node?.id}`;
    const told = await scene.holdfast(["top", "--once", "--local", local], {
      env: { HOLDFAST_ENDPOINTS: "" },
    });
    expect([told.code, told.stderr]).toEqual([0, ""]);
    expect(told.stdout).toContain("All is well: 3 nodes serve");
    expect(told.stdout).toContain("jobs/nightly");
  });

  test("a wrong interval or order is refused, and a cluster that is not there is exit code 4", async () => {
    expect(await scene.holdfast(["top", "--interval", "1ms"])).toMatchObject({ code: 2 });
    expect(await scene.holdfast(["top", "--sort", "age"])).toMatchObject({ code: 2 });
    const nowhere = ["--endpoints", "ws://127.0.0.1:1", "--connect-timeout", "300ms"];
    expect(await scene.holdfast(["top", ...nowhere])).toMatchObject({ code: 4, stdout: "" });
  });
});

describe.runIf(TMUX !== undefined)("on a terminal", () => {
  let terminal: TmuxTerminal;
  beforeAll(async () => {
    const endpoints = scene.endpoints.join(",");
    terminal = new TmuxTerminal({
      HF: `${process.execPath} ${COMMAND}`,
      HOLDFAST_ENDPOINTS: endpoints,
    });
    await terminal.start({ columns: 80, rows: 24 });
  });
  afterAll(() => terminal[Symbol.asyncDispose]());

  async function startTop(flags = ""): Promise<void> {
    await terminal.line(`clear; echo before; $HF top ${flags}; echo ended $?`);
    await terminal.shows("most waiters first");
    await terminal.shows("> jobs/nightly");
    expect(await terminal.isAlternate()).toBe(true);
  }

  /** The screen is as before, the cursor is there, and the shell echoes what is typed. */
  async function expectRestored(code: number): Promise<void> {
    const lines = await terminal.shows(`ended ${code}`);
    expect(await terminal.isAlternate()).toBe(false);
    expect(await terminal.isCursorShown()).toBe(true);
    expect(lines[0]).toBe("before");
    await terminal.line("stty -a | tr ';' '\\n' | grep -o ' -\\?icanon' | sed 's/^/set:/'");
    await terminal.shows(/set: icanon/);
  }

  test("it shows locks, one lock and the nodes, filters, sorts, pauses, and q gives the terminal back", async () => {
    await startTop();
    const lines = await terminal.shows("evil\\u{202e}key");
    expect(lines[0]).toMatch(/^holdfast top {2}locks .*\d\d:\d\d:\d\d$/);
    await terminal.type("Enter");
    await terminal.shows("WHY THE FIRST ONE WAITS");
    await terminal.shows(/1 {2}worker-3 +exclusive/);
    await terminal.type("Escape");
    await terminal.shows("3 locks, most waiters first");
    await terminal.type("s");
    await terminal.shows("longest held first");
    await terminal.type("/");
    await terminal.shows("names that begin with: _");
    await terminal.type("orders/", "Enter");
    await terminal.shows("1 lock under orders/");
    await terminal.type("p");
    await terminal.shows("PAUSED since");
    await terminal.type("p", "c");
    await terminal.shows(/leader +answers +\d+/);
    await terminal.type("q");
    await expectRestored(0);
  });

  test("it follows the size of the terminal", async () => {
    await startTop();
    await terminal.resize({ columns: 40, rows: 10 });
    const lines = await terminal.shows(/ {2}KEY +HELD BY +WAITING$/m);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40);
    await terminal.resize({ columns: 80, rows: 24 });
    await terminal.shows(/MODE +HELD BY/);
    await terminal.type("q");
    await expectRestored(0);
  });

  test("Ctrl-C and SIGTERM give the terminal back", async () => {
    await startTop();
    await terminal.type("C-c");
    // A shell gives up the rest of the line, as after any command that Ctrl-C ends.
    await until("the end of top", async () => !(await terminal.isAlternate()));
    await terminal.line("echo ended $?");
    await expectRestored(130);
    await startTop();
    // From the oldest process of that command line, which is the one on the terminal.
    const { stdout } = await promisify(execFile)("pgrep", ["-of", `${COMMAND} top`]);
    process.kill(Number(stdout), "SIGTERM");
    await expectRestored(143);
  });

  test("Ctrl-Z leaves it for a while, and fg draws it again", async () => {
    await terminal.line("set -m");
    await startTop();
    await terminal.type("C-z");
    await terminal.shows(/ended \d+/);
    expect(await terminal.isAlternate()).toBe(false);
    await terminal.line("stty -a | tr ';' '\\n' | grep -o ' -\\?icanon' | sed 's/^/set:/'");
    await terminal.shows(/set: icanon/);
    await terminal.line("fg");
    await terminal.shows("> jobs/nightly");
    expect(await terminal.isAlternate()).toBe(true);
    await terminal.type("q");
    await until("the terminal", async () => !(await terminal.isAlternate()));
  });

  test("a node that dies is named, and the locks go on being shown", async () => {
    await startTop();
    await terminal.shows(/All is well: 3 nodes serve/);
    const [first] = scene.cluster.nodes;
    await first?.kill();
    await terminal.shows(/Node 1 does not answer/);
    await scene.client.acquire("orders/after");
    await terminal.shows("orders/after");
    await terminal.type("c");
    await terminal.shows(/node 1 does not answer any more/);
    await first?.start();
    await terminal.shows("node 1 answers again");
    await terminal.type("q");
    await expectRestored(0);
  });
});
