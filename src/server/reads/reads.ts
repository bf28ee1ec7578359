/**
 * Linearizable reads. A read is never a command and writes nothing. It waits until this node has
 * applied an index that the leader gave after the read arrived, confirmed by a round of answers
 * from a majority (Ongaro's thesis, 6.4), and is then answered from the local table. All reads that
 * arrive while a question is under way share the next one.
 */
import { ERROR_NUMBERS } from "../../errors/index.js";
import { Fifo } from "../../lockfsm/index.js";
import type { PeerMessage } from "../../net/index.js";
import type { NodeId } from "../../raft/index.js";
import type { Attachment } from "../commands/attachments.js";
import type { Usage } from "../limits/usage.js";
import { RequestIds } from "../request-ids.js";
import {
  leastCostOf,
  type QueryAnswers,
  READ_COST_PER_TURN_MAX,
  refuse,
  type TableQuery,
} from "./query-answers.js";
import { ReadTurns } from "./read-turns.js";

/** Reads that may wait on one node; further ones are answered `BUSY`. */
const READS_WAITING_MAX = 16_384;
/** From one connection; more are answered `BUSY` too, so that each leaves room for others. */
const READS_PER_CONNECTION_MAX = 256;
/** From all connections of one identity, if it has limits. */
const READS_PER_IDENTITY_MAX = (READS_WAITING_MAX * 3) / 4;

interface TableRead {
  readonly attachment: Attachment;
  /** For whom it counts, even after its connection has ended. */
  readonly asker: Usage;
  readonly query: TableQuery;
  readonly deadlineMs: number;
}

/** Waits like a read, and asks the table for nothing. */
interface Barrier {
  readonly attachment: undefined;
  readonly onEnd: (isPassed: boolean) => void;
  readonly deadlineMs: number;
}

type Read = TableRead | Barrier;

interface RemoteBarrier {
  readonly from: NodeId;
  readonly id: number;
}

/**
 * The reads that wait for the answer to one question, to the core of this node or to the leader.
 */
interface Question {
  readonly reads: readonly Read[];
  /** Questions of other nodes that this node, as leader, passes to its core. */
  readonly remote: readonly RemoteBarrier[];
  readonly askedAtMs: number;
}

interface PlacedReads {
  readonly reads: readonly Read[];
  readonly index: number;
}

export interface ReadsTiming {
  /** How long a read may wait for its index before it is answered `UNAVAILABLE`. */
  readonly waitMsMax: number;
  /** How long the leader may take to answer before it is asked again. */
  readonly askAgainAfterMs: number;
}

export class Reads {
  readonly #timing: ReadsTiming;
  readonly #send: (peer: NodeId, message: PeerMessage) => void;
  /** Not asked for yet. */
  #waiting: Read[] = [];
  #remote: RemoteBarrier[] = [];
  /** By the number of the question. */
  readonly #asked = new Map<number, Question>();
  /** With an index that is not applied yet. */
  #placed: PlacedReads[] = [];
  /** May be answered from the current table; clients of one identity share their turns. */
  readonly #ready = new ReadTurns<TableRead>(READ_COST_PER_TURN_MAX);
  /** The table has what they waited for. */
  readonly #passed = new Fifo<Barrier>();
  #unansweredCount = 0;
  #nextDeadlineMs = Number.POSITIVE_INFINITY;
  readonly #requestIds: RequestIds;

  constructor(
    timing: ReadsTiming,
    send: (peer: NodeId, message: PeerMessage) => void,
    requestIds = new RequestIds(0),
  ) {
    this.#timing = timing;
    this.#send = send;
    this.#requestIds = requestIds;
  }

  /** Whether anything waits whose question was not asked yet. */
  get needIndex(): boolean {
    return this.#waiting.length > 0 || this.#remote.length > 0;
  }

  /** When `expire` may have something to do. */
  get nextDeadlineMs(): number {
    return this.#nextDeadlineMs;
  }

  get hasReady(): boolean {
    return this.#ready.length > 0 || this.#passed.length > 0;
  }

  add(attachment: Attachment, query: TableQuery, nowMs: number): void {
    if (this.#isFullFor(attachment)) {
      refuse(attachment, query, ERROR_NUMBERS.BUSY);
      return;
    }
    const deadlineMs = nowMs + this.#timing.waitMsMax;
    const asker = attachment.share.identity;
    this.#unansweredCount += 1;
    asker.readsWaiting += 1;
    attachment.readCount += 1;
    this.#nextDeadlineMs = Math.min(this.#nextDeadlineMs, deadlineMs);
    this.#waiting.push({ attachment, asker, query, deadlineMs });
  }

  #isFullFor({ readCount, connection, share }: Attachment): boolean {
    if (this.#unansweredCount >= READS_WAITING_MAX) return true;
    if (readCount >= READS_PER_CONNECTION_MAX) return true;
    const isLimited = connection.limitedIdentity !== "";
    return isLimited && share.identity.readsWaiting >= READS_PER_IDENTITY_MAX;
  }

  /** It waits no longer. */
  #leave({ attachment, asker }: TableRead): void {
    this.#unansweredCount -= 1;
    asker.readsWaiting -= 1;
    attachment.readCount -= 1;
  }

  /**
   * Calls `onEnd` when this node has applied everything that was committed before this call, or with
   * `false` after the time that a read may wait.
   */
  barrier(onEnd: (isPassed: boolean) => void, nowMs: number): void {
    const deadlineMs = nowMs + this.#timing.waitMsMax;
    this.#nextDeadlineMs = Math.min(this.#nextDeadlineMs, deadlineMs);
    this.#waiting.push({ attachment: undefined, onEnd, deadlineMs });
  }

  /** On a leader: another node asks for an index. */
  addRemote(from: NodeId, id: number): void {
    this.#remote.push({ from, id });
  }

  /**
   * On a leader: the number of a question to the core for everything that waits; 0 if nothing does.
   */
  askCore(nowMs: number): number {
    if (!this.needIndex) return 0;
    const id = this.#ask(this.#waiting, this.#remote, nowMs);
    this.#remote = [];
    this.#waiting = [];
    return id;
  }

  /** On a follower: asks the leader of `term` one question for all waiting reads. */
  askLeader(leader: NodeId, term: number, nowMs: number): void {
    if (this.#waiting.length === 0) return;
    const id = this.#ask(this.#waiting, [], nowMs);
    this.#waiting = [];
    this.#send(leader, { type: "readBarrier", id, term });
  }

  #ask(reads: readonly Read[], remote: readonly RemoteBarrier[], nowMs: number): number {
    const id = this.#requestIds.next();
    this.#asked.set(id, { reads, remote, askedAtMs: nowMs });
    const againAtMs = nowMs + this.#timing.askAgainAfterMs;
    this.#nextDeadlineMs = Math.min(this.#nextDeadlineMs, againAtMs);
    return id;
  }

  /**
   * The answer to a question, of the core or of the leader. It holds even if the leader has
   * changed.
   */
  onIndex(id: number, index: number): void {
    const question = this.#asked.get(id);
    if (question === undefined) return;
    this.#asked.delete(id);
    if (question.reads.length > 0) this.#placed.push({ reads: question.reads, index });
    for (const barrier of question.remote) this.#answerRemote(barrier, index);
  }

  /**
   * The core does not lead (any more): the leader is asked in a later turn. A refusal by another
   * node needs nothing here: either the leader changes, or the question is asked again after a
   * while.
   */
  onRefused(id: number): void {
    const question = this.#asked.get(id);
    if (question === undefined) return;
    this.#asked.delete(id);
    for (const read of question.reads) this.#waiting.push(read);
    for (const barrier of question.remote) this.#answerRemote(barrier, 0);
  }

  /**
   * Leader, term or link changed: every question is asked again. An index once given stays valid.
   */
  restart(): void {
    for (const id of [...this.#asked.keys()]) this.onRefused(id);
    for (const barrier of this.#remote) this.#answerRemote(barrier, 0);
    this.#remote = [];
  }

  #answerRemote({ from, id }: RemoteBarrier, index: number): void {
    this.#send(from, { type: "readIndex", id, index });
  }

  /** Everything up to `index` is applied. */
  onApplied(index: number): void {
    if (this.#placed.length === 0) return;
    const still: PlacedReads[] = [];
    for (const placed of this.#placed) {
      if (placed.index > index) still.push(placed);
      else for (const read of placed.reads) this.#makeReady(read);
    }
    this.#placed = still;
  }

  #makeReady(read: Read): void {
    if (read.attachment === undefined) this.#passed.push(read);
    else this.#ready.push(read.asker, read);
  }

  /**
   * Answers reads whose index is applied, up to a cost of `costMax` in lines of holds and waiters.
   */
  answer(answers: QueryAnswers, costMax: number): void {
    for (let end = this.#passed.shift(); end !== undefined; end = this.#passed.shift()) {
      end.onEnd(true);
    }
    let cost = 0;
    const answer = (read: TableRead): number => {
      const spent = this.#answer(answers, read);
      cost += spent;
      return spent;
    };
    while (cost < costMax && this.#ready.length > 0) this.#ready.take(answer);
  }

  /** Returns what that cost. */
  #answer(answers: QueryAnswers, read: TableRead): number {
    const { attachment, query } = read;
    this.#leave(read);
    if (attachment.isClosed) return 0;
    const spent = answers.answer(attachment, query);
    const beyond = spent - leastCostOf(query);
    if (beyond > 0) attachment.share.chargeRead(beyond);
    return spent;
  }

  /** Repeats questions that were not answered, and refuses reads that waited too long. */
  expire(nowMs: number): void {
    if (nowMs < this.#nextDeadlineMs) return;
    this.#nextDeadlineMs = Number.POSITIVE_INFINITY;
    for (const [id, { askedAtMs }] of this.#asked) {
      const againAtMs = askedAtMs + this.#timing.askAgainAfterMs;
      if (againAtMs <= nowMs) this.onRefused(id);
      else this.#nextDeadlineMs = Math.min(this.#nextDeadlineMs, againAtMs);
    }
    this.#waiting = this.#unexpired(this.#waiting, nowMs);
    for (const [id, question] of this.#asked) {
      this.#asked.set(id, { ...question, reads: this.#unexpired(question.reads, nowMs) });
    }
    const placed: PlacedReads[] = [];
    for (const group of this.#placed) {
      const reads = this.#unexpired(group.reads, nowMs);
      if (reads.length > 0) placed.push({ ...group, reads });
    }
    this.#placed = placed;
  }

  #unexpired(reads: readonly Read[], nowMs: number): Read[] {
    const rest: Read[] = [];
    for (const read of reads) {
      if (read.deadlineMs > nowMs && read.attachment?.isClosed !== true) {
        rest.push(read);
        this.#nextDeadlineMs = Math.min(this.#nextDeadlineMs, read.deadlineMs);
      } else if (read.attachment === undefined) {
        read.onEnd(false);
      } else {
        this.#leave(read);
        refuse(read.attachment, read.query, ERROR_NUMBERS.UNAVAILABLE);
      }
    }
    return rest;
  }
}
