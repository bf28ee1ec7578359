import { expect, test } from "vitest";
import { WORKLOADS } from "../../../bench/options/bench-numbers.js";
import { bestConnections } from "../../../bench/options/best-connections.js";
import { parseInvocation, type Several, type Step } from "../../../bench/options/invocation.js";
import { COMPARED_SYSTEMS, SYSTEM_NAMES } from "../../../bench/options/system-names.js";
import { UsageError } from "../../../lab/command-line.js";

function several(...argv: string[]): Several {
  const invocation = parseInvocation(argv);
  if (invocation.kind !== "several") throw new Error(`${argv.join(" ")}: ${invocation.kind}`);
  return invocation;
}

function namesOf({ runs }: Step): string[] {
  return runs.map(({ name }) => name);
}

test("one workload alone is measured in this process", () => {
  expect(parseInvocation(["contended", "--workers", "3"])).toMatchObject({
    kind: "one",
    options: { workload: "contended", workers: 3, system: "holdfast" },
  });
  expect(parseInvocation(["rw", "--json", "--supervised"])).toMatchObject({
    json: true,
    supervised: true,
  });
});

test("peers are measured after this system, in one order, whichever was asked for first", () => {
  const { steps, json } = several("contended", "--peers", "zookeeper,redis", "--json");
  expect(steps.map(namesOf)).toEqual([["holdfast", "redis", "zookeeper"]]);
  expect(steps[0]?.argv).toEqual(["contended"]);
  expect(json).toBe(true);
  expect(several("uncontended", "--peers", "all").steps.map(namesOf)).toEqual([SYSTEM_NAMES]);
});

test("everything has each workload, and its peers where they can do it", () => {
  const { steps, save, markdown, svg } = several("--all", "--peers", "all");
  const workloads = steps.map(({ options }) => options.workload);
  expect(new Set(workloads)).toEqual(new Set(WORKLOADS));
  for (const name of COMPARED_SYSTEMS) {
    const compared = steps.filter((step) => namesOf(step).includes(name));
    expect(compared.length, name).toBeGreaterThan(1);
  }
  expect([save, markdown, svg]).toEqual([
    ".holdfast/bench.jsonl",
    ".holdfast/bench.md",
    ".holdfast/bench.svg",
  ]);
});

test("the doors are measured in turns, on this system and on the one they were made for", () => {
  const { steps, turns } = several("doors", "--seconds", "2");
  expect(turns).toBe(3);
  expect(several("doors", "--turns", "5").turns).toBe(5);
  expect(steps.map((step) => [step.argv.join(" "), ...namesOf(step).slice(1)])).toEqual([
    ["uncontended --workers=1 --seconds=2", "redis-aof", "redis-door"],
    ["uncontended --workers=64 --seconds=2", "redis-aof", "redis-door"],
    ["contended --workers=64 --seconds=2", "redis-aof", "redis-door"],
    ["uncontended --workers=1024 --seconds=2", "redlock-client", "redlock-door"],
    ["uncontended --workers=64 --seconds=2", "redlock-client", "redlock-door"],
    ["uncontended --workers=64 --connections=64 --seconds=2", "http-door"],
  ]);
  expect(() => several("doors", "--peers", "etcd")).toThrow(/measures those that it has/);
});

test("a row that does not wait for its releases is part of everything, and of others when wanted", () => {
  const rows = (...argv: string[]) => several(...argv).steps.map(namesOf);
  expect(rows("--all").flat()).toContain("holdfast-unawaited");
  expect(rows("uncontended", "--peers", "redis")).toEqual([["holdfast", "redis"]]);
  const [step] = several("uncontended", "--peers", "holdfast-unawaited").steps;
  expect(step?.runs[1]?.argv).toEqual(["uncontended", "--system=holdfast-unawaited"]);
});

test("other versions of Node.js are rows of their own, each once, before other systems", () => {
  const [step] = several("rw", "--node", "22,24,22", "--workers", "3").steps;
  expect(step?.runs.map(({ name, node, argv }) => [name, node, argv.join(" ")])).toEqual([
    ["holdfast", undefined, "rw --workers=3"],
    ["holdfast on Node.js 22", "22", "rw --workers=3"],
    ["holdfast on Node.js 24", "24", "rw --workers=3"],
  ]);
  const [both] = several("contended", "--node", "20.19.1", "--peers", "etcd").steps;
  expect(both?.runs.map(({ name }) => name)).toEqual([
    "holdfast",
    "holdfast on Node.js 20.19.1",
    "etcd",
  ]);
});

test("peers have the connections they are fastest with, unless a number is given or workers compete", () => {
  const connectionsOf = (...argv: string[]) => {
    return several(...argv, "--peers", "redis,postgres-table").steps[0]?.runs.map(({ options }) => {
      return "connections" in options ? options.connections : undefined;
    });
  };
  expect(connectionsOf("uncontended")).toEqual([8, bestConnections("redis", 8), 8]);
  expect(bestConnections("redis", 8)).not.toBe(8);
  expect(connectionsOf("uncontended", "--connections", "5")).toEqual([5, 5, 5]);
  expect(connectionsOf("contended")).toEqual([8, 8, 8]);
});

test("a number for everything counts where it is taken and not planned otherwise", () => {
  const { steps, turns } = several("--all", "--seconds", "2", "--workers", "3", "--turns", "4");
  expect(turns).toBe(4);
  for (const { options } of steps) {
    if ("seconds" in options) expect(options.seconds).toBe(2);
    if (options.workload === "rw") expect(options.workers).toBe(3);
  }
  const uncontended = steps.filter(({ options }) => options.workload === "uncontended");
  expect(uncontended.map(({ options }) => "workers" in options && options.workers)).not.toContain(
    3,
  );
});

test("a process that measures one step gets what was typed, and nothing else", () => {
  const argv = ["rw", "--endpoints", "ws://a:1,ws://b:2", "--turns", "2", "--keys=07", "--json"];
  const { steps } = several(...argv);
  expect(steps[0]?.argv).toEqual(["rw", "--endpoints=ws://a:1,ws://b:2", "--keys=7"]);
  const planned = several("--all", "--workers", "3").steps.map((step) => step.argv.join(" "));
  expect(planned).toContain("uncontended --workers=1 --attach=follower");
  expect(planned).toContain("table --workers=3");
});

test("files of one load are written only where they were asked for", () => {
  const one = several("contended", "--svg", "a.svg", "--save", "a.jsonl", "--resume");
  expect(one).toMatchObject({ svg: "a.svg", save: "a.jsonl", resume: true });
  expect(one.markdown).toBeUndefined();
});

test("what cannot be is refused", () => {
  const refused = [
    ["contended", "--peers", "consul"],
    ["contended", "--peers", ""],
    ["queue", "--peers", "redis"],
    ["contended", "--turns", "0"],
    ["contended", "--turns", "100"],
    ["contended", "--resume"],
    ["contended", "--peers", "redis", "--resume"],
    ["contended", "--peers", "redis", "--endpoints", "ws://a:1"],
    ["--all", "contended"],
    ["--all", "--endpoints", "ws://a:1"],
    ["--all", "--system", "redis"],
    ["--all", "--seconds", "0"],
    ["contended", "--system", "redis", "--peers", "etcd"],
    ["queue", "--node", "22"],
    ["uncontended", "--node", "latest"],
    ["uncontended", "--node", ""],
    ["uncontended", "--node", "22", "--system", "redis"],
    ["uncontended", "--node", "22", "--endpoints", "ws://a:1"],
    ["--all", "--node", "22"],
    ["doors", "--node", "22"],
    ["--al"],
    [],
  ];
  for (const argv of refused)
    expect(() => parseInvocation(argv), argv.join(" ")).toThrow(UsageError);
});
