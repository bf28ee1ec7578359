/**
 * The follower's side of forwarding. Commands go to the leader of the term that this node knows,
 * many in one message, and are kept here until they are executed. Only a limited number of bytes is
 * under way. The rest waits here, where the clients of this node take turns, and not at the leader,
 * which serves the messages of one node in their order.
 *
 * Clients never hear of a refusal by a leader. After a refusal for lack of room, everything kept is
 * sent again in order, after a pause in which nothing newer is sent. After a refusal by a node that
 * does not lead the term, a change of leader, term or link must follow and is waited for. A refusal
 * can itself be lost, so everything is also sent again if an answer does not come for long.
 */

import { Fifo } from "../../lockfsm/index.js";
import type { PeerMessage } from "../../net/index.js";
import { RequestIds } from "../request-ids.js";
import { KeptCommand, type KeptCommands } from "./kept-commands.js";
import type { ForwardedChunk, WaitingLine } from "./waiting-line.js";

export type ForwardRefusal = (PeerMessage & { readonly type: "forwardRefused" })["reason"];

interface ForwardedBatch {
  readonly id: number;
  readonly commands: readonly KeptCommand[];
  readonly bytes: number;
  readonly sentAtMs: number;
  /** The commands before this one are settled. */
  settledCount: number;
}

export interface ForwardingOptions {
  /** Limits all that is under way to the leader. */
  readonly batchBytesMax: number;
  /** How long everything waits after a leader was short of room. */
  readonly retryAfterMs: number;
  /** How long a batch may stay unapplied before everything is sent again. */
  readonly resendAfterMs: number;
}

export class Forwarding {
  readonly #kept: KeptCommands;
  readonly #line: WaitingLine;
  readonly #options: ForwardingOptions;
  /** Sent to the current leader, in order; the first ones leave once they are settled. */
  readonly #underWay = new Fifo<ForwardedBatch>();
  #underWayBytes = 0;
  /**
   * The leader was short of room: nothing is sent until then, and then everything is sent again.
   */
  #pausedUntilMs = Number.POSITIVE_INFINITY;
  readonly #requestIds: RequestIds;

  constructor(
    kept: KeptCommands,
    line: WaitingLine,
    options: ForwardingOptions,
    requestIds = new RequestIds(0),
  ) {
    this.#requestIds = requestIds;
    this.#kept = kept;
    this.#line = line;
    this.#options = options;
  }

  /** When `retry` may have something to do. */
  get nextDeadlineMs(): number {
    this.#trim();
    const oldest = this.#underWay.at(0);
    if (oldest === undefined) return this.#pausedUntilMs;
    return Math.min(this.#pausedUntilMs, oldest.sentAtMs + this.#options.resendAfterMs);
  }

  /** Whether a waiting command may go to the leader now. */
  get isDue(): boolean {
    if (this.#line.isEmpty || this.#pausedUntilMs !== Number.POSITIVE_INFINITY) return false;
    this.#trim();
    return this.#underWayBytes < this.#options.batchBytesMax;
  }

  /** Sends what waits to the leader of `term`, within the limit of bytes under way. */
  forward(term: number, nowMs: number, send: (message: PeerMessage) => void): void {
    while (this.isDue) {
      const taken = this.#line.take(this.#options.batchBytesMax - this.#underWayBytes, 0);
      const commands = taken.items.filter((item) => item instanceof KeptCommand);
      if (commands.length === 0) continue;
      const id = this.#requestIds.next();
      const bytes = taken.bytes.length;
      this.#underWay.push({ id, commands, bytes, sentAtMs: nowMs, settledCount: 0 });
      this.#underWayBytes += bytes;
      send({ type: "forward", id, term, records: taken.bytes });
    }
  }

  /** The answer of a node that did not propose the batch `id`. */
  refused(id: number, reason: ForwardRefusal, nowMs: number): void {
    if (reason === "notLeader") return;
    for (let i = 0; i < this.#underWay.length; i += 1) {
      if (this.#underWay.at(i)?.id !== id) continue;
      const pausedUntilMs = nowMs + this.#options.retryAfterMs;
      this.#pausedUntilMs = Math.min(this.#pausedUntilMs, pausedUntilMs);
    }
  }

  /** Once a turn: sends everything again if the leader refused a batch or one seems lost. */
  retry(nowMs: number): void {
    if (nowMs >= this.nextDeadlineMs) this.restart(nowMs);
  }

  /**
   * The leader, its term or the link to it changed: everything kept is sent again, in order.
   * Returns the chunks of other nodes that waited in the line.
   */
  restart(nowMs: number): ForwardedChunk[] {
    const chunks = this.#line.clear();
    this.#underWay.clear();
    this.#underWayBytes = 0;
    this.#pausedUntilMs = Number.POSITIVE_INFINITY;
    for (const kept of this.#kept.inOrder()) this.#line.push(kept, nowMs);
    return chunks;
  }

  #trim(): void {
    for (let first = this.#underWay.at(0); first !== undefined; first = this.#underWay.at(0)) {
      while (first.commands[first.settledCount]?.isSettled === true) first.settledCount += 1;
      if (first.settledCount < first.commands.length) return;
      this.#underWay.shift();
      this.#underWayBytes -= first.bytes;
    }
  }
}
