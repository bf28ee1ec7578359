import { expect, test } from "vitest";
import { NUMBER_NAMES, WORKLOADS } from "../../../bench/options/bench-numbers.js";
import { parseInvocation } from "../../../bench/options/invocation.js";
import { UsageError } from "../../../lab/command-line.js";

function optionsOf(argv: readonly string[]) {
  const invocation = parseInvocation(argv);
  if (invocation.kind !== "one") throw new Error(`${argv.join(" ")}: ${invocation.kind}`);
  return invocation.options;
}

test("every workload has defaults for all that it takes", () => {
  const every = { warmupSeconds: 3 };
  const spread = { ...every, connections: 8 };
  const numbers = { workers: 64, seconds: 10, keys: 0, limit: 0, rate: 0 };
  const own = { system: "holdfast", attach: "leader", tls: false, endpoints: undefined };
  const load = { ...spread, warmupSeconds: 20, ...numbers, ...own };
  expect(WORKLOADS.map((workload) => optionsOf([workload]))).toEqual([
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
    { workload: "storm", ...every, tls: false, count: 2_000, runs: 3 },
    { workload: "floods", ...every, seconds: 5, rate: 100, rounds: 5 },
    { workload: "snapshot", ...spread, workers: 64, holds: 1_000_000 },
    { workload: "page", ...spread, seconds: 5, rate: 5_000, rounds: 5, holds: 100_000 },
  ]);
});

test("what is given counts, and connections without a worker are not opened", () => {
  const argv = ["uncontended", "--workers", "3", "--endpoints", "ws://a:1,ws://b:2"];
  expect(optionsOf(argv)).toMatchObject({
    workers: 3,
    connections: 3,
    endpoints: ["ws://a:1", "ws://b:2"],
  });
  expect(optionsOf(["failover", "--runs", "3"])).toMatchObject({ runs: 3 });
  expect(optionsOf(["storm", "--count", "20", "--tls"])).toMatchObject({ count: 20, tls: true });
  expect(optionsOf(["rw", "--tls"])).toMatchObject({ tls: true });
  expect(optionsOf(["snapshot", "--holds", "5", "--warmup", "0"])).toMatchObject({
    holds: 5,
    warmupSeconds: 0,
  });
  expect(optionsOf(["rw", "--rate", "500"])).toMatchObject({ rate: 500 });
  expect(optionsOf(["contended", "--system", "etcd"])).toMatchObject({ system: "etcd" });
  expect(optionsOf(["rw", "--attach", "follower"])).toMatchObject({ attach: "follower" });
  expect(optionsOf(["rw", "--keys", "2"])).toMatchObject({ keys: 2 });
  expect(optionsOf(["semaphore", "--limit", "3"])).toMatchObject({ limit: 3 });
  expect(optionsOf(["queue", "--waiters", "500", "--rounds", "2"])).toMatchObject({
    waiters: 500,
    rounds: 2,
  });
  expect(optionsOf(["page", "--holds", "9", "--rate", "100", "--rounds", "1"])).toMatchObject({
    holds: 9,
    rate: 100,
    rounds: 1,
  });
  expect(optionsOf(["sessions", "--count", "20", "--holds", "7"])).toMatchObject({
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
    ["storm", "--connections", "3"],
    ["storm", "--attach", "follower"],
    ["queue", "--tls"],
    ["contended", "--tls", "--system", "redis"],
    // Without changes there is nothing to compare.
    ["page", "--rate", "0"],
    ["page", "--workers", "3"],
    ["page", "--attach", "follower"],
    ["contended", "--tls", "--endpoints", "ws://a:1"],
    ["throughput"],
    [],
  ];
  for (const argv of refused) {
    expect(() => optionsOf(argv), argv.join(" ")).toThrow(UsageError);
  }
});

test("help is asked for with or without a workload, and fits into 80 columns", () => {
  const help = parseInvocation(["--help"]);
  expect(help.kind).toBe("help");
  expect(parseInvocation(["failover", "-h"])).toEqual(help);
  const lines = "text" in help ? help.text.split("\n") : [];
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  for (const workload of WORKLOADS) {
    expect(
      lines.some((line) => line.startsWith(`  ${workload}  `)),
      workload,
    ).toBe(true);
  }
  for (const name of NUMBER_NAMES) {
    expect(
      lines.some((line) => line.startsWith(`  --${name} <n> `)),
      name,
    ).toBe(true);
  }
  const text = lines.join(" ").replaceAll(/\s+/g, " ");
  expect(text).toContain("(1 to 100000; default: 1024 for uncontended, table; 64 for contended,");
  expect(text).toContain("(0 to 3600; default: 20 for loads; 3 for");
  expect(text).not.toContain("--supervised");
});
