/**
 * What a leader knows of one peer (thesis, 10.2.1). `probe`: it is unknown where the logs diverge,
 * so there is one append at a time; `replicate`: appends follow each other without waiting, within
 * the window; `snapshot`: the peer's next entry is gone from the leader's log, and no entries are
 * sent until the peer has a snapshot. Invariant: 0 ≤ match < next, and `match` of a voter never
 * falls within a term (consensus rule 25). Nothing unknown may be assumed to be good.
 */
import type { Entry, NodeId, RaftConfig } from "../types.js";
import { InflightWindow } from "./inflight.js";
import { RoundTrip } from "./round-trip.js";

export type ProgressMode = "probe" | "replicate" | "snapshot";

export class Progress {
  readonly id: NodeId;
  /** Epoch of the connection to this peer; 0 if there is none. */
  epoch: number;
  /** The peer's log is durable and equal to the leader's up to here. */
  match = 0;
  /** The next entry to send; the log holds it or ends before it, except in `snapshot`. */
  next: number;
  /** Always `probe` without a connection. */
  mode: ProgressMode = "probe";
  /** In `probe`: an append was sent and not answered. */
  isProbePending = false;
  /** In `snapshot`: the leader's snapshot at its beginning; the peer gets that or a newer one. */
  snapshotIndex = 0;
  /** The term of the entry at `snapshotIndex`, which may be gone from the log. */
  snapshotTerm = 0;
  /** In `snapshot`: a match up to here is of no use, because the peer contradicts it. */
  staleMatch = 0;
  /** The largest commit index sent to the peer on this connection, as far as it can use it. */
  toldCommit = 0;
  /** Whether an advance of the commit index is sent at once if no append carries it. */
  isCommitWanted = true;
  /** The latest heartbeat round of this term that the peer answered. */
  answeredRound = 0;
  /** The entry that removed the peer; 0 for members. */
  leavingIndex = 0;
  /** When the leader stops waiting for a removed peer. */
  leavingUntilMs = 0;
  /** When the last answer of this term came; `-Infinity` before the first one. */
  lastHeardMs = Number.NEGATIVE_INFINITY;
  /** When an append was last answered, or asked for again. */
  lastAnswerMs: number;
  readonly inflight: InflightWindow;
  /** Entries are sent to it in batches (`../majority-first.ts`). */
  isSpare = false;
  /** In the last turn entries were sent to it at once. */
  wasFront = false;
  /** Since when entries are kept back; `Infinity` if none are. */
  keptBackSinceMs = Number.POSITIVE_INFINITY;
  /** The round trip of appends in `replicate`. */
  readonly roundTrip = new RoundTrip();

  constructor(id: NodeId, epoch: number, next: number, nowMs: number, config: RaftConfig) {
    this.id = id;
    this.epoch = epoch;
    this.next = next;
    this.lastAnswerMs = nowMs;
    this.inflight = new InflightWindow(config.inflightMessagesMax, config.inflightBytesMax);
  }

  get isConnected(): boolean {
    return this.epoch !== 0;
  }

  get isLeaving(): boolean {
    return this.leavingIndex !== 0;
  }

  /** Whether an append has not been answered yet. */
  get isWaiting(): boolean {
    return this.mode === "probe" ? this.isProbePending : this.inflight.messages > 0;
  }

  /** Whether it has answered within an election timeout, on the current connection. */
  isReachable(nowMs: number, electionTimeoutMs: number): boolean {
    return this.isConnected && nowMs < this.lastHeardMs + electionTimeoutMs;
  }

  /**
   * The connection ended (`epoch` 0) or there is a new one: requests under way may never be
   * answered. `baseIndex` is the base of the leader's log.
   */
  reconnect(epoch: number, baseIndex: number): void {
    this.epoch = epoch;
    if (this.mode === "replicate") this.next = this.match + 1;
    this.probe(baseIndex);
  }

  /**
   * A learner may come back as a new node without its former entries; no commit counted on them.
   * Only for voters is `match` certain for the whole term.
   */
  forget(): void {
    this.match = 0;
  }

  /** An append with these entries, from `next` on, was sent. */
  onSent(entries: readonly Entry[], nowMs: number): void {
    if (this.mode === "probe") {
      this.isProbePending = true;
      return;
    }
    if (entries.length === 0) return;
    let bytes = 0;
    for (const entry of entries) bytes += entry.data.length;
    this.next += entries.length;
    this.inflight.add(this.next - 1, bytes, nowMs);
  }

  /** Returns whether `match` rose. `baseIndex` is the base of the leader's log. */
  onAccepted(matchIndex: number, baseIndex: number, nowMs: number, stoodStillMs: number): boolean {
    const rose = matchIndex > this.match;
    if (rose) this.match = matchIndex;
    if (this.mode === "replicate") {
      this.next = Math.max(this.next, this.match + 1);
      const { oldestSentMs } = this.inflight;
      if (this.inflight.acknowledge(this.match)) {
        this.roundTrip.onAnswer(oldestSentMs, nowMs, stoodStillMs);
      }
    } else if (this.mode === "probe" || this.hasSnapshot(baseIndex)) {
      this.mode = "replicate";
      this.isProbePending = false;
      this.next = this.match + 1;
    } else {
      // An answer to an earlier request.
      this.next = Math.max(this.next, this.match + 1);
    }
    return rose;
  }

  /** Continues at `next`, where the logs may agree. */
  onRefused(next: number): void {
    this.next = Math.max(next, this.match + 1);
    this.stopStream("probe");
  }

  /**
   * The leader's log, which is based on `snapshotIndex`, does not hold `next` any more; or only a
   * snapshot after `staleMatch` can be used.
   */
  awaitSnapshot(snapshotIndex: number, snapshotTerm: number, staleMatch: number): void {
    this.snapshotIndex = snapshotIndex;
    this.snapshotTerm = snapshotTerm;
    this.staleMatch = staleMatch;
    this.stopStream("snapshot");
  }

  /** Asks again where the logs agree, from the first entry of the leader's log on. */
  probe(baseIndex: number): void {
    this.next = Math.max(this.next, baseIndex + 1);
    this.stopStream("probe");
  }

  private hasSnapshot(baseIndex: number): boolean {
    if (this.staleMatch > 0 && this.match <= this.staleMatch) return false;
    return this.match >= Math.min(this.snapshotIndex, baseIndex);
  }

  private stopStream(mode: "probe" | "snapshot"): void {
    this.mode = mode;
    this.isProbePending = false;
    this.toldCommit = 0;
    this.inflight.clear();
  }
}
