/**
 * What a run attacks: Holdfast, or one of the peers that serve as a check of the harness itself. A
 * kind says how its servers are started and asked, and whether this machine has them; what it makes
 * belongs to one run.
 */
import type { Network, NodeAddresses } from "../cluster/network.js";
import type { NodePlan, NodeProcess } from "../cluster/node-process.js";

export type SystemName = "holdfast" | "redis" | "etcd";

export interface SystemKind {
  readonly name: SystemName;
  /** One line for `--help` and the report: how many of what, and how it is configured. */
  readonly about: string;
  /** Clients and other nodes come in by one and the same port. */
  readonly hasOnePort: boolean;
  /** All nodes have to dial a node by one and the same address. */
  readonly hasOnePeerAddress: boolean;
  /** Tokens rise from grant to grant of one key; of Holdfast's, over all keys. */
  readonly tokensRise: "over-all-keys" | "by-key";
  /** In one line what this machine lacks and how to get it; `undefined`: nothing. */
  missing(): string | undefined;
  make(network: Network): System;
}

export interface System {
  /** How the server of this node is started, and how it is asked. */
  serverOf(node: NodeAddresses, dataDirectory: string): Pick<NodePlan, "command" | "status">;
  /** Looks after the nodes, which answer by now, until the function it resolves to was called. */
  attend?(nodes: readonly NodeProcess[], events: SystemEvents): Promise<() => Promise<void>>;
}

export interface SystemEvents {
  /** A node took a role; of systems whose servers do not log it. */
  onRole(id: number, role: string, term: number): void;
  /** From now on this node is the one that clients have to ask. */
  onPrimary(id: number): void;
}
