/** A cluster of real processes whose nodes open their Redis ports. */
import { freePorts } from "../../../../lab/free-ports.js";
import { type ClusterProcess, startCluster } from "../../../e2e/world/cluster-process.js";

export interface RedisNodes extends AsyncDisposable {
  readonly cluster: ClusterProcess;
  /** The Redis ports, on the loopback interface. */
  readonly ports: readonly number[];
}

/**
 * Resolves when one of them leads.
 *
 * @param options further arguments of every node
 */
export async function startRedisNodes(
  nodes: 1 | 3,
  ...options: readonly string[]
): Promise<RedisNodes> {
  const ports = await freePorts(nodes);
  const cluster = await startCluster({
    nodes,
    argumentsOf: (id) => [`--redis-listen=127.0.0.1:${ports[id - 1]}`, ...options],
  });
  await cluster.leader();
  return { cluster, ports, [Symbol.asyncDispose]: () => cluster.stop() };
}
