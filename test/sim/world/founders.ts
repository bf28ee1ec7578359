/**
 * To which cluster nodes belong, what they learn of it when they start, and the members with which
 * it begins.
 */
import type { Configuration } from "../../../src/raft/index.js";

/** The cluster that a run begins with. */
export const FIRST_CLUSTER_ID = "c".repeat(32);

/** To which cluster the nodes belong that are started from now on. */
export interface NodeCluster {
  /** 32 hex digits. */
  readonly id: string;
  /** The members that its founders find in their options: none if their directories say it. */
  readonly told: Configuration;
  readonly members: Configuration;
}

/** Nodes 1 … `count`, all of them voters. */
export function foundersOf(count: number): Configuration {
  const voters = Array.from({ length: count }, (_, at) => at + 1);
  const addresses = voters.map((id) => ({ id, address: `node-${id}:1` }));
  return { voters, outgoing: [], learners: [], addresses };
}

export function newCluster(nodeCount: number): NodeCluster {
  const members = foundersOf(nodeCount);
  return { id: FIRST_CLUSTER_ID, told: members, members };
}

export function restoredCluster(id: string, nodeCount: number): NodeCluster {
  const members = foundersOf(nodeCount);
  return { id, told: { ...members, voters: [], addresses: [] }, members };
}
