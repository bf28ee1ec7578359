/**
 * What one driver is given: its ports, the two pure machines, and its options. Types only.
 */
import type { LockTable } from "../../lockfsm/index.js";
import type { ClientGateway, PeerIdentity, PeerLinks } from "../../net/index.js";
import type { ChangeType } from "../../protocol/index.js";
import type { Configuration, MemberAddress, NodeId, Raft } from "../../raft/index.js";
import type {
  AuditStore,
  KnownPeer,
  LogStore,
  SnapshotManifest,
  SnapshotStore,
} from "../../storage/index.js";
import type { NodeTuning } from "../options.js";
import type { Clock, Logger, Memory, Scheduler } from "../ports.js";
import type { AuditOptions, AuditStatus } from "../reads/audit.js";
import type { SnapshotStatus } from "../snapshots/ports.js";

export interface DriverPorts {
  readonly log: LogStore;
  readonly snapshots: SnapshotStore;
  /** The snapshot that the log stands on and the table was restored from. */
  readonly named: SnapshotManifest | undefined;
  /** Where the history of locks is written; `undefined`: it is kept in memory alone. */
  readonly audit?: (AuditOptions & { readonly store: AuditStore }) | undefined;
  readonly peers: Pick<PeerLinks, "send" | "flush" | "bufferedBytes">;
  readonly gateway: Pick<ClientGateway, "flush">;
  readonly clock: Clock;
  readonly memory: Memory;
  readonly scheduler: Scheduler;
  readonly raft: Raft;
  readonly table: LockTable;
  readonly logger: Logger;
  /** Who is to be linked with from now on, this node included; nobody while no leader has told. */
  readonly onPeers: (peers: readonly MemberAddress[]) => void;
  /** Remembers across restarts that another node was met. */
  readonly notePeer: (peer: PeerIdentity) => void;
  /** Called at most once: the node cannot go on and must be closed. */
  readonly onFailure: (error: Error) => void;
}

export interface DriverOptions {
  readonly nodeId: NodeId;
  /** 32 lower-case hex digits. */
  readonly clusterId: string;
  /** Which of the groups that share the links this driver serves. */
  readonly group: number;
  /** How often this node was started on its data. */
  readonly incarnation: number;
  /** The others, as earlier lives of this node met them. */
  readonly knownPeers: ReadonlyMap<NodeId, KnownPeer>;
  /** In force at the entry whose effects the table holds at the start. */
  readonly configuration: Configuration;
  /** What clients are told to connect to. */
  readonly advertise: string;
  readonly tuning: NodeTuning;
}

/** What watches and the history live on. */
export interface ObservationStatus {
  /** Of clients of this node. */
  readonly watches: number;
  /** Ended because what came next was forgotten. */
  readonly watchesCompactedTotal: number;
  /** Changes that are kept in memory, and what they take. */
  readonly changes: number;
  readonly changeBytes: number;
  /** Whatever came behind this entry is kept. */
  readonly changesAfter: number;
  /** Applied here since the start, by type. */
  readonly changesByType: Readonly<Record<ChangeType, number>>;
  /** Ends of holds, key by key, by the number of their reason; likewise. */
  readonly endsByReason: readonly number[];
  /** `undefined`: it is off. */
  readonly audit: AuditStatus | undefined;
}

/** Numbers of one driver, for `/status` and `/metrics`. */
export interface DriverStatus {
  readonly role: Raft["role"];
  readonly term: number;
  /** 0 while unknown. */
  readonly leader: NodeId;
  readonly commitIndex: number;
  readonly appliedIndex: number;
  /** The log holds the entries from here on. */
  readonly firstIndex: number;
  readonly lastIndex: number;
  /** The log stands on a snapshot of everything up to here; 0 without one. */
  readonly snapshotIndex: number;
  readonly snapshots: SnapshotStatus;
  /** In force, committed or not. */
  readonly configuration: Configuration;
  /** Leadership is being handed over. */
  readonly isTransferring: boolean;
  /** There is no room for another segment of the log. */
  readonly isDiskFull: boolean;
  /** What would enlarge the table is refused here. */
  readonly isMemoryScarce: boolean;
  readonly hasQuorumContact: boolean;
  readonly connections: number;
  readonly leaderChangesTotal: number;
  readonly entriesProposedTotal: number;
  readonly commandsAppliedTotal: number;
  readonly commandsRefusedTotal: number;
  /** Bytes of commands kept until they are applied here. */
  readonly keptBytes: number;
  readonly observation: ObservationStatus;
}
