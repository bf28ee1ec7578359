/**
 * Everything the table remembers, in one place, for the files that change it. It has only fields
 * and the two ways to report, messages to sessions and changes to the listener; the rules are in
 * files of their own.
 */
import {
  type ChangeType,
  END_REASON,
  type EndReason,
  MESSAGE,
  type RefusedDeadlock,
  type Result,
  type SessionMessage,
} from "../../protocol/index.js";
import { DueHeap } from "../structures/due-heap.js";
import { RecordList } from "../structures/record-list.js";
import { TokenCounter } from "../token-counter.js";
import {
  type AccessListener,
  type ChangeListener,
  NOBODY,
  type TableChange,
  type TableOutbox,
  type TableSettings,
} from "../types.js";
import { AccessState } from "./access-state.js";
import { InSessionIndex, TaskIndex, TokenIndex } from "./claim-indexes.js";
import { Cooldown } from "./cooldown.js";
import { CopyOnWrite } from "./copy-on-write.js";
import { Hold, type HoldEnd } from "./hold.js";
import { BY, HoldRows } from "./hold-rows.js";
import type { Place } from "./key.js";
import { KeyIndex } from "./key-index.js";
import { shownTask } from "./lease.js";
import { LeaseIndex } from "./lease-index.js";
import type { Semaphore } from "./semaphore.js";
import { Request, Session, type SessionEnd } from "./session.js";
import { SessionIndex } from "./session-index.js";
import { StepLimit } from "./step-limit.js";
import { SearchQueue, WorkQueue } from "./work-queue.js";

/**
 * The search steps of one entry, which take about a millisecond. A step looks at one claim or
 * place.
 */
export const SEARCH_STEPS_MAX = 10_000;

/** Anything that ends at a time of its own. */
export type Due = Session | SessionEnd | Request | HoldEnd | Cooldown;

export class TableState {
  settings: TableSettings;
  /** The stamp of the last applied entry. Never falls. */
  stamp = 0;
  /** The index of the last applied entry. Rises. */
  index = 0;
  /** Wall clock of the entry under way, in milliseconds; for display. */
  wallMs = 0;
  readonly access = new AccessState();
  readonly sessions = new SessionIndex();
  readonly keys = new KeyIndex();
  readonly copies = new CopyOnWrite();
  readonly rows = new HoldRows(this.copies);
  /** By their tokens. */
  readonly holds = new TokenIndex(this.rows);
  /** Holds by session and sequence. */
  readonly holdsBySequence = new InSessionIndex(this.rows, BY.sequence);
  readonly tasks = new TaskIndex();
  /** Lone holds by task. A task is in this index or in the other, never in both. */
  readonly loneTasks = new InSessionIndex(this.rows, BY.task);
  /** Leases and waits for them, by key and owner. */
  readonly leases = new LeaseIndex();
  /** In the order of their numbers. */
  readonly cooldowns = new RecordList<Cooldown>();
  /** By the tokens of their holds, each of which left one at most. */
  readonly cooldownsByToken = new Map<number, Cooldown>();
  /** The semaphores of all keys that have one. */
  readonly semaphores = new RecordList<Semaphore>();
  readonly due = new DueHeap<Due>();
  readonly work = new WorkQueue();
  readonly searches = new SearchQueue();
  tokens: TokenCounter;
  /**
   * The cluster time before which no session is opened, because clients of the cluster from which
   * this one was restored may still rely on their leases. 0 once that has passed.
   */
  quietUntil = 0;
  /** Has the holds of owners, which belong to no session. */
  readonly detached: Session;
  /** State orders that were executed: those that need `admin`, and those that set a limit. */
  adminOrderCount = 0;
  limitOrderCount = 0;
  /** The number of the next session, request or due item. */
  nextNumber = 1;
  /** Requests in queues. */
  requestCount = 0;
  /** The size of requests, cooldowns and limits that were set; see `sizes.ts`. */
  otherBytes = 0;
  /** How many more places or claims the current step may handle. */
  stepUnits = 0;
  /** The search steps that one entry may make. Equal on all nodes, because it decides results. */
  searchStepsMax = SEARCH_STEPS_MAX;
  /** The search steps that are left in the current entry. */
  readonly searchSteps = new StepLimit(SEARCH_STEPS_MAX);
  /** Receives the messages of the current entry. */
  outbox: TableOutbox = NOBODY;
  listener: ChangeListener | undefined = undefined;
  accessListener: AccessListener | undefined = undefined;
  /** The one object for all reported changes, so that a change allocates nothing. */
  readonly #change: { -readonly [Field in keyof TableChange]: TableChange[Field] } = {
    type: "granted",
    key: "",
    mode: "exclusive",
    session: 0,
    sessionName: "",
    identity: "",
    task: 0,
    token: 0,
    sequence: 0,
    holder: "session",
    grantedAt: 0,
    requestedAt: 0,
    status: 0,
    waitedMs: 0,
    value: "",
    reason: END_REASON.unknown,
    orderedBy: "",
  };
  /**
   * Tasks that were granted something and may still wait: each is searched when the step is over.
   */
  readonly suspects: { readonly session: Session; readonly task: number }[] = [];
  /** Counted for people, not replicated. */
  searchesDeferred = 0;
  searchesGivenUp = 0;
  deadlocks = 0;
  /** The last deadlocks that were refused, oldest first. Shown to people, not replicated. */
  readonly refused: RefusedDeadlock[] = [];

  constructor(settings: TableSettings, nextToken = 0) {
    this.settings = settings;
    this.tokens = new TokenCounter(nextToken);
    this.detached = Session.ofOwners(this.copies, this.access.noCredential);
  }

  /** The size of everything in the table. */
  get bytes(): number {
    return this.rows.bytes + this.sessions.bytes + this.otherBytes;
  }

  takeNumber(): number {
    const number = this.nextNumber;
    this.nextNumber = number + 1;
    return number;
  }

  /** Sends a message to a session. Nothing is sent for a hold of an owner, or to a session after its end. */
  say(session: Session, message: SessionMessage): void {
    if (session === this.detached || session.isEnded) return;
    this.outbox.toSession(session.id, session.attachEpoch, message);
  }

  /** Sends the answer to the current command. */
  reply(session: Session, sequence: number, result: Result): void {
    if (this.outbox === NOBODY) return;
    this.say(session, { kind: MESSAGE.reply, sequence, stamp: this.stamp, result });
  }

  /** Sends the outcome of a wait. */
  pushOutcome(session: Session, sequence: number, result: Result): void {
    this.say(session, { kind: MESSAGE.outcome, sequence, stamp: this.stamp, result });
  }

  /** Reports a change to the listener, for each of the claim's keys or for the one `place`. */
  note(
    type: ChangeType,
    claim: Request | Hold | Cooldown,
    place?: Place,
    reason: EndReason = END_REASON.unknown,
    orderedBy = "",
  ): void {
    if (this.listener === undefined) return;
    this.#change.reason = reason;
    this.#change.orderedBy = orderedBy;
    for (let at = place ?? claim.firstPlace; at !== undefined; at = at.sibling) {
      this.#noteOne(this.listener, type, claim, at);
      if (place !== undefined) return;
    }
  }

  /** Reports a grant, or the upgrade in the one `place`, of what was asked for at `requestedAt`. */
  noteGrant(type: "granted" | "converted", hold: Hold, requestedAt: number, place?: Place): void {
    this.#change.requestedAt = requestedAt;
    this.note(type, hold, place);
    this.#change.requestedAt = 0;
  }

  /** Reports that a request ended without a grant, with the status that says why. */
  noteLeft(request: Request, status: number): void {
    this.#change.requestedAt = request.enqueuedAt;
    this.#change.status = status;
    this.note("left", request);
    this.#change.requestedAt = 0;
    this.#change.status = 0;
  }

  /** Sends the end of a session. */
  pushEnded(session: number, epoch: number, reason: EndReason): void {
    this.outbox.toSession(session, epoch, { kind: MESSAGE.ended, session, reason });
  }

  /** Reports a change of the lone hold of `row`. */
  noteLoneHold(type: ChangeType, row: number, reason: EndReason, orderedBy = ""): void {
    if (this.listener === undefined) return;
    const { rows } = this;
    const session = rows.sessionOf(row);
    const change = this.#change;
    change.type = type;
    change.key = rows.contentOf(row) as string;
    change.mode = "exclusive";
    change.session = session.id;
    change.sessionName = session.name;
    change.identity = session.identityName;
    change.task = rows.taskOf(row);
    change.token = rows.tokenOf(row);
    change.sequence = rows.sequenceOf(row);
    change.holder = "session";
    change.grantedAt = rows.grantedAtOf(row);
    change.requestedAt = type === "granted" ? change.grantedAt : 0;
    change.waitedMs = 0;
    change.value = "";
    change.reason = reason;
    change.orderedBy = orderedBy;
    this.listener(change);
    change.requestedAt = 0;
  }

  #noteOne(
    listener: ChangeListener,
    type: ChangeType,
    claim: Request | Hold | Cooldown,
    { key, mode }: Place,
  ): void {
    const session = claim instanceof Cooldown ? this.detached : claim.session;
    const change = this.#change;
    change.type = type;
    change.key = key.name;
    change.mode = mode;
    change.session = session.id;
    change.sessionName = claim instanceof Cooldown ? session.name : claim.holderName;
    change.identity = claim instanceof Cooldown ? session.identityName : claim.identityName;
    change.task = claim instanceof Cooldown ? 0 : shownTask(claim.task);
    change.token = claim instanceof Request ? 0 : claim.token;
    change.sequence = claim instanceof Cooldown ? 0 : claim.sequence;
    change.holder = claim instanceof Hold ? claim.holder : "session";
    change.grantedAt = claim instanceof Hold ? claim.grantedAt : 0;
    change.waitedMs = claim instanceof Hold ? claim.waitedMs : 0;
    change.value = claim instanceof Hold ? claim.value : "";
    listener(change);
  }
}
