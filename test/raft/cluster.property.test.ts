/**
 * Random schedules of everything that can happen to a cluster. Every invariant is checked after
 * every turn, and the cluster must make progress once it is whole again. A failure prints the
 * seed and the shrunk schedule.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isJoint, membersOf } from "../../src/raft/index.js";
import { runsOf } from "../runs.js";
import { Cluster } from "./cluster/cluster.js";
import { type Mood, type Schedule, schedulesOf } from "./cluster/schedule.js";
import { perform } from "./cluster/schedule-steps.js";

/** Schedules drawn for each size and mood. */
const RUNS = runsOf(8);
/**
 * Rarer things need more: an entry of an older term that is counted, and one that is cut after it.
 */
const RUNS_FACTOR: Partial<Record<Mood, number>> = { reigns: 2, wild: 2 };

function run({ seed, mood, warmMs, config, steps }: Schedule, size: number, spares: number): void {
  const cluster = new Cluster({ size, spares, seed, config });
  cluster.startAll();
  if (warmMs > 0) cluster.advance(warmMs);
  for (const step of steps) perform(cluster, step);
  // Within a connection nothing is lost but in this mood.
  if (mood === "wild") for (const link of cluster.network.links) cluster.break(link);
  expectProgress(cluster);
}

/** Everything works again: a leader within bounds, a new entry everywhere, equal histories. */
function expectProgress(cluster: Cluster): void {
  cluster.unblockAll();
  cluster.startAll();
  for (const id of cluster.ids) cluster.holdApply(id, false);
  cluster.electLeader(4_000);
  cluster.advance(300);
  const leader = cluster.electLeader(4_000);
  cluster.propose(leader.id);
  const read = cluster.read(leader.id);
  cluster.advance(100);
  expect(leader.reads.map(({ id }) => id)).toContain(read);
  const { lastIndex, configuration } = leader.raft;
  expect(isJoint(configuration), cluster.describe()).toBe(false);
  for (const id of membersOf(configuration)) {
    const node = cluster.node(id);
    expect(node.raft.commitIndex, cluster.describe()).toBe(lastIndex);
    expect([node.appliedIndex, node.table]).toEqual([leader.appliedIndex, leader.table]);
    expect(node.raft.configuration).toEqual(configuration);
  }
  expectHandover(cluster, leader.id);
}

/** A leader can hand over to any node that may lead. */
function expectHandover(cluster: Cluster, from: number): void {
  const { voters } = cluster.raft(from).configuration;
  const to = voters.find((voter) => voter !== from);
  if (to === undefined) return;
  const id = cluster.transferLeadership(from, to);
  cluster.settle();
  expect(cluster.node(from).transfersEnded.at(-1)).toEqual({ id, isDone: true });
  expect(cluster.raft(to).role).toBe("leader");
}

const CASES: readonly (readonly [Mood, number, number])[] = [
  ["calm", 3, 0],
  ["calm", 5, 0],
  ["reigns", 3, 0],
  ["reigns", 5, 0],
  ["churn", 3, 0],
  ["churn", 5, 0],
  ["members", 3, 2],
  ["members", 1, 3],
  ["snapshots", 3, 1],
  ["snapshots", 5, 0],
  ["handovers", 3, 1],
  ["handovers", 5, 0],
  ["wild", 3, 1],
  ["wild", 5, 0],
];

/** Node 4 leads; node 5 installs its snapshot, its answer is lost, and node 4 cuts its log. */
const ANSWER_LOST: Schedule = {
  seed: 944789149,
  mood: "snapshots",
  warmMs: 400,
  config: { appendBytesMax: 1, inflightBytesMax: 100, inflightMessagesMax: 1, spareDelayMs: 0 },
  steps: [
    { kind: "fallBehind", at: 374, amount: 8_675 },
    { kind: "deliverSnapshot", at: 0, amount: 0 },
    { kind: "break", at: 479, amount: 0 },
    { kind: "reach", at: 0, amount: 0 },
    { kind: "deliver", at: 0, amount: 0 },
    { kind: "fallBehind", at: 0, amount: 0 },
    ...Array.from({ length: 8 }, () => ({ kind: "deliver", at: 0, amount: 0 }) as const),
  ],
};

describe("a cluster under random schedules", () => {
  it("goes on with a node whose answer about a snapshot is lost, even if the log is cut then", () => {
    run(ANSWER_LOST, 5, 0);
  });

  it.each(CASES)(
    "%s, %i voters and %i spare nodes: keeps every invariant and recovers",
    (mood, size, spares) => {
      fc.assert(
        fc.property(schedulesOf(mood), (schedule) => run(schedule, size, spares)),
        { numRuns: RUNS * (RUNS_FACTOR[mood] ?? 1) },
      );
    },
  );
});
