/**
 * What a client knows of its session: the lease, by its own clock and the rules of the SDK; what it
 * asked and was answered; what it holds. It hears and remembers, and says nothing itself. When the
 * session is over the next one begins with nothing.
 */

import type { ProcessClock } from "../../../../lab/simulated/process-clock.js";
import { ERROR_NUMBERS } from "../../../../src/errors/index.js";
import {
  type AttachCommand,
  type Attached,
  attachKeyOf,
  MESSAGE,
  OP,
  RECALL_STATE,
  type Recalled,
  type RecalledSequence,
  type Refused,
  type Result,
  type SequencedCommand,
  type SessionMessage,
  STATUS,
} from "../../../../src/protocol/index.js";
import { isTurnedAway } from "../../checks/access/turned-away.js";
import type { Belief, Believer } from "../belief.js";
import type { ClientWatch } from "../client-watch.js";
import { SIGHTINGS } from "../sightings.js";
import type { WorldClient } from "../world-client.js";
import type { Call, Wish } from "./call.js";
import { ClientCalls } from "./client-calls.js";
import { ClientGrants } from "./client-grants.js";
import { ClientHolds } from "./client-holds.js";
import { Evidence } from "./evidence.js";

/** Later there may be room. */
const FOR_NOW: readonly number[] = [ERROR_NUMBERS.BUSY, ERROR_NUMBERS.DISK_FULL];

export class ClientSession {
  /** 0 while there is none. */
  id = 0;
  calls = new ClientCalls();
  readonly holds: ClientHolds;
  /** Sequenced commands that were answered by an entry, and ends of waits, in all sessions. */
  answeredCount = 0;
  readonly #client: WorldClient & Believer;
  readonly #clock: ProcessClock;
  readonly #watch: ClientWatch;
  readonly #evidence: Evidence;
  readonly #grants: ClientGrants;
  #nonceNumber = 0;
  #attempt = 0;
  #attachKey = "";
  #attachSentMs = 0;
  #epoch = 0;
  #connection = 0;
  /** When keepalives and recalls without an answer were sent, by their numbers. */
  readonly #numbers = new Map<number, number>();
  #lastNumber = 0;
  /** The recall whose answer makes the evidence since the attach count; 0: none is awaited. */
  #awaitedRecall = 0;
  #recalledMs = 0;

  constructor(client: WorldClient & Believer, clock: ProcessClock, watch: ClientWatch) {
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

  /** The epoch of its attachment. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Whether the client counts on its lease at this moment. */
  get trustsLease(): boolean {
    return this.id !== 0 && this.#clock.nowMs() < this.#evidence.deadlineMs;
  }

  get waitsForAnswer(): boolean {
    return this.calls.open.length > 0 || this.#numbers.size > 0;
  }

  /** What may still be granted. */
  get waits(): Call[] {
    return this.calls.all.filter(({ mayWait, isLeft, wish }) => {
      return mayWait && !isLeft && wish.op !== OP.take;
    });
  }

  /** Whether a task of this number stands still until it is answered. */
  isBlocked(task: number): boolean {
    return this.calls.all.some(({ wish, mayWait }) => {
      if (!mayWait) return false;
      if (wish.op === OP.acquire) return wish.task === task;
      return wish.op === OP.upgrade && this.holds.of(wish.target)?.task === task;
    });
  }

  /** Whether it may become exclusive at any moment. */
  isUpgrading({ sequence }: Belief, key: string): boolean {
    return this.calls.all.some(({ wish }) => {
      return wish.op === OP.upgrade && wish.target === sequence && wish.key === key;
    });
  }

  /** Whether something of this session is, or may be, known by that number. */
  isUsed(sequence: number): boolean {
    return this.calls.isUsed(sequence) || this.holds.of(sequence) !== undefined;
  }

  /** For people: what keeps it from being idle. */
  get business(): string {
    const asked = this.calls.all.map(({ wish, sequence, isQueued }) => {
      return `${sequence} op ${wish.op}${isQueued ? " queued" : ""}`;
    });
    const held = this.holds.present.map(({ sequence, token, task }) => {
      return `${sequence} with ${token} of ${task}`;
    });
    return `session ${this.id} asks [${asked}] holds [${held}]`;
  }

  get isIdle(): boolean {
    return this.calls.all.length + this.holds.present.length === 0;
  }

  // Attaching.

  /** The next attempt, which is about to be sent. */
  nextAttach(): AttachCommand {
    this.#attempt += 1;
    this.#attachSentMs = this.#clock.nowMs();
    const command = this.#attachCommand();
    this.#attachKey = attachKeyOf(command);
    return command;
  }

  #attachCommand(): AttachCommand {
    const { ttlMs, host } = this.#client.plan;
    const nonce = numberedName(host, this.#nonceNumber);
    const attempt = this.#attempt;
    if (this.id === 0) {
      return { op: OP.open, nonce, attempt, ttlMs, name: `client ${host}`, metadata: "" };
    }
    return { op: OP.resume, session: this.id, nonce, attempt };
  }

  /** What somebody else says who has got hold of its secret. */
  intruder(): AttachCommand {
    // No attempt of its own has that number.
    this.#attempt += 1;
    const nonce = numberedName(this.#client.host, this.#nonceNumber);
    return { op: OP.resume, session: this.id, nonce, attempt: this.#attempt };
  }

  isAnswerToLastAttempt(message: Attached): boolean {
    // A node by itself knows only the number of the attempt.
    const { key, attempt } = message;
    return isTurnedAway(message) ? attempt === this.#attempt : key === this.#attachKey;
  }

  onAttached({ session, epoch, highestSequence, stamp }: Attached): void {
    this.id = session;
    this.#epoch = epoch;
    this.#connection += 1;
    this.#evidence.defer();
    this.#evidence.add(stamp, this.#attachSentMs);
    this.#numbers.clear();
    this.calls.onAttached(highestSequence);
  }

  /** What is to be asked after an attach; `undefined`: nothing. */
  questions(): { number: number; sequences: number[] } | undefined {
    const { open, queued } = this.calls;
    const asked = [...open, ...queued, ...this.holds.present].map(({ sequence }) => sequence);
    const sequences = [...new Set(asked)];
    if (sequences.length === 0) {
      this.#evidence.admit();
      return undefined;
    }
    const number = this.nextNumber();
    this.#awaitedRecall = number;
    this.#recalledMs = this.#clock.nowMs();
    return { number, sequences };
  }

  /** When the recall was sent that is not answered; `Infinity`: none is awaited. */
  get recalledMs(): number {
    return this.#awaitedRecall === 0 ? Number.POSITIVE_INFINITY : this.#recalledMs;
  }

  // Asking.

  /** A number for a keepalive that is about to be sent. */
  nextNumber(): number {
    this.#lastNumber += 1;
    this.#numbers.set(this.#lastNumber, this.#clock.nowMs());
    return this.#lastNumber;
  }

  /** Gives a hold back: from now on it is not counted on. */
  giveBack(belief: Belief): Wish {
    belief.givenUp = "released";
    return { op: OP.end, target: belief.sequence };
  }

  /** Makes keys shared: from now on they are used as such. */
  lower(belief: Belief, key: string | undefined): Wish {
    belief.weaken(key === undefined ? belief.claims.map((claim) => claim.key) : [key]);
    return { op: OP.downgrade, target: belief.sequence, key };
  }

  close(): Wish {
    this.holds.lapseAll();
    this.holds.isClosing = true;
    return { op: OP.close };
  }

  /** Nobody waits for it any more. */
  leave(call: Call): undefined {
    if (!this.calls.drop(call)) this.calls.add({ op: OP.end, target: call.sequence }, call);
  }

  /** The caller of a take is gone: what it gets is given back, unless a repeat has got it. */
  leaveTake(call: Call): void {
    if (call.isOver || call.wish.op !== OP.take || this.calls.drop(call)) return;
    const { owner, items } = call.wish;
    const keys = items.map(({ key }) => key);
    this.calls.add({ op: OP.giveBack, owner, keys, taken: 0 }, call);
  }

  /** The next command that may go now, with its number. */
  takeNext(): { readonly call: Call; readonly command: SequencedCommand } | undefined {
    const call = this.calls.takeNext();
    if (call === undefined) return undefined;
    call.sentMs = this.#clock.nowMs();
    call.connection = this.#connection;
    return { call, command: call.command(this.calls.read) };
  }

  /** A lease that ended while nobody looked has ended all the same. */
  lookAtTime(): void {
    if (!this.trustsLease) this.holds.lapseAll();
    this.holds.lapseOverdue(this.#clock.nowMs());
  }

  // Hearing.

  /** Returns what is wrong with that. */
  onRefused({ sequence, status }: Refused): string | undefined {
    this.#watch.onRefused(this.id, this.#epoch, sequence, status);
    const call = this.calls.get(sequence);
    if (call?.isOpen !== true) return `${sequence} is refused, and was not asked`;
    this.calls.onRefused(sequence, !FOR_NOW.includes(status));
    return undefined;
  }

  /** Returns whether the session is over by that. */
  hear(message: SessionMessage): boolean {
    // The last words about a session that this client has buried already.
    if (this.id === 0) return false;
    this.#watch.onMessage(this.#client, this.id, this.#epoch, message);
    switch (message.kind) {
      case MESSAGE.reply:
        return this.#onReply(message.sequence, message.result, message.stamp);
      case MESSAGE.outcome:
        this.#onOutcome(message.sequence, message.result, message.stamp);
        return false;
      case MESSAGE.renewed:
        this.#onNumber(message.number, message.stamp);
        return false;
      case MESSAGE.recalled:
        return this.#onRecalled(message);
      case MESSAGE.revoking:
        this.#onRevoking(message.sequence, message.endsAt);
        return false;
      case MESSAGE.lost:
        this.#onEnded(message.sequence);
        this.#watch.onSeen(SIGHTINGS.lost(message.reason));
        return false;
      case MESSAGE.contended:
        this.#watch.onSeen(SIGHTINGS.contended);
        return false;
      case MESSAGE.ended:
        this.#watch.onSeen(SIGHTINGS.ended(message.reason));
        return true;
    }
  }

  /** It is no more, or another's. */
  startAnew(): void {
    this.#watch.onNote(this.#client, `session ${this.id} is over`);
    this.#evidence.reset(this.#client.plan.ttlMs);
    this.holds.end();
    this.id = 0;
    this.#nonceNumber += 1;
    this.#attempt = 0;
    this.#epoch = 0;
    this.calls.end();
    this.calls = new ClientCalls();
    this.#numbers.clear();
    this.#awaitedRecall = 0;
  }

  #onReply(sequence: number, result: Result, stamp: number): boolean {
    const call = this.calls.get(sequence);
    if (call === undefined) return false;
    this.answeredCount += 1;
    this.#watch.onExecuted(call.wish.op, result.status);
    // Evidence is what was sent in this epoch alone, and nothing else is answered in it.
    if (call.connection === this.#connection) this.#evidence.add(stamp, call.sentMs);
    this.calls.onRead(call.acknowledged);
    return this.#settle(call, result, stamp);
  }

  #onOutcome(sequence: number, result: Result, stamp: number): void {
    const call = this.calls.get(sequence);
    if (call === undefined) return;
    this.answeredCount += 1;
    this.#watch.onExecuted(call.wish.op, result.status);
    if (result.status !== STATUS.granted) this.calls.noteEnd(sequence);
    this.#settle(call, result, stamp);
  }

  /** Returns whether the session is over by that. */
  #settle(call: Call, result: Result, stamp: number): boolean {
    call.result = result;
    this.calls.onAnswered(call);
    if ("blockedBy" in result && result.blockedBy !== undefined) {
      this.#watch.onSeen(SIGHTINGS.blockedBy(result.blockedBy));
    }
    if (result.status === STATUS.queued) {
      call.queuedAt ??= stamp;
      return false;
    }
    call.tell({ result, stamp: call.queuedAt ?? stamp });
    this.calls.settle(call);
    if (result.status === STATUS.granted) this.#grants.onGranted(call, result, stamp);
    else if (result.status === STATUS.adopted) this.#grants.onAdopted(call, result);
    else if (result.status === STATUS.upgraded) {
      this.#grants.onUpgraded(call, result.token, this.calls);
    }
    return this.#afterWeak(call);
  }

  /** What a weak call leaves behind, however it was answered. */
  #afterWeak({ wish, target, leaves, result }: Call): boolean {
    if (wish.op === OP.end && leaves?.wish.op !== OP.upgrade) this.#grants.forget(target);
    if (wish.op === OP.end && leaves?.isOver === false) this.calls.settle(leaves);
    if (wish.op === OP.handOver) {
      const isGone = result?.status === STATUS.leased || result?.status === ERROR_NUMBERS.NOT_HELD;
      if (isGone) this.#grants.forget(target);
      else this.calls.add({ op: OP.end, target });
    }
    return wish.op === OP.close;
  }

  /** What had that number is over, and it was heard how. */
  #onEnded(sequence: number): void {
    this.calls.noteEnd(sequence);
    this.#grants.forget(sequence);
    const call = this.calls.get(sequence);
    if (call !== undefined) this.calls.settle(call);
  }

  #onNumber(number: number, stamp: number): void {
    const sentMs = this.#numbers.get(number);
    // Answers come in order: what was asked before and is not answered never will be.
    for (const earlier of this.#numbers.keys()) {
      if (earlier <= number) this.#numbers.delete(earlier);
    }
    if (sentMs !== undefined) this.#evidence.add(stamp, sentMs);
  }

  #onRevoking(sequence: number, endsAt: number): void {
    this.#watch.onSeen(sequence === 0 ? SIGHTINGS.revokingSession : SIGHTINGS.revoking);
    if (sequence === 0) this.#evidence.endSessionAt(endsAt);
    else this.holds.of(sequence)?.endBy(this.#evidence.localMs(endsAt));
  }

  #onRecalled({ number, stamp, sequences }: Recalled): boolean {
    this.#onNumber(number, stamp);
    let isOver = false;
    for (const recalled of sequences) isOver = this.#onRecalledOne(recalled, stamp) || isOver;
    if (number !== this.#awaitedRecall) return isOver;
    this.#awaitedRecall = 0;
    this.#evidence.admit();
    this.lookAtTime();
    return isOver;
  }

  #onRecalledOne(recalled: RecalledSequence, stamp: number): boolean {
    const { sequence } = recalled;
    const call = this.calls.get(sequence);
    switch (recalled.state) {
      case RECALL_STATE.unseen:
        this.#watch.onBroken(this.#client, "program order", `${sequence} was executed, and unseen`);
        return false;
      case RECALL_STATE.waiting:
        if (call?.isOpen === true) {
          call.result = { status: STATUS.queued };
          // It began to wait before that: what is counted from here is never too long.
          call.queuedAt = stamp;
        }
        return false;
      case RECALL_STATE.held:
        this.#grants.onHeld(recalled, call, this.calls);
        if (call !== undefined) this.calls.settle(call);
        return false;
      case RECALL_STATE.ended:
        this.#onEnded(sequence);
        return false;
      case RECALL_STATE.forgotten:
        this.#grants.forget(sequence);
        if (call !== undefined) this.calls.settle(call);
        return false;
      case RECALL_STATE.replied:
        return this.#onRecalledReply(call, recalled.result, recalled.stamp);
    }
  }

  /**
   * How its holds stand is reported separately: what the stored reply says of them does not count.
   */
  #onRecalledReply(call: Call | undefined, result: Result, stamp: number): boolean {
    if (call === undefined) return false;
    this.#watch.onExecuted(call.wish.op, result.status);
    this.answeredCount += 1;
    call.result = result;
    if (call.mayWait) this.calls.noteEnd(call.sequence);
    if (result.status !== STATUS.queued) call.tell({ result, stamp: call.queuedAt ?? stamp });
    this.calls.settle(call);
    return this.#afterWeak(call);
  }
}

function numberedName(host: number, number: number): string {
  return (host * 1_000_000 + number).toString(16).padStart(32, "0");
}
