/** The reports of the nodes at a list of endpoints, including those that do not answer. */
import { HoldfastError } from "../../src/errors/index.js";
import type { ClusterStatusOptions, NodeReport } from "../../src/index.js";
import type { NodeAccess } from "../config/command-options.js";

export type { NodeReport };
export type ReachableNode = NodeReport & { readonly isReachable: true };
export type UnreachableNode = NodeReport & { readonly isReachable: false };

/** A node, as it reports itself or, if it does not answer, as others report it. */
export interface ClusterMember {
  /** Undefined if it does not answer and no other node named its id. */
  readonly id: number | undefined;
  readonly report: NodeReport;
}

export type AskOptions = Pick<ClusterStatusOptions, "timeoutMs" | "signal">;

/** One report for each endpoint, in the same order. Rejects only when the signal is aborted. */
export async function nodeReports(
  { endpoints, ca, cert, key, token }: NodeAccess,
  options: AskOptions = {},
): Promise<NodeReport[]> {
  if (endpoints.length === 0) return [];
  const { clusterStatus } = await import("../../src/index.js");
  const tls = endpoints.some(isSecure) ? { ca, cert, key } : {};
  return clusterStatus(endpoints, { ...options, ...tls, token });
}

/** The nodes at the endpoints and all that these know of, by id, unknown ids last. */
export async function clusterMembers(
  access: NodeAccess,
  options: AskOptions = {},
): Promise<ClusterMember[]> {
  const { endpoints } = access;
  const asked = await nodeReports(access, options);
  const found = new Set(asked.filter(isReachable).map(({ id }) => id));
  // Through a local socket one node is asked, and others would not know who asks.
  const told = new Map(isLocal(endpoints) ? [] : asked.filter(isReachable).flatMap(peersTold));
  const further = [...told].filter(([url, id]) => !found.has(id) && !endpoints.includes(url));
  const urls = further.map(([url]) => url);
  // A node that was verified must not lead to one that cannot be.
  const isSafe = (url: string): boolean => isSecure(url) || !endpoints.every(isSecure);
  const reports = asked
    .concat(await nodeReports({ ...access, endpoints: urls.filter(isSafe) }, options))
    .concat(urls.filter((url) => !isSafe(url)).map(unasked));
  return reports
    .map((report): ClusterMember => ({ id: numberOf(report, told), report }))
    .sort((a, b) => (a.id ?? Number.POSITIVE_INFINITY) - (b.id ?? Number.POSITIVE_INFINITY));
}

/** The node that leads; a deposed leader that does not know it yet is in an older term. */
export function leaderOf(reports: readonly NodeReport[]): ReachableNode | undefined {
  let leader: ReachableNode | undefined;
  for (const report of reports.filter(isReachable)) {
    if (report.role !== "leader") continue;
    if (leader === undefined || report.term > leader.term) leader = report;
  }
  return leader;
}

export function isReachable(report: NodeReport): report is ReachableNode {
  return report.isReachable;
}

function numberOf(report: NodeReport, told: ReadonlyMap<string, number>): number | undefined {
  return report.isReachable ? report.id : told.get(report.endpoint);
}

/**
 * `[endpoint, id]` of the other nodes, as far as the page has them: it comes from another program.
 */
function peersTold(report: ReachableNode): [string, number][] {
  const peers: unknown = "peers" in report ? report.peers : undefined;
  if (!Array.isArray(peers)) return [];
  return peers.flatMap((peer: unknown): [string, number][] => {
    if (typeof peer !== "object" || peer === null) return [];
    if (!("id" in peer && "endpoint" in peer)) return [];
    const { id, endpoint } = peer;
    const isUsable = typeof id === "number" && typeof endpoint === "string" && isUrl(endpoint);
    return isUsable ? [[endpoint, id]] : [];
  });
}

/** Whether this is the socket in the data directory of a node. */
export function isLocal(endpoints: readonly string[]): boolean {
  return endpoints.some((endpoint) => endpoint.startsWith("unix:"));
}

function isSecure(endpoint: string): boolean {
  return endpoint.startsWith("wss:");
}

function unasked(endpoint: string): NodeReport {
  const text = `${endpoint}: not asked: named by a node at wss://, and without TLS itself`;
  const error = new HoldfastError("UNAVAILABLE", text, { details: { endpoint } });
  return { isReachable: false, role: "unreachable", endpoint, error };
}

/** Whether it is an address that can be asked; others may name anything. */
export function isUrl(endpoint: string): boolean {
  return URL.canParse(endpoint) && /^wss?:/.test(endpoint);
}
