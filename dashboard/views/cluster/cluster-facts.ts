/** What the page knows of the cluster, as facts to be judged. Pure. */
import type { MembersView, VitalsView } from "../../../src/index.js";
import type { HealthFacts, MemberFacts, NodeFacts, NodeRow } from "../../../src/views/index.js";

/** A node, as the page has heard of it. */
export interface NodeHealth {
  readonly node: number;
  /** Its last answer; `undefined`: it never gave one to this page. */
  readonly vitals: VitalsView | undefined;
  /** Whether the connected node hears it now; `undefined`: not known yet. */
  readonly isAnswering: boolean | undefined;
}

export interface Known {
  /** As the leader last told; `undefined` if none did. */
  readonly members: MembersView | undefined;
  /** What the connected node says of itself. */
  readonly own: VitalsView | undefined;
  /** 0: none, as far as the connected node knows. */
  readonly leader: number;
  readonly nodes: readonly NodeHealth[];
  readonly nowMs: number;
  readonly isBeyondLoopback: boolean;
}

/** All members that are known, whether they answer or not, in the order of their ids. */
export function membersKnown({ members, own }: Pick<Known, "members" | "own">): MemberFacts[] {
  const facts = new Map<number, MemberFacts>();
  if (own !== undefined) {
    facts.set(own.node, { id: own.node, isVoter: own.role !== "learner" });
    for (const { node, isVoter } of own.peers) facts.set(node, { id: node, isVoter });
  }
  for (const { id, role, isReachable, lagEntries } of members?.members ?? []) {
    const lag = isReachable ? { lagEntries } : {};
    facts.set(id, { id, isVoter: role === "voter", ...lag });
  }
  return [...facts.values()].sort((a, b) => a.id - b.id);
}

/** When the connected node last heard that one, by the clock of this page. */
export function heardAtMs(
  node: number,
  { own, nowMs }: Pick<Known, "own" | "nowMs">,
): number | undefined {
  const heardMs = own?.peers.find((peer) => peer.node === node)?.heardWallMs ?? null;
  return own === undefined || heardMs === null ? undefined : nowMs - (own.wallMs - heardMs);
}

/** What a node that is not heard once said is not how it is. */
export function nodeRow({ node, vitals, isAnswering }: NodeHealth, known: Known): NodeRow {
  const { own, members, nowMs } = known;
  const member = members?.members.find(({ id }) => id === node);
  const peer = own?.peers.find((each) => each.node === node);
  const heardMs = heardAtMs(node, known);
  return {
    id: node,
    answers: isAnswering === undefined ? undefined : isAnswering ? "yes" : "no",
    words: isAnswering === true ? vitals : undefined,
    role: member?.role === "learner" ? "learner" : "",
    lagEntries: isAnswering === true && member?.isReachable === true ? member.lagEntries : null,
    silentMs: heardMs === undefined ? undefined : nowMs - heardMs,
    endpoint: member?.endpoint ?? peer?.endpoint ?? "",
    problem: "",
  };
}

export function factsOf(known: Known): HealthFacts {
  const { leader, nodes, nowMs, isBeyondLoopback } = known;
  return {
    members: membersKnown(known),
    leader,
    nodes: nodes.map(({ node, vitals, isAnswering }): NodeFacts => {
      return { node, words: vitals, answers: isAnswering, heardWallMs: heardAtMs(node, known) };
    }),
    ...{ nowMs, isBeyondLoopback },
  };
}

/** Whether a host is this machine only. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}
