/**
 * What `holdfast top` knows of a cluster: its nodes, and one line for each lock. Names are kept
 * exactly as they came; the screen makes them safe to show. Pure.
 */
import type { ExplainView, KeyView, MembersView } from "../../src/index.js";
import { type SeenNode, wordsOf } from "../cluster/cluster-findings.js";
import { isReachable, type NodeReport, type ReachableNode } from "../cluster/node-report.js";
import { isEndless } from "../text/session-names.js";

/** A lock in use. Times are in milliseconds. */
export interface LockRow {
  readonly key: string;
  readonly mode: KeyView["holds"][number]["mode"] | null;
  /** Of the first holder; 0 if there is none. */
  readonly permits: number;
  readonly holds: number;
  readonly session: number;
  readonly sessionName: string;
  readonly identity: string;
  readonly holder: KeyView["holds"][number]["holder"];
  /** Digits that tell owners of leases apart; "" if it is no lease. */
  readonly leaseOwner: string;
  /** Nobody holds it, and it stays closed for a while. */
  readonly isClosed: boolean;
  /** How long the first holder has it; 0 if there is none. */
  readonly heldMs: number;
  /** What is left of the lease of the first holder; null if there is none, or it has no end. */
  readonly leaseMs: number | null;
  readonly token: number;
  readonly waiters: number;
}

export function lockRowOf({ key, holds, waiters, closings, truncated }: KeyView): LockRow {
  const [first] = holds;
  const [closing] = closings;
  return {
    key,
    mode: first?.mode ?? closing?.mode ?? null,
    permits: first?.permits ?? closing?.permits ?? 0,
    holds: truncated?.holds ?? holds.length,
    session: first?.session ?? 0,
    sessionName: first?.sessionName ?? "",
    identity: first?.identity ?? "",
    holder: first?.holder ?? "session",
    leaseOwner: first?.leaseOwner ?? "",
    isClosed: first === undefined && closing !== undefined,
    heldMs: first?.heldMs ?? 0,
    leaseMs: first === undefined || isEndless(first) ? null : first.leaseMs,
    token: first?.token ?? closing?.token ?? 0,
    waiters: truncated?.waiters ?? waiters.length,
  };
}

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

/** A node, by itself or, if it does not answer, by the leader. */
export interface NodeRow extends SeenNode {
  readonly role: string;
  readonly term: number | null;
  readonly commitIndex: number | null;
  readonly appliedIndex: number | null;
  /** Why it does not answer, or what is damaged; "" if nothing is wrong. */
  readonly problem: string;
}

export interface NodesSeen {
  readonly nodes: readonly NodeRow[];
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
  const rows = reports.map(({ id, report }) => nodeRow(id, report, members));
  const known = new Set(rows.map(({ id }) => id));
  const others = members?.members.filter(({ id }) => !known.has(id)) ?? [];
  const nodes = [...rows, ...others.map((member) => unaskedRow(member, members?.leaderId))];
  nodes.sort((a, b) => (a.id ?? Number.POSITIVE_INFINITY) - (b.id ?? Number.POSITIVE_INFINITY));
  const leader = leaderAmong(reports.map(({ report }) => report).filter(isReachable));
  const term = leader?.term ?? members?.term ?? 0;
  return { nodes, leader: leader?.id ?? members?.leaderId ?? 0, term, wallMs };
}

function leaderAmong(reports: readonly ReachableNode[]): ReachableNode | undefined {
  const leaders = reports.filter(({ role }) => role === "leader");
  return leaders.sort((a, b) => b.term - a.term)[0];
}

type Member = MembersView["members"][number];

function nodeRow(
  id: number | undefined,
  report: NodeReport,
  members: MembersView | undefined,
): NodeRow {
  const member = members?.members.find((each) => each.id === id);
  const lagEntries = member?.lagEntries ?? null;
  const { role, endpoint } = report;
  if (!report.isReachable) {
    const [term, commitIndex, appliedIndex] = [null, null, null];
    const isVoter = member?.role !== "learner";
    const problem = report.error.message.replace(`${endpoint}: `, "");
    const told = { id, role, isVoter, term, commitIndex, appliedIndex, lagEntries, endpoint };
    return { ...told, ...wordsOf(report), problem };
  }
  const { term, commitIndex, appliedIndex, damage } = report;
  const isVoter = role !== "learner" && member?.role !== "learner";
  const problem = damage === undefined ? "" : `${damage.file}: ${damage.reason}`;
  const told = { id, role, isVoter, term, commitIndex, appliedIndex, lagEntries, endpoint };
  return { ...told, ...wordsOf(report), problem };
}

function unaskedRow(member: Member, leader: number | undefined): NodeRow {
  const { id, isReachable: isHeard, lagEntries, endpoint } = member;
  return {
    id,
    role: id === leader ? "leader" : isHeard ? "follower" : "unreachable",
    answers: isHeard || id === leader ? "unasked" : "no",
    isVoter: member.role === "voter",
    words: undefined,
    term: null,
    commitIndex: null,
    appliedIndex: null,
    lagEntries,
    endpoint,
    problem: isHeard || id === leader ? "" : "the leader does not hear from it",
  };
}
