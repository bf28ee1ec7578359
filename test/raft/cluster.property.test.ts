/**
 * Random schedules of everything that can happen to a cluster, every invariant after every turn,
 * and progress once it is whole again. A failure prints the seed and the shrunk schedule.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Cluster } from "./cluster.js";

/** Schedules drawn for each size; `HOLDFAST_RAFT_RUNS=5000` for a longer look. */
const { HOLDFAST_RAFT_RUNS } = process.env;
const RUNS = Number(HOLDFAST_RAFT_RUNS ?? 150);

/** What happens, by weight: small things one by one, … */
const CALM = [
  ...Array<"deliver">(16).fill("deliver"),
  ...Array<"persist">(8).fill("persist"),
  ...Array<"propose">(5).fill("propose"),
  ...Array<"drift">(4).fill("drift"),
  ...Array<"advance">(2).fill("advance"),
  ...Array<"campaign">(3).fill("campaign"),
  ...Array<"connect">(6).fill("connect"),
  ...Array<"notice">(3).fill("notice"),
  ...Array<"start">(3).fill("start"),
  ...Array<"break">(2).fill("break"),
  ...Array<"crash">(2).fill("crash"),
  "isolate",
  "unblock",
  "pause",
] as const;

/** … or one interrupted leadership after the other, as in figure 8 of the Raft paper. */
const CHURN = [
  ...Array<"campaign">(6).fill("campaign"),
  ...Array<"reach">(4).fill("reach"),
  ...Array<"propose">(4).fill("propose"),
  ...Array<"start">(4).fill("start"),
  ...Array<"crash">(2).fill("crash"),
  ...Array<"deliver">(2).fill("deliver"),
  ...Array<"persist">(2).fill("persist"),
  "advance",
] as const;

const steps = fc
  .constantFrom<readonly (typeof CALM | typeof CHURN)[number][]>(CALM, CHURN)
  .chain((kinds) =>
    fc.array(
      fc.record({
        kind: fc.constantFrom(...kinds),
        at: fc.nat({ max: 1_000 }),
        amount: fc.nat({ max: 1_000 }),
      }),
      { minLength: 20, maxLength: 250, size: "max" },
    ),
  );

type Step = typeof steps extends fc.Arbitrary<(infer One)[]> ? One : never;

const schedule = fc.record({
  seed: fc.nat(),
  warmMs: fc.constantFrom(0, 150, 400),
  config: fc.record({
    appendBytesMax: fc.constantFrom(1, 64, 4096),
    inflightBytesMax: fc.constantFrom(100, 1_000),
    inflightMessagesMax: fc.constantFrom(1, 3),
  }),
  steps,
});

function perform(cluster: Cluster, { kind, at, amount }: Step): void {
  const id = (at % cluster.ids.length) + 1;
  const links = cluster.network.links;
  const link = links[at % links.length];
  if (link === undefined) throw new Error("a cluster without links");
  switch (kind) {
    case "deliver":
      cluster.deliver(link, (amount % 3) + 1);
      break;
    case "persist":
      cluster.persist(id, (amount % 2) + 1);
      break;
    case "propose":
      cluster.propose(amount % 4 === 0 ? id : (cluster.leader?.id ?? id), 4 + (amount % 40));
      break;
    case "drift":
      cluster.drift(amount % 40);
      break;
    case "campaign":
      // The node's own timer is the last to fire, and others have been silent for as long.
      cluster.drift(Math.max(0, cluster.node(id).nextDeadlineMs - cluster.nowMs));
      exchange(cluster, id, amount);
      break;
    case "reach":
      exchange(cluster, id, amount);
      break;
    case "advance":
      cluster.advance(amount % 40);
      break;
    case "connect":
      cluster.connect(link);
      break;
    case "notice":
      cluster.notice(link);
      break;
    case "start":
      cluster.start(id);
      break;
    case "break":
      cluster.break(link);
      break;
    case "isolate":
      cluster.isolate(id);
      break;
    case "unblock":
      cluster.unblockAll();
      break;
    case "crash":
      cluster.crash(id, amount % 3);
      break;
    case "pause":
      cluster.nowMs += 100 + (amount % 400);
      cluster.turn(id);
      break;
  }
}

/** For a while the links between one node and some others work, and so do all disks. */
function exchange(cluster: Cluster, id: number, amount: number): void {
  const rounds = 1 + (amount % 7);
  const group = Math.floor(amount / 7);
  for (let round = 0; round < rounds; round += 1) {
    for (const link of cluster.network.links) {
      const other = link.from === id ? link.to : link.from;
      if ((link.from !== id && link.to !== id) || (group >> other) % 2 === 0) continue;
      cluster.notice(link);
      cluster.connect(link);
      cluster.deliver(link, 1 + (amount % 2));
    }
    for (const each of cluster.ids) cluster.persist(each);
  }
}

/** Everything works again: a leader within bounds, a new entry everywhere, equal histories. */
function expectProgress(cluster: Cluster): void {
  cluster.unblockAll();
  cluster.startAll();
  cluster.electLeader(4_000);
  cluster.advance(300);
  const leader = cluster.electLeader(4_000);
  cluster.propose(leader.id);
  cluster.advance(100);
  const { lastIndex } = leader.raft;
  for (const node of cluster.nodes) {
    expect(node.raft.commitIndex, cluster.describe()).toBe(lastIndex);
    expect(node.applied).toEqual(leader.applied);
  }
}

describe.each([3, 5])("a cluster of %i under random schedules", (size) => {
  it("keeps every invariant and makes progress when it is whole again", () => {
    fc.assert(
      fc.property(schedule, ({ seed, warmMs, config, steps }) => {
        const cluster = new Cluster({ size, seed, config });
        cluster.startAll();
        if (warmMs > 0) cluster.advance(warmMs);
        for (const each of steps) perform(cluster, each);
        expectProgress(cluster);
      }),
      { numRuns: RUNS },
    );
  });
});
