/**
 * The findings of health for the commands: what nodes report of themselves over HTTP, and what is known
 * of the members, as facts for the one list in `src/views`. Pure.
 */
import { printable } from "../../src/text/index.js";
import { type Health, judgeHealth, type NodeFacts, type NodeWords } from "../../src/views/index.js";
import { type ClusterMember, isReachable, leaderOf, type NodeReport } from "./node-report.js";

/** A node, as far as a command knows it. */
export interface SeenNode {
  /** `undefined` if it does not answer and no other node named it. */
  readonly id: number | undefined;
  readonly endpoint: string;
  /** "unasked": it cannot be asked from here, and another one speaks for it. */
  readonly answers: "yes" | "no" | "unasked";
  readonly isVoter: boolean;
  /** Committed entries that are not known to be durable there, by the leader. */
  readonly lagEntries: number | null;
  /** What it says of itself. */
  readonly words: NodeWords | undefined;
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

/** The same, of nodes that were only asked for their status. `leader`: as the reports tell. */
export function healthOfReports(
  members: readonly ClusterMember[],
  leader: number | undefined,
  nowMs: number,
): Health {
  const reports = members.map(({ report }) => report);
  const learners = new Set(
    reports.flatMap((report) =>
      report.isReachable
        ? (report.members ?? []).flatMap(({ id, role }) => (role === "learner" ? [id] : []))
        : [],
    ),
  );
  const nodes = members.map(({ id, report }): SeenNode => {
    const isVoter = report.role !== "learner" && !learners.has(id ?? 0);
    const { endpoint } = report;
    return { id, endpoint, isVoter, lagEntries: null, ...wordsOf(report) };
  });
  return healthOf(nodes, leader ?? leaderOf(reports)?.id ?? 0, nowMs);
}

/** A node that refuses to say how it is answers all the same. */
export function wordsOf(report: NodeReport): Pick<SeenNode, "answers" | "words"> {
  if (isReachable(report)) return { answers: "yes", words: report };
  const answers = report.error.code === "UNAUTHENTICATED" ? "unasked" : "no";
  return { answers, words: undefined };
}
