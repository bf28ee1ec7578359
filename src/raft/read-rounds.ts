/**
 * Reads that are not in the log (thesis, 6.4). A leader remembers its commit index, lets a quorum
 * confirm that it still leads, in a heartbeat round that *began afterwards*, and answers. Rounds
 * are numbered within the term and never reused; a reply confirms its round and all earlier ones,
 * never a later one (consensus rules 14, 15). No answer holds for the future, so there is no read
 * without a round (rule 16). The reads of a turn share one round.
 */

import type { Outbox } from "./messages/outbox.js";

interface ReadRound {
  readonly round: number;
  /** The commit index when the round began. */
  readonly index: number;
  readonly ids: readonly number[];
}

export class ReadRounds {
  /** Asked for and not in a round yet. */
  private waiting: number[] = [];
  /** By rising round. */
  private readonly begun: ReadRound[] = [];

  get hasWaiting(): boolean {
    return this.waiting.length > 0;
  }

  get hasBegun(): boolean {
    return this.begun.length > 0;
  }

  ask(id: number): void {
    this.waiting.push(id);
  }

  /** All waiting reads are confirmed by `round`, which begins now, or by a later one. */
  begin(round: number, index: number): void {
    this.begun.push({ round, index, ids: this.waiting });
    this.waiting = [];
  }

  /** A quorum has answered `round` or a later one. */
  confirm(round: number, outbox: Outbox): void {
    let confirmed = 0;
    for (const begun of this.begun) {
      if (begun.round > round) break;
      for (const id of begun.ids) outbox.answerRead(id, begun.index);
      confirmed += 1;
    }
    if (confirmed > 0) this.begun.splice(0, confirmed);
  }

  /** No waiting read can be confirmed any more. */
  refuseAll(outbox: Outbox): void {
    for (const { ids } of this.begun) for (const id of ids) outbox.refuseRead(id);
    for (const id of this.waiting) outbox.refuseRead(id);
    this.begun.length = 0;
    this.waiting = [];
  }
}
