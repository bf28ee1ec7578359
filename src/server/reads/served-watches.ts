/**
 * Watches of the clients of this node. Each is a place in the change log: the matching changes
 * after it are sent once a turn, in order, exactly once. A client that does not read costs only its
 * place: nothing is sent while its connection is full, and when the change log has forgotten
 * the next changes for it, the watch ends with `COMPACTED`.
 *
 * Clients must not be able to fill a turn, so each part of it has a budget. A watch for which no
 * time was left falls behind, like one of a slow client, and takes turns with all others that lag.
 * A change becomes one view in a turn for all its receivers, so that it is encoded once.
 */
import { assert, ERROR_NUMBERS, type ErrorNumber } from "../../errors/index.js";
import type { LockTable } from "../../lockfsm/index.js";
import {
  type ChangesView,
  type ChangeView,
  MESSAGE,
  type OperationFailure,
  type Revision,
  STATUS,
  type UnwatchQuery,
  WATCHES_MAX,
  type WatchQuery,
  type WatchView,
} from "../../protocol/index.js";
import type { Attachment } from "../commands/attachments.js";
import { ServedWatch, type Watcher } from "../commands/served-watch.js";
import type { ChangeLog } from "./change-log.js";
import { accessProblem } from "./read-rights.js";
import { endOfEntry, isAfter, placeBefore } from "./revisions.js";
import { WatchIndex } from "./watch-index.js";
import { WatchTurns } from "./watch-turns.js";

/** In one message; with the longest texts it has some 300 KiB. */
const CHANGES_PER_MESSAGE_MAX = 128;
/**
 * A client for which more bytes wait gets no changes: an eighth of the limit at which a gateway
 * closes a connection, so that answers to the same client still pass.
 */
const BUFFERED_BYTES_MAX = 1 << 20;
/** Changes that one turn sends to live watches, at most twice as many; some milliseconds. */
const LIVE_TOLD_PER_TURN_MAX = 4_096;
/** Changes that one turn looks at for watches that are behind; a few milliseconds. */
const LOOKS_PER_TURN_MAX = 8_192;
/** The cost of finding the place of one of these, in looks. */
const LOOKS_PER_WATCH = 16;
/** For one watch in one turn at least, if that many are left, however many askers have one. */
const LOOKS_PER_TURN_MIN = 1_024;
/** This many looks cost as much as a line of an answer. */
const LOOKS_PER_COST = 8;
/** Watches to which one turn sends only progress. */
const PROGRESS_PER_TURN_MAX = 1_024;
/** How long a watch with a full connection is not tried again. */
const RETRY_MS = 20;
/**
 * A watch without matches gets its progress at every quarter of the kept changes, and after this
 * many entries, which may change nothing. So it always knows a place from which it can go on at
 * another node.
 */
const PROGRESS_ENTRIES = 4_096;

export interface WatchLimits {
  /** As of the change log. */
  readonly changesMax: number;
  /** The most on this node, over all connections. */
  readonly watchesMax: number;
}

export class ServedWatches {
  readonly #log: ChangeLog;
  readonly #limits: WatchLimits;
  readonly #live = new WatchIndex();
  readonly #behind = new WatchTurns();
  /** All changes before this position were sent to the live ones. */
  #servedEnd: number;
  /** The last applied entry; its changes were sent to the live ones. */
  #index: number;
  /** `endOfEntry(#index)`, one object for all watches. */
  #indexEnd: Revision;
  #progressEnd = 0;
  #progressIndex = 0;
  /** Live ones that get their progress, unless they get changes first. */
  #awaitProgress: ServedWatch[] = [];
  /** A watch that was sent anything after this entry needs no progress. */
  #progressSince = 0;
  /** Views of the changes of this turn, by position. */
  readonly #views = new Map<number, ChangeView>();
  #hasMore = false;
  #retryAtMs = Number.POSITIVE_INFINITY;
  #compactedTotal = 0;

  /** `index`: the entry at which the log begins. */
  constructor(log: ChangeLog, limits: WatchLimits, index: number) {
    this.#log = log;
    this.#limits = limits;
    this.#servedEnd = log.end;
    this.#index = index;
    this.#indexEnd = endOfEntry(index);
  }

  /** Watches that have begun and not ended. */
  get count(): number {
    return this.#live.size + this.#behind.size;
  }

  /** Ended because the next changes were forgotten. */
  get compactedTotal(): number {
    return this.#compactedTotal;
  }

  /** Whether there are more changes to send to clients that can take them. */
  get hasWork(): boolean {
    return this.#hasMore;
  }

  /** When to look again at a client that could take no more. */
  get nextDeadlineMs(): number {
    return this.#retryAtMs;
  }

  /**
   * A client asks for a watch. If its query names no place, it begins after the last applied entry:
   * it gets no change that an earlier answer of this node contained, and misses no later one.
   */
  begin(attachment: Attachment, query: WatchQuery): void {
    const { watches } = attachment;
    if (watches.has(query.id)) {
      answer(attachment, query.id, ERROR_NUMBERS.INVALID_ARGUMENT, null);
      return;
    }
    const full = this.#fullFor(attachment);
    if (full !== undefined) {
      answer(attachment, query.id, ERROR_NUMBERS.QUOTA, { message: full });
      return;
    }
    const watch = new ServedWatch(attachment, query, query.after ?? this.#indexEnd);
    watches.set(query.id, watch);
    countWatches(attachment);
    const view: WatchView = { revision: watch.told };
    answer(attachment, query.id, STATUS.ok, view);
    this.#fallBehind(watch);
  }

  /** The client wants to end a watch; one that it does not have counts as ended. */
  unwatch(attachment: Attachment, { id, watch: wanted }: UnwatchQuery): void {
    const watch = attachment.watches.get(wanted);
    if (watch !== undefined) this.#end(watch);
    answer(attachment, id, STATUS.ok, null);
  }

  /** Rights have changed: ends watches that the connection may no longer have. */
  judge(attachment: Attachment, table: LockTable): void {
    const viewer = table.viewerOf(attachment.credential);
    for (const watch of [...attachment.watches.values()]) {
      const status = accessProblem(viewer, watch.query);
      if (status !== undefined) this.#endWith(watch, status);
    }
  }

  /** The connection is gone. */
  drop(attachment: Attachment): void {
    for (const watch of [...attachment.watches.values()]) this.#end(watch);
  }

  /**
   * Once a turn, after entries were applied and before reads are answered. `index`: the last
   * applied entry, all of whose changes are in the log.
   */
  serve(index: number, nowMs: number): void {
    if (index !== this.#index) this.#indexEnd = endOfEntry(index);
    this.#index = index;
    this.#serveLive(nowMs);
    this.#serveBehind(nowMs);
    if (this.#live.size > 0) this.#tellProgress();
    // Clearing an empty map makes it a new table.
    if (this.#views.size > 0) this.#views.clear();
  }

  /** Why the connection cannot have another watch. */
  #fullFor({ watches }: Attachment): string | undefined {
    const { watchesMax } = this.#limits;
    if (watches.size >= WATCHES_MAX) return `a connection has at most ${WATCHES_MAX} watches`;
    if (this.count < watchesMax) return undefined;
    return `this node has as many watches as its watchesMax allows (${watchesMax})`;
  }

  #serveLive(nowMs: number): void {
    const log = this.#log;
    const from = this.#servedEnd;
    this.#servedEnd = log.end;
    if (this.#live.size === 0 || from === log.end) return;
    if (from < log.first) {
      // More changes in one turn than the log keeps.
      for (const watch of [...this.#live.all()]) this.#fallBehind(watch);
      return;
    }
    const touched: ServedWatch[] = [];
    let left = LIVE_TOLD_PER_TURN_MAX;
    // When the budget is used up, a watch that had its share falls behind; others stay live.
    const share = Math.max(1, Math.floor(left / this.#live.size));
    for (let position = from; position < log.end; position += 1) {
      this.#live.forEach(log.keyAt(position), (watch) => {
        left -= 1;
        const { length } = watch.pending;
        if (left < 0 && length >= share) this.#fallBehindAt(watch, position);
        else {
          if (length === 0) touched.push(watch);
          watch.pending.push(position);
        }
      });
    }
    for (const watch of touched) this.#tellPending(watch, nowMs);
  }

  /** There is no time for that change; the pending ones before it are sent later, too. */
  #fallBehindAt(watch: ServedWatch, position: number): void {
    const place = placeBefore(this.#log.revisionAt(watch.pending[0] ?? position));
    watch.pending = [];
    // `told` may be long ago; nothing between it and this place is looked at again.
    if (isAfter(place, watch.told)) watch.told = place;
    this.#fallBehind(watch);
  }

  #tellPending(watch: ServedWatch, nowMs: number): void {
    const { pending } = watch;
    watch.pending = [];
    // It fell behind, its connection was closed, or it ended while others were served.
    if (watch.state !== "live") return;
    let changes: ChangeView[] = [];
    for (const position of pending) {
      if (changes.length === CHANGES_PER_MESSAGE_MAX) {
        this.#tell(watch, changes, lastOf(changes));
        changes = [];
        if (watch.attachment.isClosed) return;
      }
      if (!hasRoom(watch)) {
        this.#fallBehind(watch);
        this.#retryAtMs = Math.min(this.#retryAtMs, nowMs + RETRY_MS);
        return;
      }
      const change = this.#viewAt(position);
      // The client asked to begin after a revision that was in the future.
      if (isAfter(change.revision, watch.told)) changes.push(change);
    }
    if (changes.length > 0) this.#tell(watch, changes, this.#indexEnd);
  }

  /** Also called when none is behind, to reset the deadline. */
  #serveBehind(nowMs: number): void {
    this.#hasMore = false;
    this.#retryAtMs = Number.POSITIVE_INFINITY;
    if (this.#behind.size === 0) return;
    let left = LOOKS_PER_TURN_MAX;
    const share = Math.max(LOOKS_PER_TURN_MIN, Math.ceil(left / this.#behind.askers));
    for (const watch of this.#behind.inTurns()) {
      if (isAfter(this.#log.floor, watch.told)) this.#compact(watch);
      else if (hasRoom(watch)) {
        const looks = this.#catchUp(watch, Math.min(left, share));
        watch.attachment.share.chargeRead(looks / LOOKS_PER_COST);
        left -= LOOKS_PER_WATCH + looks;
      } else this.#retryAtMs = nowMs + RETRY_MS;
      if (left <= 0) {
        this.#hasMore = this.#behind.size > 0;
        return;
      }
    }
  }

  /** Sends its next message, or makes it live if there is none. Returns the number of looks. */
  #catchUp(watch: ServedWatch, looksMax: number): number {
    const log = this.#log;
    const from = log.positionAfter(watch.told);
    const changes: ChangeView[] = [];
    let position = from;
    while (position < log.end && position - from < looksMax) {
      if (watch.matches(log.keyAt(position))) changes.push(this.#viewAt(position));
      position += 1;
      if (changes.length === CHANGES_PER_MESSAGE_MAX) break;
    }
    const isAtEnd = position === log.end;
    const reached = isAtEnd ? this.#indexEnd : log.revisionAt(position - 1);
    if (changes.length > 0) this.#tell(watch, changes, reached);
    else if (isAfter(reached, watch.told)) watch.told = reached;
    if (watch.state !== "behind") return position - from;
    this.#behind.delete(watch);
    if (isAtEnd) this.#goLive(watch);
    else {
      // After the others of its asker, which get their turn first.
      this.#behind.add(watch);
      this.#hasMore = true;
    }
    return position - from;
  }

  /** Keeps the places of clients recent even if no change of theirs happens. */
  #tellProgress(): void {
    const quarter = Math.max(1, Math.floor(this.#limits.changesMax / 4));
    const isDue =
      this.#log.end - this.#progressEnd >= quarter ||
      this.#index - this.#progressIndex >= PROGRESS_ENTRIES;
    if (isDue) {
      this.#progressSince = this.#progressIndex;
      this.#progressEnd = this.#log.end;
      this.#progressIndex = this.#index;
      this.#awaitProgress = [...this.#live.all()];
    }
    const due = this.#awaitProgress.splice(-PROGRESS_PER_TURN_MAX);
    for (const watch of due) {
      const isTold = watch.told.index > this.#progressSince;
      if (watch.state === "live" && !isTold && hasRoom(watch)) {
        this.#tell(watch, [], this.#indexEnd);
      }
    }
    if (this.#awaitProgress.length > 0) this.#hasMore = true;
  }

  #viewAt(position: number): ChangeView {
    let view = this.#views.get(position);
    if (view === undefined) {
      view = this.#log.viewAt(position);
      this.#views.set(position, view);
    }
    return view;
  }

  #tell(watch: ServedWatch, changes: readonly ChangeView[], revision: Revision): void {
    const { attachment, id } = watch;
    const payload: ChangesView = { changes, revision };
    watch.told = revision;
    attachment.connection.send({ kind: MESSAGE.changes, id, status: STATUS.ok, payload });
  }

  #compact(watch: ServedWatch): void {
    this.#compactedTotal += 1;
    this.#endWith(watch, ERROR_NUMBERS.COMPACTED);
  }

  /** The last message of a watch. */
  #endWith(watch: ServedWatch, status: ErrorNumber): void {
    const { attachment, id } = watch;
    this.#end(watch);
    attachment.connection.send({ kind: MESSAGE.changes, id, status, payload: null });
  }

  #goLive(watch: ServedWatch): void {
    watch.state = "live";
    this.#live.add(watch);
  }

  #fallBehind(watch: ServedWatch): void {
    this.#live.remove(watch);
    watch.state = "behind";
    this.#behind.add(watch);
    this.#hasMore = true;
  }

  #end(watch: ServedWatch): void {
    watch.state = "over";
    const { attachment } = watch;
    attachment.watches.delete(watch.id);
    countWatches(attachment);
    this.#live.remove(watch);
    this.#behind.delete(watch);
  }
}

function countWatches({ connection, share, watches }: Watcher): void {
  connection.watchCount = watches.size;
  share.countWatches(watches.size);
}

function hasRoom({ attachment }: ServedWatch): boolean {
  return attachment.connection.bufferedBytes < BUFFERED_BYTES_MAX;
}

function lastOf(changes: readonly ChangeView[]): Revision {
  const last = changes.at(-1);
  assert(last !== undefined, () => "no changes");
  return last.revision;
}

function answer(
  { connection, isClosed }: Attachment,
  id: number,
  status: typeof STATUS.ok | ErrorNumber,
  payload: WatchView | OperationFailure | null,
): void {
  if (!isClosed) connection.send({ kind: MESSAGE.answer, id, status, payload });
}
