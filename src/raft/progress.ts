/**
 * What a leader knows of one peer (thesis, 10.2.1). `probe`: where the logs part is unknown, one
 * append at a time; `replicate`: appends follow each other without waiting, within the window.
 * Invariant: 0 ≤ match < next, and `match` never falls within a term (consensus rule 25).
 */
import { InflightWindow } from "./inflight.js";
import type { Entry, NodeId, RaftConfig } from "./types.js";

export class Progress {
  readonly id: NodeId;
  /** Epoch of the connection to this peer; 0 while there is none. */
  epoch: number;
  /** The peer's log is durable and equal to the leader's up to here. */
  match = 0;
  /** The next entry to send. In `probe` it moves only with answers. */
  next: number;
  mode: "probe" | "replicate" = "probe";
  /** In `probe`: an append was sent and not answered. */
  isProbePending = false;
  /** The largest commit index the peer was told on this connection, as far as it may use it. */
  toldCommit = 0;
  /** Whether an advance of the commit index is to be told at once when no append carries it. */
  isCommitWanted = true;
  /** When anything of this term last came back. */
  lastHeardMs: number;
  /** When an append was last answered, or asked for again. */
  lastAnswerMs: number;
  readonly inflight: InflightWindow;

  constructor(id: NodeId, epoch: number, lastLogIndex: number, nowMs: number, config: RaftConfig) {
    this.id = id;
    this.epoch = epoch;
    this.next = lastLogIndex + 1;
    this.lastHeardMs = nowMs;
    this.lastAnswerMs = nowMs;
    this.inflight = new InflightWindow(config.inflightMessagesMax, config.inflightBytesMax);
  }

  get isConnected(): boolean {
    return this.epoch !== 0;
  }

  /** Something that was sent is without an answer. */
  get isWaiting(): boolean {
    return this.mode === "probe" ? this.isProbePending : this.inflight.messages > 0;
  }

  /** The connection ended, or a new one stands: what was under way may never be answered. */
  reconnect(epoch: number): void {
    this.epoch = epoch;
    if (this.mode === "replicate") this.next = this.match + 1;
    this.probe();
  }

  /** An append with these entries, from `next` on, was sent. */
  onSent(entries: readonly Entry[]): void {
    if (this.mode === "probe") {
      this.isProbePending = true;
      return;
    }
    if (entries.length === 0) return;
    let bytes = 0;
    for (const entry of entries) bytes += entry.data.length;
    this.next += entries.length;
    this.inflight.add(this.next - 1, bytes);
  }

  /** Returns whether `match` rose. */
  onAccepted(matchIndex: number): boolean {
    const rose = matchIndex > this.match;
    if (rose) this.match = matchIndex;
    if (this.mode === "probe") {
      this.mode = "replicate";
      this.isProbePending = false;
      this.next = this.match + 1;
    } else {
      this.next = Math.max(this.next, this.match + 1);
      this.inflight.acknowledge(this.match);
    }
    return rose;
  }

  /** Goes on at `next`, where the logs may agree. */
  onRefused(next: number): void {
    this.next = Math.max(next, this.match + 1);
    this.probe();
  }

  private probe(): void {
    this.mode = "probe";
    this.isProbePending = false;
    this.toldCommit = 0;
    this.inflight.clear();
  }
}
