/**
 * The system under attack: Holdfast, or one of the peers, which serve to check the harness itself.
 * A kind says how its servers are started and asked, and whether this machine has them; an instance
 * belongs to one run.
 */
import type { Network, NodeAddresses } from "../cluster/network.js";
import type { NodePlan, NodeProcess } from "../cluster/node-process.js";

export type SystemName = "holdfast" | "redis" | "etcd" | "redlock-redis" | "redlock-door";

export interface SystemKind {
  readonly name: SystemName;
  /** One line for `--help` and the report: the number of servers and their configuration. */
  readonly about: string;
  /** Clients and other nodes connect to the same port. */
  readonly hasOnePort: boolean;
  /** All nodes must dial a node by the same address. */
  readonly hasOnePeerAddress: boolean;
  /** A second server runs next to each node, which clients and other nodes dial too. */
  readonly hasCompanions?: boolean;
  /** It is Holdfast by another protocol: the verdict on it is part of that on Holdfast. */
  readonly isOwn?: boolean;
  /**
   * Tokens rise from grant to grant of one key; Holdfast's rise over all keys. `not-at-all`: they
   * only name holds.
   */
  readonly tokensRise: "over-all-keys" | "by-key" | "not-at-all";
  /** What this machine lacks and how to install it, in one line; `undefined`: nothing. */
  missing(): string | undefined;
  /** `isClosed`: clients that prove nothing will be refused. */
  make(network: Network, isClosed: boolean): System;
}

export interface System {
  /** How the server of this node is started, and how it is asked. */
  serverOf(node: NodeAddresses, dataDirectory: string): Server;
  /** How a client finds the server to ask, if it asks the servers. */
  discoveryOf?(client: number): Discovery;
  /** The process of the server next to this node. */
  companionPid?(node: number): number | undefined;
  /** Manages the nodes, which answer by now, until the returned function is called. */
  attend?(nodes: readonly NodeProcess[], events: SystemEvents): Promise<() => Promise<void>>;
}

export interface Server extends Pick<NodePlan, "status"> {
  readonly command: readonly string[];
  /** In systems whose members can be replaced: how a new member is started at the same place. */
  readonly commandOf?: (member: number) => readonly string[];
  readonly members?: readonly number[];
}

/** `host:port` all. */
export interface Discovery {
  /** Who knows the server to ask. */
  readonly sentinels: readonly string[];
  /** Where this client reaches what servers name by another address. */
  readonly roads: Readonly<Record<string, string>>;
}

export interface SystemEvents {
  /** A node took a role; for systems whose servers do not log it. */
  onRole(id: number, role: string, term: number): void;
  /** From now on clients have to ask this node. */
  onPrimary(id: number): void;
}
