/**
 * When the leader must propose an entry. Commands leave in the turn in which they came; keepalives
 * may be gathered for a moment; and time itself needs entries, because nothing ends before an entry
 * with a late enough stamp is applied. This class owns the cluster clock and never proposes by
 * itself.
 */
import type { LockTable } from "../../lockfsm/index.js";
import { decodeBatchHeader } from "../../protocol/index.js";
import type { Raft } from "../../raft/index.js";
import { ClusterClock } from "./cluster-clock.js";
import type { WaitingLine } from "./waiting-line.js";

/** Stamps begin after 0, which in a reply means that no entry executed the command. */
const FIRST_STAMP = 1;
/** The longest interval between entries while anything waits for time. */
const STAMP_INTERVAL_MS = 1_000;
/** Keepalives are gathered for at most this long, and at most a 20th of the shortest lease. */
const GATHER_MS_MAX = 250;
const GATHER_SHARE_OF_TTL = 20;

export class EntrySchedule {
  readonly #clock: ClusterClock;
  readonly #turnMsMax: number;
  /**
   * An entry is due even if no command waits: after the no-op of a new leader, and before a
   * transfer.
   */
  #mustStamp = false;
  /** The stamp of the last stamped entry that this leader proposed or found in its log. */
  #lastStamp = 0;
  #lastIndex = 0;
  #appliedIndex = 0;

  constructor(electionTimeoutMs: number) {
    this.#turnMsMax = electionTimeoutMs / 2;
    this.#clock = new ClusterClock(this.#turnMsMax);
  }

  get isLeading(): boolean {
    return this.#clock.isRunning;
  }

  get mustStamp(): boolean {
    return this.#mustStamp;
  }

  /**
   * `raft` just became leader: time continues from the last stamp in its log, committed or not. Up
   * to `appliedIndex`, `table` knows that stamp.
   */
  begin(raft: Raft, table: LockTable, appliedIndex: number, nowMs: number): void {
    const base = Math.max(FIRST_STAMP, lastStampAfter(raft, appliedIndex) ?? table.stamp);
    this.#clock.start(base, nowMs);
    this.#lastStamp = base;
    this.#lastIndex = raft.lastIndex;
    this.#mustStamp = true;
  }

  end(): void {
    this.#clock.stop();
    this.#mustStamp = false;
  }

  /** The next entry is due, even if no command waits. */
  stampNow(): void {
    this.#mustStamp = true;
  }

  /** Once a turn, after the inputs of the turn were read. */
  countTime(nowMs: number): number {
    return this.#clock.count(nowMs);
  }

  /** An entry with the clock's current stamp was proposed, at `index`. */
  onStamped(stamp: number, index: number): void {
    this.#mustStamp = false;
    this.#lastStamp = stamp;
    this.#lastIndex = index;
  }

  onApplied(index: number): void {
    this.#appliedIndex = index;
  }

  /** Whether an entry should be proposed now, for the commands in `line` or for time. */
  isEntryDue(nowMs: number, line: WaitingLine, table: LockTable): boolean {
    if (this.#mustStamp || line.hasUrgent) return true;
    if (!line.isEmpty && nowMs >= line.firstArrivalMs + gatherMs(table)) return true;
    return this.#clock.stamp >= this.#nextStampAt(table);
  }

  /**
   * The latest time of the next turn if nothing else happens. `isBlocked`: no entry can be proposed
   * before one commits, so that only the clock needs a turn.
   */
  nextDeadlineMs(nowMs: number, line: WaitingLine, table: LockTable, isBlocked: boolean): number {
    let deadlineMs = nowMs + this.#turnMsMax / 2;
    if (isBlocked) return deadlineMs;
    if (!line.isEmpty) deadlineMs = Math.min(deadlineMs, line.firstArrivalMs + gatherMs(table));
    return Math.min(deadlineMs, this.#clock.monotonicMsAt(this.#nextStampAt(table)));
  }

  /** The stamp at which an entry is needed only for time. */
  #nextStampAt(table: LockTable): number {
    const { nextDueAt, hasQueuedWork } = table;
    // An entry that is not applied yet may settle what is still due in the table.
    const isOneUnderWay = this.#appliedIndex < this.#lastIndex;
    if (hasQueuedWork) return isOneUnderWay ? Number.POSITIVE_INFINITY : this.#clock.stamp;
    if (nextDueAt === undefined || nextDueAt === Number.POSITIVE_INFINITY) {
      return Number.POSITIVE_INFINITY;
    }
    const regular = this.#lastStamp + STAMP_INTERVAL_MS;
    if (isOneUnderWay && this.#lastStamp >= nextDueAt) return regular;
    return Math.min(nextDueAt, regular);
  }
}

function gatherMs(table: LockTable): number {
  const shortest = table.shortestTtlMs;
  if (shortest === undefined) return GATHER_MS_MAX;
  return Math.min(GATHER_MS_MAX, shortest / GATHER_SHARE_OF_TTL);
}

/** The stamp of the last stamped entry after `index`; `undefined` if there is none. */
function lastStampAfter(raft: Raft, index: number): number | undefined {
  for (let at = raft.lastIndex; at > index; at -= 1) {
    const entry = raft.entry(at);
    if (entry.kind === "command") return decodeBatchHeader(entry.data).stamp;
  }
  return undefined;
}
