/**
 * Performs the steps of a random schedule. A step names a node or a link by one number; the
 * digits of another number decide the rest. So any pair of numbers is a possible step.
 */
import type { NodeId } from "../../../src/raft/index.js";
import type { Cluster } from "./cluster.js";
import { converse, elect, usurp } from "./reign.js";
import type { Kind, Step } from "./schedule.js";
import type { SimulatedLink } from "./simulated-network.js";

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
    case "usurp":
      readAtDeposed(cluster, leader, amount);
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
    case "remake":
      cluster.remake(id);
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

/** A leader that stood still and was deposed is asked to read before it learns of either. */
function readAtDeposed(cluster: Cluster, leader: NodeId, amount: number): void {
  const links = cluster.network.links.filter(({ from, to }) => from === leader || to === leader);
  // Its last heartbeat is answered, and the answers are on their way.
  cluster.drift(20);
  for (const link of links) if (link.from === leader) cluster.deliver(link);
  usurp(cluster, leader);
  cluster.read(leader);
  for (const link of links) if (link.to === leader) cluster.deliver(link, 1 + (amount % 2));
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
