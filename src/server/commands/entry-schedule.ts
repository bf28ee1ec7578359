/**
 * When the leader is due to propose an entry. Commands leave in the turn they came in; keepalives
 * may be gathered for a moment; and time itself needs entries, since nothing ends unless an entry
 * with a late enough stamp is applied. It owns the cluster clock and never proposes by itself.
 */
import type { LockTable } from "../../lockfsm/index.js";
import { decodeBatchHeader } from "../../protocol/index.js";
import type { Raft } from "../../raft/index.js";
import { ClusterClock } from "./cluster-clock.js";
import type { WaitingLine } from "./waiting-line.js";

/** Time begins after 0, which says of a reply that no entry executed the command. */
const FIRST_STAMP = 1;
/** While anything waits for time, entries are at most so far apart. */
const STAMP_INTERVAL_MS = 1_000;
/** Keepalives are gathered for at most this long, and at most a 20th of the shortest lease. */
const GATHER_MS_MAX = 250;
const GATHER_SHARE_OF_TTL = 20;

export class EntrySchedule {
  readonly #clock: ClusterClock;
  readonly #turnMsMax: number;
  /**
   * An entry is due whatever waits: right after the no-op of a new leader, and before a transfer.
   */
  #mustStamp = false;
  /** Of the last stamped entry this leader proposed or found in its log. */
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
   * `raft` just became leader: time goes on from the last stamp in its log, committed or not.
   * `appliedIndex`: up to it the stamp of `table` speaks for the log.
   */
  begin(raft: Raft, table: LockTable, appliedIndex: number, nowMs: number): void {
    const base = Math.max(FIRST_STAMP, lastStampBehind(raft, appliedIndex) ?? table.stamp);
    this.#clock.start(base, nowMs);
    this.#lastStamp = base;
    this.#lastIndex = raft.lastIndex;
    this.#mustStamp = true;
  }

  end(): void {
    this.#clock.stop();
    this.#mustStamp = false;
  }

  /** The next entry is due, whatever waits. */
  stampNow(): void {
    this.#mustStamp = true;
  }

  /** Once a turn, after the inputs of the turn were read. */
  countTime(nowMs: number): number {
    return this.#clock.count(nowMs);
  }

  /** An entry with the clock's present stamp was proposed and stands at `index`. */
  onStamped(stamp: number, index: number): void {
    this.#mustStamp = false;
    this.#lastStamp = stamp;
    this.#lastIndex = index;
  }

  onApplied(index: number): void {
    this.#appliedIndex = index;
  }

  /** Whether an entry should be proposed now, for what waits in `line` or for time. */
  isEntryDue(nowMs: number, line: WaitingLine, table: LockTable): boolean {
    if (this.#mustStamp || line.hasUrgent) return true;
    if (!line.isEmpty && nowMs >= line.firstArrivalMs + gatherMs(table)) return true;
    return this.#clock.stamp >= this.#nextStampAt(table);
  }

  /**
   * When the loop must turn again at the latest, if nothing else happens. `isBlocked`: no entry can
   * be proposed before one commits, so that only the clock needs a turn.
   */
  nextDeadlineMs(nowMs: number, line: WaitingLine, table: LockTable, isBlocked: boolean): number {
    let deadlineMs = nowMs + this.#turnMsMax / 2;
    if (isBlocked) return deadlineMs;
    if (!line.isEmpty) deadlineMs = Math.min(deadlineMs, line.firstArrivalMs + gatherMs(table));
    return Math.min(deadlineMs, this.#clock.monotonicMsAt(this.#nextStampAt(table)));
  }

  /** The stamp at which an entry is needed for the sake of time alone. */
  #nextStampAt(table: LockTable): number {
    const { nextDueAt, hasQueuedWork } = table;
    // An entry that is not applied yet may settle what the table still shows as due.
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

/** The stamp of the last stamped entry behind `index`; `undefined` when there is none. */
function lastStampBehind(raft: Raft, index: number): number | undefined {
  for (let at = raft.lastIndex; at > index; at -= 1) {
    const entry = raft.entry(at);
    if (entry.kind === "command") return decodeBatchHeader(entry.data).stamp;
  }
  return undefined;
}
