import { expect, test } from "vitest";
import {
  type MeasuredStep,
  middleOf,
  stepObject,
  violationsIn,
} from "../../../bench/comparison/comparison.js";
import { comparisonChart } from "../../../bench/comparison/comparison-chart.js";
import {
  comparisonLines,
  comparisonMarkdown,
} from "../../../bench/comparison/comparison-report.js";
import { parseInvocation } from "../../../bench/options/invocation.js";
import type { ThroughputResult } from "../../../bench/workloads/throughput/throughput.js";

function result(cyclesPerSecond: number, fencingViolations = 0): ThroughputResult {
  return {
    workload: "uncontended",
    system: "holdfast",
    versions: "Node.js 20.20.2",
    machine: { cores: 2, loadBefore: 0 },
    workers: 64,
    connections: 8,
    attach: "leader",
    tls: false,
    keys: 0,
    limit: 0,
    open: null,
    seconds: 10,
    cyclesPerSecond,
    acquireMs: { p50: 1.234, p99: 20, p999: 30, max: 40 },
    acquireMsByKind: {},
    cpuSecondsPerProcess: { load: 1, n1: 2 },
    cpuMicrosPerCycle: { load: 5, n1: 7, n2: 8 },
    diskBytes: 30 * cyclesPerSecond,
    residentMiB: { start: {}, end: { load: 1, n1: 100, n2: 200 } },
    leader: "n1",
    syncsPerCycle: 0.5,
    errors: {},
    violations: { token: 0, overlap: fencingViolations, limit: 0, slot: 0 },
    fencingViolations,
  };
}

function measured(changed: Partial<MeasuredStep> = {}): MeasuredStep {
  const invocation = parseInvocation(["uncontended", "--peers", "redis,etcd", "--workers", "64"]);
  const step = invocation.kind === "several" ? invocation.steps[0] : undefined;
  if (step === undefined) throw new Error("no step");
  const peers = [{ name: "redis" as const, ...result(2_000), turns: [2_000] }];
  const missing = [{ name: "etcd" as const, reason: "etcd is not installed (Debian: …)" }];
  return { step, own: result(5_000), turns: [5_000], peers, missing, failed: [], ...changed };
}

test("the turn in the middle counts, of an even number the slower one there", () => {
  const rates = (...values: number[]) => middleOf(values.map((value) => result(value)));
  expect(rates(3, 1, 2)?.cyclesPerSecond).toBe(2);
  expect(rates(4, 1, 3, 2)?.cyclesPerSecond).toBe(2);
  expect(rates()).toBeUndefined();
});

test("the object of a load has this system's, and the peers next to it", () => {
  expect(stepObject(measured())).toMatchObject({
    workload: "uncontended",
    cyclesPerSecond: 5_000,
    turns: [5_000],
    peers: [{ name: "redis", cyclesPerSecond: 2_000, acquireMs: { p50: 1.234 } }],
    missing: [{ name: "etcd" }],
    failed: [],
  });
});

test("a table has a line for each system, with the ratio, and who is missing and why", () => {
  const lines = comparisonLines([measured()]);
  const redis = lines.find((line) => line.startsWith("redis "))?.split(/ {2,}/);
  // System, connections, cycles/s, ratio, four times, CPU of client and servers, memory, disk, syncs.
  const expected = ["redis", "8", "2,000", "2.50", "1.23", "20", "30", "40", "5", "15", "300", "3"];
  expect(redis?.map((cell) => cell.trim())).toEqual([...expected, "0.5"]);
  expect(lines).toContain("etcd not measured: etcd is not installed (Debian: …)");
  expect(lines).toContain("redis: Node.js 20.20.2");
});

test("a peer alone has no ratio, and a failure is reported", () => {
  const failed = [{ name: "holdfast" as const, reason: "it fell over" }];
  const lines = comparisonLines([measured({ own: undefined, turns: [], failed })]);
  expect(lines).toContain("holdfast FAILED: it fell over");
  expect(lines.find((line) => line.startsWith("redis "))).toMatch(/2,000 +– /);
});

test("violations of any system are found, and stand in the table", () => {
  const steps = [measured({ peers: [{ name: "redis", ...result(1, 3), turns: [1] }] })];
  expect(violationsIn(steps)).toBe(3);
  expect(comparisonLines(steps).join("\n")).toContain("redis (3 VIOLATIONS)");
});

test("a document says what it was made by, and has each row as a row", () => {
  const text = comparisonMarkdown([measured()], "npm run bench -- x", "1.2.3");
  expect(text).toContain("`npm run bench -- x`, version 1.2.3");
  expect(text).toContain("; 2 cores, load average before 0.");
  const rows = text.split("\n").filter((line) => line.startsWith("| "));
  expect(rows).toHaveLength(3);
  expect(new Set(rows.map((row) => row.split("|").length)).size).toBe(1);
});

test("there is a picture when systems stand next to each other", () => {
  expect(comparisonChart([measured()])?.match(/<rect /g)).toHaveLength(2);
  expect(comparisonChart([measured({ peers: [] })])).toBeUndefined();
});
