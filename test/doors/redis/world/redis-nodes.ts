/** A cluster of real processes whose nodes open their Redis ports. */
import { freePorts } from "../../../../lab/free-ports.js";
import { TcpProxy } from "../../../../lab/tcp-proxy.js";
import { type ClusterProcess, startCluster } from "../../../e2e/world/cluster-process.js";

export interface RedisNodes extends AsyncDisposable {
  readonly cluster: ClusterProcess;
  /** The Redis ports, on the loopback interface. */
  readonly ports: readonly number[];
}

/** Clients are sent to proxies, one before each Redis port, in the order of the nodes. */
export interface ProxiedRedisNodes extends RedisNodes {
  readonly proxies: readonly TcpProxy[];
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
  const cluster = await startNodes(ports, () => options);
  return { cluster, ports, [Symbol.asyncDispose]: () => cluster.stop() };
}

/** As `startRedisNodes`, with three nodes. */
export async function startProxiedRedisNodes(): Promise<ProxiedRedisNodes> {
  const ports = await freePorts(3);
  const proxies = await Promise.all(ports.map((port) => TcpProxy.to(port)));
  const close = async (): Promise<void> => {
    await Promise.all(proxies.map((proxy) => proxy.close()));
  };
  try {
    const cluster = await startNodes(ports, (id) => [
      `--redis-advertise=127.0.0.1:${proxies[id - 1]?.port}`,
    ]);
    const stop = async (): Promise<void> => {
      await cluster.stop();
      await close();
    };
    return { cluster, ports, proxies, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startNodes(
  ports: readonly number[],
  argumentsOf: (id: number) => readonly string[],
): Promise<ClusterProcess> {
  const cluster = await startCluster({
    nodes: ports.length,
    argumentsOf: (id) => [`--redis-listen=127.0.0.1:${ports[id - 1]}`, ...argumentsOf(id)],
  });
  await cluster.leader();
  return cluster;
}
