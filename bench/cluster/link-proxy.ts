/**
 * A TCP proxy before one peer port, for one node that dials it: the link can be cut, which means
 * silence as on a broken cable, and healed.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

const HOST = "127.0.0.1";

export class LinkProxy {
  readonly port: number;
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #isCut = false;

  private constructor(server: Server, targetPort: number) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on("connection", (near: Socket) => this.#join(near, connect(targetPort, HOST)));
  }

  static async before(targetPort: number): Promise<LinkProxy> {
    const server = createServer().listen(0, HOST);
    await once(server, "listening");
    return new LinkProxy(server, targetPort);
  }

  /** Connections stay open and pass nothing on; whoever connects meets silence as well. */
  cut(): void {
    this.#isCut = true;
    for (const [near, far] of this.#pairs) {
      near.unpipe(far);
      far.unpipe(near);
      near.pause();
      far.pause();
    }
  }

  /** What met silence ends, new connections pass. */
  heal(): void {
    this.#isCut = false;
    this.#reset();
  }

  async close(): Promise<void> {
    this.#reset();
    this.#server.close();
    await once(this.#server, "close");
  }

  #join(near: Socket, far: Socket): void {
    const pair = [near, far] as const;
    this.#pairs.add(pair);
    near.setNoDelay(true);
    far.setNoDelay(true);
    if (!this.#isCut) {
      near.pipe(far);
      far.pipe(near);
    }
    this.#tie(near, far, pair);
    this.#tie(far, near, pair);
  }

  #tie(socket: Socket, other: Socket, pair: readonly [Socket, Socket]): void {
    socket.on("error", () => other.destroy());
    socket.on("close", () => {
      other.destroy();
      this.#pairs.delete(pair);
    });
  }

  #reset(): void {
    for (const [near, far] of this.#pairs) {
      near.resetAndDestroy();
      far.resetAndDestroy();
    }
  }
}

/** One proxy for each direction of each pair of nodes. */
export class PeerLinks {
  /** By "from>to". */
  readonly #proxies: ReadonlyMap<string, LinkProxy>;

  private constructor(proxies: ReadonlyMap<string, LinkProxy>) {
    this.#proxies = proxies;
  }

  /** `peerPorts`: of the nodes 1, 2 … */
  static async between(peerPorts: readonly number[]): Promise<PeerLinks> {
    const proxies = new Map<string, LinkProxy>();
    for (const [toIndex, port] of peerPorts.entries()) {
      for (let from = 1; from <= peerPorts.length; from += 1) {
        if (from === toIndex + 1) continue;
        proxies.set(`${from}>${toIndex + 1}`, await LinkProxy.before(port));
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

  #of(id: number): LinkProxy[] {
    const isOf = (name: string) => name.split(">").includes(String(id));
    return [...this.#proxies].filter(([name]) => isOf(name)).map(([, proxy]) => proxy);
  }
}
