/**
 * Short terms of leaders: which voters elect a leader, and which nodes it reaches before it
 * fails. Transcripts and random schedules use them for figure 8 of the Raft paper.
 */
import type { NodeId } from "../../../src/raft/index.js";
import type { Cluster } from "./cluster.js";

interface Conversation {
  readonly rounds: number;
  /** Delivered at most on each link in each round. */
  readonly messages: number;
  /** Ends it in the middle of a round. */
  readonly until?: () => boolean;
}

/** For some rounds the links between `id` and `others` carry messages, and all disks write. */
export function converse(
  cluster: Cluster,
  id: NodeId,
  others: readonly NodeId[],
  { rounds, messages, until = () => false }: Conversation,
): void {
  const links = cluster.network.links.filter(({ from, to }) => {
    return (from === id || to === id) && others.includes(from === id ? to : from);
  });
  for (let round = 0; round < rounds; round += 1) {
    for (const link of links) {
      cluster.notice(link);
      cluster.connect(link);
    }
    for (const link of links) {
      cluster.deliver(link, messages);
      if (until()) return;
    }
    for (const each of cluster.ids) cluster.persist(each);
  }
}

/**
 * Has `id` stand, with the votes of `electors` alone. Returns whether it leads. What it appends as
 * leader has reached nobody yet.
 */
export function elect(cluster: Cluster, id: NodeId, electors: readonly NodeId[]): boolean {
  cluster.start(id);
  cluster.isolate(id);
  cluster.unblockAll();
  // It led and does not any more, or heard a leader and does not any more.
  cluster.drift(200);
  // The first time it may only learn how far the terms of the others are.
  return campaign(cluster, id, electors) || campaign(cluster, id, electors);
}

function campaign(cluster: Cluster, id: NodeId, electors: readonly NodeId[]): boolean {
  cluster.drift(Math.max(0, cluster.node(id).nextDeadlineMs - cluster.nowMs));
  for (const other of electors) {
    // They come up afresh, follow nobody and do not stand themselves.
    cluster.crash(other, Number.POSITIVE_INFINITY);
    cluster.start(other);
  }
  const isElected = () => cluster.raft(id).role === "leader";
  converse(cluster, id, electors, { rounds: 8, messages: 8, until: isElected });
  return isElected();
}

/**
 * `old` stands still: it sees neither messages nor time, while the others elect a leader and let it
 * commit something. Returns that leader. What was on its way to `old` is still on its way.
 */
export function usurp(cluster: Cluster, old: NodeId): NodeId | undefined {
  const others = cluster.ids.filter((id) => id !== old && cluster.node(id).isRunning);
  const links = cluster.network.links.filter(({ from, to }) => {
    return others.includes(from) && others.includes(to);
  });
  const { committedIndex } = cluster;
  for (let waitedMs = 0; waitedMs < 500; waitedMs += 5) {
    cluster.nowMs += 5;
    for (const id of others) cluster.turn(id);
    for (const link of links) {
      cluster.notice(link);
      cluster.connect(link);
      cluster.deliver(link);
    }
    for (const id of others) cluster.persist(id);
    if (cluster.committedIndex === committedIndex) continue;
    return others.find((id) => cluster.raft(id).role === "leader");
  }
  return undefined;
}
