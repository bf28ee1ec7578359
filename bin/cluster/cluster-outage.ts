/**
 * Finds out from the nodes why a cluster does not serve, and reports that while a command waits for
 * it. It only asks and writes: it must never end the wait, nor change how it ends.
 */
import { setTimeout as delay } from "node:timers/promises";
import { HoldfastError } from "../../src/errors/index.js";
import type { NodeAccess } from "../config/command-options.js";
import { Failure } from "../exit/failure.js";
import { note } from "../output/terminal.js";
import { healthOf, leaderIn, nodesOf } from "./cluster-findings.js";
import {
  type ClusterMember,
  clusterMembers,
  isLocal,
  isReachable,
  leaderOf,
  type NodeReport,
  type ReachableNode,
  type UnreachableNode,
} from "./node-report.js";

/** How the SDK reports a node that lets a client in only with another certificate. */
const REFUSED = "answered HTTP status 403";
const NOTICE_AFTER_MS = 1_000;
/** How long a node has to answer before it is reported as silent. */
const ANSWER_MS_MAX = 1_000;

/**
 * What is missing, by the reports of the members at `endpoints`; `undefined`: nothing, as far as
 * nodes of a secured cluster say.
 */
export async function outageOf(
  members: readonly ClusterMember[],
  endpoints: readonly string[],
): Promise<string | undefined> {
  const reports = members.map(({ report }) => report);
  const told = reports.filter(isReachable);
  const [first] = told;
  if (first === undefined && refusalAmong(reports) !== undefined) return undefined;
  if (first === undefined)
    return `no node answers at ${endpoints.join(", ")}${sharedReason(reports)}`;
  if (leaderOf(reports) !== undefined) return undefined;
  const leader = knownLeader(told);
  if (isLocal(endpoints)) return leader === 0 ? `node ${first.id} knows of no leader` : undefined;
  if (leader !== 0) return `node ${leader} is the leader and does not answer`;
  const voters = votersTold(told);
  const answering = told.filter(({ id, role }) => voters.has(id) && role !== "quarantined");
  const { noLeaderText } = await import("../../src/client/index.js");
  return noLeaderText(answering.length, voters.size);
}

/** Why nodes that answer do not say how they are. */
export function refusalAmong(reports: readonly NodeReport[]): HoldfastError | undefined {
  for (const report of reports) {
    if (!report.isReachable && report.error.code === "UNAUTHENTICATED") return report.error;
  }
  return undefined;
}

/** How the SDK begins a reason that is about the node, or its socket, and not about the network. */
const REASON =
  /^(its? |the client's |this client has |there is no such socket|no process serves|only the user|this file is)/;

/** `: …` with the reason, if all nodes have the same; "" if their ports are closed or silent. */
function sharedReason(reports: readonly NodeReport[]): string {
  const reasons = new Set(
    reports.flatMap((report) => (report.isReachable ? [] : [reasonOf(report)])),
  );
  const [reason = ""] = reasons;
  return reasons.size === 1 && REASON.test(reason) ? `: ${reason}` : "";
}

/** The message without its endpoint, and of a refusal also without the HTTP status. */
function reasonOf({ endpoint, error }: UnreachableNode): string {
  return error.message.replace(`${endpoint}: `, "").replace(`${endpoint} ${REFUSED}: `, "");
}

export interface OutageOptions {
  /** Whether nothing is written. Default: false. */
  readonly isQuiet?: boolean | undefined;
  /** Called instead if no node has even an open port. */
  readonly onAllRefused?: ((outage: string) => void) | undefined;
}

/**
 * Waits for `work`. If that takes long and the cluster does not serve, reports the reason, once.
 */
export async function withOutageReport<T>(
  work: Promise<T>,
  access: NodeAccess,
  options: OutageOptions = {},
): Promise<T> {
  const over = new AbortController();
  const isHeard = options.isQuiet !== true || options.onAllRefused !== undefined;
  if (isHeard) void reportOutage(access, options, over.signal);
  try {
    return await work;
  } finally {
    over.abort();
  }
}

/** Why a cluster serves nobody. */
export interface Service {
  /** No node answers, or none leads. */
  readonly outage: string | undefined;
  /** There is a leader, and it grants nothing: its disk is full. */
  readonly refusal: string | undefined;
}

/** The same, asked once now: see `serviceOf`. */
export async function askService(access: NodeAccess): Promise<Service> {
  const members = await clusterMembers(access, { timeoutMs: ANSWER_MS_MAX });
  return serviceOf(members, access.endpoints);
}

/**
 * What is missing. If a node answers and knows of a leader, that is nothing but room: a leader that is
 * only too busy for this question still serves others.
 */
async function serviceOf(
  members: readonly ClusterMember[],
  endpoints: readonly string[],
): Promise<Service> {
  const told = members.map(({ report }) => report).filter(isReachable);
  const leader = knownLeader(told);
  if (leader === 0) return { outage: await outageOf(members, endpoints), refusal: undefined };
  const { findings } = healthOf(nodesOf(members), leader ?? leaderIn(members), Date.now());
  const worst = findings.find(({ level }) => level === "down");
  return { outage: undefined, refusal: worst && insideSentence(worst.sentence) };
}

function insideSentence(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, "");
}

async function reportOutage(
  access: NodeAccess,
  { isQuiet, onAllRefused }: OutageOptions,
  over: AbortSignal,
): Promise<void> {
  try {
    await delay(NOTICE_AFTER_MS, undefined, { signal: over, ref: false });
    const members = await clusterMembers(access, { timeoutMs: ANSWER_MS_MAX, signal: over });
    const { outage, refusal } = await serviceOf(members, access.endpoints);
    const text = outage ?? refusal;
    if (text === undefined || over.aborted) return;
    if (onAllRefused !== undefined && members.every(isRefused)) onAllRefused(text);
    else if (isQuiet !== true) note(`${text}: still trying`);
  } catch (error) {
    // A token that cannot be read or sent: the work fails for the same reason, and says so.
    const isExpected = error instanceof Failure || error instanceof HoldfastError;
    if (!over.aborted && !isExpected) throw error;
  }
}

/** Nothing listens there: a node that is busy or cut off would not refuse the connection. */
function isRefused({ report }: ClusterMember): boolean {
  return !report.isReachable && report.error.message.endsWith(": ECONNREFUSED");
}

/** By the nodes in the newest term; 0: they know of none. */
export function knownLeader(reports: readonly ReachableNode[]): number {
  const term = Math.max(...reports.map((report) => report.term));
  return Math.max(0, ...reports.map((report) => (report.term === term ? report.leader : 0)));
}

/** The voters, by the node that knows most of the log. */
function votersTold(reports: readonly ReachableNode[]): ReadonlySet<number> {
  let newest: ReachableNode | undefined;
  for (const report of reports) {
    if (report.members === undefined) continue;
    if (report.commitIndex >= (newest?.commitIndex ?? 0)) newest = report;
  }
  const voters = newest?.members?.filter(({ role }) => role === "voter") ?? [];
  return new Set(voters.map(({ id }) => id));
}
