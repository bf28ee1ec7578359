/**
 * Questions about a configuration: who votes, who is a learner, whether it is valid. Pure
 * functions. A voter must never use them to decide about another node's request for a vote, because
 * its own configuration may be older than the candidate's (consensus rule 10).
 */
import { assert } from "../../errors/index.js";
import type { Configuration, MemberAddress, NodeId } from "../types.js";

/** Voters and learners together; a joint configuration has at most as many outgoing voters. */
const MEMBERS_MAX = 15;
/** Characters of an address, which are bytes as well. */
const ADDRESS_LENGTH_MAX = 255;

const NODE_ID_MAX = 2 ** 32 - 1;
/** `host:port`; none of its characters has a meaning inside a URL. */
const ADDRESS = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\]):([1-9][0-9]{0,4})$/;
const PORT_MAX = 65_535;

/** Whether `id` is a voter of either half. */
export function isVoter(configuration: Configuration, id: NodeId): boolean {
  return configuration.voters.includes(id) || configuration.outgoing.includes(id);
}

/** While a configuration is joint, two majorities decide. */
export function isJoint(configuration: Configuration): boolean {
  return configuration.outgoing.length > 0;
}

/** Every voter of either half, each once. */
export function votersOf(configuration: Configuration): NodeId[] {
  return [...new Set([...configuration.voters, ...configuration.outgoing])];
}

/** All members the leader replicates to: voters of either half and learners, each once. */
export function membersOf(configuration: Configuration): NodeId[] {
  return [...new Set([...votersOf(configuration), ...configuration.learners])];
}

/** Sorted by id and not joint, with the addresses of these members. */
export function plainOf(
  voters: readonly NodeId[],
  learners: readonly NodeId[],
  addresses: readonly MemberAddress[],
): Configuration {
  return {
    voters: [...voters].sort(byId),
    outgoing: [],
    learners: [...learners].sort(byId),
    addresses: addresses
      .filter(({ id }) => voters.includes(id) || learners.includes(id))
      .sort((a, b) => a.id - b.id),
  };
}

/** What ends a joint configuration. */
export function settledOf({ voters, learners, addresses }: Configuration): Configuration {
  return plainOf(voters, learners, addresses);
}

/** Whether both have the same voters, in any order; neither may be joint. */
export function hasSameVoters(left: Configuration, right: Configuration): boolean {
  const { voters } = left;
  return voters.length === right.voters.length && voters.every((id) => right.voters.includes(id));
}

/** Whether both name the same members in the same order. */
export function isSameConfiguration(left: Configuration, right: Configuration): boolean {
  if (left === right) return true;
  return (
    isSameRow(left.voters, right.voters) &&
    isSameRow(left.outgoing, right.outgoing) &&
    isSameRow(left.learners, right.learners) &&
    left.addresses.length === right.addresses.length &&
    left.addresses.every(({ id, address }, at) => {
      const other = right.addresses[at];
      return other?.id === id && other.address === address;
    })
  );
}

/** Throws `InvariantError` if `configuration` is not valid. */
export function assertConfiguration(configuration: Configuration): void {
  const problem = problemOf(configuration);
  assert(problem === undefined, () => `a configuration with ${problem}`);
}

/** What makes `configuration` invalid; `undefined` if it is valid. */
export function problemOf(configuration: Configuration): string | undefined {
  const { voters, outgoing, learners, addresses } = configuration;
  if (voters.length === 0 && outgoing.length > 0) return "outgoing voters and no others";
  if (voters.length + learners.length > MEMBERS_MAX || outgoing.length > MEMBERS_MAX) {
    return `more than ${MEMBERS_MAX} members`;
  }
  for (const half of [voters, outgoing, learners]) {
    if (new Set(half).size !== half.length) return `a member twice in ${half.join(",")}`;
    for (const id of half) if (!isNodeId(id)) return `node id ${id}`;
  }
  // A learner that is being demoted is still an outgoing voter.
  for (const id of learners) if (voters.includes(id)) return `node ${id} as voter and learner`;
  return addressProblem(addresses, membersOf(configuration));
}

/** Addresses belong to members, are in the order of ids, and can be dialed. */
function addressProblem(
  addresses: readonly MemberAddress[],
  members: readonly NodeId[],
): string | undefined {
  let previous = 0;
  for (const { id, address } of addresses) {
    if (!members.includes(id)) return `an address of node ${id}, which is not a member`;
    if (id <= previous) return `the address of node ${id} after node ${previous}`;
    if (!isMemberAddress(address)) return `an impossible address of node ${id}`;
    previous = id;
  }
  return undefined;
}

function byId(left: NodeId, right: NodeId): number {
  return left - right;
}

function isNodeId(id: NodeId): boolean {
  return Number.isSafeInteger(id) && id > 0 && id <= NODE_ID_MAX;
}

/** Whether a member can be dialed there: a host name, or an IP address, and a port. */
function isMemberAddress(address: string): boolean {
  if (address.length > ADDRESS_LENGTH_MAX) return false;
  const port = ADDRESS.exec(address)?.[1];
  return port !== undefined && Number(port) <= PORT_MAX;
}

/** Whether both have the same ids in the same order. */
export function isSameRow(left: readonly NodeId[], right: readonly NodeId[]): boolean {
  return left.length === right.length && left.every((id, at) => id === right[at]);
}
