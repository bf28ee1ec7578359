/**
 * The follower's side of forwarding: commands go to the leader of the term this node knows, many in
 * one message, and stay kept here until they are executed. Only a limited number of bytes is
 * under way: the rest waits here, where the clients of this node take turns, and not at the leader,
 * which serves the messages of one node in their order. Clients never hear of a refusal by a leader: after one that had
 * no room, everything kept goes again in order, after a pause in which nothing newer goes. What a node
 * refuses that does not lead that term waits for the change of leader, term or link that must follow. A
 * refusal can itself be lost, so what stays unanswered for long makes everything go again as well.
 */
import type { PeerMessage } from "../../net/index.js";
import { Fifo } from "../fifo.js";
import { Numbering } from "../numbering.js";
import { KeptCommand, type KeptCommands } from "./kept-commands.js";
import type { ForwardedChunk, WaitingLine } from "./waiting-line.js";

export type ForwardRefusal = (PeerMessage & { readonly type: "forwardRefused" })["reason"];

interface ForwardedBatch {
  readonly id: number;
  readonly commands: readonly KeptCommand[];
  readonly bytes: number;
  readonly sentAtMs: number;
  /** Those before this one are settled. */
  settledCount: number;
}

export interface ForwardingOptions {
  /** Of all that is under way to the leader. */
  readonly batchBytesMax: number;
  /** How long everything waits after a leader had no room. */
  readonly retryAfterMs: number;
  /** How long a batch may stay unapplied before everything goes again. */
  readonly resendAfterMs: number;
}

export class Forwarding {
  readonly #kept: KeptCommands;
  readonly #line: WaitingLine;
  readonly #options: ForwardingOptions;
  /** Sent to the present leader, in order; those in front leave once they are settled. */
  readonly #underWay = new Fifo<ForwardedBatch>();
  #underWayBytes = 0;
  /** The leader had no room: until then nothing is sent, and then everything again. */
  #pausedUntilMs = Number.POSITIVE_INFINITY;
  readonly #numbers: Numbering;

  constructor(
    kept: KeptCommands,
    line: WaitingLine,
    options: ForwardingOptions,
    numbers = new Numbering(0),
  ) {
    this.#numbers = numbers;
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

  /** Whether something waits that may go to the leader now. */
  get isDue(): boolean {
    if (this.#line.isEmpty || this.#pausedUntilMs !== Number.POSITIVE_INFINITY) return false;
    this.#trim();
    return this.#underWayBytes < this.#options.batchBytesMax;
  }

  /** Sends what waits to the leader of `term`, as far as there is room under way. */
  forward(term: number, nowMs: number, send: (message: PeerMessage) => void): void {
    while (this.isDue) {
      const taken = this.#line.take(this.#options.batchBytesMax - this.#underWayBytes, 0);
      const commands = taken.items.filter((item) => item instanceof KeptCommand);
      if (commands.length === 0) continue;
      const id = this.#numbers.next();
      const bytes = taken.bytes.length;
      this.#underWay.push({ id, commands, bytes, sentAtMs: nowMs, settledCount: 0 });
      this.#underWayBytes += bytes;
      send({ type: "forward", id, term, records: taken.bytes });
    }
  }

  /** The answer of a node that did not propose batch `id`. */
  refused(id: number, reason: ForwardRefusal, nowMs: number): void {
    if (reason === "notLeader") return;
    for (let i = 0; i < this.#underWay.length; i += 1) {
      if (this.#underWay.at(i)?.id !== id) continue;
      const pausedUntilMs = nowMs + this.#options.retryAfterMs;
      this.#pausedUntilMs = Math.min(this.#pausedUntilMs, pausedUntilMs);
    }
  }

  /** Once a turn: everything goes again if the leader refused some of it, or it seems lost. */
  retry(nowMs: number): void {
    if (nowMs >= this.nextDeadlineMs) this.restart(nowMs);
  }

  /**
   * Leader, term or the link to the leader changed: everything kept goes again, in order. Gives
   * back the chunks of other nodes that waited in the line.
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
