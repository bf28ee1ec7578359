/**
 * What the snapshots of one driver are given, and what they tell about themselves. Types only.
 */
import type { LockTable } from "../../lockfsm/index.js";
import type { PeerLinks, PeerMessage } from "../../net/index.js";
import type {
  Configuration,
  Input,
  InstalledSnapshot,
  NodeId,
  Raft,
  Write,
} from "../../raft/index.js";
import type { SnapshotStore } from "../../storage/index.js";
import type { Clock, Logger } from "../ports.js";

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
  readonly table: Pick<LockTable, "snapshot" | "become">;
  readonly raft: Pick<
    Raft,
    "term" | "role" | "commitIndex" | "firstIndex" | "entry" | "isTermInReach"
  >;
  readonly peers: Pick<PeerLinks, "bufferedBytes">;
  readonly send: (peer: NodeId, message: SnapshotMessage) => void;
  /** A turn should follow soon. */
  readonly wake: () => void;
  readonly logger: Logger;
}

/**
 * The steps of one turn of the loop, in their order. Had from `Snapshots.beginTurn`, until `end`.
 */
export interface SnapshotTurn {
  /** Acts on what the store did since the last turn. Returns what to step the core with. */
  takeInputs(): readonly Input[];
  /** What another driver said about snapshots. */
  read(peer: NodeId, message: SnapshotMessage): void;
  /** Every write of the core. What it returns restores the snapshot of the same effects. */
  onWrite(write: Write): NamedSnapshots;
  /** The core wants `peer` to be sent a snapshot over the connection `epoch`. */
  onWanted(peer: NodeId, epoch: number): void;
  /** Once, when the table was replaced: the index of the last entry it holds. */
  takeRestored(): number | undefined;
  /**
   * Entries up to `index` were applied, `bytes` of them since the last call. `configuration`: in
   * force at the entry `index`.
   */
  onApplied(index: number, bytes: number, configuration: Configuration): void;
  /** After everything else. Writes up to `durableSeq` are durable. */
  end(durableSeq: number): void;
}

/** Those that a record of the log names. */
export interface NamedSnapshots {
  /** The core accepted the snapshot it was just handed. One that is being restored is void. */
  restore(snapshot: InstalledSnapshot): void;
}

export interface SnapshotOptions {
  /** Bytes of entries applied since the last snapshot, beyond which the next one is taken. */
  readonly snapshotLogBytes: number;
  /** … and so many times the bytes of that one. */
  readonly snapshotSizeFactor: number;
  /** Bytes of entries that a compaction leaves to followers that are only slow. */
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
  /** Of the newest one this node could send; 0 while there is none. */
  readonly index: number;
  readonly bytes: number;
  /** How long the last one taken here took; 0 before the first. */
  readonly durationMs: number;
  readonly isTaking: boolean;
  readonly isRestoring: boolean;
  readonly sending: readonly TransferStatus[];
  readonly receiving: TransferStatus | undefined;
}
