/** This system as the subject of a load: a cluster of its own for the run, or a running one. */

import { clusterStatus, type NodeReport } from "../../src/index.js";
import type { ClientFiles } from "../cluster/bench-certificates.js";
import { closeAll, connectAll, runPrefix } from "../cluster/bench-clients.js";
import { fetchMetrics } from "../cluster/node-pages.js";
import { withOwnCluster } from "../cluster/own-cluster.js";
import type { LoadOptions } from "../options/bench-options.js";
import { beginLoops } from "./begin-loops.js";
import { loadShape } from "./load-shapes.js";
import { LOAD_PROCESS, type LoadSubject } from "./load-subject.js";

const SYNCS = "holdfast_log_syncs_total";

type Reachable = Extract<NodeReport, { readonly isReachable: true }>;

export async function withOwnSubject<T>(
  options: LoadOptions,
  signal: AbortSignal,
  work: (subject: LoadSubject) => Promise<T>,
): Promise<T> {
  const { endpoints, tls: isEncrypted } = options;
  if (endpoints !== undefined) return withClients({ endpoints, tls: {} }, options, signal, work);
  return withOwnCluster({ isEncrypted, signal }, (own) => withClients(own, options, signal, work));
}

interface Reached {
  readonly endpoints: readonly string[];
  readonly tls: ClientFiles;
}

async function withClients<T>(
  reached: Reached,
  options: LoadOptions,
  signal: AbortSignal,
  work: (subject: LoadSubject) => Promise<T>,
): Promise<T> {
  const { connections, attach } = options;
  const attached = attach === "follower" ? [await findFollower(reached)] : reached.endpoints;
  const special = { followLeader: attach !== "follower", ...reached.tls };
  const clients = await connectAll(connections, attached, signal, () => special);
  const prefix = runPrefix();
  try {
    return await work({
      connections: clients.length,
      versions: `Node.js ${process.versions.node}`,
      begin: async () => beginLoops(clients, loadShape(options, prefix), options),
      processes: async () => {
        const local = (await reachable(reached)).filter((node) => isLoopback(node.endpoint));
        return [LOAD_PROCESS, ...local.map(({ id, pid }) => ({ name: `n${id}`, pid }))];
      },
      leader: async () => {
        const leader = (await reachable(reached)).find(({ role }) => role === "leader");
        return leader === undefined ? null : `n${leader.id}`;
      },
      syncs: () => syncsOf(reached),
    });
  } finally {
    await closeAll(clients);
  }
}

async function reachable({ endpoints, tls }: Reached): Promise<Reachable[]> {
  const reports = await clusterStatus(endpoints, tls);
  return reports.filter((report): report is Reachable => report.isReachable);
}

async function findFollower(reached: Reached): Promise<string> {
  const follower = (await reachable(reached)).find(({ role }) => role === "follower");
  if (follower === undefined) throw new Error("there is no follower to attach to");
  return follower.endpoint;
}

async function syncsOf({ endpoints, tls }: Reached): Promise<number | undefined> {
  const figures = await Promise.all(
    endpoints.map((endpoint) => fetchMetrics(endpoint, [SYNCS], tls)),
  );
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
