/**
 * What a client knows of its session: the lease, by its own clock and the rules of the SDK; what it
 * asked and was answered; what it holds. It hears and remembers, and says nothing itself. When the
 * session is over the next one begins with nothing.
 */
import { ERROR_NUMBERS } from "../../../src/errors.js";
import {
  type Attached,
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
import type { Belief } from "./belief.js";
import { type Call, ClientCalls } from "./client-calls.js";
import { ClientGrants } from "./client-grants.js";
import { ClientHolds } from "./client-holds.js";
import type { ClientWatch } from "./client-watch.js";
import { Evidence } from "./evidence.js";
import { SEEN } from "./seen.js";
import type { SimClient } from "./sim-client.js";

const WAITING: readonly number[] = [OP.acquire, OP.upgrade];

export class ClientSession {
  /** 0 while there is none. */
  id = 0;
  calls = new ClientCalls();
  readonly holds: ClientHolds;
  /** Sequenced commands that were answered by an entry, and ends of waits, in all sessions. */
  answeredCount = 0;
  /** Another process takes the session over from this one. */
  wantsTakeOver = false;
  readonly #client: SimClient;
  readonly #clock: ProcessClock;
  readonly #watch: ClientWatch;
  readonly #evidence: Evidence;
  #nonceNumber = 0;
  #attempt = 0;
  #attachSentMs = 0;
  #connection = 0;
  readonly #grants: ClientGrants;
  /** When keepalives and recalls without an answer were sent, by their numbers. */
  readonly #numbers = new Map<number, number>();
  #lastNumber = 0;
  /** The recall whose answer makes the evidence since the attach count; 0: none is awaited. */
  #awaitedRecall = 0;

  constructor(client: SimClient, clock: ProcessClock, watch: ClientWatch) {
    this.#client = client;
    this.#clock = clock;
    this.#watch = watch;
    this.#evidence = new Evidence(client.plan.ttlMs);
    this.holds = new ClientHolds(client);
    this.#grants = new ClientGrants(client, this.holds, this.#evidence, watch);
  }

  /** Grants that it began to count on, in all sessions. */
  get grantCount(): number {
    return this.#grants.count;
  }

  get nonce(): string {
    return (this.#client.host * 1_000_000 + this.#nonceNumber).toString(16).padStart(32, "0");
  }

  /** The attempt that was answered last is this one, while the client is attached. */
  get epoch(): number {
    return this.#attempt;
  }

  /** Whether the client counts on its lease at this moment. */
  get trustsLease(): boolean {
    return this.id !== 0 && this.#clock.nowMs() < this.#evidence.deadlineMs;
  }

  get waitsForAnswer(): boolean {
    return this.calls.open.length > 0 || this.#numbers.size > 0;
  }

  /** The sequences of acquires that may still be granted. */
  get waits(): number[] {
    return this.#waiting.map(({ command }) => command.sequence);
  }

  get #waiting(): Call[] {
    return [...this.calls.open, ...this.calls.queued].filter(({ command }) => {
      return WAITING.includes(command.op);
    });
  }

  /** Whether a task of this number stands still until it is answered. */
  isBlocked(owner: number): boolean {
    return this.#waiting.some(({ command }) => {
      if (command.op === OP.acquire) return command.owner === owner;
      return command.op === OP.upgrade && this.holds.of(command.token)?.owner === owner;
    });
  }

  /** Whether a hold may become stronger at any moment. */
  isUpgrading(token: number): boolean {
    return this.#waiting.some(({ command }) => {
      return command.op === OP.upgrade && this.holds.of(command.token)?.hasToken(token) === true;
    });
  }

  /** Others may be let in from now on: what was exclusive is not, nor what becomes so on the way. */
  lower(belief: Belief, keys: readonly string[]): void {
    belief.weaken(keys);
    for (const call of this.#waiting) {
      const { command } = call;
      if (command.op !== OP.upgrade || !keys.includes(command.key)) continue;
      if (belief.hasToken(command.token)) call.isLowered = true;
    }
  }

  /** For people: what keeps it from being idle. */
  get business(): string {
    const sequences = (calls: readonly Call[]): string =>
      calls.map(({ command }) => command.sequence).join(",");
    const { open, queued } = this.calls;
    const tokens = this.holds.present.map(({ token, owner }) => `${token} of ${owner}`).join(",");
    const doubts = this.#grants.doubtful.join(",");
    return `session ${this.id} asks [${sequences(open)}] waits [${sequences(queued)}] holds [${tokens}] doubts [${doubts}]`;
  }

  get isIdle(): boolean {
    const { calls, holds } = this;
    if (calls.open.length + calls.queued.length > 0) return false;
    return holds.present.length + this.#grants.doubtful.length === 0;
  }

  /** The number of the attachment that is about to be tried. */
  nextAttempt(): number {
    this.#attempt += 1;
    this.#attachSentMs = this.#clock.nowMs();
    return this.#attempt;
  }

  /** A number for a keepalive that is about to be sent. */
  nextNumber(): number {
    this.#lastNumber += 1;
    this.#numbers.set(this.#lastNumber, this.#clock.nowMs());
    return this.#lastNumber;
  }

  /** What is to be asked after an attach; `undefined`: nothing. */
  questions(): { number: number; sequences: number[]; tokens: number[] } | undefined {
    const sequences = this.calls.queued.map(({ command }) => command.sequence);
    const held = this.holds.present.map(({ token }) => token);
    this.#grants.takeQuestions();
    const tokens = [...new Set([...held, ...this.#grants.doubtful])];
    if (sequences.length + tokens.length === 0) {
      this.#evidence.admit();
      return undefined;
    }
    const number = this.nextNumber();
    this.#awaitedRecall = number;
    return { number, sequences, tokens };
  }

  /** What a late grant makes to be asked; `undefined`: nothing new. */
  doubts(): { number: number; sequences: number[]; tokens: number[] } | undefined {
    const tokens = this.#grants.takeQuestions();
    return tokens.length === 0 ? undefined : { number: this.nextNumber(), sequences: [], tokens };
  }

  /** What stands before every sequenced command. */
  head(): { sequence: number; mark: number; acknowledged: readonly number[] } {
    return { sequence: this.calls.nextSequence, ...this.calls.read };
  }

  /** `gives`: the hold that a release or cancel makes one less. */
  add(command: SequencedCommand, gives?: Belief): void {
    if (gives !== undefined) gives.givingBack += 1;
    this.calls.add(command, this.#clock.nowMs(), this.#connection, gives);
    this.#watch.onInvoke(this.id, command.sequence);
  }

  /** A lease that ended while nobody looked has ended all the same. */
  lookAtTime(): void {
    if (!this.trustsLease) this.holds.lapseAll();
    this.holds.lapseOverdue(this.#clock.nowMs());
  }

  /**
   * What a cancel may end must not be counted on any more. Returns the hold that it makes one less,
   * where that is certain and something of it is left.
   */
  giveUpGrantOf(sequence: number): Belief | undefined {
    const call = this.calls.get(sequence);
    if (call === undefined) return undefined;
    call.isCancelled = true;
    const { result, command } = call;
    if (command.op === OP.upgrade) {
      const belief = this.holds.of(command.token);
      if (belief !== undefined) this.lower(belief, [command.key]);
      return undefined;
    }
    const belief = result !== undefined && "token" in result && this.holds.of(result.token);
    if (belief && belief.count - belief.givingBack > 1) return belief;
    if (belief) belief.lapse();
    if (command.op === OP.acquire) this.holds.lapseOf(command.owner);
    return undefined;
  }

  /** From here on this is another process, which knows what the one before had written down. */
  handOver(): void {
    this.wantsTakeOver = true;
    this.#grants.handOver();
  }

  isAnswerToLastAttempt({ attempt, nonce }: Attached): boolean {
    return attempt === this.#attempt && nonce === this.nonce;
  }

  onAttached({ session, stamp }: Attached): void {
    this.id = session;
    this.#connection += 1;
    this.#evidence.defer();
    this.#evidence.add(stamp, this.#attachSentMs);
    this.holds.lapseUncertain();
    this.#numbers.clear();
  }

  /** A node refused it without an entry. */
  onRefused(sequence: number, result: Result): void {
    if (this.id === 0) return;
    this.#watch.onRefused(this.id, sequence, result);
    const call = this.calls.get(sequence);
    if (call === undefined || call.result !== undefined) return;
    call.isRefused = true;
    const { command, gives } = call;
    if (gives !== undefined) gives.givingBack -= 1;
    if (command.op === OP.close) this.holds.isClosing = false;
    if (command.op !== OP.release && command.op !== OP.detach) return;
    const belief = this.holds.of(command.token);
    if (belief?.givenUp === "released") this.holds.keep(belief);
  }

  /** Returns whether the session is over by that. */
  hear(message: SessionMessage): boolean {
    // The last words about a session that this client has buried already.
    if (this.id === 0) return false;
    this.#watch.onMessage(this.#client, this.id, this.#attempt, message);
    switch (message.kind) {
      case MESSAGE.reply:
        return this.#onReply(message.sequence, message.result, message.stamp);
      case MESSAGE.outcome:
        if (this.#settle(message.sequence, message.result, message.stamp, true)) {
          this.answeredCount += 1;
        }
        return false;
      case MESSAGE.pulse:
        this.#onNumber(message.number, message.stamp);
        return false;
      case MESSAGE.recalled:
        this.#onRecalled(message);
        return false;
      case MESSAGE.revoking:
        this.#onRevoking(message.token, message.endsAt);
        return false;
      case MESSAGE.lost:
        this.calls.noteLoss(message.token);
        this.#grants.forget(message.token);
        this.#watch.onSeen(SEEN.lost(message.reason));
        return false;
      case MESSAGE.contended:
        this.#watch.onSeen(SEEN.contended);
        return false;
      case MESSAGE.ended:
        this.#watch.onSeen(SEEN.ended(message.reason));
        return true;
    }
  }

  /** It is no more. */
  startAnew(): void {
    this.#watch.onNote(this.#client, `session ${this.id} is over`);
    this.#evidence.reset(this.#client.plan.ttlMs);
    this.holds.end();
    this.id = 0;
    this.#nonceNumber += 1;
    this.#attempt = 0;
    this.wantsTakeOver = false;
    this.calls = new ClientCalls();
    this.#numbers.clear();
    this.#grants.startAnew();
    this.#awaitedRecall = 0;
  }

  #onReply(sequence: number, result: Result, stamp: number): boolean {
    if (result.status === ERROR_NUMBERS.SESSION_EXPIRED) return true;
    const call = this.calls.get(sequence);
    if (call === undefined) return false;
    const { command, gives } = call;
    const isFirst = call.result === undefined;
    const isLive = call.connection === this.#connection;
    this.#evidence.add(stamp, call.firstSentMs);
    this.calls.onRead(command.acknowledged);
    if (isFirst) {
      this.answeredCount += 1;
      this.#watch.onExecuted(command.op, result.status);
    }
    this.#settle(sequence, result, stamp, isLive);
    if (gives !== undefined && isFirst) this.#giveBack(gives, result, isLive);
    const isGone = command.op === OP.release && !hasRemaining(result);
    if (isGone || command.op === OP.detach) this.holds.forget(command.token);
    return command.op === OP.close;
  }

  /** A release or cancel of a hold was answered. */
  #giveBack(belief: Belief, result: Result, isLive: boolean): void {
    belief.givingBack -= 1;
    if (!hasRemaining(result)) belief.lapse();
    else if (isLive) belief.count = result.remaining;
    if (hasRemaining(result) && belief.givenUp === "released") this.holds.keep(belief);
  }

  /** Returns whether that was not known before. */
  #settle(sequence: number, result: Result, stamp: number, isLive: boolean): boolean {
    const call = this.calls.get(sequence);
    if (call === undefined) return false;
    const wasQueued = call.result?.status === STATUS.queued;
    const isNews = call.result === undefined || wasQueued;
    call.result = result;
    if (isNews) {
      if (wasQueued) this.#watch.onExecuted(call.command.op, result.status);
      this.#grants.hear(call, result, stamp, isLive);
      if ("blockedBy" in result && result.blockedBy !== undefined) {
        this.#watch.onSeen(SEEN.blockedBy(result.blockedBy));
      }
    }
    this.calls.forget();
    return isNews;
  }

  #onNumber(number: number, stamp: number): void {
    const sentMs = this.#numbers.get(number);
    // Answers come in order: what was asked before and is not answered never will be.
    for (const earlier of this.#numbers.keys()) {
      if (earlier <= number) this.#numbers.delete(earlier);
    }
    if (sentMs !== undefined) this.#evidence.add(stamp, sentMs);
  }

  #onRevoking(token: number, endsAt: number): void {
    this.#watch.onSeen(token === 0 ? SEEN.revokingSession : SEEN.revoking);
    if (token === 0) this.#evidence.endSessionAt(endsAt);
    else this.holds.of(token)?.endBy(this.#evidence.localMs(endsAt));
  }

  #onRecalled({ number, stamp, sequences, tokens }: Recalled): void {
    this.#onNumber(number, stamp);
    for (const recalled of sequences) {
      if (recalled.state !== RECALL_STATE.done) continue;
      this.#settle(recalled.sequence, recalled.result, recalled.stamp, false);
    }
    for (const told of tokens) {
      if (!told.held) this.calls.noteLoss(told.token);
      this.#grants.hearOf(told);
    }
    if (number !== this.#awaitedRecall) return;
    this.#awaitedRecall = 0;
    this.#evidence.admit();
    this.lookAtTime();
  }
}

function hasRemaining(result: Result): result is Extract<Result, { status: 3 }> & {
  readonly remaining: number;
} {
  return result.status === STATUS.released && result.remaining !== undefined;
}
