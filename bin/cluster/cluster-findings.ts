/**
 * The nodes of a cluster as the commands see them: what each reports of itself over HTTP, and what is
 * known of the members, as rows and facts for `src/views`. Pure.
 */
import type { MemberView } from "../../src/index.js";
import { printable } from "../../src/text/index.js";
import { type Health, judgeHealth, type NodeFacts, type NodeRow } from "../../src/views/index.js";
import { type ClusterMember, isReachable, leaderOf, type NodeReport } from "./node-report.js";

/** A node, as far as a command knows it. */
export interface SeenNode extends NodeRow {
  readonly isVoter: boolean;
}

/** `leader`: 0 if none serves. */
export function healthOf(nodes: readonly SeenNode[], leader: number, nowMs: number): Health {
  const named = nodes.map((node, at) => ({ ...node, number: node.id ?? -1 - at }));
  return judgeHealth({
    members: named.map(({ number, isVoter, lagEntries }) => {
      return { id: number, isVoter, lagEntries: lagEntries ?? undefined };
    }),
    leader,
    nodes: named.map(({ id, number, endpoint, answers, words }): NodeFacts => {
      const name = id === undefined ? printable(endpoint) : undefined;
      return { node: number, name, words, answers: answers !== "no" };
    }),
    nowMs,
  });
}

/** Nodes that were only asked for their status; each also knows who else is a learner. */
export function nodesOf(members: readonly ClusterMember[]): readonly SeenNode[] {
  const learners = new Set(
    members.flatMap(({ report }) =>
      report.isReachable
        ? (report.members ?? []).flatMap(({ id, role }) => (role === "learner" ? [id] : []))
        : [],
    ),
  );
  return members.map(({ id, report }) => {
    const node = nodeOf(id, report);
    return learners.has(id ?? 0) ? { ...node, isVoter: false, role: "learner" } : node;
  });
}

/** The node that leads according to the reports; 0: none does. */
export function leaderIn(members: readonly ClusterMember[]): number {
  return leaderOf(members.map(({ report }) => report))?.id ?? 0;
}

/** `member`: as the leader sees it. */
export function nodeOf(
  id: number | undefined,
  report: NodeReport,
  member?: MemberView | undefined,
): SeenNode {
  const { endpoint } = report;
  const isLearner = report.role === "learner" || member?.role === "learner";
  const role = isLearner ? "learner" : "";
  const known = { id, endpoint, role, isVoter: !isLearner, lagEntries: member?.lagEntries ?? null };
  if (isReachable(report)) {
    const { damage } = report;
    const problem = damage === undefined ? "" : `${damage.file}: ${damage.reason}`;
    return { ...known, answers: "yes", words: report, problem };
  }
  const problem = report.error.message.replace(`${endpoint}: `, "");
  // A node that refuses to say how it is answers all the same.
  const answers = report.error.code === "UNAUTHENTICATED" ? "unasked" : "no";
  return { ...known, answers, words: undefined, problem };
}
