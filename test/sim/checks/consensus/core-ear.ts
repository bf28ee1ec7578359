/**
 * Records the inputs and effects of one core, and what follows from them alone: which leader it
 * hears, which peers it can reach, what it told its driver. The core is never asked what it
 * believes, because its arithmetic is what the checks are about.
 */
import type { Effects, Input, Message, Role } from "../../../../src/raft/index.js";
import { Reign } from "./reign.js";

export interface CoreTimes {
  readonly electionTimeoutMs: number;
  readonly closedPeerDelayMs: number;
}

/** Lateness counts for so long after its end. */
const LATE_TIMEOUTS = 4;

/** A write that was handed over and is not durable. */
interface PendingWrite {
  readonly seq: number;
  readonly atMs: number;
}

interface Contact {
  readonly leader: number;
  readonly term: number;
  readonly atMs: number;
}

export class CoreEar {
  readonly #id: number;
  readonly #times: CoreTimes;
  /** The time of the last tick. */
  nowMs = 0;
  /** When this process last went on after a pause. */
  awakeSinceMs = 0;
  /** How late its turns were of late, at the most. */
  lateMs = 0;
  #lateAtMs = 0;
  /** The role that its driver learned last. */
  role: Role = "follower";
  /** The last term that it led: what a majority confirmed in it stays confirmed. */
  lastReign: Reign | undefined;
  /** The table is being replaced by the snapshot of this index; 0: it is whole. */
  restoringIndex = 0;
  readonly #writes: PendingWrite[] = [];
  /** The last sign of life of a leader. */
  #contact: Contact | undefined;
  /** By peer: the connection that stands. */
  readonly #links = new Map<number, number>();
  /** By peer: when its process closed its connection, unless it was heard again since. */
  readonly #closedMs = new Map<number, number>();

  readonly #lateNowMs: () => number;

  /** `lateMs`: by how much its turns end late at the moment. */
  constructor(id: number, times: CoreTimes, lateMs: () => number) {
    this.#id = id;
    this.#times = times;
    this.#lateNowMs = lateMs;
  }

  /** The last reign, unless its driver has learned that it ended. */
  get reign(): Reign | undefined {
    return this.role === "leader" ? this.lastReign : undefined;
  }

  /** Since when a write waits to be durable; now, if none does. */
  get oldestWriteMs(): number {
    return this.#writes[0]?.atMs ?? this.nowMs;
  }

  isUp(peer: number): boolean {
    return this.#links.has(peer);
  }

  /** Whether a leader of `term` was ever heard. */
  hasHeardLeader(term: number): boolean {
    return this.#contact?.term === term;
  }

  /** Whether there is a leader of `term` that this node owes loyalty: itself, or one heard of late. */
  hasLiveLeader(term: number): boolean {
    if (this.reign?.term === term) return true;
    const contact = this.#contact;
    if (contact?.term !== term || this.#closedMs.has(contact.leader)) return false;
    return this.nowMs < contact.atMs + this.#times.electionTimeoutMs;
  }

  /** `term`: the core's term before this input. */
  onInput(input: Input, term: number): void {
    switch (input.type) {
      case "tick":
        this.#onTick(input.nowMs);
        return;
      case "persisted":
        while ((this.#writes[0]?.seq ?? Number.POSITIVE_INFINITY) <= input.seq) {
          this.#writes.shift();
        }
        this.reign?.onPersisted(input.seq);
        return;
      case "applied":
        if (input.index >= this.restoringIndex) this.restoringIndex = 0;
        return;
      case "peerUp":
        this.#links.set(input.peer, input.epoch);
        return;
      case "peerDown":
        if (this.#links.get(input.peer) === input.epoch) this.#links.delete(input.peer);
        if (input.closed) this.#closedMs.set(input.peer, this.nowMs);
        return;
      case "message":
        this.#onMessage(input.message, term);
        return;
      default:
    }
  }

  #onTick(nowMs: number): void {
    const { electionTimeoutMs } = this.#times;
    const lateMs = this.#lateNowMs();
    const isOver = nowMs > this.#lateAtMs + LATE_TIMEOUTS * electionTimeoutMs;
    if (lateMs > 0) this.#lateAtMs = nowMs;
    if (lateMs > this.lateMs || isOver) this.lateMs = lateMs;
    // A late turn and a late timer together are not a pause.
    if (nowMs > this.nowMs + electionTimeoutMs / 2 + 2 * this.lateMs) this.awakeSinceMs = nowMs;
    this.nowMs = nowMs;
  }

  onTake({ roleChange, restore, write, sendNow }: Effects): void {
    if (restore !== undefined) this.restoringIndex = restore.index;
    if (roleChange !== undefined) {
      const { role, term } = roleChange;
      this.role = role;
      if (role === "leader" && this.lastReign?.term !== term) {
        this.lastReign = new Reign(this.#id, term, this.nowMs);
      }
    }
    if (write !== undefined) {
      this.#writes.push({ seq: write.seq, atMs: this.nowMs });
      this.reign?.onWrite(write);
    }
    for (const message of sendNow) this.reign?.onSend(message);
  }

  #onMessage(message: Message, term: number): void {
    const { from, type } = message;
    if (type === "appendReply" || type === "heartbeatReply") {
      this.reign?.onAnswer(message, this.nowMs);
    } else if ((type === "append" || type === "heartbeat") && message.term >= term) {
      this.#contact = { leader: from, term: message.term, atMs: this.nowMs };
      // What arrives shortly after the end was sent before it.
      const closedMs = this.#closedMs.get(from) ?? Number.POSITIVE_INFINITY;
      if (this.nowMs > closedMs + this.#times.closedPeerDelayMs) this.#closedMs.delete(from);
    }
  }
}
