import { expect, test } from "vitest";
import { type MeasuredLoad, tableResult } from "../../../bench/workloads/table/table-result.js";

const OPTIONS = {
  workload: "table",
  connections: 8,
  workers: 64,
  seconds: 3,
  rounds: 3,
  holds: 1 << 20,
  warmupSeconds: 0,
  isJson: true,
} as const;
const LATENCIES = { p50: 1, p99: 2, p999: 3, max: 4 };

function load(
  round: number,
  table: "empty" | "full",
  cyclesPerSecond: number,
  cpuMicrosPerCycle: Readonly<Record<string, number>> = {},
): MeasuredLoad {
  const window = {
    seconds: 3,
    cyclesPerSecond,
    acquireMs: LATENCIES,
    acquireMsByKind: {},
    cpuSecondsPerProcess: {},
    diskBytes: null,
    residentMiB: { start: {}, end: {} },
    cpuMicrosPerCycle,
  };
  const rest = { rates: [], spans: [], errors: { BUSY: 1 }, fencingViolations: 1 };
  return { round, table, window, ...rest };
}

function resultOf(...loads: MeasuredLoad[]) {
  const residentMiB = {
    start: { n1: 60, n2: 70 },
    empty: { n1: 100, n2: 110 },
    filled: { n1: 500, n2: 520 },
    settled: { n1: 460, n2: 470 },
    end: { n1: 600, n2: 600 },
  };
  const machine = { cores: 2, loadBefore: 0 };
  return tableResult(OPTIONS, { machine, keyBytes: 30, fillSeconds: 40, loads, residentMiB });
}

test("medians over the rounds are compared, so one bad round of either changes nothing", () => {
  const result = resultOf(
    load(1, "empty", 10_000, { load: 500, n1: 20, n2: 20 }),
    load(1, "full", 8_000, { load: 900, n1: 25, n2: 35 }),
    load(2, "full", 500, { load: 900, n1: 250, n2: 350 }),
    load(2, "empty", 11_000, { load: 500, n1: 20, n2: 18 }),
    load(3, "empty", 100, { load: 500, n1: 200, n2: 200 }),
    load(3, "full", 9_000, { load: 900, n1: 25, n2: 31 }),
  );
  expect(result).toMatchObject({
    empty: { cyclesPerSecond: 10_000, serverCpuMicros: 40 },
    full: { cyclesPerSecond: 8_000, serverCpuMicros: 60 },
    throughputRatio: 0.8,
    serverCpuRatio: 1.5,
    errors: { BUSY: 6 },
    fencingViolations: 6,
  });
  expect(result.details.map(({ round, table }) => `${round} ${table}`)).toEqual([
    "1 empty",
    "1 full",
    "2 full",
    "2 empty",
    "3 empty",
    "3 full",
  ]);
});

test("memory of a lock is the growth of the node that grew most", () => {
  const result = resultOf(load(1, "empty", 1), load(1, "full", 1));
  expect(result.residentBytesPerHold).toEqual({ filled: 410, settled: 360, fromStart: 400 });
});

test("seconds of the full table that a snapshot touched are told apart from the others", () => {
  const rates = [
    { fromMs: 0, toMs: 1_000, cycles: 900 },
    { fromMs: 1_000, toMs: 2_000, cycles: 300 },
  ];
  const other = { ...load(1, "empty", 1), rates: [{ fromMs: 0, toMs: 1_000, cycles: 5_000 }] };
  const before = { ...load(1, "full", 1), rates };
  const spans = [{ node: 2, fromMs: 1_500, toMs: 1_800 }];
  const after = { ...load(2, "full", 1), spans };
  expect(resultOf(other, before, after).fullCyclesPerSecond).toEqual({ without: 900, with: 300 });
});

test("where the system does not report CPU there is no ratio of it, and JSON keeps that", () => {
  const result = resultOf(load(1, "empty", 15_000), load(1, "full", 12_000));
  expect(JSON.parse(JSON.stringify(result))).toMatchObject({
    full: { serverCpuMicros: null },
    serverCpuRatio: null,
    throughputRatio: 0.8,
  });
});
