/**
 * Plans in which time itself is tested: everything is set as in production, and there is one
 * fault at a time, each completely over before the next begins. What such a cluster owes follows
 * from its settings and from the delays of links, disks and turns, so there are laws with
 * figures (`checks/time/time-laws.ts`). A share of the seeds, drawn from a stream of its own.
 */

import type { RandomStream, RandomStreams } from "../../../lab/random-stream.js";
import type { DiskTimes } from "../world/disk/disk-weather.js";
import type { PathTimes } from "../world/network/paths.js";
import type { ClientPlan } from "./client-plan.js";
import { type Fault, FOLLOWER, LEADER } from "./fault.js";
import { semaphoresOf } from "./lock-mix.js";
import type { SimPlan } from "./plan.js";
import { silencePlanOf } from "./silence-plan.js";

/** For each application; what it does to itself does not trouble the cluster. */
const CLIENT_TROUBLES_MAX = 4;
const WALL_JUMP_MS = 100_000;

const TIMED_SHARE = 1 / 8;
/** The share of them in which nothing breaks, so nothing may happen. */
const QUIET_SHARE = 0.1;
/** By then somebody leads. */
const FROM_MS = 3_000;
const STORM_MS = 18_000;
/** After the end of a trouble: who was away is back, and has what the others have. */
const REST_MS = 1_500;
const SHORT_STORM_MS = 8_000;

const DOWN_MS = [1, 500] as const;
/** Longer than it takes to choose another leader, shorter than links outlive silence. */
const SILENCE_MS = [2_000, 2_700] as const;
/** Shorter than the election timeout by a heartbeat and more: nobody has a reason to do anything. */
const STALL_MS = [30, 450] as const;
/** Beyond the election timeout, after which a leader whose disk stands steps down. */
const LONG_STALL_MS = [800, 2_500] as const;
/** For what has no duration of its own. */
const MOMENT_MS = 400;

/** Few rolls of the log, which take more writes than a record does. */
const SEGMENT_BYTES = 512 << 10;
/** Steady work, of which there need not be much. */
const CLIENTS_MAX = 3;
const THINK_MS_MIN = 40;

/**
 * At most 0.2, 3 and 2 ms, and disks 0.15, 2.5 and 2.5 ms: an election is to take no longer than
 * `closedPeerDelayMs`, for which a vote binds (consensus rule 26), and a vote takes up to eight
 * writes. As long as votes are being written, somebody else may stand.
 */
const LINKS: readonly PathTimes[] = [
  { latencyMs: 0.1, jitterMs: 0.1, stragglerFactor: 1 },
  { latencyMs: 0.5, jitterMs: 2.5, stragglerFactor: 1 },
  { latencyMs: 0.5, jitterMs: 0.15, stragglerFactor: 10 },
];
const QUICK_DISKS: DiskTimes = { writeMs: 0.1, jitterMs: 0.05, stragglerFactor: 1 };
const DISKS: readonly DiskTimes[] = [
  QUICK_DISKS,
  { writeMs: 1, jitterMs: 1.5, stragglerFactor: 1 },
  { writeMs: 2, jitterMs: 0.5, stragglerFactor: 1 },
  { writeMs: 0.5, jitterMs: 0.1, stragglerFactor: 20 },
];

/** Kinds of fault that no other plan has. */
export const TIMED_ONLY: readonly Fault["kind"][] = [
  "freeze",
  "hangWriteNow",
  "failWriteNow",
  "suspendClient",
  "jumpClientWall",
];

type TroubleMaker = (random: RandomStream, atMs: number) => Fault;

const anyNode = (random: RandomStream): number => random.pick([LEADER, FOLLOWER]);
/** More often who leads, since that is where elections come from. */
const mostlyLeader = (random: RandomStream): number => random.pick([LEADER, LEADER, FOLLOWER]);

const closed: TroubleMaker = (random, atMs) => ({
  kind: "crash",
  atMs,
  node: mostlyLeader(random),
  crash: "kill",
  downMs: random.integer(...DOWN_MS),
  afterEffects: 0,
});

const cutOff: TroubleMaker = (random, atMs) => ({
  kind: "partition",
  atMs,
  side: [mostlyLeader(random)],
  forMs: random.integer(...SILENCE_MS),
});

const stopped: TroubleMaker = (random, atMs) => ({
  kind: "pause",
  atMs,
  node: anyNode(random),
  forMs: random.integer(...SILENCE_MS),
});

const frozen: TroubleMaker = (random, atMs) => ({
  kind: "freeze",
  atMs,
  node: anyNode(random),
  forMs: random.integer(...SILENCE_MS),
  isAsleep: random.chance(0.5),
});

const handOver: TroubleMaker = (_random, atMs) => ({ kind: "transfer", atMs, node: 0 });

const stall: TroubleMaker = (random, atMs) => {
  const [least, most] = random.chance(0.6) ? STALL_MS : LONG_STALL_MS;
  return { kind: "hangDisk", atMs, node: anyNode(random), forMs: random.integer(least, most) };
};

/** Only quick disks are written to at once. */
const writeNow: TroubleMaker = (random, atMs) => {
  const target = { atMs, node: anyNode(random) };
  if (random.chance(0.5)) return { ...target, kind: "failWriteNow" };
  return { ...target, kind: "hangWriteNow", forMs: random.integer(...SILENCE_MS) };
};

/** The quickest most often: only now and then does an election go wrong. */
const TROUBLES = [
  closed,
  closed,
  closed,
  closed,
  cutOff,
  stopped,
  frozen,
  handOver,
  stall,
] as const;
const TROUBLES_OF_QUICK_DISKS = [...TROUBLES, writeNow, writeNow] as const;

export function isTimed(streams: RandomStreams): boolean {
  return streams.of("timed seeds").chance(TIMED_SHARE);
}

export function timedPlanOf(
  seed: number,
  streams: RandomStreams,
  clientsOf: (hostsBefore: number, stormMs: number) => ClientPlan[],
): SimPlan {
  const random = streams.of("timed plan");
  const forClients = streams.of("timed clients");
  const nodeCount = random.pick([3, 5, 5]);
  const isQuiet = random.chance(QUIET_SHARE);
  const stormMs = isQuiet ? SHORT_STORM_MS : STORM_MS;
  const clients = clientsOf(nodeCount, stormMs).slice(0, CLIENTS_MAX).map(unhurried);
  const diskTimes = random.pick(DISKS);
  const applications = clients.filter(({ speaks }) => speaks === "sdk");
  const faults = [
    ...(isQuiet ? [] : troublesOf(random, diskTimes === QUICK_DISKS)),
    ...applications.flatMap((client) => clientTroublesOf(forClients, client, stormMs)),
  ];
  return {
    seed,
    isTimed: true,
    focus: "",
    nodeCount,
    spareCount: 0,
    stormMs,
    tuning: { segmentBytes: SEGMENT_BYTES },
    pathTimes: random.pick(LINKS),
    diskTimes,
    pace: { turnMs: random.pick([0, 0, 0.2, 0.5]), timerLateMs: random.pick([0, 0, 2, 90]) },
    keys: ["a", "b"],
    semaphores: semaphoresOf(streams.of("semaphores")),
    clients,
    faults: faults.sort((a, b) => a.atMs - b.atMs),
    healthy: Array.from({ length: nodeCount }, (_, at) => at + 1),
    others: "healthy",
    silence: silencePlanOf(streams),
  };
}

/** As many as there is time for. */
function troublesOf(random: RandomStream, isQuick: boolean): Fault[] {
  const faults: Fault[] = [];
  const makers = isQuick ? TROUBLES_OF_QUICK_DISKS : TROUBLES;
  for (let atMs = FROM_MS; ; ) {
    const fault = random.pick(makers)(random, atMs + random.integer(0, 200));
    atMs = fault.atMs + durationMs(fault) + REST_MS;
    if (atMs > STORM_MS) return faults;
    faults.push(fault);
  }
}

function clientTroublesOf(random: RandomStream, client: ClientPlan, stormMs: number): Fault[] {
  const count = random.integer(0, CLIENT_TROUBLES_MAX);
  return Array.from({ length: count }, (): Fault => {
    const atMs = random.integer(FROM_MS, stormMs);
    const target = { atMs, client: client.host };
    if (random.chance(0.3)) {
      const byMs = random.integer(-WALL_JUMP_MS, WALL_JUMP_MS);
      return { ...target, kind: "jumpClientWall", byMs };
    }
    const forMs = client.ttlMs + random.integer(-500, 2_000);
    // Set back by just as much as it slept, the wall clock would show nothing of it (decision 31).
    const wallMs = random.pick([0, 0, -2 * forMs, -WALL_JUMP_MS]);
    return { ...target, kind: "suspendClient", forMs, wallMs };
  });
}

function durationMs(fault: Fault): number {
  if ("forMs" in fault) return fault.forMs;
  return "downMs" in fault ? fault.downMs : MOMENT_MS;
}

function unhurried(client: ClientPlan): ClientPlan {
  const thinkMs = Math.max(client.thinkMs, THINK_MS_MIN);
  const actions = Math.ceil((client.actions * client.thinkMs) / thinkMs);
  return { ...client, thinkMs, actions, countsSleep: true };
}
