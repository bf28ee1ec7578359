/**
 * What the nodes behind a list of endpoints say about themselves, those included that say nothing.
 */
import type { ClusterStatusOptions, NodeReport } from "../../src/index.js";

export type { NodeReport };
export type ReachableNode = NodeReport & { readonly isReachable: true };

/** A node, by what it says itself or, of one that is silent, by what others say of it. */
export interface ClusterMember {
  /** Undefined when it is silent and nobody told its number. */
  readonly id: number | undefined;
  readonly report: NodeReport;
}

/** One report for each endpoint, in the same order. Rejects only when the signal is aborted. */
export async function nodeReports(
  endpoints: readonly string[],
  options: ClusterStatusOptions = {},
): Promise<NodeReport[]> {
  if (endpoints.length === 0) return [];
  const { clusterStatus } = await import("../../src/index.js");
  return clusterStatus(endpoints, options);
}

/** The nodes behind the endpoints and all that these know of, by number, unknown ones last. */
export async function clusterMembers(
  endpoints: readonly string[],
  options: ClusterStatusOptions = {},
): Promise<ClusterMember[]> {
  const asked = await nodeReports(endpoints, options);
  const found = new Set(asked.filter(isReachable).map(({ id }) => id));
  const told = new Map(asked.filter(isReachable).flatMap(peersTold));
  const further = [...told].filter(([url, id]) => !found.has(id) && !endpoints.includes(url));
  const urls = further.map(([url]) => url);
  const reports = asked.concat(await nodeReports(urls, options));
  return reports
    .map((report): ClusterMember => ({ id: numberOf(report, told), report }))
    .sort((a, b) => (a.id ?? Number.POSITIVE_INFINITY) - (b.id ?? Number.POSITIVE_INFINITY));
}

/** The node that leads; a deposed leader that does not know yet is in an older term. */
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

/** `[endpoint, id]` of the other nodes, as far as the page tells: it is another program's text. */
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

function isUrl(endpoint: string): boolean {
  return URL.canParse(endpoint) && /^wss?:/.test(endpoint);
}
