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
  type HostPort,
  type Network,
  type NetworkOptions,
  type NodeAddresses,
  nodePlace,
  type Place,
  type SlowRoad,
} from "./network.js";
import { PeerDoor } from "./peer-door.js";

/** All clients that come through the doors. */
const DOOR: Place = "*";

export class ProxiedNetwork implements Network {
  readonly kind = "proxies";
  readonly harnessHost = "127.0.0.1";
  readonly clientPlaces: readonly Place[];
  readonly #blocks = new BlockCounts();
  readonly #options: NetworkOptions;
  /** By "dialler>listener". */
  readonly #links: ReadonlyMap<string, Link>;
  /** By node; only if the nodes dial each of them by one address. */
  readonly #peerDoors = new Map<number, PeerDoor>();
  #pidOf: (id: number) => number | undefined = () => undefined;

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
    const network = new ProxiedNetwork(options, links);
    if (options.hasOnePeerAddress === true) await network.#openPeerDoors();
    return network;
  }

  get nodes(): readonly NodeAddresses[] {
    return this.#options.nodes;
  }

  peerAddress(from: Place, to: number): HostPort {
    return this.#peerDoors.get(to)?.address ?? this.#link(`${from}>${nodePlace(to)}`).address;
  }

  doorOf(id: number): HostPort {
    return this.#link(`${DOOR}>${nodePlace(id)}`).address;
  }

  nameProcesses(pidOf: (id: number) => number | undefined): void {
    this.#pidOf = pidOf;
  }

  prefixOf(): readonly string[] {
    return [];
  }

  endpointsOf(client: number): { endpoints: string[]; followLeader: boolean } {
    const followLeader = followsLeader(client);
    const dialler = followLeader ? DOOR : clientPlace(client);
    const endpoints = this.#options.nodes.map(({ id }) =>
      this.#text(`${dialler}>${nodePlace(id)}`),
    );
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
    const all = [...this.#peerDoors.values(), ...this.#links.values()];
    await Promise.all(all.map((each) => each.close()));
  }

  /**
   * Both connections on which bytes travel this way: the one `from` dialled and the one `to` did.
   */
  #each(from: Place, to: Place, act: (link: Link, direction: Direction) => void): void {
    const forth = this.#links.get(`${from}>${to}`);
    const back = this.#links.get(`${to}>${from}`);
    if (forth !== undefined) act(forth, "forth");
    if (back !== undefined) act(back, "back");
    if (forth === undefined && back === undefined) {
      throw new RangeError(`there is no link between ${from} and ${to}`);
    }
  }

  async #openPeerDoors(): Promise<void> {
    for (const { id } of this.nodes) {
      const diallers = this.nodes
        .filter((node) => node.id !== id)
        .map((node) => ({
          link: this.#link(`${nodePlace(node.id)}>${nodePlace(id)}`),
          pid: () => this.#pidOf(node.id),
        }));
      this.#peerDoors.set(id, await PeerDoor.open(diallers));
    }
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

function followsLeader(client: number): boolean {
  return client % 2 === 0;
}
