/** Configurations for tests, with an address for every member. */
import {
  type Configuration,
  decodeConfiguration,
  type Entry,
  encodeConfiguration,
  type MemberAddress,
  type MembershipTarget,
  type NodeId,
} from "../../../src/raft/index.js";

/** The configuration of a node that waits to learn what it belongs to. */
export const NO_MEMBERS: Configuration = Object.freeze({
  voters: [],
  outgoing: [],
  learners: [],
  addresses: [],
});

/** Voters, and learners if there are any. */
export function members(
  voters: readonly NodeId[],
  learners: readonly NodeId[] = [],
): Configuration {
  return { voters, outgoing: [], learners, addresses: addressesOf(voters, learners) };
}

/** In the middle of a change from `outgoing` to `voters`. */
export function joint(
  voters: readonly NodeId[],
  outgoing: readonly NodeId[],
  learners: readonly NodeId[] = [],
): Configuration {
  return { voters, outgoing, learners, addresses: addressesOf(voters, outgoing, learners) };
}

export function target(
  voters: readonly NodeId[],
  learners: readonly NodeId[] = [],
): MembershipTarget {
  return { voters, learners, addresses: addressesOf(voters, learners) };
}

export function addressesOf(...groups: readonly (readonly NodeId[])[]): MemberAddress[] {
  const ids = [...new Set(groups.flat())].sort((a, b) => a - b);
  return ids.map((id) => ({ id, address: `node-${id}:7000` }));
}

/** The same text for configurations that decide the same. */
export function textOf({ voters, outgoing, learners }: Configuration): string {
  const sorted = (ids: readonly NodeId[]) => [...ids].sort((a, b) => a - b).join(",");
  return `${sorted(voters)} / ${sorted(outgoing)} / ${sorted(learners)}`;
}

export function configurationEntry(
  index: number,
  term: number,
  configuration: Configuration,
): Entry {
  return { index, term, kind: "configuration", data: encodeConfiguration(configuration) };
}

/** What a configuration entry says. */
export function configurationOf(entry: Entry): Configuration {
  const configuration = decodeConfiguration(entry.data);
  if (configuration === undefined) throw new Error(`entry ${entry.index} says nothing`);
  return configuration;
}
