/**
 * The parts of a local cluster, worked out before anything is started: names, ports, files. Pure:
 * asks the system nothing.
 */
import { join } from "node:path";
import type { HostPort } from "../../src/server/index.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { formatHostPort } from "../text/addresses.js";

export const HOST = "127.0.0.1";
export const NODES_MAX = 7;
export const PORT_MAX = 65_535;

export interface NodePlan {
  readonly id: number;
  /** `n1`, `n2`, … */
  readonly name: string;
  readonly listen: HostPort;
  readonly peerListen: HostPort;
  /** `undefined`: no Redis clients are served. */
  readonly redisListen: HostPort | undefined;
  readonly endpoint: string;
  readonly dataDirectory: string;
  readonly logFile: string;
}

export interface ClusterPlan {
  readonly directory: string;
  readonly clusterName: string;
  readonly nodes: readonly NodePlan[];
  readonly endpoints: readonly string[];
  /** The value of `--initial-cluster`. */
  readonly initialCluster: string;
}

/** One node for each pair of ports. */
export function planCluster(
  directory: string,
  clusterName: string,
  clientPorts: readonly number[],
  peerPorts: readonly number[],
  scheme: "ws" | "wss" = "ws",
  redisPorts: readonly number[] = [],
): ClusterPlan {
  requireDistinct(clientPorts, peerPorts);
  requireDistinct(clientPorts, redisPorts, "Redis");
  requireDistinct(redisPorts, peerPorts);
  const nodes = peerPorts.map((peer, index): NodePlan => {
    const client = clientPorts[index] ?? 0;
    const redis = redisPorts[index];
    const name = `n${index + 1}`;
    return {
      id: index + 1,
      name,
      listen: { host: HOST, port: client },
      peerListen: { host: HOST, port: peer },
      redisListen: redis === undefined ? undefined : { host: HOST, port: redis },
      endpoint: `${scheme}://${HOST}:${client}`,
      dataDirectory: join(directory, name),
      logFile: join(directory, `${name}.log`),
    };
  });
  return {
    directory,
    clusterName,
    nodes,
    endpoints: nodes.map(({ endpoint }) => endpoint),
    initialCluster: nodes
      .map(({ id, peerListen }) => `${id}=${formatHostPort(peerListen)}`)
      .join(","),
  };
}

/** Consecutive ports, beginning with `first`. */
export function consecutivePorts(option: string, first: number, count: number): number[] {
  const last = first + count - 1;
  if (last > PORT_MAX) {
    throw new Failure(EXIT.usage, `${option} ${first}: ${count} nodes would need port ${last}`);
  }
  return Array.from({ length: count }, (_, index) => first + index);
}

/** Refuses a port that would serve two purposes. */
function requireDistinct(
  clientPorts: readonly number[],
  others: readonly number[],
  kind = "peer",
): void {
  const shared = clientPorts.find((port) => others.includes(port));
  if (shared === undefined) return;
  throw new Failure(EXIT.usage, `port ${shared} would be both a client port and a ${kind} port`);
}

/** How long to wait before a node is started again, for its nth death in a row. */
export function restartDelayMs(deathsInARow: number): number {
  return Math.min(500 * 2 ** (Math.max(1, deathsInARow) - 1), 10_000);
}
