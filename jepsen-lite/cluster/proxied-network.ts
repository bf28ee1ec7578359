/**
 * The network of a run on one machine: a proxy for every ordered pair of nodes, for every pair of a
 * client and a node, and one for the address that each node advertises. Clients with an even number
 * follow the leader by the advertised addresses; the others stay with links of their own, so that each
 * of them can be cut off alone. The companion of a node, the server next to it, has links of its own,
 * which are cut and slowed with the links of the node.
 */
import { type Direction, Link } from "./link.js";
import {
  BlockCounts,
  clientPlace,
  type HostPort,
  type Network,
  type NetworkOptions,
  type NodeAddresses,
  nodePlace,
  type Place,
  type SlowRoad,
} from "./network.js";
import { SharedAddress } from "./shared-address.js";

/** All clients that come by the advertised addresses. */
const ADVERTISED: Place = "*";

export class ProxiedNetwork implements Network {
  readonly kind = "proxies";
  readonly harnessHost = "127.0.0.1";
  readonly clientPlaces: readonly Place[];
  readonly #blocks = new BlockCounts();
  readonly #options: NetworkOptions;
  /** By "dialler>listener"; for the companion of a node, by "dialler>listener companion". */
  readonly #links: ReadonlyMap<string, Link>;
  /** By node; only if the nodes dial each of them by one address. */
  readonly #peerAddresses = new Map<number, SharedAddress>();
  readonly #companionAddresses = new Map<number, SharedAddress>();
  #pidsOf: (id: number) => readonly (number | undefined)[] = () => [];

  private constructor(options: NetworkOptions, links: ReadonlyMap<string, Link>) {
    this.#options = options;
    this.#links = links;
    const clients = Array.from({ length: options.clients }, (_, client) => clientPlace(client));
    this.clientPlaces = [ADVERTISED, ...clients.filter((_, client) => !followsLeader(client))];
  }

  static async open(options: NetworkOptions): Promise<ProxiedNetwork> {
    const links = new Map<string, Link>();
    const open = async (name: string, target: HostPort) => {
      links.set(name, await Link.to(target));
    };
    for (const { id, host, clientPort, peerPort, companionPort } of options.nodes) {
      const to = nodePlace(id);
      for (const peer of options.nodes) {
        // The companion of a node dials it by the address that it has for all.
        if (peer.id === id && companionPort === undefined) continue;
        await open(`${nodePlace(peer.id)}>${to}`, { host, port: peerPort });
      }
      const clients = Array.from({ length: options.clients }, (_, client) => clientPlace(client));
      const diallers = [ADVERTISED, ...clients];
      for (const from of diallers) await open(`${from}>${to}`, { host, port: clientPort });
      if (companionPort === undefined) continue;
      for (const from of [...diallers, ...options.nodes.map((node) => nodePlace(node.id))]) {
        if (from !== to) await open(`${from}>${companionOf(to)}`, { host, port: companionPort });
      }
    }
    const network = new ProxiedNetwork(options, links);
    if (options.hasOnePeerAddress === true) await network.#shareAddresses();
    return network;
  }

  get nodes(): readonly NodeAddresses[] {
    return this.#options.nodes;
  }

  peerAddress(from: Place, to: number): HostPort {
    return this.#peerAddresses.get(to)?.address ?? this.#link(`${from}>${nodePlace(to)}`).address;
  }

  companionAddress(to: number): HostPort {
    const shared = this.#companionAddresses.get(to);
    if (shared === undefined) throw new RangeError(`node ${to} has no companion`);
    return shared.address;
  }

  advertisedOf(id: number): HostPort {
    return this.#link(`${ADVERTISED}>${nodePlace(id)}`).address;
  }

  nameProcesses(pidsOf: (id: number) => readonly (number | undefined)[]): void {
    this.#pidsOf = pidsOf;
  }

  prefixOf(): readonly string[] {
    return [];
  }

  endpointsOf(client: number): { endpoints: string[]; followLeader: boolean } {
    const followLeader = followsLeader(client);
    const from = followLeader ? ADVERTISED : clientPlace(client);
    const endpoints = this.nodes.map(({ id }) => this.#text(`${from}>${nodePlace(id)}`));
    return { endpoints, followLeader };
  }

  companionsOf(client: number): string[] {
    const from = followsLeader(client) ? ADVERTISED : clientPlace(client);
    return this.nodes.map(({ id }) => this.#text(`${from}>${companionOf(nodePlace(id))}`));
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
    const shared = [...this.#peerAddresses.values(), ...this.#companionAddresses.values()];
    await Promise.all([...shared, ...this.#links.values()].map((each) => each.close()));
  }

  /**
   * All connections on which bytes travel this way: those `from` dialled and those `to` did.
   */
  #each(from: Place, to: Place, act: (link: Link, direction: Direction) => void): void {
    const linksTo = (dialler: Place, place: Place) =>
      [place, companionOf(place)].flatMap((end) => this.#links.get(`${dialler}>${end}`) ?? []);
    const [forth, back] = [linksTo(from, to), linksTo(to, from)];
    for (const link of forth) act(link, "forth");
    for (const link of back) act(link, "back");
    if (forth.length + back.length === 0) {
      throw new RangeError(`there is no link between ${from} and ${to}`);
    }
  }

  async #shareAddresses(): Promise<void> {
    for (const { id, companionPort } of this.nodes) {
      this.#peerAddresses.set(id, await this.#shareAddress(nodePlace(id)));
      if (companionPort === undefined) continue;
      this.#companionAddresses.set(id, await this.#shareAddress(companionOf(nodePlace(id))));
    }
  }

  #shareAddress(end: string): Promise<SharedAddress> {
    const diallers = this.nodes.flatMap((node) => {
      const link = this.#links.get(`${nodePlace(node.id)}>${end}`);
      return link === undefined ? [] : [{ link, pids: () => this.#pidsOf(node.id) }];
    });
    return SharedAddress.open(diallers);
  }

  #text(name: string): string {
    const { host, port } = this.#link(name).address;
    return `${host}:${port}`;
  }

  #link(name: string): Link {
    const link = this.#links.get(name);
    if (link === undefined) throw new RangeError(`there is no link ${name}`);
    return link;
  }
}

/** The end of the links to the companion of this node. */
function companionOf(place: Place): string {
  return `${place} companion`;
}

function followsLeader(client: number): boolean {
  return client % 2 === 0;
}
