/** Commands with `--local`: on the machine of a node, with the rights of whoever has its directory. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { startCluster } from "./world/cluster-process.js";

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
