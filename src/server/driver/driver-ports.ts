/**
 * What one driver needs: its ports, the two pure machines, and its options. Types only.
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
import type { RefusalCount } from "../commands/access-log.js";
import type { NodeLimits } from "../limits/limits.js";
import type { NodeTuning } from "../options.js";
import type { Clock, LogLevels, Memory, NodeLogger, Scheduler } from "../ports.js";
import type { AuditRetention, AuditStatus } from "../reads/audit.js";
import type { SnapshotStatus } from "../snapshots/ports.js";
import type { NodeTimes } from "../vitals/node-times.js";
import type { ProcessFigures } from "../vitals/vitals.js";

export type { PageRight } from "../commands/sign-in.js";

export interface DriverPorts {
  readonly log: LogStore;
  readonly snapshots: SnapshotStore;
  /** The snapshot that the log names and from which the table was restored. */
  readonly named: SnapshotManifest | undefined;
  /** Where the history of locks is written; `undefined`: it is kept only in memory. */
  readonly audit?: (AuditRetention & { readonly store: AuditStore }) | undefined;
  readonly peers: Pick<PeerLinks, "send" | "flush" | "bufferedBytes">;
  readonly gateway: Pick<ClientGateway, "flush">;
  readonly clock: Clock;
  readonly memory: Memory;
  readonly scheduler: Scheduler;
  readonly raft: Raft;
  readonly table: LockTable;
  readonly logger: NodeLogger;
  /** Absent: the level cannot be changed. */
  readonly logLevels?: LogLevels;
  /** Figures of the process, for the vitals. Default: none is known. */
  readonly process?: ProcessFigures;
  /** Sets the peers to be linked with, this node included; none until a leader has sent them. */
  readonly onPeers: (peers: readonly MemberAddress[]) => void;
  /** Remembers a peer that connected, across restarts. */
  readonly notePeer: (peer: PeerIdentity) => void;
  /** Remembers, across restarts, whether the cluster is closed. */
  readonly onAccess?: (isClosed: boolean) => void;
  /** Called at most once: the node cannot continue and must be closed. */
  readonly onFailure: (error: Error) => void;
}

/** What this node knows of access before it has a table. */
export interface AccessOptions {
  /** `anonymous` may do nothing while the cluster is open. */
  readonly isRequired: boolean;
  /** The cluster was closed when this node last knew. */
  readonly wasClosed: boolean;
}

export interface DriverOptions {
  readonly nodeId: NodeId;
  /** 32 lower-case hex digits. */
  readonly clusterId: string;
  /** The group that this driver serves, of those that share the links. */
  readonly group: number;
  /** How often this node has been started on its data. */
  readonly incarnation: number;
  /** The other nodes that earlier incarnations of this node had connections with. */
  readonly knownPeers: ReadonlyMap<NodeId, KnownPeer>;
  /** In force at the last entry whose effects the table holds at the start. */
  readonly configuration: Configuration;
  /** The URL that clients are given for this node. */
  readonly advertise: string;
  /** Default: neither. */
  readonly access?: AccessOptions;
  readonly tuning: NodeTuning;
  /** Prefixes of keys whose waits and holds are measured apart. Default: none. */
  readonly metricsPrefixes?: readonly string[];
  /** Default: clients are not limited by identity and address. */
  readonly limits?: NodeLimits;
}

/** Numbers of watches and the history. */
export interface ObservationStatus {
  /** Watches of the clients of this node. */
  readonly watches: number;
  /** Ended because the changes that came next were forgotten. */
  readonly watchesCompactedTotal: number;
  /** Changes that are kept in memory, and the bytes they take. */
  readonly changes: number;
  readonly changeBytes: number;
  /** All changes after this entry are kept. */
  readonly changesAfter: number;
  /** Applied on this node since the start, by type. */
  readonly changesByType: Readonly<Record<ChangeType, number>>;
  /** Holds that ended since the start, counted per key, by the number of their reason. */
  readonly endsByReason: readonly number[];
  /** `undefined` if the audit is off. */
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
  /** The first index that the log holds. */
  readonly firstIndex: number;
  readonly lastIndex: number;
  /** The index of the snapshot that the log names; 0 without one. */
  readonly snapshotIndex: number;
  readonly snapshots: SnapshotStatus;
  /** In force, committed or not. */
  readonly configuration: Configuration;
  /** There is no room for the next segment of the log. */
  readonly isDiskFull: boolean;
  /** This node refuses commands that would enlarge the table. */
  readonly isMemoryScarce: boolean;
  readonly hasQuorumContact: boolean;
  readonly connections: number;
  readonly leaderChangesTotal: number;
  readonly entriesProposedTotal: number;
  readonly commandsAppliedTotal: number;
  readonly commandsRefusedTotal: number;
  /** Bytes of commands that are kept until they are applied here. */
  readonly keptBytes: number;
  readonly observation: ObservationStatus;
  /** What was refused to clients of this node because of who they are, since the start. */
  readonly refusals: readonly Readonly<RefusalCount>[];
  readonly signInsRefusedTotal: number;
  /** How long things took. */
  readonly times: NodeTimes;
}
