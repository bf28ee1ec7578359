/**
 * What a fault can do to the roads between processes, for any kind of network. A place is a node
 * (`n1`) or a client (`c3`). A block has a direction: nothing that `from` sends reaches `to`, while
 * the other way may be open.
 */
export type Place = string;

export interface SlowRoad {
  /** 0, without a limit either: full speed. */
  readonly delayMs: number;
  /** 0: only the delay. */
  readonly bytesPerSecondMax: number;
}

export const FAST_ROAD: SlowRoad = Object.freeze({ delayMs: 0, bytesPerSecondMax: 0 });

export interface NetworkOptions {
  /** Where each node listens for clients and for peers, by id from 1 on. */
  readonly nodes: readonly NodeAddresses[];
  readonly clients: number;
  /** The nodes dial each of them by one address, behind which they are told apart. */
  readonly hasOnePeerAddress?: boolean;
}

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export interface NodeAddresses {
  readonly id: number;
  readonly host: string;
  readonly clientPort: number;
  readonly peerPort: number;
  /**
   * The port of the server that runs next to it, which clients and other nodes dial too; if there
   * is one.
   */
  readonly companionPort?: number;
}

export interface Network {
  readonly kind: "proxies" | "namespaces";
  /** Places of the clients, as far as they can be told apart. */
  readonly clientPlaces: readonly Place[];
  readonly nodes: readonly NodeAddresses[];
  /** Where clients can reach the harness itself. */
  readonly harnessHost: string;
  /** Where a node at this place dials another one. */
  peerAddress(from: Place, to: number): HostPort;
  /** Where nodes dial the server next to another one. The network has to have such servers. */
  companionAddress(to: number): HostPort;
  /** The address of this node that is given to clients that ask for it. */
  advertisedOf(id: number): HostPort;
  /**
   * Must be called when the processes of the nodes run; `pidsOf` maps a node's id to its process id
   * and the process id of the server next to it.
   */
  nameProcesses(pidsOf: (id: number) => readonly (number | undefined)[]): void;
  /** How a process at this place is started: the words before the command. */
  prefixOf(place: Place): readonly string[];
  /** `host:port` of each node for this client, and whether it may learn other endpoints. */
  endpointsOf(client: number): { readonly endpoints: string[]; readonly followLeader: boolean };
  /** `host:port` of the server next to each node, for this client. */
  companionsOf(client: number): string[];
  /** Blocks of several faults add up. */
  block(from: Place, to: Place): Promise<void>;
  /** Takes one block back; with `reset`, waiting bytes are lost. */
  unblock(from: Place, to: Place, reset: boolean): Promise<void>;
  /** Rejects if this network cannot do that. The last call counts. */
  slow(from: Place, to: Place, road: SlowRoad): Promise<void>;
  close(): Promise<void>;
}

export function nodePlace(id: number): Place {
  return `n${id}`;
}

export function clientPlace(client: number): Place {
  return `c${client}`;
}

/** How many faults block each ordered pair of places. */
export class BlockCounts {
  readonly #counts = new Map<string, number>();

  /** True: it was open before. */
  add(from: Place, to: Place): boolean {
    return this.#change(`${from}>${to}`, 1) === 1;
  }

  /** True: it is open again. */
  remove(from: Place, to: Place): boolean {
    return this.#change(`${from}>${to}`, -1) === 0;
  }

  #change(name: string, by: number): number {
    const count = (this.#counts.get(name) ?? 0) + by;
    if (count < 0) throw new RangeError(`${name} is not blocked`);
    this.#counts.set(name, count);
    return count;
  }
}
