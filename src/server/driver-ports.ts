/**
 * What one driver is given: its ports, the two pure machines, and its options. Types only.
 */
import type { LockTable } from "../lockfsm/index.js";
import type { ClientGateway, PeerLinks } from "../net/index.js";
import type { NodeId, Raft } from "../raft/index.js";
import type { LogStore } from "../storage/index.js";
import type { NodeTuning } from "./options.js";
import type { Clock, Logger, Scheduler } from "./ports.js";

export interface DriverPorts {
  readonly log: LogStore;
  readonly peers: Pick<PeerLinks, "send" | "flush">;
  readonly gateway: Pick<ClientGateway, "flush">;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly raft: Raft;
  readonly table: LockTable;
  readonly logger: Logger;
  /** Called at most once: the node cannot go on and must be closed. */
  readonly onFailure: (error: Error) => void;
}

export interface DriverOptions {
  readonly nodeId: NodeId;
  /** 32 lower-case hex digits. */
  readonly clusterId: string;
  /** Which of the groups that share the links this driver serves. */
  readonly group: number;
  readonly voters: readonly NodeId[];
  /** What clients are told to connect to. */
  readonly advertise: string;
  readonly tuning: NodeTuning;
}

/** Numbers of one driver, for `/status` and `/metrics`. */
export interface DriverStatus {
  readonly role: Raft["role"];
  readonly term: number;
  /** 0 while unknown. */
  readonly leader: NodeId;
  readonly commitIndex: number;
  readonly appliedIndex: number;
  readonly hasQuorumContact: boolean;
  readonly connections: number;
  readonly leaderChangesTotal: number;
  readonly entriesProposedTotal: number;
  readonly commandsAppliedTotal: number;
  readonly commandsRefusedTotal: number;
  /** Bytes of commands kept until they are applied here. */
  readonly keptBytes: number;
}
