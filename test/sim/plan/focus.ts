/**
 * States that plans rarely reach by chance, as `npm run sim -- --coverage` and surviving seeded
 * bugs show, and what leads to them. Nearly half of the seeds have one such focus in addition to
 * everything else. All of it draws from a stream of its own, so a seed without a focus gives the
 * run that it always gave, and a seed with one is still all that is needed to repeat its run.
 */

import type { RandomStream, RandomStreams } from "../../../lab/random-stream.js";
import type { MemberAction } from "../../../src/protocol/index.js";
import type { NodeTuning } from "../../../src/server/index.js";
import type { ClientMix, ClientPlan, LockMix } from "./client-plan.js";
import type { DoorsLead } from "./doors-plan.js";
import { type Fault, type FaultKind, FOLLOWER, LEADER } from "./fault.js";
import { FAULT_MAKERS, type FaultScene } from "./fault-makers.js";
import type { SimPlan } from "./plan.js";

/** The share among the clients of a focus on applications, apart from the first one. */
const SDK_SHARE = 0.6;

export interface Focus {
  readonly name: string;
  /** There are nodes that may be added. */
  readonly hasSpares?: boolean;
  /** Founders and clients, at least. */
  readonly nodesMin?: number;
  readonly clientsMin?: number;
  readonly tuning?: Partial<NodeTuning>;
  readonly times?: Partial<Pick<SimPlan, "pathTimes" | "diskTimes">>;
  /** Clients are applications, most of them. */
  readonly hasSdk?: boolean;
  /** Clients compete for this many keys. */
  readonly keyCount?: number;
  readonly ttlMs?: readonly [least: number, most: number];
  /** There are owners of leases, and this share of what they do is not quite as it was. */
  readonly ownersVariety?: number;
  /** There are doors, and nothing that plans with doors have not. */
  readonly doors?: DoorsLead;
  /** Semaphores have room for many. */
  readonly isWide?: boolean;
  readonly mix?: Partial<ClientMix>;
  readonly locks?: Partial<LockMix>;
  /** In addition to the faults that the plan has. */
  readonly faults?: FaultsMaker;
}

type FaultsMaker = (random: RandomStream, scene: FaultScene) => (Fault | undefined)[];

const MANY_SNAPSHOTS = { snapshotLogBytes: 400, trailingLogBytes: 1 };
/** What is on its way is long under way. */
const SLOW_PATHS = { pathTimes: { latencyMs: 2, jitterMs: 4, stragglerFactor: 10 } };
const SLOW_DISKS = { diskTimes: { writeMs: 3, jitterMs: 5, stragglerFactor: 20 } };

/** Clients keep what they have for a while, and lose it to nobody. */
const MANY_HOLDS = { release: 0.15, inspect: 0, close: 0, cancel: 0.05 };
const PLAIN_HOLDS = {
  ...{ handOver: 0, permits: 0, revoke: 0, steal: 0, maxHold: 0 },
  ...{ downgrade: 0, reentrant: 0, nested: 0 },
};

const FOCUSES: readonly Focus[] = [
  {
    name: "elections and cuts while snapshots are taken, sent and restored",
    tuning: MANY_SNAPSHOTS,
    times: SLOW_DISKS,
    faults: several({
      ...{ slowDisk: 6, pause: 8, crash: 3, partition: 3, transfer: 4, reset: 4 },
      loseKeys: 4,
    }),
  },
  {
    name: "elections and cuts while members change",
    hasSpares: true,
    times: SLOW_PATHS,
    faults: several({ changeMember: 12, transfer: 5, crash: 2, cut: 4, reset: 3 }),
  },
  {
    name: "snapshots while members change",
    hasSpares: true,
    tuning: MANY_SNAPSHOTS,
    times: { ...SLOW_DISKS, ...SLOW_PATHS },
    faults: several({ changeMember: 12, slowDisk: 6, pause: 6, transfer: 3, crash: 2 }),
  },
  {
    name: "disks that are all full at once",
    hasSdk: true,
    locks: { depart: 0.04 },
    faults: (random, { ids, stormMs }) => {
      const atMs = random.integer(300, Math.floor(stormMs / 2));
      const forMs = random.integer(500, 1_500);
      return ids.map((node) => ({ kind: "fullDisk", atMs, node, forMs }));
    },
  },
  {
    name: "upgrades that are given up, and asked for again",
    hasSdk: true,
    tuning: MANY_SNAPSHOTS,
    mix: { shared: 0.8, cancel: 0.3, release: 0.3, inspect: 0 },
    locks: { upgrade: 0.4, downgrade: 0.15, reentrant: 0.6, nested: 0.3, permits: 0 },
    faults: several({ scarceMemory: 4, reconnectClient: 6, crash: 2 }),
  },
  {
    name: "holds that are handed over while nobody answers",
    hasSdk: true,
    ttlMs: [5_000, 6_000],
    mix: { shared: 0.7, release: 0.15, inspect: 0, close: 0 },
    locks: { handOver: 0.05, downgrade: 0.1, upgrade: 0.3, permits: 0, revoke: 0, steal: 0 },
    faults: (random, scene) => [...leftUnheard(random, scene), ...leftUnanswered(random, scene)],
  },
  {
    name: "a cluster that is away for longer than a lease",
    hasSdk: true,
    ttlMs: [1_000, 1_200],
    faults: (random, { stormMs }) => {
      const [atMs, downMs] = [
        random.integer(600, Math.floor(stormMs / 2)),
        random.integer(1_000, 1_600),
      ];
      return [{ kind: "crashAll", atMs, crash: "kill", downMs }];
    },
  },
  {
    name: "connections and sessions that are lost as soon as they stand",
    hasSdk: true,
    mix: { reconnect: 0.12, close: 0.06, inspect: 0 },
    faults: (random, scene) => [
      ...several({ reconnectClient: 12 })(random, scene),
      ...handedToTwins(random, scene),
    ],
  },
  {
    name: "connections that break before they report what was missed",
    hasSdk: true,
    ttlMs: [1_500, 2_000],
    times: { ...SLOW_PATHS, ...SLOW_DISKS },
    mix: { release: 0.1, inspect: 0, close: 0, shared: 0.6 },
    locks: { revoke: 0.15, handOver: 0, downgrade: 0, steal: 0, maxHold: 0 },
    faults: cutTwice,
  },
  {
    name: "holds that are ended once more, and had ended by themselves",
    mix: { release: 0.6, inspect: 0 },
    locks: { endAgain: 0.6, maxHold: 0.6, steal: 0.04, revoke: 0.05 },
    faults: several({ pauseClient: 4 }),
  },
];

const HAND_OVER_EVERY_MS = 100;
const LITTLE_ROOM_EVERY_MS = 50;

/** In a part of the plans that have none of the others, so that those stay as they are. */
const LATER_FOCUSES: readonly Focus[] = [
  {
    name: "processes that die in the writes that count, twice in a row",
    tuning: MANY_SNAPSHOTS,
    faults: several({ crashAtMoment: 8, transfer: 2, pause: 2 }),
  },
  {
    name: "machines on which every turn is late",
    nodesMin: 3,
    faults: (random, scene) => [
      ...several({ lateTurns: 3, partition: 3, cut: 2, transfer: 2 })(random, scene),
      ...lateAndAlone(random, scene),
    ],
  },
  {
    name: "answers that come late, and ways that end when something is asked",
    hasSdk: true,
    ttlMs: [1_500, 3_000],
    faults: several({ holdAnswers: 8, cutAtAsking: 10, reconnectClient: 8, restartClient: 3 }),
  },
  {
    name: "wide semaphores whose free slots have gaps",
    isWide: true,
    nodesMin: 3,
    clientsMin: 5,
    tuning: { ...MANY_SNAPSHOTS, snapshotChunkBytes: 400 },
    mix: { release: 0.5, inspect: 0.1 },
    locks: { permits: 0.9, setLimit: 0.02 },
    faults: (random, scene) => [
      ...several({ crash: 2, pause: 3, transfer: 2, reconnectClient: 3 })(random, scene),
      ...followersAway(random, scene),
    ],
  },
  {
    name: "reads at followers while another node leads every moment",
    nodesMin: 3,
    clientsMin: 3,
    mix: { inspect: 0.6 },
    faults: (_random, { stormMs }) => {
      const count = Math.floor(stormMs / HAND_OVER_EVERY_MS);
      return Array.from({ length: count }, (_, at) => {
        return { kind: "transfer", atMs: at * HAND_OVER_EVERY_MS, node: 0 };
      });
    },
  },
];

/** In a part of the plans that have none of the others. */
const RAFT_FOCUSES: readonly Focus[] = [
  {
    name: "snapshots on long ways, whose sender or receiver is gone in the middle",
    nodesMin: 3,
    clientsMin: 5,
    tuning: { snapshotLogBytes: 1_500, trailingLogBytes: 1, snapshotChunkBytes: 30 },
    times: { ...SLOW_PATHS, diskTimes: { writeMs: 0.5, jitterMs: 2, stragglerFactor: 20 } },
    mix: { inspect: 0.1 },
    faults: (random, scene) => [
      ...several({ aloneAtInstall: 5, transfer: 8, crash: 3, pause: 2, disorder: 2 })(
        random,
        scene,
      ),
      ...followersAway(random, scene),
      ...linksThatBreak(random, scene),
    ],
  },
  {
    name: "tails of the log that no other node has, over the edges of segments",
    nodesMin: 3,
    clientsMin: 4,
    tuning: {
      ...{ segmentBytes: 2_048, batchBytesMax: 512, pipelineEntriesMax: 24 },
      ...MANY_SNAPSHOTS,
      ...{ electionTimeoutMs: 100, heartbeatIntervalMs: 10 },
    },
    times: SLOW_PATHS,
    mix: { inspect: 0.1 },
    faults: (random, scene) => [
      ...several({ crash: 8, crashAtMoment: 3, reset: 3 })(random, scene),
      ...leadersUnheard(random, scene),
    ],
  },
  {
    name: "leaders that leave the members, and come back",
    hasSpares: true,
    nodesMin: 3,
    clientsMin: 3,
    times: SLOW_PATHS,
    mix: { inspect: 0.4 },
    faults: (random, scene) => [
      ...several({ slow: 6, cut: 3, transfer: 2 })(random, scene),
      ...leadersLeave(random, scene),
      ...learnersAtOnceAgain(random, scene),
    ],
  },
];

/** Focuses on locks, in a part of the plans that have none of those above. */
const LOCK_FOCUSES: readonly Focus[] = [
  {
    name: "crowds of readers whose holds are made stronger and weaker and reported again",
    keyCount: 2,
    nodesMin: 3,
    clientsMin: 5,
    tuning: { ...MANY_SNAPSHOTS, snapshotChunkBytes: 400 },
    mix: { shared: 0.85, several: 0.6, cancel: 0.3, release: 0.3, inspect: 0.05, meddle: 0 },
    locks: {
      ...{ upgrade: 0.4, downgrade: 0.35, update: 0.3, value: 0.6, anyValues: true },
      ...{ permits: 0.05, undetected: 0.3, steal: 0, maxHold: 0.1 },
    },
    faults: several({ crash: 2, transfer: 2, pause: 2, reconnectClient: 4 }),
  },
  {
    name: "tasks that wait for several keys at once",
    keyCount: 4,
    clientsMin: 5,
    mix: { several: 0.9, severalMost: 3, shared: 0.3, release: 0.3, inspect: 0.05, cancel: 0.1 },
    locks: { nested: 0.8, permits: 0.3, undetected: 0, priority: 0.2, steal: 0.01, upgrade: 0.1 },
    faults: several({ crash: 1, transfer: 2, reconnectClient: 2 }),
  },
  {
    name: "holds and watches of applications whose connections break at every moment",
    hasSdk: true,
    keyCount: 2,
    clientsMin: 3,
    ttlMs: [2_000, 4_000],
    times: SLOW_PATHS,
    mix: { shared: 0.8, cancel: 0.3, release: 0.25, inspect: 0, reconnect: 0.08, watch: 0.06 },
    locks: {
      ...{ upgrade: 0.5, downgrade: 0.15, update: 0.1, anyValues: true, reentrant: 0.4 },
      ...{ permits: 0.05, revoke: 0.05, nested: 0.2 },
    },
    faults: several({ reconnectClient: 10, cutAtAttach: 6, cutAtAsking: 6, crash: 2 }),
  },
  {
    name: "owners of leases that repeat nothing as it was",
    ownersVariety: 0.5,
    faults: several({ reconnectClient: 4, transfer: 2 }),
  },
  {
    name: "owners at doors that come too early and too late, look, and say several things at once",
    doors: "anything",
  },
  {
    name: "clients of Redis that poll for one key at an even pace",
    doors: "queue",
  },
];

/** Focuses on processes that leave, in a part of the plans that have none of those above. */
const DEPARTURE_FOCUSES: readonly Focus[] = [
  {
    name: "applications that leave while an upgrade is under way",
    ...{ hasSdk: true, keyCount: 4, clientsMin: 3, ttlMs: [2_000, 3_000] },
    mix: { ...MANY_HOLDS, several: 0, shared: 0.7 },
    locks: { ...PLAIN_HOLDS, upgrade: 0.4 },
    faults: leftWithUpgrades,
  },
  {
    name: "applications that leave, and are not heard to have left",
    ...{ hasSdk: true, clientsMin: 4, ttlMs: [1_000, 1_500] },
    times: SLOW_PATHS,
    mix: MANY_HOLDS,
    locks: PLAIN_HOLDS,
    faults: leftWithoutAnswer,
  },
  {
    name: "two heirs that find little room",
    ...{ hasSdk: true, keyCount: 4, clientsMin: 3, ttlMs: [2_000, 3_000] },
    times: SLOW_PATHS,
    mix: MANY_HOLDS,
    locks: PLAIN_HOLDS,
    faults: (random, scene) => [
      ...handedToTwins(random, scene, 24),
      ...momentsWithoutRoom(random, scene),
    ],
  },
];

/** Focuses on ends that are not heard of, in a part of the plans that have none of those above. */
const UNHEARD_FOCUSES: readonly Focus[] = [
  {
    name: "upgrades that wait while their holds are taken away from clients that hear nothing",
    ...{ hasSdk: true, keyCount: 2, clientsMin: 4, ttlMs: [3_000, 4_000] },
    mix: { ...MANY_HOLDS, several: 0, shared: 0.85 },
    locks: {
      ...{ upgrade: 0.5, reentrant: 0.4, revoke: 0.2, steal: 0.15, downgrade: 0, handOver: 0 },
      ...{ permits: 0, maxHold: 0, nested: 0 },
    },
    faults: cutOffForAMoment,
  },
  {
    name: "holds that are ended twice by clients that hear late of what took them away",
    ...{ keyCount: 2, clientsMin: 4, ttlMs: [3_000, 4_000] },
    mix: { release: 0.5, inspect: 0.1, close: 0, cancel: 0.05, several: 0.3, shared: 0.6 },
    locks: { endAgain: 0.8, steal: 0.15, revoke: 0.15, maxHold: 0.1, permits: 0.1 },
    faults: answersLate,
  },
  {
    name: "tasks that take free keys one after the other",
    keyCount: 8,
    mix: { several: 0.2, shared: 0.3, release: 0.5, cancel: 0.1, inspect: 0.05 },
    locks: {
      ...{ nested: 1, permits: 0, priority: 0, value: 0, update: 0.05, upgrade: 0.1 },
      ...{ maxHold: 0, minHold: 0, lockDelay: 0, steal: 0, undetected: 0 },
    },
  },
  {
    name: "callers at doors that leave their places in queues, and do not come back",
    doors: "desertion",
  },
];

/**
 * One after the other, each in a part of the plans that have none from above, and each by a stream of
 * its own, so that plans stay what they are when a table is added.
 */
const STAGES = [
  { stream: "focus", share: 0.25, focuses: FOCUSES },
  { stream: "later focus", share: 0.15, focuses: LATER_FOCUSES },
  { stream: "focus on raft", share: 0.15, focuses: RAFT_FOCUSES },
  { stream: "focus on locks", share: 0.12, focuses: LOCK_FOCUSES },
  { stream: "focus on departures", share: 0.06, focuses: DEPARTURE_FOCUSES },
  { stream: "focus on what is not heard", share: 0.06, focuses: UNHEARD_FOCUSES },
] as const;

export const ALL_FOCUSES: readonly Focus[] = STAGES.flatMap(({ focuses }) => focuses);

export function focusOf(streams: RandomStreams): Focus | undefined {
  for (const { stream, share, focuses } of STAGES) {
    const random = streams.of(stream);
    if (random.chance(share)) return random.pick(focuses);
  }
  return undefined;
}

/** What becomes of the clients. */
export function focusClients(
  random: RandomStream,
  { hasSdk = false, clientsMin = 0, ttlMs, mix, locks }: Focus,
  clients: readonly ClientPlan[],
): ClientPlan[] {
  return crowdOf(clients, clientsMin).map((client, at) => ({
    ...client,
    speaks: hasSdk && (at === 0 || random.chance(SDK_SHARE)) ? "sdk" : client.speaks,
    ttlMs: ttlMs === undefined ? client.ttlMs : random.integer(...ttlMs),
    mix: { ...client.mix, ...mix },
    locks: { ...client.locks, ...locks },
  }));
}

/** Further clients are like those that there are. */
function crowdOf(clients: readonly ClientPlan[], least: number): ClientPlan[] {
  const more = Array.from({ length: Math.max(0, least - clients.length) }, (_, at) => {
    const like = clients[at % clients.length] as ClientPlan;
    return { ...like, host: like.host + clients.length * (1 + Math.floor(at / clients.length)) };
  });
  return [...clients, ...more];
}

/** This many of each kind, at any time. */
function several(counts: Partial<Record<FaultKind, number>>): FaultsMaker {
  return (random, scene) => {
    return Object.entries(counts).flatMap(([kind, count]) => {
      const make = FAULT_MAKERS[kind as FaultKind];
      return Array.from({ length: count }, () => {
        return make(random, random.integer(0, scene.stormMs), scene);
      });
    });
  };
}

/**
 * Processes hand everything over and cannot reach the nodes, for longer than they wait for them. The nodes
 * are started again meanwhile: else what was said last would reach them when the way opens. Half of the
 * processes have no connection any more, and must give up nothing.
 */
function leftUnheard(random: RandomStream, { clients, stormMs }: FaultScene): Fault[] {
  const hosts = clients.filter(({ speaks }) => speaks === "sdk").map(({ host }) => host);
  const atMs = random.integer(500, stormMs - 2_000);
  const leave = (client: number): Fault => {
    const how = random.pick(["handOver", "twins"] as const);
    const leavesMs = atMs + random.integer(1, 60);
    return { kind: "restartClient", atMs: leavesMs, client, how, downMs: 1 };
  };
  return [
    { kind: "partition", atMs, side: hosts, forMs: random.integer(2_050, 2_300) },
    ...hosts.map(leave),
    { kind: "crashAll", atMs: atMs + 1_060, crash: "kill", downMs: random.integer(1, 100) },
    ...hosts
      .filter(() => random.chance(0.5))
      .map((client): Fault => ({ kind: "reconnectClient", atMs, client })),
  ];
}

/** Processes hand everything over while answers to what they asked before are on their way. */
function leftUnanswered(random: RandomStream, { clients, stormMs }: FaultScene): Fault[] {
  const applications = clients.filter(({ speaks }) => speaks === "sdk");
  return Array.from({ length: 6 }, () => random.pick(applications)).flatMap(({ host: client }) => {
    const atMs = random.integer(500, stormMs - 500);
    const [byMs, forMs] = [random.integer(100, 300), random.integer(60, 200)];
    const leavesMs = atMs + random.integer(20, forMs);
    const how = random.pick(["handOver", "handOver", "twins"] as const);
    return [
      { kind: "holdAnswers", atMs, client, byMs, forMs, pauseMs: 0 },
      { kind: "restartClient", atMs: leavesMs, client, how, downMs: 1 },
    ] satisfies Fault[];
  });
}

/** One follower after the other is away for long enough to need a snapshot. */
function followersAway(random: RandomStream, { stormMs }: FaultScene): Fault[] {
  return Array.from({ length: 8 }, () => {
    const atMs = random.integer(300, stormMs);
    return { kind: "partition", atMs, side: [FOLLOWER], forMs: random.integer(150, 600) };
  });
}

/** Connections between nodes end, again and again. */
function linksThatBreak(random: RandomStream, { ids, stormMs }: FaultScene): Fault[] {
  return Array.from({ length: 16 }, () => {
    const [from = 1, to = 1] = random.shuffled(ids);
    return { kind: "reset", atMs: random.integer(300, stormMs), from, to };
  });
}

/**
 * The leader hears everything and is heard by nobody: what it writes meanwhile no other node has.
 */
function leadersUnheard(random: RandomStream, { stormMs }: FaultScene): Fault[] {
  return Array.from({ length: 12 }, () => {
    const [atMs, forMs] = [random.integer(400, stormMs), random.integer(120, 300)];
    return { kind: "strand", atMs, node: LEADER, byMs: 10, forMs, act: "cut", member: 0 };
  });
}

/**
 * The leader no longer votes, or is no longer a member; some time later everybody is to vote again.
 */
function leadersLeave(random: RandomStream, { ids, stormMs }: FaultScene): Fault[] {
  const change = (atMs: number, action: MemberAction, node: number): Fault => {
    return { kind: "changeMember", atMs, action, node, crashAfterMs: 0, downMs: 0 };
  };
  const times = Array.from({ length: Math.floor(stormMs / 450) }, (_, at) => 400 + at * 450);
  return times.flatMap((atMs) => {
    const action = random.chance(0.7) ? "demote" : "remove";
    const back = ids.flatMap((id) => [
      ...(action === "remove" ? [change(atMs + 150, "add", id)] : []),
      change(atMs + random.integer(200, 300), "promote", id),
    ]);
    return [change(atMs, action, LEADER), ...back];
  });
}

/** A member that does not vote is removed, and is one again before it can know of it. */
function learnersAtOnceAgain(random: RandomStream, { spares, stormMs }: FaultScene): Fault[] {
  return Array.from({ length: 4 }, () => random.integer(500, stormMs)).flatMap((atMs) => {
    const node = random.pick(spares);
    const steps = [
      ["add", 0],
      ["remove", random.integer(100, 300)],
      ["add", random.integer(301, 330)],
    ] as const;
    return steps.map(([action, afterMs]): Fault => {
      const when = { atMs: atMs + afterMs, crashAfterMs: 0, downMs: 0 };
      return { kind: "changeMember", action, node, ...when };
    });
  });
}

/** The leader is late, and then hears nobody but some clients for longer than it may lead on. */
function lateAndAlone(random: RandomStream, { clients, stormMs }: FaultScene): Fault[] {
  return Array.from({ length: 3 }, () => random.integer(500, stormMs - 2_000)).flatMap((atMs) => {
    const hosts = clients.map(({ host }) => host).filter(() => random.chance(0.4));
    const forMs = random.integer(1_000, 2_000);
    const heartbeats = random.integer(2, 3);
    const cutMs = atMs + random.integer(20, 150);
    return [
      { kind: "lateTurns", atMs, node: LEADER, heartbeats, forMs: forMs + 200 },
      { kind: "partition", atMs: cutMs, side: [LEADER, ...hosts], forMs },
    ] satisfies Fault[];
  });
}

/**
 * A client misses something, is back, and is gone again before it hears of it, for longer than a
 * lease.
 */
function cutTwice(random: RandomStream, { clients, stormMs }: FaultScene): Fault[] {
  const applications = clients.filter(({ speaks }) => speaks === "sdk");
  return Array.from({ length: 10 }, () => random.pick(applications)).flatMap(({ host }) => {
    const atMs = random.integer(500, stormMs - 2_000);
    const forMs = random.integer(500, 1_000);
    return [
      { kind: "partition", atMs, side: [host], forMs },
      { kind: "cutAtAttach", atMs, client: host, forMs: 1_500 },
      { kind: "reconnectClient", atMs: atMs + forMs, client: host },
    ] satisfies Fault[];
  });
}

/** An application misses what happens in a moment, and is then asked by a new connection what it has. */
function cutOffForAMoment(random: RandomStream, { clients, stormMs }: FaultScene): Fault[] {
  const applications = clients.filter(({ speaks }) => speaks === "sdk");
  return Array.from({ length: 16 }, () => random.pick(applications)).flatMap(({ host }) => {
    const [atMs, forMs] = [random.integer(500, stormMs - 500), random.integer(100, 600)];
    return [
      { kind: "partition", atMs, side: [host], forMs },
      { kind: "reconnectClient", atMs: atMs + forMs, client: host },
    ] satisfies Fault[];
  });
}

/** What nodes say to a client reaches it late, and what it says reaches them at once. */
function answersLate(random: RandomStream, { clients, stormMs }: FaultScene): Fault[] {
  return Array.from({ length: 16 }, () => random.pick(clients)).map(({ host: client }) => {
    const atMs = random.integer(500, stormMs - 500);
    const [byMs, forMs] = [random.integer(50, 300), random.integer(200, 600)];
    return { kind: "holdAnswers", atMs, client, byMs, forMs, pauseMs: 0 };
  });
}

/** Processes hand everything over soon after they have asked for an upgrade, and before they hear of it. */
function leftWithUpgrades(random: RandomStream, { clients, stormMs }: FaultScene): Fault[] {
  const applications = clients.filter(({ speaks }) => speaks === "sdk");
  return Array.from({ length: 24 }, () => random.pick(applications)).flatMap(({ host: client }) => {
    const atMs = random.integer(500, stormMs - 500);
    const byMs = random.integer(60, 150);
    const how = random.pick(["handOver", "handOver", "twins"] as const);
    const afterUpgradeMs = random.integer(3, 30);
    return [
      { kind: "holdAnswers", atMs, client, byMs, forMs: 200, pauseMs: 0 },
      { kind: "restartClient", atMs, client, how, downMs: 1, afterUpgradeMs },
    ] satisfies Fault[];
  });
}

/** Processes hand everything over, and are cut off until their sessions are no more. */
function leftWithoutAnswer(random: RandomStream, { clients, stormMs }: FaultScene): Fault[] {
  const applications = clients.filter(({ speaks }) => speaks === "sdk");
  return applications.flatMap(({ host: client, ttlMs }) => {
    const atMs = random.integer(500, stormMs - 1_000);
    const afterMs = random.integer(3, 20);
    return [
      { kind: "cutAtAsking", atMs, client, question: "handOver", afterMs, forMs: ttlMs + 500 },
      { kind: "restartClient", atMs, client, how: "handOver", downMs: 1 },
    ] satisfies Fault[];
  });
}

/** Again and again no node has room for a moment. */
function momentsWithoutRoom(random: RandomStream, { ids, stormMs }: FaultScene): Fault[] {
  const count = Math.floor(stormMs / LITTLE_ROOM_EVERY_MS);
  return Array.from({ length: count }, (_, at) => at * LITTLE_ROOM_EVERY_MS).flatMap((atMs) => {
    const forMs = random.integer(10, 35);
    return ids.map((node): Fault => ({ kind: "scarceMemory", atMs, node, forMs }));
  });
}

/** Two processes want what a third one hands over. */
function handedToTwins(random: RandomStream, { clients, stormMs }: FaultScene, times = 4): Fault[] {
  const applications = clients.filter(({ speaks }) => speaks === "sdk");
  return Array.from({ length: times }, () => {
    const { host: client } = random.pick(applications);
    const atMs = random.integer(500, stormMs);
    return { kind: "restartClient", atMs, client, how: "twins", downMs: 1 };
  });
}
