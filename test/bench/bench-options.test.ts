import { expect, test } from "vitest";
import { parseBenchOptions, UsageError, WORKLOADS } from "../../bench/bench-options.js";

test("every workload has defaults for all that it takes", () => {
  const every = { connections: 8, warmupSeconds: 3, isJson: false };
  const endpoints = undefined;
  expect(WORKLOADS.map((workload) => parseBenchOptions([workload]))).toEqual([
    { workload: "uncontended", ...every, workers: 1_024, seconds: 10, endpoints },
    { workload: "contended", ...every, workers: 64, seconds: 10, endpoints },
    { workload: "failover", ...every, runs: 20 },
    { workload: "snapshot", ...every, workers: 64, holds: 1_000_000 },
  ]);
});

test("what is given counts, and connections without a worker are not opened", () => {
  const argv = ["uncontended", "--workers", "3", "--json", "--endpoints", "ws://a:1,ws://b:2"];
  expect(parseBenchOptions(argv)).toMatchObject({
    workers: 3,
    connections: 3,
    isJson: true,
    endpoints: ["ws://a:1", "ws://b:2"],
  });
  expect(parseBenchOptions(["failover", "--runs", "3"])).toMatchObject({ runs: 3 });
  expect(parseBenchOptions(["snapshot", "--holds", "5", "--warmup", "0"])).toMatchObject({
    holds: 5,
    warmupSeconds: 0,
  });
});

test("an option that the workload has no use for is refused, and so is nonsense", () => {
  const refused = [
    ["failover", "--workers", "3"],
    ["failover", "--seconds", "3"],
    ["failover", "--endpoints", "ws://a:1"],
    ["contended", "--runs", "3"],
    ["uncontended", "--holds", "3"],
    ["snapshot", "--runs", "3"],
    ["failover", "--runs", "0"],
    ["snapshot", "--holds", "many"],
    ["snapshot", "--unheard-of"],
    ["failover", "snapshot"],
    ["throughput"],
    [],
  ];
  for (const argv of refused) {
    expect(() => parseBenchOptions(argv), argv.join(" ")).toThrow(UsageError);
  }
});

test("help is asked for with or without a workload", () => {
  expect(parseBenchOptions(["--help"])).toBeUndefined();
  expect(parseBenchOptions(["failover", "-h"])).toBeUndefined();
});
