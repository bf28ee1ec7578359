import { expect, test } from "vitest";
import { NUMBER_NAMES, WORKLOADS } from "../../../bench/options/bench-numbers.js";
import { parseBenchOptions, UsageError } from "../../../bench/options/bench-options.js";
import { USAGE } from "../../../bench/options/bench-usage.js";

test("every workload has defaults for all that it takes", () => {
  const every = { warmupSeconds: 3, isJson: false };
  const spread = { ...every, connections: 8 };
  const numbers = { workers: 64, seconds: 10, keys: 0, limit: 0, rate: 0 };
  const own = { system: "holdfast", attach: "leader", endpoints: undefined };
  const load = { ...spread, ...numbers, ...own };
  expect(WORKLOADS.map((workload) => parseBenchOptions([workload]))).toEqual([
    { workload: "uncontended", ...load, workers: 1_024 },
    { workload: "contended", ...load },
    { workload: "hot-set", ...load, workers: 256, keys: 1_024 },
    { workload: "rw", ...load, keys: 4 },
    { workload: "semaphore", ...load, limit: 8 },
    { workload: "multi", ...load, keys: 64 },
    { workload: "queue", ...spread, waiters: 100_000, rounds: 5 },
    { workload: "table", ...spread, workers: 1_024, seconds: 5, rounds: 5, holds: 1_000_000 },
    { workload: "sessions", ...every, count: 10_000, holds: 100_000, seconds: 30 },
    { workload: "failover", ...spread, runs: 20 },
    { workload: "snapshot", ...spread, workers: 64, holds: 1_000_000 },
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
  expect(parseBenchOptions(["rw", "--rate", "500"])).toMatchObject({ rate: 500 });
  expect(parseBenchOptions(["contended", "--system", "etcd"])).toMatchObject({ system: "etcd" });
  expect(parseBenchOptions(["rw", "--attach", "follower"])).toMatchObject({ attach: "follower" });
  expect(parseBenchOptions(["rw", "--keys", "2"])).toMatchObject({ keys: 2 });
  expect(parseBenchOptions(["semaphore", "--limit", "3"])).toMatchObject({ limit: 3 });
  expect(parseBenchOptions(["queue", "--waiters", "500", "--rounds", "2"])).toMatchObject({
    waiters: 500,
    rounds: 2,
  });
  expect(parseBenchOptions(["sessions", "--count", "20", "--holds", "7"])).toMatchObject({
    count: 20,
    holds: 7,
  });
});

test("an option that the workload has no use for is refused, and so is nonsense", () => {
  const refused = [
    ["failover", "--workers", "3"],
    ["failover", "--seconds", "3"],
    ["failover", "--endpoints", "ws://a:1"],
    ["contended", "--runs", "3"],
    ["uncontended", "--holds", "3"],
    ["uncontended", "--keys", "3"],
    ["rw", "--limit", "3"],
    ["semaphore", "--keys", "3"],
    ["semaphore", "--limit", "0"],
    // Up to four different ones are wanted at once.
    ["multi", "--keys", "3"],
    // A long queue is longer than the short ones.
    ["queue", "--waiters", "100"],
    ["queue", "--seconds", "3"],
    ["queue", "--endpoints", "ws://a:1"],
    ["table", "--count", "3"],
    // What is held would expire.
    ["table", "--seconds", "41"],
    ["table", "--seconds", "5", "--rounds", "41"],
    ["sessions", "--connections", "3"],
    ["sessions", "--count", "0"],
    ["snapshot", "--runs", "3"],
    ["failover", "--runs", "0"],
    ["snapshot", "--holds", "many"],
    ["snapshot", "--unheard-of"],
    ["failover", "snapshot"],
    ["queue", "--rate", "3"],
    ["uncontended", "--rate", "fast"],
    ["queue", "--attach", "follower"],
    ["uncontended", "--attach", "n1"],
    ["uncontended", "--system", "consul"],
    // Peers have exclusive locks, on servers of the bench's own.
    ["rw", "--system", "redis"],
    ["uncontended", "--system", "redis", "--endpoints", "ws://a:1"],
    ["uncontended", "--system", "redis", "--attach", "follower"],
    ["throughput"],
    [],
  ];
  for (const argv of refused) {
    expect(() => parseBenchOptions(argv), argv.join(" ")).toThrow(UsageError);
  }
});

test("help names every workload", () => {
  for (const workload of WORKLOADS) expect(USAGE).toMatch(new RegExp(`^  ${workload} {3,}`, "m"));
});

test("help tells every option, with the defaults that it has", () => {
  const options = USAGE.slice(USAGE.indexOf("\nOptions:"));
  for (const name of NUMBER_NAMES) expect(options).toContain(`\n  --${name} <n> `);
  expect(options).toContain("(default of uncontended, table: 1024; contended, rw, semaphore,");
  expect(options).toContain("(default of all: 3)");
  for (const line of USAGE.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
});

test("help is asked for with or without a workload", () => {
  expect(parseBenchOptions(["--help"])).toBeUndefined();
  expect(parseBenchOptions(["failover", "-h"])).toBeUndefined();
});
