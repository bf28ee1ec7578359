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
  /** Where it is a sentinel only; `undefined`: nowhere. */
  readonly redisSentinelListen: HostPort | undefined;
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
  sentinelPorts: readonly number[] = [],
): ClusterPlan {
  requireDistinct({
    client: clientPorts,
    peer: peerPorts,
    Redis: redisPorts,
    sentinel: sentinelPorts,
  });
  const nodes = peerPorts.map((peer, index): NodePlan => {
    const client = clientPorts[index] ?? 0;
    const name = `n${index + 1}`;
    return {
      id: index + 1,
      name,
      listen: { host: HOST, port: client },
      peerListen: { host: HOST, port: peer },
      redisListen: addressOf(redisPorts[index]),
      redisSentinelListen: addressOf(sentinelPorts[index]),
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

function addressOf(port: number | undefined): HostPort | undefined {
  return port === undefined ? undefined : { host: HOST, port };
}

/** Refuses a port that would serve two purposes. */
function requireDistinct(portsByKind: Readonly<Record<string, readonly number[]>>): void {
  const kinds = new Map<number, string>();
  for (const [kind, ports] of Object.entries(portsByKind)) {
    for (const port of ports) {
      const other = kinds.get(port);
      if (other !== undefined && other !== kind) {
        const message = `port ${port} would be both a ${other} port and a ${kind} port`;
        throw new Failure(EXIT.usage, message);
      }
      kinds.set(port, kind);
    }
  }
}

/** How long to wait before a node is started again, for its nth death in a row. */
export function restartDelayMs(deathsInARow: number): number {
  return Math.min(500 * 2 ** (Math.max(1, deathsInARow) - 1), 10_000);
}
