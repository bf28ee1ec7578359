/**
 * The network of a run on one machine: a proxy for every ordered pair of nodes, for every pair of a
 * client and a node, and before each node the door that it advertises. Clients with an even number
 * follow the leader through the doors; the others stay with links of their own, so that each of
 * them can be cut off alone.
 */
import { type Direction, Link } from "./link.js";
import {
  BlockCounts,
  clientPlace,
  type Network,
  type NetworkOptions,
  type NodeAddresses,
  nodePlace,
  type Place,
  type SlowRoad,
} from "./network.js";

/** Whoever comes in through the doors. */
const DOOR: Place = "*";

export class ProxiedNetwork implements Network {
  readonly kind = "proxies";
  readonly harnessHost = "127.0.0.1";
  readonly clientPlaces: readonly Place[];
  readonly #blocks = new BlockCounts();
  readonly #options: NetworkOptions;
  /** By "dialler>listener". */
  readonly #links: ReadonlyMap<string, Link>;

  private constructor(options: NetworkOptions, links: ReadonlyMap<string, Link>) {
    this.#options = options;
    this.#links = links;
    const clients = Array.from({ length: options.clients }, (_, client) => clientPlace(client));
    this.clientPlaces = [DOOR, ...clients.filter((_, client) => !followsLeader(client))];
  }

  static async open(options: NetworkOptions): Promise<ProxiedNetwork> {
    const links = new Map<string, Link>();
    for (const { id, host, clientPort, peerPort } of options.nodes) {
      const to = nodePlace(id);
      for (const peer of options.nodes) {
        if (peer.id === id) continue;
        links.set(`${nodePlace(peer.id)}>${to}`, await Link.to({ host, port: peerPort }));
      }
      links.set(`${DOOR}>${to}`, await Link.to({ host, port: clientPort }));
      for (let client = 0; client < options.clients; client += 1) {
        links.set(`${clientPlace(client)}>${to}`, await Link.to({ host, port: clientPort }));
      }
    }
    return new ProxiedNetwork(options, links);
  }

  get nodes(): readonly NodeAddresses[] {
    return this.#options.nodes;
  }

  serverArguments(id: number): string[] {
    const own = nodePlace(id);
    const peers = this.#options.nodes
      .filter((node) => node.id !== id)
      .map((node) => {
        const { host, port } = this.#link(`${own}>${nodePlace(node.id)}`).address;
        return `--peer-address=${node.id}=${host}:${port}`;
      });
    return [`--advertise=${this.#url(`${DOOR}>${own}`)}`, ...peers];
  }

  prefixOf(): readonly string[] {
    return [];
  }

  endpointsOf(client: number): { endpoints: string[]; followLeader: boolean } {
    const followLeader = followsLeader(client);
    const dialler = followLeader ? DOOR : clientPlace(client);
    const endpoints = this.#options.nodes.map(({ id }) => this.#url(`${dialler}>${nodePlace(id)}`));
    return { endpoints, followLeader };
  }

  async block(from: Place, to: Place): Promise<void> {
    if (!this.#blocks.add(from, to)) return;
    this.#each(from, to, (link, direction) => link.cut(direction));
  }

  async unblock(from: Place, to: Place, reset: boolean): Promise<void> {
    if (!this.#blocks.remove(from, to)) return;
    this.#each(from, to, (link, direction) => link.open(direction, reset));
  }

  async slow(from: Place, to: Place, road: SlowRoad): Promise<void> {
    const { delayMs, bytesPerSecondMax } = road;
    this.#each(from, to, (link, direction) => link.slow(direction, delayMs, bytesPerSecondMax));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#links.values()].map((link) => link.close()));
  }

  /** Both connections on which bytes travel this way: the one `from` dialled and the one `to` did. */
  #each(from: Place, to: Place, act: (link: Link, direction: Direction) => void): void {
    const forth = this.#links.get(`${from}>${to}`);
    const back = this.#links.get(`${to}>${from}`);
    if (forth !== undefined) act(forth, "forth");
    if (back !== undefined) act(back, "back");
    if (forth === undefined && back === undefined) {
      throw new RangeError(`there is no link between ${from} and ${to}`);
    }
  }

  #url(name: string): string {
    return `ws://127.0.0.1:${this.#link(name).port}`;
  }

  #link(name: string): Link {
    const link = this.#links.get(name);
    if (link === undefined) throw new RangeError(`there is no link ${name}`);
    return link;
  }
}

function followsLeader(client: number): boolean {
  return client % 2 === 0;
}
