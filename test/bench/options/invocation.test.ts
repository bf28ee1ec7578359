import { expect, test } from "vitest";
import { WORKLOADS } from "../../../bench/options/bench-numbers.js";
import { UsageError } from "../../../bench/options/bench-options.js";
import { parseInvocation, type Several } from "../../../bench/options/invocation.js";
import { SYSTEM_NAMES } from "../../../bench/options/system-names.js";
import { PEER_NAMES } from "../../../bench/peers/peer.js";

function several(...argv: string[]): Several {
  const invocation = parseInvocation(argv);
  if (invocation.kind !== "several") throw new Error(`${argv.join(" ")}: ${invocation.kind}`);
  return invocation;
}

test("one workload alone is measured in this process", () => {
  expect(parseInvocation(["contended", "--workers", "3"])).toMatchObject({
    kind: "one",
    options: { workload: "contended", workers: 3, system: "holdfast" },
    isSupervised: false,
  });
  expect(parseInvocation(["--help"])).toEqual({ kind: "help" });
});

test("peers are measured after this system, in one order, whichever was asked for first", () => {
  const { steps, isJson } = several("contended", "--peers", "zookeeper,redis", "--json");
  expect(steps.map(({ systems }) => systems)).toEqual([["holdfast", "redis", "zookeeper"]]);
  expect(steps[0]?.argv).toEqual(["contended"]);
  expect(isJson).toBe(true);
  expect(several("uncontended", "--peers", "all").steps[0]?.systems).toEqual(SYSTEM_NAMES);
});

test("everything has each workload, and its peers where they can do it", () => {
  const { steps, saveFile, markdownFile, svgFile } = several("--all", "--peers", "all");
  const workloads = steps.map(({ options }) => options.workload);
  expect(new Set(workloads)).toEqual(new Set(WORKLOADS));
  for (const name of PEER_NAMES) {
    const compared = steps.filter(({ systems }) => systems.includes(name));
    expect(compared.length, name).toBeGreaterThan(1);
  }
  expect([saveFile, markdownFile, svgFile]).toEqual([
    ".holdfast/bench.jsonl",
    ".holdfast/bench.md",
    ".holdfast/bench.svg",
  ]);
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

test("files of one load are written only where they were asked for", () => {
  const one = several("contended", "--svg", "a.svg", "--save", "a.jsonl", "--resume");
  expect(one).toMatchObject({ svgFile: "a.svg", saveFile: "a.jsonl", isResumed: true });
  expect(one.markdownFile).toBeUndefined();
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
    ["--al"],
    [],
  ];
  for (const argv of refused)
    expect(() => parseInvocation(argv), argv.join(" ")).toThrow(UsageError);
});
