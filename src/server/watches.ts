/**
 * Watches of the clients of this node. Each is a place in the log of transitions: what lies behind it
 * and matches is told once a turn, in order, exactly once. A client that does not read costs nothing
 * but its place: nothing is sent while its connection is full, and when the log of transitions has
 * forgotten what comes next for it, the watch ends with `COMPACTED`.
 */
import { assert } from "../assert.js";
import { ERROR_NUMBERS, type ErrorNumber } from "../errors.js";
import {
  type ChangesView,
  type ChangeView,
  MESSAGE,
  type Revision,
  STATUS,
  type UnwatchQuery,
  WATCHES_MAX,
  type WatchQuery,
  type WatchView,
} from "../protocol/index.js";
import type { Attachment } from "./attachment.js";
import { endOfEntry, isAfter } from "./revisions.js";
import type { TransitionLog } from "./transition-log.js";
import { Watch, watchOf } from "./watch.js";
import { WatchIndex } from "./watch-index.js";

/** Of one message; with the longest texts it is some 300 KiB. */
const CHANGES_PER_MESSAGE_MAX = 128;
/**
 * While so many bytes wait for a client it is told no changes: an eighth of what a gateway bears
 * before it cuts a connection off, so that answers to the same client still pass.
 */
const BUFFERED_BYTES_MAX = 1 << 20;
/** Transitions that one turn looks at for watches that are behind; a few milliseconds. */
const LOOKS_PER_TURN_MAX = 16_384;
/** How long a watch with a full connection is left alone. */
const RETRY_MS = 20;
/**
 * A watch that matches nothing is told so every quarter of what is kept, and after so many entries,
 * of which most may change nothing: what it knows stays a place from which it can go on elsewhere.
 */
const PROGRESS_ENTRIES = 4_096;

export class Watches {
  readonly #log: TransitionLog;
  readonly #changesMax: number;
  readonly #live = new WatchIndex();
  /** In the order in which they get their turn. */
  readonly #behind = new Set<Watch>();
  /** Everything before this position was told to the live ones. */
  #servedEnd: number;
  /** The last applied entry; its changes were told to the live ones. */
  #index: number;
  #progressEnd = 0;
  #progressIndex = 0;
  #hasMore = false;
  #retryAtMs = Number.POSITIVE_INFINITY;
  #compactedTotal = 0;

  /** `index`: as of the log's beginning. */
  constructor(log: TransitionLog, changesMax: number, index: number) {
    this.#log = log;
    this.#changesMax = changesMax;
    this.#servedEnd = log.end;
    this.#index = index;
  }

  /** Those that were begun and have not ended. */
  get count(): number {
    return this.#live.size + this.#behind.size;
  }

  /** Ended because what came next was forgotten. */
  get compactedTotal(): number {
    return this.#compactedTotal;
  }

  /** Whether there is more to tell to clients that could take it. */
  get hasWork(): boolean {
    return this.#hasMore;
  }

  /** When a client that could not take more is to be looked at again. */
  get nextDeadlineMs(): number {
    return this.#retryAtMs;
  }

  /** A client asks for one. Returns whether it waits for an index, with which `begin` is called. */
  admit(attachment: Attachment, query: WatchQuery): boolean {
    const { watches } = attachment;
    if (watches.has(query.id)) {
      answer(attachment, query.id, ERROR_NUMBERS.INVALID_ARGUMENT, null);
      return false;
    }
    if (watches.size >= WATCHES_MAX) {
      answer(attachment, query.id, ERROR_NUMBERS.QUOTA, null);
      return false;
    }
    const { after } = query;
    const watch = new Watch(attachment, query, after ?? endOfEntry(this.#index));
    watches.set(query.id, watch);
    if (after === undefined) return true;
    this.#tellBeginning(watch);
    this.#fallBehind(watch);
    return false;
  }

  /**
   * Everything that the client could have seen is applied. Told are the changes behind what was
   * committed when it asked, so that nothing is missed that it did meanwhile. Where `arrivalIndex`
   * is not known those behind what was applied here then, which may be a few that it has seen.
   */
  begin(attachment: Attachment, query: WatchQuery, arrivalIndex: number | undefined): void {
    const watch = watchOf(attachment, query);
    if (watch === undefined) {
      answer(attachment, query.id, ERROR_NUMBERS.CANCELLED, null);
      return;
    }
    assert(watch.state === "asked", () => `a watch begins when it is ${watch.state}`);
    assert(this.#servedEnd === this.#log.end, () => "a watch begins before others are told");
    if (arrivalIndex !== undefined) watch.told = endOfEntry(arrivalIndex);
    this.#tellBeginning(watch);
    if (watch.told.index === this.#index) this.#goLive(watch);
    else this.#fallBehind(watch);
  }

  /** The client wants no more of one; one that it does not have is as good as ended. */
  unwatch(attachment: Attachment, { id, watch: wanted }: UnwatchQuery): void {
    const watch = attachment.watches.get(wanted);
    if (watch !== undefined) this.#end(watch);
    answer(attachment, id, STATUS.ok, null);
  }

  /** The connection is gone. */
  drop(attachment: Attachment): void {
    for (const watch of [...attachment.watches.values()]) this.#end(watch);
  }

  /**
   * Once a turn, behind what was applied and before reads are answered. `index`: the last applied
   * entry, all of whose changes are in the log.
   */
  serve(index: number, nowMs: number): void {
    this.#index = index;
    this.#serveLive(nowMs);
    this.#serveBehind(nowMs);
    if (this.#live.size > 0) this.#tellProgress();
  }

  #serveLive(nowMs: number): void {
    const log = this.#log;
    const from = this.#servedEnd;
    this.#servedEnd = log.end;
    if (this.#live.size === 0 || from === log.end) return;
    if (from < log.first) {
      // More than is kept, between two turns.
      for (const watch of [...this.#live.all()]) this.#fallBehind(watch);
      return;
    }
    const touched: Watch[] = [];
    for (let position = from; position < log.end; position += 1) {
      this.#live.forEach(log.keyAt(position), (watch) => {
        if (watch.pending.length === 0) touched.push(watch);
        watch.pending.push(position);
      });
    }
    for (const watch of touched) this.#tellPending(watch, nowMs);
  }

  #tellPending(watch: Watch, nowMs: number): void {
    const { pending } = watch;
    watch.pending = [];
    // Cut off by what was said to it, or ended while others were told.
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
      const change = this.#log.viewAt(position);
      // Asked for from a revision that was still to come.
      if (isAfter(change.revision, watch.told)) changes.push(change);
    }
    if (changes.length > 0) this.#tell(watch, changes, endOfEntry(this.#index));
  }

  /** Also when there are none any more: what was to be done for them is not. */
  #serveBehind(nowMs: number): void {
    this.#hasMore = false;
    this.#retryAtMs = Number.POSITIVE_INFINITY;
    let looks = LOOKS_PER_TURN_MAX;
    for (const watch of [...this.#behind]) {
      if (looks <= 0) {
        this.#hasMore = true;
        return;
      }
      if (isAfter(this.#log.floor, watch.told)) this.#compact(watch);
      else if (hasRoom(watch)) looks -= this.#catchUp(watch, looks);
      else this.#retryAtMs = nowMs + RETRY_MS;
    }
  }

  /** Tells the next message of it, or that there is nothing left. Returns how many it looked at. */
  #catchUp(watch: Watch, looksMax: number): number {
    const log = this.#log;
    const from = log.positionAfter(watch.told);
    const changes: ChangeView[] = [];
    let position = from;
    while (position < log.end && position - from < looksMax) {
      if (watch.matches(log.keyAt(position))) changes.push(log.viewAt(position));
      position += 1;
      if (changes.length === CHANGES_PER_MESSAGE_MAX) break;
    }
    const isAtEnd = position === log.end;
    const reached = isAtEnd ? endOfEntry(this.#index) : log.revisionAt(position - 1);
    if (changes.length > 0) this.#tell(watch, changes, reached);
    else if (isAfter(reached, watch.told)) watch.told = reached;
    if (watch.state !== "behind") return position - from;
    this.#behind.delete(watch);
    if (isAtEnd) this.#goLive(watch);
    else {
      // Behind the others, which get their turn first.
      this.#behind.add(watch);
      this.#hasMore = true;
    }
    return position - from + 1;
  }

  /** Where clients may go on from is not left to grow old, though nothing of theirs happened. */
  #tellProgress(): void {
    const quarter = Math.max(1, Math.floor(this.#changesMax / 4));
    const isDue =
      this.#log.end - this.#progressEnd >= quarter ||
      this.#index - this.#progressIndex >= PROGRESS_ENTRIES;
    if (!isDue) return;
    const since = this.#progressIndex;
    this.#progressEnd = this.#log.end;
    this.#progressIndex = this.#index;
    const reached = endOfEntry(this.#index);
    for (const watch of [...this.#live.all()]) {
      if (watch.told.index <= since && hasRoom(watch)) this.#tell(watch, [], reached);
    }
  }

  #tell(watch: Watch, changes: readonly ChangeView[], revision: Revision): void {
    const { attachment, id } = watch;
    const payload: ChangesView = { changes, revision };
    watch.told = revision;
    attachment.connection.send({ kind: MESSAGE.changes, id, status: STATUS.ok, payload });
  }

  #tellBeginning(watch: Watch): void {
    const view: WatchView = { revision: watch.told };
    answer(watch.attachment, watch.id, STATUS.ok, view);
  }

  #compact(watch: Watch): void {
    const { attachment, id } = watch;
    this.#compactedTotal += 1;
    this.#end(watch);
    const status = ERROR_NUMBERS.COMPACTED;
    attachment.connection.send({ kind: MESSAGE.changes, id, status, payload: null });
  }

  #goLive(watch: Watch): void {
    watch.state = "live";
    this.#live.add(watch);
  }

  #fallBehind(watch: Watch): void {
    this.#live.remove(watch);
    watch.state = "behind";
    this.#behind.add(watch);
    this.#hasMore = true;
  }

  #end(watch: Watch): void {
    watch.state = "over";
    watch.attachment.watches.delete(watch.id);
    this.#live.remove(watch);
    this.#behind.delete(watch);
  }
}

function hasRoom({ attachment }: Watch): boolean {
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
  payload: WatchView | null,
): void {
  if (!isClosed) connection.send({ kind: MESSAGE.answer, id, status, payload });
}
