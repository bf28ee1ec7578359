/**
 * The port between the driver and the durable log: segmented files, on the file system of the
 * machine or on one in memory; one contract suite runs against both.
 *
 * One ordered stream of records, one writer, one write in flight. Records handed over while a write
 * is in flight become one next write. A failed write or sync is final: it is reported once and the
 * store accepts nothing more; nobody retries it.
 */
import type { Entry, HardState, SnapshotPoint, Write } from "../../raft/index.js";

/** What the log held when it was opened. */
export interface LogBoot {
  readonly hardState: HardState;
  /** The entry before the first of `entries`; 0, 0 for a log that begins at the beginning. */
  readonly baseIndex: number;
  readonly baseTerm: number;
  readonly entries: readonly Entry[];
  /** What the log stands on; `undefined` for a log from its beginning. Never below `baseIndex`. */
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
  /** Called at most once. The node must stop. */
  onFailure(error: Error): void;
  /**
   * There is no room to prepare the next segment: refuse proposals with `DISK_FULL` and hand
   * leadership over while the current one lasts. `undefined` once there is room again.
   */
  onSpace?(error: Error | undefined): void;
}

export interface LogStore {
  readonly boot: LogBoot;
  /** Must be called once, before the first `append`. */
  start(events: LogEvents): void;
  /**
   * Takes the record over. Never throws. Sequences must rise. Returns whether the record is durable
   * already, in which case `onDurable` does not tell of it: a small one on a quick disk is written
   * before this returns, unless others keep the disk busy, behind whom it would have to wait.
   */
  append(write: Write, isDiskBusy?: boolean): boolean;
  /**
   * Moves the durable mark up to what is durable now, with every peer that was noted, and syncs it:
   * before a vote is answered.
   * Rejects when the log has failed, by this or before; `onFailure` was called then, and the caller
   * must not answer and needs to do nothing else.
   */
  syncMark(): Promise<void>;
  /** Bytes handed over and not yet durable. */
  readonly pendingBytes: number;
  /** Bytes that can still be appended where the log writes now, whether or not the disk has room for more. */
  readonly freeBytes: number;
  /**
   * Waits for what was handed over, syncs the mark, then closes the files. Rejects when the mark or
   * a file could not be brought to its end; all files are closed all the same as far as they can
   * be, and everything that was reported durable is. Later calls get the same promise.
   */
  close(): Promise<void>;
}

/** What the log has written since it was opened. Each record is one write and one sync. */
export interface LogWrites {
  readonly records: number;
  readonly bytes: number;
}

/**
 * How a node came to its cluster: as one of its founders, whose first members are known to it, or
 * later, so that it waits until a leader tells it who the members are.
 */
export type NodeOrigin = "initial" | "joined";

/** Who this directory belongs to, for ever. */
export interface NodeIdentity {
  readonly nodeId: number;
  /** 128 bits, lower-case hex. */
  readonly clusterId: string;
  /** 64 random bits, lower-case hex, drawn when the directory was made: no other one has them. */
  readonly birth: string;
  readonly origin: NodeOrigin;
  /** Rises by one with every start of the process on this directory. */
  readonly incarnation: number;
}
