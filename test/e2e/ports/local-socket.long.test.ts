/** Commands with `--local`: on the machine of a node, with the rights of its directory's owner. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startCluster } from "../world/cluster-process.js";
import { runCli } from "../world/command-line.js";

const NOBODY = 65_534;

const dataOf = ({ directory }: { readonly directory: string }, id: number): string =>
  join(directory, `n${id}`);

test("work without endpoints, through the node whose directory it is", async () => {
  await using cluster = await startCluster({ nodes: 3 });
  const [, second] = cluster.nodes;
  // What is configured for the way over the network does not count.
  const env = { HOLDFAST_ENDPOINTS: "wss://127.0.0.1:9", HOLDFAST_CA: "/none" };
  const local = ["--local", dataOf(cluster, 2)];
  const status = await cluster.holdfast(["status", "--json", ...local], { env });
  expect([status.stderr, status.code]).toEqual(["", 0]);
  const { nodes } = JSON.parse(status.stdout) as { nodes: readonly { readonly id: number }[] };
  expect(nodes.map(({ id }) => id)).toEqual([2]);

  const set = await cluster.holdfast(["settings", "set", "sessionsMax", "77", ...local], { env });
  expect([set.stderr, set.code]).toEqual(["", 0]);
  const nested = ["run", "k", ...local, "--", process.execPath, "-p"];
  const run = await cluster.holdfast([...nested, "process.env.HOLDFAST_ENDPOINTS"], { env });
  expect(run.stdout).toBe(`unix:${dataOf(cluster, 2)}\n`);

  const both = await cluster.holdfast(["status", ...local, "--endpoints", "ws://127.0.0.1:1"]);
  expect([both.code, both.stderr]).toEqual([
    2,
    "holdfast: --local and --endpoints exclude each other: " +
      "a command connects to that one node, or to any\n",
  ]);

  // A killed process leaves its socket, which says so, and does not keep the next one from starting.
  await second?.kill();
  const dead = await cluster.holdfast(["status", ...local], { env });
  expect([dead.code, dead.stderr]).toEqual([4, expect.stringContaining("no process serves this")]);
  await second?.start();
  expect((await cluster.holdfast(["status", ...local], { env })).code).toBe(0);
});

test("say at once what is wrong with a directory in which no node will ever serve them", async () => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-local-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, "file"), "");
  mkdirSync(join(directory, "locked"), { mode: 0 });
  // Root would be let in; users are not let into what they have locked themselves.
  const user = process.getuid?.() === 0 ? { uid: NOBODY } : {};
  const forbidden = "only the user who runs the node may use its socket: try again as that user";
  for (const [path, code, text] of [
    [
      "missing",
      2,
      "--local missing: there is no such directory; give the data directory of a node",
    ],
    ["file", 2, "--local file: it is a file; give the data directory of a node (its --data)"],
    [
      "file/n1",
      2,
      "--local file/n1: there is no such directory; give the data directory of a node",
    ],
    ["locked", 5, `/locked refused this client: ${forbidden} (FORBIDDEN)`],
  ] as const) {
    for (const command of [
      ["access", "whoami"],
      ["run", "k"],
    ]) {
      // Much more than they need: a command that tried on would do so for this long.
      const args = [...command, `--local=${path}`, "--connect-timeout=1h"];
      const program = command[0] === "run" ? ["--", "true"] : [];
      const { code: was, stderr } = await runCli([...args, ...program], {
        cwd: directory,
        ...(path === "locked" ? user : {}),
      });
      expect([path, was, stderr]).toEqual([path, code, expect.stringContaining(text)]);
      expect(stderr).toMatch(/^holdfast: [^\n]*\n$/);
    }
  }
});
