/**
 * The port between the driver and the durable log: segmented files, on the file system of the
 * machine or on one in memory; one contract suite runs against both.
 *
 * One ordered stream of records, one writer, one write in flight. Records that are handed over
 * while a write is in flight become one next write. A failed write or sync is final: it is reported
 * once and never retried, and the store accepts nothing more.
 */
import type { Entry, HardState, NodeOrigin, SnapshotPoint, Write } from "../raft/index.js";

/** What the log contained when it was opened. */
export interface LogBoot {
  readonly hardState: HardState;
  /** The index before the first of `entries`; 0, 0 for a log from its beginning. */
  readonly baseIndex: number;
  readonly baseTerm: number;
  readonly entries: readonly Entry[];
  /**
   * The snapshot on which the log is based; `undefined` for a log from its beginning. Never below
   * `baseIndex`.
   */
  readonly snapshot: SnapshotPoint | undefined;
  /** The largest sequence found. */
  readonly lastSeq: number;
}

export interface LogEvents {
  /**
   * Everything appended with a sequence up to `seq` is durable. Sequences only rise; those that
   * `append` wrote itself are left out.
   */
  onDurable(seq: number): void;
  /** A record was written and synced, which took that long. */
  onSynced?(tookMs: number): void;
  /** Called at most once. The node must stop. */
  onFailure(error: Error): void;
  /**
   * There is no room to prepare the next segment: refuse proposals with `DISK_FULL` and hand
   * leadership over while the current segment lasts. `undefined` once there is room again.
   */
  onSpace?(error: Error | undefined): void;
}

export interface LogStore {
  readonly boot: LogBoot;
  /** Must be called once, before the first `append`. */
  start(events: LogEvents): void;
  /**
   * Takes the record over. Never throws. Sequences must rise. Returns whether the record is durable
   * already, in which case `onDurable` does not report it: a small record on a quick disk is
   * written before this returns, unless other writes keep the disk busy, for which it would have to
   * wait.
   */
  append(write: Write, isDiskBusy?: boolean): boolean;
  /**
   * Moves the durable mark to what is durable now, with every noted peer, and syncs it. To be
   * called before a vote is answered. Rejects if the log has failed, now or before; `onFailure` was
   * called then, and the caller must not answer and needs to do nothing else.
   */
  syncMark(): Promise<void>;
  /** Bytes that were handed over and are not durable yet. */
  readonly pendingBytes: number;
  /** Bytes that can still be appended to the current segment, even if the disk is full. */
  readonly freeBytes: number;
  /**
   * Waits for what was handed over, syncs the mark, then closes the files. Rejects if writing the
   * mark or closing a file failed; all other files are closed even then, and everything that was
   * reported durable is durable. Later calls get the same promise.
   */
  close(): Promise<void>;
}

/** What the log has written since it was opened. Each record is one write and one sync. */
export interface LogWrites {
  readonly records: number;
  readonly bytes: number;
}

/** The node to which this directory belongs, forever. */
export interface NodeIdentity {
  readonly nodeId: number;
  /** 128 bits, lower-case hex. */
  readonly clusterId: string;
  /**
   * 64 random bits, lower-case hex, drawn when the directory was made: no other directory has them.
   */
  readonly birth: string;
  readonly origin: NodeOrigin;
  /** Rises by one with every start of the process on this directory. */
  readonly incarnation: number;
}
