/** The page `/metrics` of a real node, as Prometheus' own tool judges it. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { connect } from "../../../src/client/index.js";
import { type RunningNode, startNode } from "../../../src/server/index.js";

const HOST = "127.0.0.1";
const isToolMissing = spawnSync("promtool", ["--version"]).error !== undefined;
if (isToolMissing) {
  console.warn("promtool is missing (Debian: prometheus): no tool of others reads /metrics here");
}

let directory: string;
let node: RunningNode;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-metrics-"));
  const [port = 0] = await freePorts(1);
  node = await startNode({
    id: 1,
    dataDirectory: directory,
    listen: { host: HOST, port: 0 },
    peerListen: { host: HOST, port },
    initialCluster: [{ id: 1, address: { host: HOST, port } }],
    audit: true,
  });
});

afterEach(async () => {
  await node.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** The page after some work, so that every histogram has values. */
async function pageOfWork(): Promise<string> {
  await using client = await connect({ endpoints: [node.endpoint] });
  const lock = await client.acquire("orders/1");
  await client.acquire("orders/1", { waitMs: 1 }).catch(() => undefined);
  await lock.release();
  return (await fetch(`http://${HOST}:${node.clientPort}/metrics`)).text();
}

/** The series of a page: names with labels. */
function seriesOf(page: string): string[] {
  const lines = page.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return lines.map((line) => line.slice(0, line.lastIndexOf(" ")));
}

describe("the metrics of a node", () => {
  test.skipIf(isToolMissing)("are accepted by promtool without a complaint", async () => {
    const input = await pageOfWork();
    const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], {
      input,
      encoding: "utf8",
    });
    expect(stdout + stderr).toBe("");
    expect(status).toBe(0);
  });

  test("have each series once, a help and a type for each name, and ten buckets at most", async () => {
    const page = await pageOfWork();
    const series = seriesOf(page);
    expect(new Set(series).size).toBe(series.length);
    const names = [...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name]) => name);
    expect(new Set(names).size).toBe(names.length);
    const helped = [...page.matchAll(/^# HELP (\S+) \S.*$/gm)].map(([, name]) => name);
    expect(helped).toEqual(names);
    const buckets = new Map<string, number>();
    for (const one of series) {
      if (!one.includes("_bucket{")) continue;
      const row = one.replace(/,?le="[^"]+"/, "");
      buckets.set(row, (buckets.get(row) ?? 0) + 1);
    }
    expect(buckets.size).toBeGreaterThan(10);
    expect(Math.max(...buckets.values())).toBeLessThanOrEqual(10);
  });

  test("measure what was done", async () => {
    const page = await pageOfWork();
    for (const line of [
      'holdfast_acquire_wait_seconds_count{mode="exclusive",outcome="granted",prefix="other"} 1',
      'holdfast_acquire_wait_seconds_count{mode="exclusive",outcome="timeout",prefix="other"} 1',
      'holdfast_hold_seconds_count{reason="released",prefix="other"} 1',
      'holdfast_command_seconds_count{kind="acquire"} 2',
      'holdfast_command_seconds_count{kind="release"} 1',
    ]) {
      expect(page.split("\n")).toContain(line);
    }
    expect(page).toMatch(/^holdfast_build_info\{version="[\d.]+",model="\d+",protocol="\d+"\} 1$/m);
    expect(page).toMatch(/^nodejs_version_info\{version="v\d+/m);
    expect(page).toMatch(/^process_cpu_seconds_total [\d.]+$/m);
    expect(page).not.toContain("orders");
  });
});
