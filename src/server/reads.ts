/**
 * Linearizable reads. A read is never a command: it waits until this node applied an index that the
 * leader gave out after the read arrived, and is then answered from the local table. The index is
 * that of an entry of the leader's own term which carries only time, or of whatever entry the leader
 * proposes in that turn anyway. The barrier holds only if the entry applied at that index is of the
 * very term in which it was given out: had another leader been elected meanwhile, its entry would
 * stand there. All reads of a turn share one barrier.
 */
import { ERROR_NUMBERS } from "../errors.js";
import type { LockTable } from "../lockfsm/index.js";
import type { PeerMessage } from "../net/index.js";
import { MESSAGE, OP, type Query, STATUS } from "../protocol/index.js";
import type { NodeId } from "../raft/index.js";
import type { Attachment } from "./attachment.js";
import { Fifo } from "./fifo.js";

/** Reads that may wait on one node; beyond it they are answered `BUSY`. */
const READS_WAITING_MAX = 16_384;
/** Of one connection; beyond it, `BUSY` too, so that one client leaves room for others. */
const READS_PER_CONNECTION_MAX = 256;
/** What an `inspect` costs besides the lines it shows, in lines. */
const INSPECT_COST = 16;

interface Read {
  readonly attachment: Attachment;
  readonly query: Query;
  readonly deadlineMs: number;
}

interface RemoteBarrier {
  readonly from: NodeId;
  readonly id: number;
}

/** What waits for the same entry. */
export interface ReadGroup {
  readonly reads: readonly Read[];
  readonly remote: readonly RemoteBarrier[];
}

interface PlacedReads {
  readonly reads: readonly Read[];
  readonly index: number;
  readonly term: number;
}

export class Reads {
  readonly #waitMsMax: number;
  readonly #send: (peer: NodeId, message: PeerMessage) => void;
  /** Without a barrier yet. */
  #waiting: Read[] = [];
  #remote: RemoteBarrier[] = [];
  /** Asked of the leader, by the number of the question. */
  readonly #asked = new Map<number, { readonly reads: readonly Read[]; readonly term: number }>();
  /** With a barrier that is not applied yet. */
  #placed: PlacedReads[] = [];
  /** May be answered from the table as it is now. */
  readonly #ready = new Fifo<Read>();
  #unansweredCount = 0;
  #nextDeadlineMs = Number.POSITIVE_INFINITY;
  #lastId = 0;

  /** `waitMsMax`: how long a read may wait for its barrier before it is `UNAVAILABLE`. */
  constructor(waitMsMax: number, send: (peer: NodeId, message: PeerMessage) => void) {
    this.#waitMsMax = waitMsMax;
    this.#send = send;
  }

  /** Whether an entry is wanted by which reads can be placed. */
  get needBarrier(): boolean {
    return this.#waiting.length > 0 || this.#remote.length > 0;
  }

  /** When `expire` may have something to do. */
  get nextDeadlineMs(): number {
    return this.#nextDeadlineMs;
  }

  get hasReady(): boolean {
    return this.#ready.length > 0;
  }

  add(attachment: Attachment, query: Query, nowMs: number): void {
    const isFull = this.#unansweredCount >= READS_WAITING_MAX;
    if (isFull || attachment.readCount >= READS_PER_CONNECTION_MAX) {
      refuse(attachment, query, ERROR_NUMBERS.BUSY);
      return;
    }
    const deadlineMs = nowMs + this.#waitMsMax;
    this.#unansweredCount += 1;
    attachment.readCount += 1;
    this.#nextDeadlineMs = Math.min(this.#nextDeadlineMs, deadlineMs);
    this.#waiting.push({ attachment, query, deadlineMs });
  }

  /** Leader: another node asks for a barrier. */
  addRemote(from: NodeId, id: number): void {
    this.#remote.push({ from, id });
  }

  /** Leader: everything that waits for a barrier joins the entry about to be proposed. */
  join(): ReadGroup {
    const group = { reads: this.#waiting, remote: this.#remote };
    this.#waiting = [];
    this.#remote = [];
    return group;
  }

  /** Leader: the entry of `group` stands at `index`. */
  place(group: ReadGroup, index: number, term: number): void {
    if (group.reads.length > 0) this.#placed.push({ reads: group.reads, index, term });
    for (const { from, id } of group.remote) this.#send(from, { type: "readIndex", id, index });
  }

  /** Leader: the entry of `group` was not taken. */
  release(group: ReadGroup): void {
    for (const read of group.reads) this.#waiting.push(read);
    for (const barrier of group.remote) this.#remote.push(barrier);
  }

  /** Follower: asks the leader of `term` for one barrier for all that wait. */
  ask(leader: NodeId, term: number): void {
    if (this.#waiting.length === 0) return;
    this.#lastId += 1;
    this.#asked.set(this.#lastId, { reads: this.#waiting, term });
    this.#waiting = [];
    this.#send(leader, { type: "readBarrier", id: this.#lastId, term });
  }

  /** Follower: the leader's answer; a refusal (0) leaves them to the change of leader that follows. */
  onReadIndex(id: number, index: number): void {
    const asked = this.#asked.get(id);
    if (asked === undefined || index === 0) return;
    this.#asked.delete(id);
    this.#placed.push({ reads: asked.reads, index, term: asked.term });
  }

  /** Leader, term or link changed: every read without an applied barrier needs a new one. */
  restart(): void {
    for (const { reads } of this.#asked.values()) this.#waiting.push(...reads);
    for (const { reads } of this.#placed) this.#waiting.push(...reads);
    this.#asked.clear();
    this.#placed = [];
    for (const { from, id } of this.#remote) this.#send(from, { type: "readIndex", id, index: 0 });
    this.#remote = [];
  }

  /** Everything up to `index` is applied; `termAt` tells the term of an applied entry. */
  onApplied(index: number, termAt: (index: number) => number): void {
    if (this.#placed.length === 0) return;
    const still: PlacedReads[] = [];
    for (const placed of this.#placed) {
      if (placed.index > index) still.push(placed);
      else if (termAt(placed.index) !== placed.term) this.#waiting.push(...placed.reads);
      else for (const read of placed.reads) this.#ready.push(read);
    }
    this.#placed = still;
  }

  /**
   * Answers reads whose barrier is applied until they cost `costMax`, in lines of holds and waiters.
   * A page of keys costs everything there is, since it sorts thousands of names: 64 of them in one
   * turn were seen to stop the loop for longer than an election timeout.
   */
  answer(table: LockTable, costMax: number): void {
    let cost = 0;
    while (cost < costMax) {
      const read = this.#ready.shift();
      if (read === undefined) return;
      this.#unansweredCount -= 1;
      read.attachment.readCount -= 1;
      if (read.attachment.isClosed) continue;
      cost += answerFrom(table, read, costMax);
    }
  }

  /** Tells reads that waited too long that they cannot be had here now. */
  expire(nowMs: number): void {
    if (nowMs < this.#nextDeadlineMs) return;
    this.#nextDeadlineMs = Number.POSITIVE_INFINITY;
    this.#waiting = this.#unexpired(this.#waiting, nowMs);
    for (const [id, { reads, term }] of this.#asked) {
      const rest = this.#unexpired(reads, nowMs);
      if (rest.length === 0) this.#asked.delete(id);
      else this.#asked.set(id, { reads: rest, term });
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
      if (read.deadlineMs > nowMs && !read.attachment.isClosed) {
        rest.push(read);
        this.#nextDeadlineMs = Math.min(this.#nextDeadlineMs, read.deadlineMs);
      } else {
        this.#unansweredCount -= 1;
        read.attachment.readCount -= 1;
        refuse(read.attachment, read.query, ERROR_NUMBERS.UNAVAILABLE);
      }
    }
    return rest;
  }
}

/** Returns what it cost. */
function answerFrom(table: LockTable, { attachment, query }: Read, costMax: number): number {
  const { id } = query;
  const reply = (payload: unknown): void =>
    attachment.connection.send({ kind: MESSAGE.answer, id, status: STATUS.ok, payload });
  if (query.op === OP.query) {
    reply(table.query(query.prefix, query.after, query.limit));
    return costMax;
  }
  const view = table.inspect(query.key);
  reply(view);
  return INSPECT_COST + view.holds.length + view.waiters.length;
}

/** A read has no effect, so a refused one is never indeterminate. */
function refuse(
  attachment: Attachment,
  query: Query,
  status: typeof ERROR_NUMBERS.BUSY | typeof ERROR_NUMBERS.UNAVAILABLE,
): void {
  if (attachment.isClosed) return;
  const payload = { indeterminate: false };
  attachment.connection.send({ kind: MESSAGE.answer, id: query.id, status, payload });
}
