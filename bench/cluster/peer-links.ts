/**
 * TCP proxies between the nodes of a cluster, so that a node can be cut off and connected again.
 */
import { TcpProxy } from "../../lab/tcp-proxy.js";

const HOST = "127.0.0.1";

/** One proxy for each direction of each pair of nodes. */
export class PeerLinks {
  /** By "from>to". */
  readonly #proxies: ReadonlyMap<string, TcpProxy>;

  private constructor(proxies: ReadonlyMap<string, TcpProxy>) {
    this.#proxies = proxies;
  }

  /** `peerPorts`: the ports of the nodes 1, 2 … */
  static async between(peerPorts: readonly number[]): Promise<PeerLinks> {
    const proxies = new Map<string, TcpProxy>();
    for (const [toIndex, port] of peerPorts.entries()) {
      for (let from = 1; from <= peerPorts.length; from += 1) {
        if (from === toIndex + 1) continue;
        proxies.set(`${from}>${toIndex + 1}`, await TcpProxy.to(port));
      }
    }
    return new PeerLinks(proxies);
  }

  /** The `--peer-address` flags of a node. */
  argumentsOf(id: number): string[] {
    const flags: string[] = [];
    for (const [name, { port }] of this.#proxies) {
      const [from, to] = name.split(">");
      if (Number(from) === id) flags.push(`--peer-address=${to}=${HOST}:${port}`);
    }
    return flags;
  }

  /** Nothing passes between this node and the others any more, in either direction. */
  cut(id: number): void {
    for (const proxy of this.#of(id)) proxy.cut();
  }

  heal(id: number): void {
    for (const proxy of this.#of(id)) proxy.heal();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#proxies.values()].map((proxy) => proxy.close()));
  }

  #of(id: number): TcpProxy[] {
    const isOf = (name: string) => name.split(">").includes(String(id));
    return [...this.#proxies].filter(([name]) => isOf(name)).map(([, proxy]) => proxy);
  }
}
