/**
 * What `holdfast top` knows of a cluster: its nodes, and one line for each lock. Names are kept
 * exactly as they came; the screen makes them safe to show. Pure.
 */
import type { ExplainView, KeyView, MembersView, MemberView } from "../../src/index.js";
import type { LockRow } from "../../src/views/index.js";
import { nodeOf, type SeenNode } from "../cluster/cluster-findings.js";
import { leaderOf, type NodeReport } from "../cluster/node-report.js";

export const SORTS = ["waiters", "held", "key"] as const;
export type Sort = (typeof SORTS)[number];

/** The most lines of one table: what is below them is found by a prefix. */
export const ROWS_MAX = 1_000;

/** The locks of one look at the cluster. */
export interface LocksSeen {
  readonly prefix: string;
  readonly sort: Sort;
  /** In this order; at most `ROWS_MAX`. */
  readonly rows: readonly LockRow[];
  /** How many there are; `undefined` while they have not all been counted. */
  readonly total: number | undefined;
  /** How many the last look has counted so far. */
  readonly counted: number;
  readonly wallMs: number;
}

/** One lock with its queue. */
export interface LockSeen {
  readonly view: KeyView;
  /** Why the first request waits, or what a new one would wait for. */
  readonly why: ExplainView;
  readonly wallMs: number;
}

export interface NodesSeen {
  /** Each by itself or, if it does not answer, by the leader. */
  readonly nodes: readonly SeenNode[];
  /** 0: nobody leads. */
  readonly leader: number;
  readonly term: number;
  readonly wallMs: number;
}

/** `members`: as the leader sees them; `undefined` if it did not answer. */
export function nodesSeen(
  reports: readonly { readonly id: number | undefined; readonly report: NodeReport }[],
  members: MembersView | undefined,
  wallMs: number,
): NodesSeen {
  const all = members?.members ?? [];
  const rows = reports.map(({ id, report }) =>
    nodeOf(
      id,
      report,
      all.find((member) => member.id === id),
    ),
  );
  const known = new Set(rows.map(({ id }) => id));
  const others = all.filter(({ id }) => !known.has(id));
  const nodes = [...rows, ...others.map((member) => unasked(member, members?.leaderId))];
  nodes.sort((a, b) => (a.id ?? Number.POSITIVE_INFINITY) - (b.id ?? Number.POSITIVE_INFINITY));
  const leader = leaderOf(reports.map(({ report }) => report));
  const term = leader?.term ?? members?.term ?? 0;
  return { nodes, leader: leader?.id ?? members?.leaderId ?? 0, term, wallMs };
}

function unasked(member: MemberView, leader: number | undefined): SeenNode {
  const { id, role, lagEntries, endpoint } = member;
  const isHeard = member.isReachable || id === leader;
  return {
    id,
    role: id === leader ? "leader" : role === "learner" ? "learner" : "follower",
    answers: isHeard ? "unasked" : "no",
    isVoter: role === "voter",
    words: undefined,
    lagEntries,
    endpoint,
    problem: isHeard ? "" : "the leader does not hear from it",
  };
}
