/**
 * The swarm: a seed decides the size of the cluster, times, limits, clients and which kinds of
 * trouble there are, each kind with probability one half, so that no two runs test the same thing.
 */
import type { NodeTuning } from "../../../src/server/index.js";
import { type RandomStream, RandomStreams } from "../engine/random-stream.js";
import type { Fault } from "./fault.js";
import { FAULT_MAKERS, type FaultScene } from "./fault-makers.js";
import type { ClientPlan, SimPlan } from "./plan.js";

const KEYS = ["a", "b", "c", "d"] as const;

export function planOf(seed: number): SimPlan {
  const streams = new RandomStreams(seed);
  const random = streams.of("plan");
  const nodeCount = random.pick([1, 3, 3, 3, 3, 5]);
  const stormMs = random.integer(3_000, 6_000);
  const ids = Array.from({ length: nodeCount }, (_, at) => at + 1);
  const spareCount = random.chance(0.25) ? random.integer(1, 2) : 0;
  const spares = Array.from({ length: spareCount }, (_, at) => nodeCount + 1 + at);
  const clients = clientsOf(streams.of("clients"), nodeCount + spareCount, stormMs);
  const order = random.shuffled(ids);
  // Where members change, it is not known beforehand who will be a majority.
  const healthyCount = spareCount > 0 ? nodeCount : Math.floor(nodeCount / 2) + 1;
  const healthy = order.slice(0, healthyCount).sort((a, b) => a - b);
  const scene = { stormMs, ids, expendable: order.slice(healthyCount), clients, spares };
  return {
    seed,
    nodeCount,
    spareCount,
    stormMs,
    tuning: tuningOf(streams.of("tuning")),
    pathTimes: { latencyMs: random.pick([0.1, 0.5, 2]), jitterMs: random.pick([0.1, 1, 4]) },
    diskTimes: { writeMs: random.pick([0.1, 0.5, 3]), jitterMs: random.pick([0.1, 1, 5]) },
    keys: KEYS.slice(0, random.integer(1, KEYS.length)),
    clients,
    faults: faultsOf(streams, scene),
    healthy,
    others: random.pick(["down", "cut", "deaf", "paused", "healthy"] as const),
  };
}

function tuningOf(random: RandomStream): Partial<NodeTuning> {
  const electionTimeoutMs = random.integer(60, 150);
  const isNarrow = random.chance(0.3);
  const segmentBytes = random.pick([4 << 10, 16 << 10, 64 << 10]);
  return {
    electionTimeoutMs,
    heartbeatIntervalMs: Math.max(10, Math.floor(electionTimeoutMs / random.integer(3, 5))),
    closedPeerDelayMs: random.integer(5, 40),
    segmentBytes,
    batchBytesMax: segmentBytes / 4,
    ...random.pick([{}, snapshotsOf(random)]),
    applySliceEntriesMax: random.pick([1, 4, 256]),
    ...(isNarrow
      ? {
          uncommittedBytesMax: random.pick([512, 2_048]),
          batchBytesMax: 256,
          pipelineEntriesMax: random.integer(1, 3),
          appendBytesMax: random.pick([128, 1_024]),
          inflightMessagesMax: random.integer(1, 4),
          inflightBytesMax: 2_048,
        }
      : {}),
  };
}

/** So often that a run sees many of them, with hardly any log kept for slow followers. */
function snapshotsOf(random: RandomStream): Partial<NodeTuning> {
  const snapshotLogBytes = random.pick([1_500, 6_000, 20_000]);
  return { snapshotLogBytes, trailingLogBytes: random.integer(1, snapshotLogBytes) };
}

function clientsOf(random: RandomStream, hostsBefore: number, stormMs: number): ClientPlan[] {
  const thinkMs = random.pick([10, 30, 80]);
  const share = (max: number): number => (random.chance(0.5) ? random.next() * max : 0);
  const mix = {
    reconnect: share(0.04),
    close: share(0.02),
    inspect: share(0.3),
    cancel: share(0.4),
    release: random.between(0.3, 0.9),
    several: share(0.5),
    shared: share(0.6),
  };
  return Array.from({ length: random.integer(1, 6) }, (_, at) => ({
    host: hostsBefore + 1 + at,
    startMs: random.integer(0, 500),
    actions: Math.ceil(stormMs / thinkMs),
    thinkMs,
    ttlMs: random.integer(1_000, 3_000),
    mix,
  }));
}

function faultsOf(streams: RandomStreams, scene: FaultScene): Fault[] {
  const faults: Fault[] = [];
  const countMax = streams.of("faults").pick([3, 3, 10]);
  for (const [name, make] of Object.entries(FAULT_MAKERS)) {
    const random = streams.of(`faults ${name}`);
    if (!random.chance(0.5)) continue;
    for (
      let left = random.integer(1, name === "changeMember" ? 8 : countMax);
      left > 0;
      left -= 1
    ) {
      const fault = make(random, random.integer(0, scene.stormMs), scene);
      if (fault !== undefined) faults.push(fault);
    }
  }
  return faults.sort((a, b) => a.atMs - b.atMs);
}
