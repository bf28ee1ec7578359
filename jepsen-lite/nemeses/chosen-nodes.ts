/** Chooses the nodes that a fault hits: one, the leader, fewer than half, more than half, all. */
import type { RandomStream } from "../../lab/random-stream.js";
import type { NodeProcess } from "../cluster/node-process.js";
import type { Target } from "./nemesis.js";

export type Extent = "one" | "leader" | "minority" | "majority" | "all";

export function chooseNodes(target: Target, random: RandomStream, extents: readonly Extent[]) {
  const extent = random.pick(extents);
  return nodesOf(target, random, extent);
}

function nodesOf(target: Target, random: RandomStream, extent: Extent): readonly NodeProcess[] {
  const { nodes, leaderId, minority } = target;
  // Always drawn, so that the current leader does not change later random draws.
  const shuffled = random.sample(nodes, nodes.length);
  switch (extent) {
    case "one":
      return shuffled.slice(0, 1);
    case "leader": {
      const leader = nodes.filter(({ id }) => id === leaderId);
      return leader.length > 0 ? leader : shuffled.slice(0, 1);
    }
    case "minority":
      return shuffled.slice(0, Math.max(1, minority));
    case "majority":
      return shuffled.slice(0, minority + 1);
    case "all":
      return nodes;
  }
}

/** `node 2 (leader) and node 3`. */
export function namesOf(target: Target, nodes: readonly NodeProcess[]): string {
  if (nodes.length === target.nodes.length && nodes.length > 1) return `all ${nodes.length} nodes`;
  return nodes
    .map(({ id }) => `node ${id}${id === target.leaderId ? " (leader)" : ""}`)
    .join(" and ");
}
