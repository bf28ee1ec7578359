/**
 * What the snapshots of one driver are given, and what they tell about themselves. Types only.
 */
import type { LockTable } from "../../lockfsm/index.js";
import type { PeerLinks, PeerMessage } from "../../net/index.js";
import type { NodeId, Raft } from "../../raft/index.js";
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
