/**
 * Everything the table remembers, in one place, for the files that change it. Only fields and the
 * two ways to speak; the rules are in the files named after them.
 */
import { type EndReason, MESSAGE, type Result, type SessionMessage } from "../protocol/index.js";
import { DueHeap } from "./due-heap.js";
import type { Hold } from "./hold.js";
import { KeyIndex } from "./key-index.js";
import type { Request } from "./request.js";
import { Saving } from "./saving.js";
import type { Session } from "./session.js";
import { SessionIndex } from "./session-index.js";
import { hashNumber, ShardedMap } from "./sharded-map.js";
import { TokenCounter } from "./token-counter.js";
import type { Outbox, TableSettings } from "./types.js";
import { WorkQueue } from "./work-queue.js";

/** Listens to nothing; stands in between two entries. */
const CLOSED_OUTBOX: Outbox = Object.freeze({ toSession: () => {}, attached: () => {} });

export class TableState {
  readonly settings: TableSettings;
  /** Of the last applied entry. Never falls. */
  stamp = 0;
  /** Its index. Rises. */
  index = 0;
  readonly sessions = new SessionIndex();
  readonly keys = new KeyIndex();
  readonly holds = new ShardedMap<number, Hold>(hashNumber);
  readonly due = new DueHeap<Session | Request>();
  readonly work = new WorkQueue();
  readonly tokens: TokenCounter;
  readonly saving = new Saving();
  /** The number of the next session or request. */
  nextNumber = 1;
  /** Requests in queues. */
  requestCount = 0;
  /** How many more places or claims the step under way may deal with. */
  stepUnits = 0;
  outbox: Outbox = CLOSED_OUTBOX;

  constructor(settings: TableSettings, nextToken = 0) {
    this.settings = settings;
    this.tokens = new TokenCounter(nextToken);
  }

  closeOutbox(): void {
    this.outbox = CLOSED_OUTBOX;
  }

  takeNumber(): number {
    const number = this.nextNumber;
    this.nextNumber = number + 1;
    return number;
  }

  say(session: Session, message: SessionMessage): void {
    this.outbox.toSession(session.id, session.attachEpoch, message);
  }

  /** The answer to a sequence; `stamp` is that of the entry that executed it. */
  reply(session: Session, sequence: number, stamp: number, result: Result): void {
    this.say(session, { kind: MESSAGE.reply, sequence, stamp, result });
  }

  /** How a wait ended. */
  pushOutcome(session: Session, sequence: number, result: Result): void {
    this.say(session, { kind: MESSAGE.outcome, sequence, stamp: this.stamp, result });
  }

  pushEnded(session: Session, reason: EndReason): void {
    this.say(session, { kind: MESSAGE.ended, session: session.id, reason });
  }
}
