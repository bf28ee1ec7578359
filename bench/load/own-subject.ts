/** This system as the subject of a load: a cluster of its own for the run, or a running one. */

import type { Client } from "../../src/index.js";
import { clusterStatus, type NodeReport } from "../../src/index.js";
import { closeAll, connectAll, runPrefix } from "../cluster/bench-clients.js";
import { fetchMetrics } from "../cluster/node-pages.js";
import { withOwnCluster } from "../cluster/own-cluster.js";
import type { LoadOptions } from "../options/bench-options.js";
import { loadShape, ownKeys } from "./load-shapes.js";
import { LOAD_PROCESS, type LoadSubject } from "./load-subject.js";

const SYNCS = "holdfast_log_syncs_total";

type Reachable = Extract<NodeReport, { readonly isReachable: true }>;

export async function withOwnSubject<T>(
  options: LoadOptions,
  signal: AbortSignal,
  work: (subject: LoadSubject<Client>) => Promise<T>,
): Promise<T> {
  const { endpoints } = options;
  if (endpoints !== undefined) return withClients(endpoints, options, signal, work);
  return withOwnCluster({ signal }, (own) => withClients(own.endpoints, options, signal, work));
}

async function withClients<T>(
  endpoints: readonly string[],
  options: LoadOptions,
  signal: AbortSignal,
  work: (subject: LoadSubject<Client>) => Promise<T>,
): Promise<T> {
  const { connections, attach } = options;
  const attached = attach === "follower" ? [await findFollower(endpoints)] : endpoints;
  const followLeader = attach !== "follower";
  const clients = await connectAll(connections, attached, signal, () => ({ followLeader }));
  const prefix = runPrefix();
  try {
    return await work({
      clients,
      shape: loadShape(options, prefix),
      warmUpShape: ownKeys(`${prefix}/warm-up`),
      processes: async () => {
        const local = (await reachable(endpoints)).filter((node) => isLoopback(node.endpoint));
        return [LOAD_PROCESS, ...local.map(({ id, pid }) => ({ name: `n${id}`, pid }))];
      },
      leader: async () => {
        const leader = (await reachable(endpoints)).find(({ role }) => role === "leader");
        return leader === undefined ? null : `n${leader.id}`;
      },
      syncs: () => syncsOf(endpoints),
    });
  } finally {
    await closeAll(clients);
  }
}

async function reachable(endpoints: readonly string[]): Promise<Reachable[]> {
  const reports = await clusterStatus(endpoints);
  return reports.filter((report): report is Reachable => report.isReachable);
}

async function findFollower(endpoints: readonly string[]): Promise<string> {
  const follower = (await reachable(endpoints)).find(({ role }) => role === "follower");
  if (follower === undefined) throw new Error("there is no follower to attach to");
  return follower.endpoint;
}

async function syncsOf(endpoints: readonly string[]): Promise<number | undefined> {
  const figures = await Promise.all(endpoints.map((endpoint) => fetchMetrics(endpoint, [SYNCS])));
  let total = 0;
  for (const each of figures) {
    if (each === undefined) return undefined;
    total += each[SYNCS];
  }
  return total;
}

function isLoopback(endpoint: string): boolean {
  const { hostname } = new URL(endpoint);
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}
