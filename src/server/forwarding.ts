/**
 * The follower's side of forwarding: commands go to the leader of the term this node knows, many in
 * one message, and stay kept here until they are applied here. Only a limited number of bytes is
 * under way: the rest waits here, where the clients of this node take turns, and not at the leader,
 * which serves the messages of one node in their order. What a leader without room refuses is
 * answered so or sent again later; what a node refuses that does not lead that term waits for the
 * change of leader, term or link that must follow. A refusal can itself be lost, so what stays
 * unanswered for long goes again as well.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../errors.js";
import type { PeerMessage } from "../net/index.js";
import { Fifo } from "./fifo.js";
import type { ForwardedChunk } from "./forwarded-chunk.js";
import { KeptCommand } from "./kept-command.js";
import type { KeptCommands } from "./kept-commands.js";
import { Numbering } from "./numbering.js";
import type { WaitingLine } from "./waiting-line.js";

export type ForwardRefusal = (PeerMessage & { readonly type: "forwardRefused" })["reason"];

interface ForwardedBatch {
  readonly id: number;
  readonly commands: readonly KeptCommand[];
  readonly bytes: number;
  readonly sentAtMs: number;
  /** The leader did not take it. */
  isRefused: boolean;
}

export interface ForwardingOptions {
  /** Of all that is under way to the leader. */
  readonly batchBytesMax: number;
  /** How long what was refused for want of room waits before it goes again. */
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
  /** Refused for want of room, but possibly sent twice: they go again. */
  #retries: KeptCommand[] = [];
  #retryAtMs = Number.POSITIVE_INFINITY;
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
    if (oldest === undefined) return this.#retryAtMs;
    return Math.min(this.#retryAtMs, oldest.sentAtMs + this.#options.resendAfterMs);
  }

  /** Whether something waits that may go to the leader now. */
  get isDue(): boolean {
    if (this.#line.isEmpty) return false;
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
      this.#underWay.push({ id, commands, bytes, sentAtMs: nowMs, isRefused: false });
      this.#underWayBytes += bytes;
      send({ type: "forward", id, term, records: taken.bytes });
    }
  }

  /** The answer of a node that did not propose batch `id`. */
  refused(id: number, reason: ForwardRefusal, nowMs: number): void {
    if (reason === "notLeader") return;
    const status = reason === "diskFull" ? ERROR_NUMBERS.DISK_FULL : ERROR_NUMBERS.BUSY;
    for (let i = 0; i < this.#underWay.length; i += 1) {
      const batch = this.#underWay.at(i);
      if (batch?.id === id && !batch.isRefused) {
        batch.isRefused = true;
        this.sendLater(batch.commands, status, nowMs);
        return;
      }
    }
  }

  /** Refuses what can be refused for want of room; the rest is sent again after a while. */
  sendLater(commands: readonly KeptCommand[], status: ErrorNumber, nowMs: number): void {
    for (const kept of commands) {
      if (kept.isSettled || this.#kept.refuse(kept, status)) continue;
      this.#retries.push(kept);
      this.#retryAtMs = Math.min(this.#retryAtMs, nowMs + this.#options.retryAfterMs);
    }
  }

  /** Puts into the line again what was refused a while ago, or everything if it seems lost. */
  retry(nowMs: number): void {
    if (nowMs < this.nextDeadlineMs) return;
    if (nowMs < this.#retryAtMs) {
      this.restart(nowMs);
      return;
    }
    const again = this.#retries;
    this.#retries = [];
    this.#retryAtMs = Number.POSITIVE_INFINITY;
    for (const kept of again) this.#line.push(kept, nowMs);
  }

  /**
   * Leader, term or the link to the leader changed: everything kept goes again, in order. Gives
   * back the chunks of other nodes that waited in the line.
   */
  restart(nowMs: number): ForwardedChunk[] {
    const chunks = this.#line.clear();
    this.#underWay.clear();
    this.#underWayBytes = 0;
    this.#retries = [];
    this.#retryAtMs = Number.POSITIVE_INFINITY;
    for (const kept of this.#kept.inOrder()) this.#line.push(kept, nowMs);
    return chunks;
  }

  #trim(): void {
    for (let first = this.#underWay.at(0); first !== undefined; first = this.#underWay.at(0)) {
      if (!first.isRefused && first.commands.at(-1)?.isSettled !== true) return;
      this.#underWay.shift();
      this.#underWayBytes -= first.bytes;
    }
  }
}
