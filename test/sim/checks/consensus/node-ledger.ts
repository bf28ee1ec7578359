/**
 * What one node has handed to its log, and what was reported durable. When the node starts
 * again, its disk must contain exactly that: everything durable, and of the rest a prefix of the
 * writes.
 */
import type { Write } from "../../../../src/raft/index.js";
import type { LogBoot } from "../../../../src/storage/index.js";
import { LogicalLog, type LogOrigin } from "./logical-log.js";

export class NodeLedger {
  /** With everything that was handed over. */
  handed: LogicalLog;
  /** With everything that was reported durable. */
  durable: LogicalLog;
  /** What is on the disk is to be learned from the next process. */
  isUnknown = false;
  /** The durable write that has the term and the vote of `durable`; 0: one of an earlier process. */
  hardStateSeq = 0;
  #pending: Write[] = [];
  readonly #origin: number;

  /** `isFounder`: its log begins where the log of the cluster does; otherwise the log is empty. */
  constructor(origin: LogOrigin, isFounder: boolean) {
    this.#origin = origin.index;
    this.durable = isFounder ? LogicalLog.founded(origin) : new LogicalLog(origin.index);
    this.handed = this.durable.copy();
  }

  onAppend(write: Write): void {
    this.#pending.push(write);
    this.handed.apply(write);
  }

  /** Calls `onWrite` with each write that is durable by this, after the write has taken effect. */
  onDurable(seq: number, onWrite: (write: Write) => void): void {
    let count = 0;
    for (const write of this.#pending) {
      if (write.seq > seq) break;
      this.durable.apply(write);
      if (write.hardState !== undefined) this.hardStateSeq = write.seq;
      onWrite(write);
      count += 1;
    }
    this.#pending.splice(0, count);
  }

  /** A new process opened the disk. Returns what it should have found and did not. */
  onBoot(boot: LogBoot): string | undefined {
    if (this.isUnknown) {
      this.durable = LogicalLog.of(boot, this.#origin);
      this.isUnknown = false;
    }
    this.hardStateSeq = 0;
    const { durable } = this;
    const first = durable.differenceFrom(boot);
    let difference = first;
    for (const write of this.#pending) {
      if (difference === undefined) break;
      durable.apply(write);
      difference = durable.differenceFrom(boot);
    }
    this.#pending = [];
    this.handed = durable.copy();
    return difference === undefined ? undefined : first;
  }
}
