/**
 * Questions to a configuration: who decides, who only listens. Pure functions. A voter must never
 * ask them when it judges somebody else's request for a vote: its own configuration may be older
 * than the candidate's (consensus rule 10).
 */
import { assert } from "../assert.js";
import type { Configuration, NodeId } from "./types.js";

/** Whether `id` decides: a voter of either half. */
export function isVoter(configuration: Configuration, id: NodeId): boolean {
  return configuration.voters.includes(id) || configuration.outgoing.includes(id);
}

/** While joint, two majorities decide. */
export function isJoint(configuration: Configuration): boolean {
  return configuration.outgoing.length > 0;
}

/** Every voter of either half, each once. */
export function votersOf(configuration: Configuration): NodeId[] {
  return [...new Set([...configuration.voters, ...configuration.outgoing])];
}

/** Everybody the leader replicates to: voters of either half and learners, each once. */
export function membersOf(configuration: Configuration): NodeId[] {
  return [...new Set([...votersOf(configuration), ...configuration.learners])];
}

/** Throws `InvariantError` when `configuration` cannot be one. */
export function assertConfiguration(configuration: Configuration): void {
  const { voters, outgoing, learners } = configuration;
  assert(voters.length > 0, () => "a configuration without voters");
  for (const half of [voters, outgoing, learners]) {
    assert(new Set(half).size === half.length, () => `a member twice in ${half.join(",")}`);
    for (const id of half) {
      assert(Number.isSafeInteger(id) && id > 0, () => `node id ${id} in a configuration`);
    }
  }
  for (const id of learners) {
    assert(!isVoter(configuration, id), () => `node ${id} is voter and learner at once`);
  }
}
