/**
 * etcd with its defaults: every write synced on a majority, elections after a second, and therefore
 * no lease shorter than two.
 */

import { setTimeout as delay } from "node:timers/promises";
import { ETCD, etcdArguments, fileOf, lackOf } from "../../lab/peer-servers.js";
import { type Network, type NodeAddresses, nodePlace } from "../cluster/network.js";
import type { NodeProcess, NodeStatus } from "../cluster/node-process.js";
import type { System, SystemEvents, SystemKind } from "./system.js";

const ANSWER_MS_MAX = 1_000;
const LOOK_MS = 250;
export const etcd: SystemKind = {
  name: "etcd",
  about: "a cluster of members, every write synced on a majority",
  hasOnePort: false,
  hasOnePeerAddress: true,
  tokensRise: "by-key",
  missing: () => lackOf(ETCD),
  make: (network): System => {
    const members = new Map<string, number>();
    return {
      serverOf: (node, dataDirectory) => ({
        command: [fileOf(ETCD), ...argumentsOf(network, node, dataDirectory)],
        status: () => statusOf(node, members),
      }),
      attend: async (nodes, events) => watchRoles(nodes, events),
    };
  },
};

function argumentsOf(network: Network, node: NodeAddresses, dataDirectory: string): string[] {
  const urls = network.nodes.map(({ id }) => [nodePlace(id), peerUrl(network, node, id)] as const);
  const member = {
    name: nodePlace(node.id),
    dataDirectory,
    clientUrl: `http://${node.host}:${node.clientPort}`,
    peerListenUrl: `http://${node.host}:${node.peerPort}`,
    logLevel: "warn",
  } as const;
  return etcdArguments(member, new Map(urls));
}

/** Equal for all: members are identified by it. */
function peerUrl(network: Network, { id }: NodeAddresses, to: number): string {
  const { host, port } = network.peerAddress(nodePlace(id), to);
  return `http://${host}:${port}`;
}

interface StatusAnswer {
  readonly header?: { readonly member_id?: string };
  readonly leader?: string;
  readonly raftTerm?: string;
}

/** `members`: the node of each of etcd's own member ids, as far as they are known. */
async function statusOf(
  { id, host, clientPort }: NodeAddresses,
  members: Map<string, number>,
): Promise<NodeStatus | undefined> {
  let answer: StatusAnswer;
  try {
    const response = await fetch(`http://${host}:${clientPort}/v3/maintenance/status`, {
      method: "POST",
      body: "{}",
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    if (!response.ok) return undefined;
    answer = (await response.json()) as StatusAnswer;
  } catch {
    return undefined; // Down, stopped, or not started yet.
  }
  const own = answer.header?.member_id;
  if (own === undefined) return undefined;
  members.set(own, id);
  // A member that knows of no leader leaves the field out.
  const leader = answer.leader === undefined ? undefined : members.get(answer.leader);
  const role = answer.leader === own ? "leader" : "follower";
  const term = Number(answer.raftTerm ?? 0);
  return { id, role, term, ...(leader === undefined ? {} : { leader }) };
}

/** Its servers do not log which one leads, so they are asked. */
function watchRoles(nodes: readonly NodeProcess[], events: SystemEvents): () => Promise<void> {
  const stop = new AbortController();
  const { signal } = stop;
  const watchOne = async (node: NodeProcess) => {
    let known = "";
    while (!signal.aborted) {
      const status = node.isRunning && !node.isPaused ? await node.status() : undefined;
      const now = status === undefined ? "" : `${status.role} ${status.term}`;
      if (status !== undefined && now !== known) events.onRole(node.id, status.role, status.term);
      known = now;
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  };
  const watching = Promise.all(nodes.map(watchOne));
  return async () => {
    stop.abort();
    await watching;
  };
}
