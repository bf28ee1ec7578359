/**
 * A cluster of real processes with a proxy on every directed link between the nodes and one before
 * each client port, so that a test can cut nodes off: `--peer-address` and `--advertise` are all it
 * takes.
 */
import { freePorts } from "../../../lab/free-ports.js";
import { TcpProxy } from "../../../lab/tcp-proxy.js";
import { type ClusterOptions, type ClusterProcess, startCluster } from "./cluster-process.js";

export const IDS = [1, 2, 3];

export class ProxiedCluster {
  readonly cluster: ClusterProcess;
  /** By "from>to". */
  readonly links: ReadonlyMap<string, TcpProxy>;
  readonly clientPorts: ReadonlyMap<number, TcpProxy>;

  constructor(
    cluster: ClusterProcess,
    links: ReadonlyMap<string, TcpProxy>,
    clientPorts: ReadonlyMap<number, TcpProxy>,
  ) {
    this.cluster = cluster;
    this.links = links;
    this.clientPorts = clientPorts;
  }

  get endpoints(): string[] {
    return [...this.clientPorts.values()].map(endpointOf);
  }

  /** Both directions between `id` and everybody else. */
  linksOf(id: number): TcpProxy[] {
    return [...this.links].filter(([name]) => name.includes(String(id))).map(([, link]) => link);
  }

  async stop(): Promise<void> {
    await this.cluster.stop();
    const proxies = [...this.links.values(), ...this.clientPorts.values()];
    await Promise.all(proxies.map((proxy) => proxy.close()));
  }
}

export function endpointOf(proxy: TcpProxy): string {
  return `ws://127.0.0.1:${proxy.address.port}`;
}

/** `options` without ports; further arguments of a node are added to those for the proxies. */
export async function startProxied(options: ClusterOptions = {}): Promise<ProxiedCluster> {
  const ports = await freePorts(2 * IDS.length);
  const links = new Map<string, TcpProxy>();
  const clientPorts = new Map<number, TcpProxy>();
  for (const to of IDS) {
    clientPorts.set(to, await TcpProxy.to(ports[to - 1] ?? 0));
    for (const from of IDS) {
      if (from === to) continue;
      links.set(`${from}>${to}`, await TcpProxy.to(ports[IDS.length + to - 1] ?? 0));
    }
  }
  const argumentsOf = (id: number): string[] => {
    const client = clientPorts.get(id);
    const flags = client === undefined ? [] : [`--advertise=${endpointOf(client)}`];
    for (const to of IDS) {
      const link = links.get(`${id}>${to}`);
      if (link !== undefined) flags.push(`--peer-address=${to}=127.0.0.1:${link.address.port}`);
    }
    return [...flags, ...(options.argumentsOf?.(id) ?? [])];
  };
  const cluster = await startCluster({ ...options, ports, argumentsOf });
  return new ProxiedCluster(cluster, links, clientPorts);
}
