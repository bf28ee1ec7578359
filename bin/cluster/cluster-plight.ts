/**
 * What keeps a cluster from serving, as its nodes tell by themselves, and saying so while a command
 * waits for it. Only asks and writes: it must never end the wait, nor change how it ends.
 */
import { setTimeout as delay } from "node:timers/promises";
import { note } from "../output/terminal.js";
import {
  type ClusterMember,
  clusterMembers,
  isReachable,
  leaderOf,
  type ReachableNode,
} from "./node-report.js";

const NOTICE_AFTER_MS = 1_000;
/** How long a node has to answer before it is said that it does not. */
const ANSWER_MS_MAX = 1_000;

/** What is missing by what the members at `endpoints` report; `undefined`: nothing. */
export async function plightOf(
  members: readonly ClusterMember[],
  endpoints: readonly string[],
): Promise<string | undefined> {
  const reports = members.map(({ report }) => report);
  const told = reports.filter(isReachable);
  if (told.length === 0) return `no node answers at ${endpoints.join(", ")}`;
  if (leaderOf(reports) !== undefined) return undefined;
  const leader = knownLeader(told);
  if (leader !== 0) return `node ${leader} leads and does not answer`;
  const voters = votersTold(told);
  const answering = told.filter(({ id, role }) => voters.has(id) && role !== "quarantined");
  const { noLeaderText } = await import("../../src/client/index.js");
  return noLeaderText(answering.length, voters.size);
}

export interface PlightOptions {
  /** Whether nothing is said. Default: false. */
  readonly isQuiet?: boolean | undefined;
  /** Called instead when not even a port is open where a node should be. */
  readonly onNobody?: ((plight: string) => void) | undefined;
}

/** Waits for `work`. If that takes long and the cluster does not serve, says why, once. */
export async function withPlightTold<T>(
  work: Promise<T>,
  endpoints: readonly string[],
  options: PlightOptions = {},
): Promise<T> {
  const over = new AbortController();
  const isHeard = options.isQuiet !== true || options.onNobody !== undefined;
  if (isHeard) void tellPlight(endpoints, options, over.signal);
  try {
    return await work;
  } finally {
    over.abort();
  }
}

/** The same, asked now: see `servicePlight`. */
export async function askPlight(endpoints: readonly string[]): Promise<string | undefined> {
  const members = await clusterMembers(endpoints, { timeoutMs: ANSWER_MS_MAX });
  return servicePlight(members, endpoints);
}

/**
 * What is missing unless a node answers and knows of a leader: one that is only too busy for this
 * question serves others all the same.
 */
async function servicePlight(
  members: readonly ClusterMember[],
  endpoints: readonly string[],
): Promise<string | undefined> {
  const told = members.map(({ report }) => report).filter(isReachable);
  return knownLeader(told) === 0 ? plightOf(members, endpoints) : undefined;
}

async function tellPlight(
  endpoints: readonly string[],
  { isQuiet, onNobody }: PlightOptions,
  over: AbortSignal,
): Promise<void> {
  try {
    await delay(NOTICE_AFTER_MS, undefined, { signal: over, ref: false });
    const members = await clusterMembers(endpoints, { timeoutMs: ANSWER_MS_MAX, signal: over });
    const plight = await servicePlight(members, endpoints);
    if (plight === undefined || over.aborted) return;
    if (onNobody !== undefined && members.every(isRefused)) onNobody(plight);
    else if (isQuiet !== true) note(`${plight}: still trying`);
  } catch (error) {
    if (!over.aborted) throw error;
  }
}

/** Nothing listens there: a node that is busy, or cut off, would not refuse. */
function isRefused({ report }: ClusterMember): boolean {
  return !report.isReachable && report.error.message.endsWith(": ECONNREFUSED");
}

/** As the nodes say that are in the newest term; 0: they know of none. */
function knownLeader(reports: readonly ReachableNode[]): number {
  const term = Math.max(...reports.map((report) => report.term));
  return Math.max(0, ...reports.map((report) => (report.term === term ? report.leader : 0)));
}

/** Those that decide, as the node tells that knows most of the log. */
function votersTold(reports: readonly ReachableNode[]): ReadonlySet<number> {
  let newest: ReachableNode | undefined;
  for (const report of reports) {
    if (report.commitIndex >= (newest?.commitIndex ?? 0) && "members" in report) newest = report;
  }
  const members: unknown = newest !== undefined && "members" in newest ? newest.members : undefined;
  if (!Array.isArray(members)) return new Set();
  return new Set(
    members.flatMap((member: unknown): number[] => {
      if (typeof member !== "object" || member === null) return [];
      if (!("id" in member && "role" in member) || member.role !== "voter") return [];
      return typeof member.id === "number" ? [member.id] : [];
    }),
  );
}
