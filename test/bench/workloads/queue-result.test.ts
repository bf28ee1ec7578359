import { expect, test } from "vitest";
import { type MeasuredQueues, queueResult } from "../../../bench/workloads/queue/queue-result.js";

const OPTIONS = {
  workload: "queue",
  connections: 2,
  waiters: 5_000,
  rounds: 3,
  warmupSeconds: 0,
  isJson: true,
} as const;
const MACHINE = { cores: 2, loadBefore: 0 };
const BATCH = { enqueue: 10, cancel: 10, handOver: 5 };

/** Ten operations of each kind that took the given time, and the given CPU, each. */
function measured(
  round: number,
  waiters: number,
  wallMicros: number,
  cpuMicros: number,
): MeasuredQueues {
  const sum = { operations: 10, wallMicros: wallMicros * 10, cpuMicros: cpuMicros * 10 };
  const sums = { enqueue: sum, cancel: sum, handOver: sum };
  return { round, waiters, fillMs: 500, drainMs: 1_000, sums, violations: round === 2 ? 1 : 0 };
}

test("medians over the rounds are compared, so one bad round of either changes nothing", () => {
  const all = [
    measured(1, 100, 20, 10),
    measured(1, 5_000, 26, 14),
    measured(2, 5_000, 900, 90),
    measured(2, 100, 22, 11),
    measured(3, 100, 700, 70),
    measured(3, 5_000, 33, 15),
  ];
  const result = queueResult(OPTIONS, MACHINE, all, BATCH, 2);
  const compared = {
    few: { wallMicros: 22, serverCpuMicros: 11 },
    many: { wallMicros: 33, serverCpuMicros: 15 },
    wallRatio: 1.5,
    serverCpuRatio: 1.36,
  };
  const { details, ...rest } = result;
  expect(rest).toEqual({
    workload: "queue",
    machine: MACHINE,
    connections: 2,
    waiters: { few: 100, many: 5_000 },
    locks: { few: 10, many: 1 },
    rounds: 3,
    operationsPerRound: { enqueue: 20, cancel: 20, handOver: 10 },
    enqueue: compared,
    cancel: compared,
    handOver: compared,
    fillPerSecond: 10_000,
    drainPerSecond: 5_000,
    fencingViolations: 2,
  });
  const cost = { wallMicros: 900, serverCpuMicros: 90 };
  expect(details).toHaveLength(6);
  expect(details[2]).toEqual({
    round: 2,
    waiters: 5_000,
    enqueue: cost,
    cancel: cost,
    handOver: cost,
  });
});

test("where the system does not report CPU there is no figure of it, and JSON keeps that", () => {
  const all = [measured(1, 100, 20, Number.NaN), measured(1, 5_000, 30, Number.NaN)];
  const { enqueue } = queueResult(OPTIONS, MACHINE, all, BATCH, 2);
  expect(JSON.parse(JSON.stringify(enqueue))).toEqual({
    few: { wallMicros: 20, serverCpuMicros: null },
    many: { wallMicros: 30, serverCpuMicros: null },
    wallRatio: 1.5,
    serverCpuRatio: null,
  });
});
