/** Clusters that have a leader, and what must be true of them in the end. */
import { expect } from "vitest";
import { World, type WorldNode } from "./world.js";
import type { WorldOptions } from "./world-time.js";

export interface StartedCluster {
  readonly world: World;
  readonly leader: WorldNode;
  readonly followers: readonly [WorldNode, WorldNode];
}

/** Starts every node and waits until all follow one leader. */
export async function startCluster(options: Partial<WorldOptions> = {}): Promise<StartedCluster> {
  const world = new World(options);
  world.startAll();
  const leader = await world.untilLeader();
  return { world, leader, followers: followersOf(world, leader) };
}

export function followersOf(world: World, leader: WorldNode): readonly [WorldNode, WorldNode] {
  const [first, second] = world.nodes.filter((node) => node.isRunning && node !== leader);
  if (first === undefined || second === undefined) throw new Error("fewer than two followers");
  return [first, second];
}

/** Waits until all have applied the same, and requires that all tables say the same. */
export async function expectAgreement(world: World): Promise<void> {
  const running = world.nodes.filter((node) => node.isRunning);
  await world.until("all have applied the same", () => {
    const indexes = new Set<number>();
    for (const { raft } of running) indexes.add(raft.appliedIndex).add(raft.lastIndex);
    return indexes.size === 1;
  });
  expect(new Set(running.map((node) => node.table.hash())).size).toBe(1);
  for (const node of world.nodes) expect(node.failures).toEqual([]);
}
