/** `holdfast audit`, on the data of a real node. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endAllStarted } from "../../../lab/end-with-process.js";
import { connect } from "../../../src/index.js";
import { type ClusterProcess, type NodeHandle, startCluster } from "../world/cluster-process.js";
import { expectFailure } from "../world/command-result.js";
import { expectDocumented } from "../world/documented-json.js";
import { until } from "../world/process-life.js";

let cluster: ClusterProcess;
let node: NodeHandle;
let data = "";

beforeAll(async () => {
  cluster = await startCluster({ nodes: 1, serverArguments: ["--audit"] });
  node = cluster.nodes[0] as NodeHandle;
  data = join(cluster.directory, "n1");
});

afterAll(async () => {
  endAllStarted();
  await cluster?.stop();
});

async function holdAndRelease(key: string): Promise<void> {
  const client = await connect({ endpoints: cluster.endpoints, name: "billing" });
  await (await client.acquire(key)).release();
  await client.close();
}

/** The heads that the node has logged, oldest first. */
function headsOf({ stderr }: NodeHandle): string[] {
  return Array.from(stderr.matchAll(/audit head.*?(\d+:[0-9a-f]{64})/g), ([, head]) => head ?? "");
}

test("verify checks a stopped node, finds the heads it logged, and leaves its data usable", async () => {
  await holdAndRelease("orders/1");
  expectFailure(
    await cluster.holdfast(["audit", "verify", "--data", data]),
    1,
    /in use.*stop the node first/,
  );
  await node.stop();
  const [head] = headsOf(node);
  expect(head).toMatch(/^\d+:/);
  const first = await cluster.holdfast(["audit", "verify", "--data", data, "--expect", `${head}`]);
  expect(first.stdout).toContain("expected head: found");
  expect(first.stdout).toMatch(/\nin order\n$/);
  expect(first.code).toBe(0);

  await node.start();
  await until("the node to lead", async () => (await node.status())?.role === "leader");
  await holdAndRelease("orders/2");
  await node.stop();
  const json = ["audit", "verify", "--data", data, "--json", "--expect"];
  const second = await cluster.holdfast([...json, `${head}`]);
  expect(second.code).toBe(0);
  const report = JSON.parse(second.stdout) as Record<string, unknown>;
  expectDocumented(report, "audit verify");
  expect(report).toMatchObject({ isInOrder: true, expected: "same", problems: [] });
  expect(report["head"]).toBe(headsOf(node).at(-1));

  const forged = await cluster.holdfast([...json, `1:${"0".repeat(64)}`]);
  expect(forged.code).toBe(7);
  expect(JSON.parse(forged.stdout)).toMatchObject({ isInOrder: false, expected: "different" });
});

test("verify refuses a path without a data directory, and a text that is not a head", async () => {
  const missing = ["audit", "verify", "--data", join(cluster.directory, "missing")];
  expect((await cluster.holdfast(missing)).code).toBe(1);
  const ofCluster = ["audit", "verify", "--data", cluster.directory];
  expect((await cluster.holdfast(ofCluster)).code).toBe(2);
  const head = ["audit", "verify", "--data", data, "--expect", "12"];
  expectFailure(await cluster.holdfast(head), 2, /A head is NUMBER:DIGEST/);
  await rm(join(cluster.directory, "missing"), { recursive: true, force: true });
});

test("ls shows who held what and who did what, of the running node and of the stopped one", async () => {
  await node.start();
  await until("the node to lead", async () => (await node.status())?.role === "leader");
  await holdAndRelease("orders/7");
  expect((await cluster.holdfast(["settings", "set", "waitersMax", "70"])).code).toBe(0);
  expect((await cluster.holdfast(["access", "add", "billing"])).code).toBe(0);
  let running = "";
  await until("the audit to have it", async () => {
    running = (await cluster.holdfast(["audit", "ls", "--json"])).stdout;
    return running.includes("putIdentity");
  });
  const entries = linesOf(running);
  for (const entry of entries) expectDocumented({ ...entry, details: {} }, "audit ls");
  const [newest, setting] = entries;
  expect(newest).toMatchObject({ kind: "access", what: "putIdentity", details: { of: "billing" } });
  expect(newest?.["address"]).not.toBe("");
  expect(setting).toMatchObject({ what: "changeSetting", details: { value: 70 } });
  expect(entries).toContainEqual(
    expect.objectContaining({ kind: "hold", key: "orders/7", outcome: "released" }),
  );
  const some = await cluster.holdfast(["audit", "ls", "--prefix", "orders/", "-l", "1"]);
  expect(some.stdout).toMatch(/orders\/7 +released +exclusive for .* by billing/);
  expect(some.stderr).toContain("there are older ones");
  expect(some.stderr).toMatch(/the head of this audit is \d+:[0-9a-f]{64}\n/);

  await node.stop();
  const stopped = await cluster.holdfast(["audit", "ls", "--json", "--data", data, "-l", "1000"]);
  expect(linesOf(stopped.stdout)).toEqual(entries);
  expect((await cluster.holdfast(["audit", "verify", "--data", data])).code).toBe(0);
});

test("ls of a node without an audit says so", async () => {
  const without = await startCluster({ nodes: 1 });
  expectFailure(
    await without.holdfast(["audit", "ls"]),
    2,
    /keeps no audit: start it with --audit/,
  );
  await without.stop();
});

function linesOf(text: string): Record<string, unknown>[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}
