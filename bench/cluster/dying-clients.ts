/**
 * Clients that die as far as the cluster can see: nothing comes from them any more, and nobody closes
 * their sessions, which live on until their leases end.
 */
import { TcpProxy } from "../../lab/tcp-proxy.js";
import type { Client, ConnectOptions } from "../../src/index.js";
import { closeAll, connectAll } from "./bench-clients.js";

export class DyingClients {
  readonly clients: readonly Client[];
  readonly #proxies: readonly TcpProxy[];

  private constructor(clients: readonly Client[], proxies: readonly TcpProxy[]) {
    this.clients = clients;
    this.#proxies = proxies;
  }

  /** Connects all or none, each to one of the nodes, by a proxy. */
  static async connect(
    count: number,
    endpoints: readonly string[],
    signal: AbortSignal,
    options: ConnectOptions,
  ): Promise<DyingClients> {
    const ports = endpoints.map((endpoint) => Number(new URL(endpoint).port));
    const proxies = await Promise.all(ports.map((port) => TcpProxy.to(port)));
    const urls = proxies.map(({ port }) => `ws://127.0.0.1:${port}`);
    try {
      const clients = await connectAll(count, urls, signal, (index) => ({
        ...options,
        endpoints: [urls[index % urls.length] as string],
        followLeader: false,
      }));
      return new DyingClients(clients, proxies);
    } catch (error) {
      await Promise.all(proxies.map((proxy) => proxy.close()));
      throw error;
    }
  }

  /** Resolves when this process has forgotten them; the cluster has heard nothing since the call. */
  async die(): Promise<void> {
    for (const proxy of this.#proxies) proxy.cut();
    await closeAll(this.clients);
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
  }
}
