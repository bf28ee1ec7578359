/**
 * The network of a run with real addresses: every node and every client in a network namespace of
 * its own, all on one bridge that no other machine can reach. Needs root and `ip`. A block is a
 * neighbour entry that leads nowhere: packets vanish, as behind a broken switch, in one direction.
 * `close` removes everything it made; the names are such that a person can remove it too.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { RefusedError } from "../harness/refused-error.js";
import {
  BlockCounts,
  clientPlace,
  type HostPort,
  type Network,
  type NetworkOptions,
  type NodeAddresses,
  nodePlace,
  type Place,
} from "./network.js";

const run = promisify(execFile);
/** The harness is the last address of the subnet; the places are numbered from 1. */
const HARNESS_HOST = 254;
const PLACES_MAX = 200;
const DEVICE = "hf0";
/** A locally administered address that is not in use. */
const NOWHERE = "02:00:00:00:00:fe";

/** Addresses of the nodes, before anything was made. */
export function namespacedAddress(subnet: number, id: number): string {
  return `10.213.${subnet}.${id}`;
}

export class NamespacedNetwork implements Network {
  readonly kind = "namespaces";
  readonly clientPlaces: readonly Place[];
  readonly #options: NetworkOptions;
  readonly #subnet: number;
  /** By place. */
  readonly #hosts: ReadonlyMap<Place, string>;
  readonly #blocks = new BlockCounts();

  private constructor(options: NetworkOptions, subnet: number) {
    const clients = Array.from({ length: options.clients }, (_, client) => clientPlace(client));
    const places = [...options.nodes.map(({ id }) => nodePlace(id)), ...clients];
    if (places.length > PLACES_MAX) throw new RangeError(`${places.length} places are too many`);
    this.clientPlaces = clients;
    this.#options = options;
    this.#subnet = subnet;
    this.#hosts = new Map(
      places.map((place, index) => [place, namespacedAddress(subnet, index + 1)]),
    );
  }

  /**
   * `subnet`: the third byte of all addresses, 1 – 254. Throws `RefusedError` without the rights.
   */
  static async open(options: NetworkOptions, subnet: number): Promise<NamespacedNetwork> {
    const network = new NamespacedNetwork(options, subnet);
    try {
      await network.#make();
    } catch (error) {
      await network.close();
      const reason = error instanceof Error ? (error.message.split("\n")[1] ?? error.message) : "";
      throw new RefusedError(
        `--netns requires root and the command ip, with the right to make namespaces (${reason})`,
        { cause: error },
      );
    }
    return network;
  }

  get nodes(): readonly NodeAddresses[] {
    return this.#options.nodes;
  }

  get harnessHost(): string {
    return namespacedAddress(this.#subnet, HARNESS_HOST);
  }

  peerAddress(_from: Place, to: number): HostPort {
    const { host, peerPort } = this.#node(to);
    return { host, port: peerPort };
  }

  companionAddress(to: number): HostPort {
    const { host, companionPort = 0 } = this.#node(to);
    return { host, port: companionPort };
  }

  advertisedOf(id: number): HostPort {
    const { host, clientPort } = this.#node(id);
    return { host, port: clientPort };
  }

  /** Not needed: processes are identified by their addresses. */
  nameProcesses(): void {}

  prefixOf(place: Place): string[] {
    return ["ip", "netns", "exec", this.#space(place)];
  }

  endpointsOf(): { endpoints: string[]; followLeader: boolean } {
    const endpoints = this.#options.nodes.map((node) => `${node.host}:${node.clientPort}`);
    return { endpoints, followLeader: true };
  }

  companionsOf(): string[] {
    return this.#options.nodes.map(({ host, companionPort = 0 }) => `${host}:${companionPort}`);
  }

  async block(from: Place, to: Place): Promise<void> {
    if (!this.#blocks.add(from, to)) return;
    await this.#ip(from, "neigh", "replace", this.#host(to), "lladdr", NOWHERE, "dev", DEVICE);
  }

  async unblock(from: Place, to: Place): Promise<void> {
    if (!this.#blocks.remove(from, to)) return;
    await this.#ip(from, "neigh", "del", this.#host(to), "dev", DEVICE);
  }

  async slow(): Promise<void> {
    throw new RefusedError("--netns cannot slow links down: leave out --netns or the nemesis slow");
  }

  async close(): Promise<void> {
    const spaces = [...this.#hosts.keys()].map((place) => this.#space(place));
    const names = new Set((await run("ip", ["netns", "list"])).stdout.split(/\s+/));
    for (const space of [...spaces, this.#hub]) {
      // Devices, bridge and routes are removed with their namespaces.
      if (names.has(space)) await run("ip", ["netns", "del", space]);
    }
  }

  async #make(): Promise<void> {
    const hub = this.#hub;
    await run("ip", ["netns", "add", hub]);
    await run("ip", ["-n", hub, "link", "add", "bridge", "type", "bridge"]);
    await run("ip", ["-n", hub, "link", "set", "bridge", "up"]);
    for (const [place, host] of this.#hosts) {
      const space = this.#space(place);
      await run("ip", ["netns", "add", space]);
      await run("ip", ["-n", space, "link", "set", "lo", "up"]);
      await this.#wire(["-n", space], place, host);
    }
    await this.#wire([], "h", namespacedAddress(this.#subnet, HARNESS_HOST));
  }

  /** A cable from the bridge to a device with this address. `where`: arguments of `ip`. */
  async #wire(where: readonly string[], place: Place, host: string): Promise<void> {
    const hub = this.#hub;
    const near = where.length === 0 ? `${DEVICE}h${this.#subnet}` : DEVICE;
    const peer = where.length === 0 ? ["netns", "1"] : ["netns", this.#space(place)];
    const far = `p-${place}`;
    const cable = ["link", "add", far, "type", "veth", "peer", "name", near, ...peer];
    await run("ip", ["-n", hub, ...cable]);
    await run("ip", ["-n", hub, "link", "set", far, "master", "bridge", "up"]);
    await run("ip", [...where, "address", "add", `${host}/24`, "dev", near]);
    await run("ip", [...where, "link", "set", near, "up"]);
  }

  async #ip(place: Place, ...words: string[]): Promise<void> {
    await run("ip", ["-n", this.#space(place), ...words]);
  }

  get #hub(): string {
    return `hfjl${this.#subnet}-hub`;
  }

  #space(place: Place): string {
    return `hfjl${this.#subnet}-${place}`;
  }

  #node(id: number): NodeAddresses {
    const node = this.#options.nodes.find((each) => each.id === id);
    if (node === undefined) throw new RangeError(`there is no node ${id}`);
    return node;
  }

  #host(place: Place): string {
    const host = this.#hosts.get(place);
    if (host === undefined) throw new RangeError(`there is no place ${place}`);
    return host;
  }
}
