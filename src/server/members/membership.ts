/**
 * What an operator's request about one member means for the current configuration: nothing to do, a
 * target for the core, or the reason why it is impossible. Pure. The core decides whether the
 * cluster can afford the change, because it knows which members answer and how far each log is.
 */
import type { ChangeMemberOperation } from "../../protocol/index.js";
import {
  type Configuration,
  isJoint,
  type MembershipTarget,
  membersOf,
  type NodeId,
} from "../../raft/index.js";

export type MembershipPlan =
  | { readonly kind: "fulfilled" }
  | { readonly kind: "target"; readonly target: MembershipTarget }
  | { readonly kind: "impossible"; readonly message: string };

const FULFILLED: MembershipPlan = Object.freeze({ kind: "fulfilled" });

/** How to get from `configuration`, which must not be joint, to what is asked for. */
export function planMembership(
  configuration: Configuration,
  operation: ChangeMemberOperation,
): MembershipPlan {
  if (isFulfilled(configuration, operation)) return FULFILLED;
  const { action, node, address } = operation;
  if (action === "add") return planAdd(configuration, node, address);
  if (!membersOf(configuration).includes(node)) {
    return impossible(`node ${node} is not a member; add it first`);
  }
  const { voters, learners, addresses } = configuration;
  if (action === "promote") {
    const target = { voters: sorted([...voters, node]), learners: without(learners, node) };
    return { kind: "target", target: { ...target, addresses } };
  }
  const rest = without(voters, node);
  if (rest.length === 0) return impossible(`node ${node} is the only voter`);
  if (action === "demote") {
    const target = { voters: rest, learners: sorted([...learners, node]), addresses };
    return { kind: "target", target };
  }
  const target = {
    voters: rest,
    learners: without(learners, node),
    addresses: addresses.filter(({ id }) => id !== node),
  };
  return { kind: "target", target };
}

/** Whether nothing is left to do; always false during a change. */
function isFulfilled(
  configuration: Configuration,
  { action, node, address }: ChangeMemberOperation,
): boolean {
  if (isJoint(configuration)) return false;
  const { voters, learners, addresses } = configuration;
  switch (action) {
    case "add":
      return addresses.some((member) => member.id === node && member.address === address);
    case "promote":
      return voters.includes(node);
    case "demote":
      return learners.includes(node);
    case "remove":
      return !membersOf(configuration).includes(node);
  }
}

/** A new member begins as a learner; a known one gets a new address. */
function planAdd(
  { voters, learners, addresses }: Configuration,
  node: NodeId,
  address: string | undefined,
): MembershipPlan {
  if (address === undefined) return impossible(`the address of node ${node} is missing`);
  const other = addresses.find((member) => member.address === address && member.id !== node);
  if (other !== undefined) return impossible(`${address} is the address of node ${other.id}`);
  const isMember = voters.includes(node) || learners.includes(node);
  const rest = addresses.filter(({ id }) => id !== node);
  const target = {
    voters,
    learners: isMember ? learners : sorted([...learners, node]),
    addresses: [...rest, { id: node, address }].sort((a, b) => a.id - b.id),
  };
  return { kind: "target", target };
}

function impossible(message: string): MembershipPlan {
  return { kind: "impossible", message };
}

function without(ids: readonly NodeId[], id: NodeId): NodeId[] {
  return ids.filter((other) => other !== id);
}

function sorted(ids: readonly NodeId[]): NodeId[] {
  return [...ids].sort((a, b) => a - b);
}
