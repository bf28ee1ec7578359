import { expect, test } from "vitest";
import { WORKLOADS } from "../../../bench/options/bench-numbers.js";
import { parseInvocation, type Several } from "../../../bench/options/invocation.js";
import { SYSTEM_NAMES } from "../../../bench/options/system-names.js";
import { PEER_NAMES } from "../../../bench/peers/peer.js";
import { UsageError } from "../../../lab/command-line.js";

function several(...argv: string[]): Several {
  const invocation = parseInvocation(argv);
  if (invocation.kind !== "several") throw new Error(`${argv.join(" ")}: ${invocation.kind}`);
  return invocation;
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
  expect(steps.map(({ systems }) => systems)).toEqual([["holdfast", "redis", "zookeeper"]]);
  expect(steps[0]?.argv).toEqual(["contended"]);
  expect(json).toBe(true);
  expect(several("uncontended", "--peers", "all").steps[0]?.systems).toEqual(SYSTEM_NAMES);
});

test("everything has each workload, and its peers where they can do it", () => {
  const { steps, save, markdown, svg } = several("--all", "--peers", "all");
  const workloads = steps.map(({ options }) => options.workload);
  expect(new Set(workloads)).toEqual(new Set(WORKLOADS));
  for (const name of PEER_NAMES) {
    const compared = steps.filter(({ systems }) => systems.includes(name));
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
  expect(steps.map(({ argv, systems }) => [argv.join(" "), ...systems.slice(1)])).toEqual([
    ["uncontended --workers=1024 --seconds=2", "redlock-client", "redlock-door"],
    ["uncontended --workers=64 --seconds=2", "redlock-client", "redlock-door"],
    ["uncontended --workers=64 --connections=64 --seconds=2", "http-door"],
  ]);
  expect(() => several("doors", "--peers", "etcd")).toThrow(/measures those that it has/);
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
    ["--al"],
    [],
  ];
  for (const argv of refused)
    expect(() => parseInvocation(argv), argv.join(" ")).toThrow(UsageError);
});
