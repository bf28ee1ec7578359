/**
 * Whether a leader keeps entries back for too long, judged by its inputs and effects. A peer that has
 * acknowledged everything that was sent to it on its connection is ready for more. What such a peer lacks it
 * gets in the same turn, or in one at most `spareDelayMs` later, for which the core has to ask.
 */
import type { AppendReply, Effects, Input, Message } from "../../../../src/raft/index.js";

/** The entries that one peer got on one connection. */
interface Stream {
  readonly epoch: number;
  /** The last one that was sent, and the last one that it has. */
  sentIndex: number;
  matchIndex: number;
  /** Since when it is ready for an entry that it does not get; `Infinity` if it lacks none. */
  readySinceMs: number;
}

export class Spares {
  readonly #spareDelayMs: number;
  /** The term that this node leads; 0: it does not lead. */
  #term = 0;
  #lastIndex = 0;
  readonly #streams = new Map<number, Stream>();

  constructor(spareDelayMs: number) {
    this.#spareDelayMs = spareDelayMs;
  }

  onInput(input: Input): void {
    if (input.type === "peerUp" || input.type === "peerDown") this.#streams.delete(input.peer);
    else if (input.type === "message" && input.message.type === "appendReply") {
      this.#onReply(input.message);
    }
  }

  /** Returns the peers among `members` that have to wait too long. */
  onTake(effects: Effects, nowMs: number, members: readonly number[]): number[] {
    const { roleChange, write, sendNow, snapshotsWanted, nextDeadlineMs } = effects;
    if (roleChange !== undefined) {
      this.#term = roleChange.role === "leader" ? roleChange.term : 0;
      this.#streams.clear();
    }
    if (this.#term === 0) return [];
    this.#lastIndex = write?.entries.at(-1)?.index ?? this.#lastIndex;
    // It gets no entries before it has the snapshot.
    for (const { peer } of snapshotsWanted) this.#streams.delete(peer);
    for (const message of sendNow) this.#onSend(message);
    return members.filter((peer) => {
      const stream = this.#streams.get(peer);
      return stream !== undefined && nextDeadlineMs > this.#dueMs(stream, nowMs);
    });
  }

  #onSend(message: Message): void {
    if (message.type !== "append" || message.entries.length === 0) return;
    const { to, epoch, prevLogIndex, entries } = message;
    const sentIndex = prevLogIndex + entries.length;
    const stream = this.#streams.get(to);
    if (stream?.epoch === epoch) stream.sentIndex = Math.max(stream.sentIndex, sentIndex);
    else {
      const readySinceMs = Number.POSITIVE_INFINITY;
      this.#streams.set(to, { epoch, sentIndex, matchIndex: 0, readySinceMs });
    }
  }

  #onReply({ from, term, epoch, success, matchIndex }: AppendReply): void {
    const stream = this.#streams.get(from);
    if (stream?.epoch !== epoch || term !== this.#term) return;
    if (success) stream.matchIndex = Math.max(stream.matchIndex, matchIndex);
    else this.#streams.delete(from);
  }

  /** By when it gets what it lacks, as of this turn. */
  #dueMs(stream: Stream, nowMs: number): number {
    const { sentIndex, matchIndex } = stream;
    // What it had from before a refusal can be more than what was sent to it since.
    const isOwed = matchIndex >= sentIndex && matchIndex < this.#lastIndex;
    stream.readySinceMs = isOwed ? Math.min(stream.readySinceMs, nowMs) : Number.POSITIVE_INFINITY;
    return stream.readySinceMs + this.#spareDelayMs;
  }
}
