/**
 * Random schedules: what can happen to a cluster, as data that shrinks and repeats, and how each
 * step is performed. A schedule draws its steps from one mood, so that rare things (reigns that
 * end in the middle of their replication, one change of members after the other, logs that are cut
 * as soon as they grow) happen often enough to meet each other.
 */
import fc from "fast-check";
import type { NodeId } from "../../src/raft/index.js";
import type { Cluster } from "./cluster.js";
import { converse, elect } from "./reign.js";
import type { SimulatedLink } from "./simulated-network.js";

/** Weights of what happens in a mood. */
const BASIC = {
  deliver: 12,
  persist: 6,
  propose: 5,
  load: 3,
  drift: 4,
  advance: 8,
  campaign: 2,
  connect: 5,
  notice: 3,
  start: 4,
  break: 2,
  crash: 2,
  isolate: 1,
  unblock: 2,
  pause: 1,
  read: 4,
  interest: 1,
} as const;

const SNAPSHOTS = { beginSnapshot: 2, finishSnapshot: 2, deliverSnapshot: 3 } as const;

const MOODS = {
  calm: { ...BASIC, ...SNAPSHOTS, change: 1, transfer: 1 },
  /** One interrupted leadership after the other, as in figure 8 of the Raft paper. */
  reigns: { reign: 30, propose: 1, start: 1, deliver: 1, read: 1 },
  churn: { campaign: 6, reach: 4, propose: 4, start: 4, crash: 2, deliver: 2, persist: 2, read: 2 },
  members: { ...BASIC, ...SNAPSHOTS, change: 14, reach: 4, campaign: 4, reign: 1, transfer: 2 },
  snapshots: {
    ...BASIC,
    ...SNAPSHOTS,
    reach: 4,
    hold: 1,
    fallBehind: 6,
    deliverSnapshot: 8,
    giveUpSnapshot: 2,
    change: 2,
  },
  handovers: { ...BASIC, transfer: 8, read: 10, campaign: 4, reach: 4, change: 2 },
  /** Messages are lost, doubled and overtaken within a connection, which no connection does. */
  wild: {
    ...BASIC,
    ...SNAPSHOTS,
    reign: 6,
    leak: 8,
    lose: 4,
    repeat: 6,
    swap: 6,
    change: 2,
    fallBehind: 1,
  },
} as const;

export type Mood = keyof typeof MOODS;
type KindsOf<M> = M extends unknown ? keyof M : never;
type Kind = KindsOf<(typeof MOODS)[Mood]>;

export interface Step {
  readonly kind: Kind;
  readonly at: number;
  readonly amount: number;
}

export interface Schedule {
  readonly seed: number;
  readonly mood: Mood;
  readonly warmMs: number;
  readonly config: {
    readonly appendBytesMax: number;
    readonly inflightBytesMax: number;
    readonly inflightMessagesMax: number;
  };
  readonly steps: readonly Step[];
}

function stepsOf(mood: Mood): fc.Arbitrary<readonly Step[]> {
  const kinds = Object.entries(MOODS[mood]).flatMap(([kind, weight]) =>
    Array<Kind>(weight).fill(kind as Kind),
  );
  const step = fc.record({
    kind: fc.constantFrom(...kinds),
    at: fc.nat({ max: 1_000 }),
    amount: fc.nat({ max: 1 << 20 }),
  });
  const maxLength = mood === "reigns" ? 40 : 250;
  return fc.array(step, { minLength: 10, maxLength, size: "max" });
}

/** Schedules of the moods named, each as often as the others. */
export function schedulesOf(...moods: readonly Mood[]): fc.Arbitrary<Schedule> {
  return fc.constantFrom(...moods).chain((mood) =>
    fc.record({
      seed: fc.nat(),
      mood: fc.constant(mood),
      warmMs: fc.constantFrom(0, 150, 400),
      config: fc.record({
        appendBytesMax: mood === "reigns" ? fc.constant(1) : fc.constantFrom(1, 64, 4096),
        inflightBytesMax: fc.constantFrom(100, 1_000),
        inflightMessagesMax: fc.constantFrom(1, 3),
      }),
      steps: stepsOf(mood),
    }),
  );
}

export function perform(cluster: Cluster, { kind, at, amount }: Step): void {
  const id = (at % cluster.ids.length) + 1;
  const leader = cluster.leader?.id ?? id;
  const links = cluster.network.links;
  const link = links[at % links.length] as SimulatedLink;
  switch (kind) {
    case "deliver":
      cluster.deliver(link, (amount % 3) + 1);
      break;
    case "persist":
      cluster.persist(id, (amount % 2) + 1);
      break;
    case "propose":
      cluster.propose(amount % 4 === 0 ? id : leader, 4 + (amount % 40));
      break;
    case "load":
      for (let count = 0; count <= amount % 4; count += 1) cluster.propose(leader, 4 + count);
      cluster.settle();
      break;
    case "fallBehind":
      fallBehind(cluster, leader, id, amount);
      break;
    case "read":
      cluster.read(amount % 3 === 0 ? id : leader);
      break;
    case "drift":
      cluster.drift(amount % 40);
      break;
    case "advance":
      cluster.advance(amount % 40);
      break;
    case "campaign":
      // The node's own timer is the last to fire, and others have been silent for as long.
      cluster.drift(Math.max(0, cluster.node(id).nextDeadlineMs - cluster.nowMs));
      exchange(cluster, id, amount);
      break;
    case "reach":
      exchange(cluster, id, amount);
      break;
    case "leak":
      leak(cluster, leader, amount);
      break;
    case "reign":
      // Mostly one of two rivals.
      reign(cluster, at % 5 === 0 ? id : (at % 2) + 1, amount);
      break;
    case "pause":
      cluster.nowMs += 100 + (amount % 400);
      cluster.turn(id);
      break;
    case "interest":
      cluster.turn(leader, { type: "commitInterest", peer: id, isInterested: amount % 2 === 0 });
      break;
    case "start":
      cluster.start(id);
      break;
    case "crash":
      cluster.crash(id, amount % 3);
      break;
    case "change":
      change(cluster, leader, id, amount);
      break;
    case "transfer":
      cluster.transferLeadership(amount % 8 === 0 ? id : leader, amount % 3 === 0 ? 0 : id);
      break;
    case "beginSnapshot":
      cluster.beginSnapshot(id);
      break;
    case "finishSnapshot":
      cluster.finishSnapshot(id, amount % 4);
      break;
    case "hold":
      cluster.holdApply(id, amount % 2 === 0);
      break;
    default:
      performOnLink(cluster, link, kind, amount);
  }
}

function performOnLink(cluster: Cluster, link: SimulatedLink, kind: Kind, amount: number): void {
  switch (kind) {
    case "connect":
      cluster.connect(link);
      break;
    case "notice":
      cluster.notice(link);
      break;
    case "break":
      cluster.break(link);
      break;
    case "isolate":
      cluster.isolate(link.from);
      break;
    case "unblock":
      cluster.unblockAll();
      break;
    case "deliverSnapshot":
      cluster.deliverSnapshot(sending(cluster, link));
      break;
    case "giveUpSnapshot":
      cluster.giveUpSnapshot(sending(cluster, link));
      break;
    case "lose":
      cluster.network.lose(loaded(cluster, link), amount);
      break;
    case "repeat":
      cluster.network.repeat(loaded(cluster, link), amount);
      break;
    case "swap":
      cluster.network.swap(loaded(cluster, link), amount);
      break;
    default:
      throw new Error(`${kind} is not done to a link`);
  }
}

/** `link` when a snapshot is under way on it, else any other one where there is. */
function sending(cluster: Cluster, link: SimulatedLink): SimulatedLink {
  if (link.transfers.length > 0) return link;
  return cluster.network.links.find(({ transfers }) => transfers.length > 0) ?? link;
}

/** `link` when messages are under way on it, else any other one where there are. */
function loaded(cluster: Cluster, link: SimulatedLink): SimulatedLink {
  if (link.queue.length > 0) return link;
  return cluster.network.links.find(({ queue }) => queue.length > 0) ?? link;
}

/** For a while the links between one node and some others work, and so do all disks. */
function exchange(cluster: Cluster, id: NodeId, amount: number): void {
  const group = Math.floor(amount / 7);
  const others = cluster.ids.filter((other) => (group >> other) % 2 === 1);
  converse(cluster, id, others, { rounds: 1 + (amount % 7), messages: 1 + (amount % 2) });
}

/**
 * A follower misses entries that the leader's log does not hold any more, and is back: the leader
 * finds out and begins to send a snapshot.
 */
function fallBehind(cluster: Cluster, leader: NodeId, id: NodeId, amount: number): void {
  if (id === leader || !cluster.node(leader).isRunning) return;
  const missed = 1 + (amount % 3);
  const kept = (amount >> 2) % 3;
  const others = cluster.ids.filter((other) => other !== leader && other !== id);
  if ((amount >> 4) % 2 === 0) cluster.crash(id, 1);
  else cluster.isolate(id);
  for (const other of others) cluster.start(other);
  for (let count = 0; count < missed; count += 1) cluster.propose(leader);
  converse(cluster, leader, others, { rounds: 4, messages: 4 });
  cluster.compact(leader, kept);
  cluster.persist(leader);
  cluster.start(id);
  cluster.unblockAll();
  converse(cluster, leader, [id], { rounds: (amount >> 5) % 6, messages: 2 });
}

/** The leader goes on with its heartbeats; of what is said one message in a few is lost. */
function leak(cluster: Cluster, leader: NodeId, amount: number): void {
  const rounds = 1 + (amount % 5);
  let rest = Math.floor(amount / 5);
  for (let round = 0; round < rounds; round += 1) {
    cluster.drift(cluster.node(leader).isRunning ? 20 : 0);
    for (const link of cluster.network.links) {
      if (link.from !== leader && link.to !== leader) continue;
      cluster.notice(link);
      cluster.connect(link);
      rest = Math.imul(rest + 1, 0x9e3779b1) >>> 0;
      if (rest >>> 30 === 0) cluster.network.lose(link, rest);
      cluster.deliver(link, 2);
    }
    for (const id of cluster.ids) cluster.persist(id);
  }
}

/**
 * Figure 8: a node is elected by some, brings a few messages to others, and is gone. Who elects,
 * who is reached and how far are digits of `amount`.
 */
function reign(cluster: Cluster, id: NodeId, amount: number): void {
  let rest = amount;
  const draw = (count: number): number => {
    const drawn = rest % count;
    rest = Math.floor(rest / count);
    return drawn;
  };
  const electors = othersOf(cluster, id, draw(4), draw(cluster.ids.length));
  const reached = othersOf(cluster, id, draw(8) === 0 ? 0 : 2, draw(cluster.ids.length));
  const rounds = Math.max(0, draw(10) - 4);
  const proposals = draw(3);
  const end = draw(8);
  elect(cluster, id, electors);
  for (let count = 0; count < proposals; count += 1) cluster.propose(id);
  cluster.read(id);
  converse(cluster, id, reached, { rounds, messages: 1 });
  if (end < 6) cluster.crash(id, end);
}

/** All nodes besides `id`, all but one, one alone, or every other one, as `shape` says. */
function othersOf(cluster: Cluster, id: NodeId, shape: number, offset: number): NodeId[] {
  const others = cluster.ids.filter((other) => other !== id);
  return others.filter((_, at) => {
    const place = (at + offset) % others.length;
    return [true, place > 0, place === 0, place % 2 === 0][shape];
  });
}

/** One step of a change of members, as an operator would ask for it, or any other set of voters. */
function change(cluster: Cluster, leader: NodeId, id: NodeId, amount: number): void {
  const node = cluster.node(leader);
  if (!node.isRunning) return;
  const { configuration } = node.raft;
  const { voters, learners } = configuration;
  const rest = voters.filter((voter) => voter !== id);
  const others = learners.filter((learner) => learner !== id);
  switch (amount % 6) {
    case 0:
    case 1:
      cluster.start(id);
      if (learners.includes(id)) cluster.change(leader, [...voters, id], others);
      else if (!voters.includes(id)) cluster.change(leader, voters, [...learners, id]);
      break;
    case 2:
      // Without asking whether it listens already.
      if (!voters.includes(id)) cluster.change(leader, [...voters, id], others);
      break;
    case 3:
      cluster.change(leader, rest, [...others, id]);
      break;
    case 4:
      // Out with one and in with a learner, if there is one.
      cluster.change(leader, [...rest, ...others.slice(0, 1)], others.slice(1));
      break;
    default: {
      const chosen = cluster.ids.filter((each) => ((amount >> 3) >> each) % 2 === 1);
      const kept = learners.filter((learner) => !chosen.includes(learner));
      cluster.change(leader, chosen, kept);
    }
  }
}
