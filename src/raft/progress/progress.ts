/**
 * What a leader knows of one peer (thesis, 10.2.1). `probe`: where the logs part is unknown, one
 * append at a time; `replicate`: appends follow each other without waiting, within the window;
 * `snapshot`: the peer's next entry is gone from the leader's log, and no entries are sent until
 * the peer has a snapshot. Invariant: 0 ≤ match < next, and `match` of a voter never falls within a
 * term (consensus rule 25). What is still unknown must never be taken for good news.
 */
import type { Entry, NodeId, RaftConfig } from "../types.js";
import { InflightWindow } from "./inflight.js";
import { RoundTrip } from "./round-trip.js";

export type ProgressMode = "probe" | "replicate" | "snapshot";

export class Progress {
  readonly id: NodeId;
  /** Epoch of the connection to this peer; 0 while there is none. */
  epoch: number;
  /** The peer's log is durable and equal to the leader's up to here. */
  match = 0;
  /** The next entry to send; the log holds it or ends before it, except in `snapshot`. */
  next: number;
  /** Without a connection always `probe`. */
  mode: ProgressMode = "probe";
  /** In `probe`: an append was sent and not answered. */
  isProbePending = false;
  /** In `snapshot`: what the leader's log stood on when it began; the peer gets that or newer. */
  snapshotIndex = 0;
  /** Of the entry at `snapshotIndex`, which the log may have cut since. */
  snapshotTerm = 0;
  /** The largest commit index the peer was told on this connection, as far as it may use it. */
  toldCommit = 0;
  /** Whether an advance of the commit index is to be told at once when no append carries it. */
  isCommitWanted = true;
  /** The latest heartbeat round of this term that the peer answered. */
  answeredRound = 0;
  /** The entry that made the peer no member any more; 0 for members. */
  leavingIndex = 0;
  /** A peer that left is not waited for any longer. */
  leavingUntilMs = 0;
  /** When anything of this term last came back; never yet if `-Infinity`. */
  lastHeardMs = Number.NEGATIVE_INFINITY;
  /** When an append was last answered, or asked for again. */
  lastAnswerMs: number;
  readonly inflight: InflightWindow;
  /** Entries are sent to it in batches (`../thrift.ts`). */
  isSpare = false;
  /** In the last turn they were sent at once. */
  wasFront = false;
  /** Since when some are kept back; `Infinity` while none are. */
  keptBackSinceMs = Number.POSITIVE_INFINITY;
  /** Of appends in `replicate`. */
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

  /** An append that was sent is without an answer. */
  get isWaiting(): boolean {
    return this.mode === "probe" ? this.isProbePending : this.inflight.messages > 0;
  }

  /** Whether it answered within an election timeout, on a connection that stands. */
  isReachable(nowMs: number, electionTimeoutMs: number): boolean {
    return this.isConnected && nowMs < this.lastHeardMs + electionTimeoutMs;
  }

  /**
   * The connection ended (`epoch` 0), or a new one stands: what was under way may never be
   * answered. `baseIndex`: that of the leader's log.
   */
  reconnect(epoch: number, baseIndex: number): void {
    this.epoch = epoch;
    if (this.mode === "replicate") this.next = this.match + 1;
    this.probe(baseIndex);
  }

  /**
   * A learner may come back as a node that was made anew and holds nothing of what it had; nobody
   * counted on that. Only of voters `match` is certain for the whole term.
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

  /** Returns whether `match` rose. `baseIndex`: that of the leader's log. */
  onAccepted(matchIndex: number, baseIndex: number, nowMs: number, stoodStillMs: number): boolean {
    const rose = matchIndex > this.match;
    if (rose) this.match = matchIndex;
    if (this.mode === "replicate") {
      this.next = Math.max(this.next, this.match + 1);
      const { oldestSentMs } = this.inflight;
      if (this.inflight.acknowledge(this.match)) {
        this.roundTrip.onAnswer(oldestSentMs, nowMs, stoodStillMs);
      }
    } else if (this.mode === "probe" || this.match >= Math.min(this.snapshotIndex, baseIndex)) {
      this.mode = "replicate";
      this.isProbePending = false;
      this.next = this.match + 1;
    } else {
      // An answer to something sent before.
      this.next = Math.max(this.next, this.match + 1);
    }
    return rose;
  }

  /** Goes on at `next`, where the logs may agree. */
  onRefused(next: number): void {
    this.next = Math.max(next, this.match + 1);
    this.stopStream("probe");
  }

  /** The leader's log, which stands on `snapshotIndex`, does not hold `next` any more. */
  awaitSnapshot(snapshotIndex: number, snapshotTerm: number): void {
    this.snapshotIndex = snapshotIndex;
    this.snapshotTerm = snapshotTerm;
    this.stopStream("snapshot");
  }

  /** Asks anew where the logs agree, from the first entry on that can still be asked about. */
  probe(baseIndex: number): void {
    this.next = Math.max(this.next, baseIndex + 1);
    this.stopStream("probe");
  }

  private stopStream(mode: "probe" | "snapshot"): void {
    this.mode = mode;
    this.isProbePending = false;
    this.toldCommit = 0;
    this.inflight.clear();
  }
}
