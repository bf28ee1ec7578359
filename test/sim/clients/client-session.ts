/**
 * What a client knows of its session: the lease, by its own clock and the rules of the SDK; what it
 * asked and was answered; what it holds. It hears and remembers, and says nothing itself. When the
 * session is over the next one begins with nothing.
 */
import { Lease } from "../../../src/client/lease.js";
import { ERROR_NUMBERS } from "../../../src/errors.js";
import {
  type Attached,
  type LockItem,
  MESSAGE,
  OP,
  RECALL_STATE,
  type Recalled,
  type Result,
  type SequencedCommand,
  type SessionMessage,
  STATUS,
} from "../../../src/protocol/index.js";
import type { ProcessClock } from "../world/process-clock.js";
import { type Call, ClientCalls } from "./client-calls.js";
import { ClientHolds } from "./client-holds.js";
import type { ClientWatch } from "./client-watch.js";
import type { SimClient } from "./sim-client.js";

export class ClientSession {
  /** 0 while there is none. */
  id = 0;
  calls = new ClientCalls();
  readonly holds: ClientHolds;
  /** Sequenced commands that were answered by an entry, and ends of waits, in all sessions. */
  answeredCount = 0;
  /** Grants that it began to count on, in all sessions. */
  grantCount = 0;
  readonly #client: SimClient;
  readonly #clock: ProcessClock;
  readonly #watch: ClientWatch;
  readonly #lease: Lease;
  #nonceNumber = 0;
  #attempt = 0;
  #attachSentMs = 0;
  /** When keepalives and recalls without an answer were sent, by their numbers. */
  readonly #numbers = new Map<number, number>();
  #lastNumber = 0;

  constructor(client: SimClient, clock: ProcessClock, watch: ClientWatch) {
    this.#client = client;
    this.#clock = clock;
    this.#watch = watch;
    this.#lease = new Lease(client.plan.ttlMs);
    this.holds = new ClientHolds(client);
  }

  get nonce(): string {
    return (this.#client.host * 1_000_000 + this.#nonceNumber).toString(16).padStart(32, "0");
  }

  /** Whether the client counts on its lease at this moment. */
  get trustsLease(): boolean {
    return this.id !== 0 && this.#clock.nowMs() < this.#lease.deadlineMs;
  }

  get waitsForAnswer(): boolean {
    return this.calls.open.length > 0 || this.#numbers.size > 0;
  }

  /** The sequences of acquires that may still be granted. */
  get waits(): number[] {
    return [...this.calls.open, ...this.calls.queued]
      .filter(({ command }) => command.op === OP.acquire)
      .map(({ command }) => command.sequence);
  }

  /** For people: what keeps it from being idle. */
  get business(): string {
    const sequences = (calls: readonly Call[]): string =>
      calls.map(({ command }) => command.sequence).join(",");
    const { open, queued } = this.calls;
    const tokens = this.holds.present.map(({ token }) => token).join(",");
    return `session ${this.id} asks [${sequences(open)}] waits [${sequences(queued)}] holds [${tokens}]`;
  }

  /** The number of the attachment that is about to be tried. */
  nextAttempt(): number {
    this.#attempt += 1;
    this.#attachSentMs = this.#clock.nowMs();
    return this.#attempt;
  }

  /** A number for a keepalive or recall that is about to be sent. */
  nextNumber(): number {
    this.#lastNumber += 1;
    this.#numbers.set(this.#lastNumber, this.#clock.nowMs());
    return this.#lastNumber;
  }

  /** What stands before every sequenced command. */
  head(): { sequence: number; mark: number; acknowledged: readonly number[] } {
    return { sequence: this.calls.nextSequence, ...this.calls.read };
  }

  add(command: SequencedCommand): void {
    this.calls.add(command, this.#clock.nowMs());
    this.#watch.onInvoke(this.id, command.sequence);
  }

  /** A lease that ended while nobody looked has ended all the same. */
  lookAtTime(): void {
    if (!this.trustsLease) this.holds.lapseAll();
  }

  /** What a cancel may end must not be counted on any more. */
  giveUpGrantOf(sequence: number): void {
    const call = this.calls.get(sequence);
    if (call === undefined) return;
    call.isCancelled = true;
    const { result } = call;
    if (result !== undefined && "token" in result) this.holds.lapse(result.token);
  }

  isAnswerToLastAttempt({ attempt, nonce }: Attached): boolean {
    return attempt === this.#attempt && nonce === this.nonce;
  }

  onAttached(session: number): void {
    this.id = session;
    this.#lease.renew(this.#attachSentMs);
  }

  /** A node refused it without an entry. */
  onRefused(sequence: number, result: Result): void {
    if (this.id === 0) return;
    this.#watch.onRefused(this.id, sequence, result);
    const call = this.calls.get(sequence);
    if (call === undefined || call.result !== undefined) return;
    call.isRefused = true;
    const { command } = call;
    if (command.op === OP.close) this.holds.isClosing = false;
    if (command.op === OP.release) this.holds.keep(command.token);
  }

  /** Returns whether the session is over by that. */
  hear(message: SessionMessage): boolean {
    // The last words about a session that this client has buried already.
    if (this.id === 0) return false;
    this.#watch.onMessage(this.#client, this.id, message);
    switch (message.kind) {
      case MESSAGE.reply:
        return this.#onReply(message.sequence, message.result);
      case MESSAGE.outcome:
        if (this.#settle(message.sequence, message.result)) this.answeredCount += 1;
        return false;
      case MESSAGE.pulse:
        this.#onNumber(message.number);
        return false;
      case MESSAGE.recalled:
        this.#onNumber(message.number);
        this.#onRecalled(message);
        return false;
      case MESSAGE.ended:
        return true;
      default:
        return false;
    }
  }

  /** It is no more. */
  startAnew(): void {
    this.#watch.onNote(this.#client, `session ${this.id} is over`);
    this.#lease.reset(this.#client.plan.ttlMs);
    this.holds.end();
    this.id = 0;
    this.#nonceNumber += 1;
    this.#attempt = 0;
    this.calls = new ClientCalls();
    this.#numbers.clear();
  }

  #onReply(sequence: number, result: Result): boolean {
    if (result.status === ERROR_NUMBERS.SESSION_EXPIRED) return true;
    const call = this.calls.get(sequence);
    if (call === undefined) return false;
    const { command } = call;
    this.#lease.renew(call.firstSentMs);
    this.calls.onRead(command.acknowledged);
    if (call.result === undefined) {
      this.answeredCount += 1;
      this.#watch.onExecuted(command.op, result.status);
    }
    this.#settle(sequence, result);
    if (command.op === OP.release) this.holds.forget(command.token);
    return command.op === OP.close;
  }

  /** Returns whether that was not known before. */
  #settle(sequence: number, result: Result): boolean {
    const call = this.calls.get(sequence);
    if (call === undefined) return false;
    const isNews = call.result === undefined || call.result.status === STATUS.queued;
    call.result = result;
    if (isNews && call.command.op === OP.acquire && "token" in result) {
      this.#grant(call.command.items, result.token, call.isCancelled);
    }
    this.calls.forget();
    return isNews;
  }

  #grant(items: readonly LockItem[], token: number, isCancelled: boolean): void {
    const belief = this.holds.grant(items, token, isCancelled);
    if (belief === undefined) return;
    if (belief.givenUp === undefined) this.grantCount += 1;
    this.#watch.onBelief(belief);
  }

  #onNumber(number: number): void {
    const sentMs = this.#numbers.get(number);
    // Answers come in order: what was asked before and is not answered never will be.
    for (const earlier of this.#numbers.keys()) {
      if (earlier <= number) this.#numbers.delete(earlier);
    }
    if (sentMs !== undefined) this.#lease.renew(sentMs);
  }

  #onRecalled({ sequences, tokens }: Recalled): void {
    for (const recalled of sequences) {
      if (recalled.state === RECALL_STATE.done) this.#settle(recalled.sequence, recalled.result);
    }
    for (const { token, held } of tokens) {
      const belief = held ? undefined : this.holds.of(token);
      if (belief !== undefined) belief.givenUp = "released";
    }
  }
}
