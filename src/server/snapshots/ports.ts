/**
 * What the snapshots of one driver need, and what they report about themselves. Types only.
 */
import type { LockTable } from "../../lockfsm/index.js";
import type { PeerLinks, PeerMessage } from "../../net/index.js";
import type {
  Configuration,
  InstalledSnapshot,
  NodeId,
  Raft,
  WantedSnapshot,
  Write,
} from "../../raft/index.js";
import type { SnapshotStore } from "../../storage/index.js";
import type { Attachment } from "../commands/attachments.js";
import type { Clock, NodeLogger } from "../ports.js";

export type SnapshotMessage = Extract<
  PeerMessage,
  { readonly type: "snapshotOffer" | "snapshotChunk" | "snapshotProgress" | "snapshotRefused" }
>;
export type SnapshotOffer = SnapshotMessage & { readonly type: "snapshotOffer" };
export type SnapshotChunk = SnapshotMessage & { readonly type: "snapshotChunk" };

export interface SnapshotPorts {
  readonly nodeId: NodeId;
  readonly clock: Clock;
  readonly store: SnapshotStore;
  readonly table: Pick<LockTable, "snapshot" | "become" | "index" | "stamp" | "nextToken">;
  readonly raft: Pick<
    Raft,
    "term" | "role" | "leader" | "commitIndex" | "firstIndex" | "entry" | "isTermInReach"
  >;
  /** Whether the members in a snapshot of `sender` can be the members of this node's cluster. */
  readonly knowsVoterOf: (configuration: Configuration, sender: NodeId) => boolean;
  readonly peers: Pick<PeerLinks, "bufferedBytes">;
  readonly send: (peer: NodeId, message: SnapshotMessage) => void;
  /** Asks for a turn. */
  readonly wake: () => void;
  readonly logger: NodeLogger;
  /** A client is notified that a snapshot of that entry is ready for it. */
  readonly onSaved?: (attachment: Attachment, index: number) => void;
}

/** One turn of the loop. Only `Snapshots.beginTurn` returns it, and it is of no use after `end`. */
export interface SnapshotTurn {
  /** A message about snapshots from another driver. */
  read(peer: NodeId, message: SnapshotMessage): void;
  /** To be called for every write of the core. */
  onWrite(write: Write): NamedSnapshots;
  /** The core wants to send a snapshot to a peer. */
  onWanted(wanted: WantedSnapshot): void;
  /** The index of the last entry in the table, if the table was replaced since the last call. */
  takeRestored(): number | undefined;
  /**
   * Entries up to `index` were applied, `bytes` of them since the last call. `configuration` is the
   * one in force at the entry `index`. Must not be called while a snapshot is being restored.
   */
  onApplied(index: number, bytes: number, configuration: Configuration): void;
  /** Ends the turn. Writes up to `durableSeq` are durable. */
  end(durableSeq: number): void;
}

/** Only a write returns it: a snapshot is restored after a record of the log has named it. */
export interface NamedSnapshots {
  /** The core accepted the snapshot that the turn began with. Replaces one being restored. */
  restore(snapshot: InstalledSnapshot): void;
}

export interface SnapshotTuning {
  /** Bytes of entries after the last snapshot, beyond which the next one is taken … */
  readonly snapshotLogBytes: number;
  /** … if they are also more than this many times the bytes of that one. */
  readonly snapshotSizeFactor: number;
  /** Bytes of entries that a compaction leaves for followers that are only slow. */
  readonly trailingLogBytes: number;
  /** Bytes of one chunk, which is the work of one turn. */
  readonly chunkBytes: number;
  readonly electionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
}

/** How far a transfer is: the receiver holds every chunk before `next` durably. */
export interface TransferStatus {
  readonly peer: NodeId;
  readonly index: number;
  readonly next: number;
  readonly chunkCount: number;
}

/** Numbers for `/status` and `/metrics`. */
export interface SnapshotStatus {
  readonly takenTotal: number;
  readonly installedTotal: number;
  /** Own snapshots given up because the disk was full. */
  readonly abandonedTotal: number;
  /** Given to operators. */
  readonly exportedTotal: number;
  /** The index of the newest one this node could send; 0 while there is none. */
  readonly index: number;
  readonly bytes: number;
  /** How long the last one taken here took; 0 before the first. */
  readonly durationMs: number;
  readonly isTaking: boolean;
  readonly isRestoring: boolean;
  readonly sending: readonly TransferStatus[];
  readonly receiving: TransferStatus | undefined;
}
