/** `holdfast log-level` and the SDK's calls for it, on nodes that are processes. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { connectAdmin, type LogLevel } from "../../src/index.js";
import { type ClusterProcess, startCluster } from "./world/cluster-process.js";

let cluster: ClusterProcess;

beforeAll(async () => {
  cluster = await startCluster({ serverArguments: ["--log-format=json"] });
  await cluster.leader();
});

afterAll(() => cluster?.stop());

/** The lines of a node's log with that event. */
function linesOf(id: number, event: string): Record<string, unknown>[] {
  return cluster
    .node(id)
    .stderr.split("\n")
    .filter((line) => line.includes(`"event":${JSON.stringify(event)}`))
    .map((line) => JSON.parse(line));
}

test("one node logs everything for a while: clients too, which the others do not", async () => {
  const { stdout } = await cluster.operate("log-level", "2", "debug", "--for", "1h", "--json");
  expect(JSON.parse(stdout)).toEqual([
    { node: 2, level: "debug", usual: "info", untilWallMs: expect.any(Number) },
  ]);
  const all = JSON.parse((await cluster.operate("log-level", "--json")).stdout);
  expect(all).toMatchObject([
    { node: 1, level: "info", untilWallMs: null },
    { node: 2, level: "debug", untilWallMs: expect.any(Number) },
    { node: 3, level: "info", untilWallMs: null },
  ]);
  // The question about node 2 came through a connection of its own.
  await expect.poll(() => linesOf(2, "client connected").length).toBeGreaterThan(0);
  await expect.poll(() => linesOf(2, "client gone").length).toBeGreaterThan(0);
  expect(linesOf(1, "client connected")).toEqual([]);
  expect(linesOf(2, "log level changed")).toMatchObject([
    { level: "warn", to: "debug", usual: "info", by: "anonymous", until: expect.any(String) },
  ]);
  await cluster.operate("log-level", "2", "debug", "--for", "0s");
  const event = "log level is the usual one again";
  await expect.poll(() => linesOf(2, event)).toMatchObject([{ to: "info", by: "anonymous" }]);
});

test("a level for a moment ends by itself, on all nodes", async () => {
  const { stdout } = await cluster.operate("log-level", "error", "--for", "50ms");
  expect(stdout.split("\n")[0]).toMatch(/NODE +LEVEL +USUAL +UNTIL/);
  for (const id of [1, 2, 3]) {
    const back = () => linesOf(id, "log level is the usual one again").at(-1);
    await expect.poll(back).not.toBeUndefined();
  }
  const shown = await cluster.operate("log-level", "--json");
  expect(JSON.parse(shown.stdout).map(({ level }: { level: LogLevel }) => level)).toEqual([
    ...["info", "info", "info"],
  ]);
});

test("a node that does not exist is refused, and so is an impossible level or time", async () => {
  expect((await cluster.holdfast(["log-level", "9"])).code).toBe(5);
  for (const wrong of [
    ["loud"],
    ["2", "loud"],
    ["2", "debug", "--for", "25h"],
    ["info", "debug"],
  ]) {
    expect([wrong, (await cluster.holdfast(["log-level", ...wrong])).code]).toEqual([wrong, 2]);
  }
  expect((await cluster.holdfast(["log-level", "2", "--for", "1m"])).code).toBe(2);
});

test("the SDK asks the node that is named, or the only one that it knows", async () => {
  await using admin = await connectAdmin({ endpoints: cluster.endpoints });
  const view = await admin.setLogLevel("warn", { node: 3, forMs: 60_000 });
  expect(view).toMatchObject({ node: 3, level: "warn", usual: "info" });
  const endpoint = cluster.node(3).endpoint;
  await using one = await connectAdmin({ endpoints: [endpoint], followLeader: false });
  expect(await one.logLevel()).toMatchObject({ node: 3, level: "warn" });
  expect((await one.setLogLevel("info", { forMs: 0 })).untilWallMs).toBeNull();
  await expect(one.logLevel({ node: 1 })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("this is node 3, not 1"),
  });
  await expect(admin.setLogLevel("loud" as LogLevel)).rejects.toThrow(TypeError);
});

test("a connection that only reads sees the level and cannot change it", async () => {
  const endpoints = [cluster.node(1).endpoint];
  await using reader = await connectAdmin({ endpoints, followLeader: false, readOnly: true });
  expect(await reader.logLevel()).toMatchObject({ node: 1, usual: "info" });
  await expect(reader.setLogLevel("debug")).rejects.toMatchObject({ code: "FORBIDDEN" });
});
