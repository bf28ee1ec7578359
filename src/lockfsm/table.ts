/**
 * The lock table: a deterministic function of the entries it was given. It reads no clock and draws
 * no random number; every lease and deadline is compared with the stamps of entries. Equal entries
 * give equal messages and equal hashes on every node.
 */
import { assert } from "../assert.js";
import type {
  ExplainView,
  KeysView,
  KeyView,
  SessionsView,
  SettingView,
  VerifyView,
  WaitGraphView,
} from "../protocol/index.js";
import { execute } from "./commands/execute.js";
import { expire } from "./expiry/expire.js";
import { TableState } from "./records/state.js";
import { resolveTableSettings, viewSettings } from "./settings.js";
import { type RefoundOptions, refound } from "./snapshot/refound.js";
import { takeSnapshot } from "./snapshot/take.js";
import type { ChangeListener, Outbox, TableCounts, TableEntry, TableSettings } from "./types.js";
import { explain, type HoldTimes, waitGraph } from "./views/explain.js";
import { hashState } from "./views/state-hash.js";
import { inspect, listSessions, query, verify } from "./views/views.js";

export class LockTable {
  #state: TableState;
  #listener: ChangeListener | undefined;

  /** `settings`: replicated limits; what is left out has its default. */
  constructor(settings?: Partial<TableSettings>) {
    this.#state = new TableState(resolveTableSettings(settings));
  }

  /** For `TableRestore`: the table whose state this is. */
  static of(state: TableState): LockTable {
    const table = new LockTable(state.settings);
    table.#state = state;
    return table;
  }

  /**
   * Applies one stamped entry: first what earlier entries left to do, then what is due at its
   * stamp, then its commands in order. Messages go to `outbox` in the order of their causes.
   * Indexes must rise and stamps must not fall; commands may hold anything.
   */
  apply(entry: TableEntry, outbox: Outbox): void {
    const state = this.#state;
    const { index, stamp } = entry;
    assert(index > state.index, () => `entry ${index} after ${state.index}`);
    assert(stamp >= state.stamp, () => `entry ${index}: stamp ${stamp} after ${state.stamp}`);
    state.index = index;
    state.stamp = stamp;
    state.outbox = outbox;
    state.searchSteps.left = state.searchStepsMax;
    state.tokens.begin(entry.wallMs);
    if (stamp >= state.quietUntil) state.quietUntil = 0;
    expire(state);
    for (const command of entry.commands) execute(state, command);
    state.closeOutbox();
  }

  /** Cluster time of the last entry, in milliseconds. */
  get stamp(): number {
    return this.#state.stamp;
  }

  /**
   * The cluster time at which something ends by itself, `undefined` while nothing can. It may lie
   * in the past: then an entry met its limit of units and another one is needed.
   */
  get nextDueAt(): number | undefined {
    const { due, quietUntil } = this.#state;
    const dueAt = due.first?.dueAt;
    if (quietUntil === 0) return dueAt;
    return dueAt === undefined ? quietUntil : Math.min(dueAt, quietUntil);
  }

  /** For how long no session will be opened, in milliseconds of cluster time. */
  get quietMs(): number {
    return Math.max(0, this.#state.quietUntil - this.#state.stamp);
  }

  /** What the next grant gets at least; 0 before the first entry. */
  get nextToken(): number {
    return this.#state.tokens.next;
  }

  /** Index of the last entry that was applied. */
  get index(): number {
    return this.#state.index;
  }

  /** Whether the next entry has something to go on with, even one without commands. */
  get hasQueuedWork(): boolean {
    return this.#state.work.size > 0 || !this.#state.searches.isEmpty;
  }

  /** The shortest lease of any session that was not ended; up to a second too short. */
  get shortestTtlMs(): number | undefined {
    return this.#state.sessions.shortestTtlMs;
  }

  counts(): TableCounts {
    const { sessions, keys, holds, requestCount, closings, bytes } = this.#state;
    const { searchesDeferred, searchesGivenUp, deadlocks } = this.#state;
    return {
      sessions: sessions.size,
      keys: keys.size,
      holds: holds.size,
      waiters: requestCount,
      closings: closings.size,
      tableBytes: bytes,
      searchesDeferred,
      searchesGivenUp,
      deadlocks,
    };
  }

  /** Who holds and who waits, each in order, at most 1,000 of either (then with `truncated`). */
  inspect(key: string): KeyView {
    return inspect(this.#state, key);
  }

  /**
   * Keys in use that begin with `prefix`, in the order of their bytes, behind `after`. At most
   * `limit` (1 … 200); a page of crowded keys ends early. `next` is null at the end.
   */
  query(prefix: string, after: string | undefined, limit: number): KeysView {
    return query(this.#state, prefix, after, limit);
  }

  /**
   * Why a request of the key waits, or what a newcomer would meet. `holdTimes`: how long keys were
   * held before, which the table does not remember.
   */
  explain(
    key: string,
    request: { readonly session: number; readonly sequence: number } | undefined,
    holdTimes: HoldTimes,
  ): ExplainView {
    return explain(this.#state, key, request, holdTimes);
  }

  /** Who waits for whom, at most `edgesMax` (1 … 2,000) edges looked at. */
  waitGraph(edgesMax: number): WaitGraphView {
    return waitGraph(this.#state, edgesMax);
  }

  /** Whether `token` is current in the key; nothing is fenced by asking. */
  verify(key: string, token: number): VerifyView {
    return verify(this.#state, key, token);
  }

  /** The replicated settings, with their defaults. */
  settings(): readonly SettingView[] {
    return viewSettings(this.#state.settings);
  }

  /** Live sessions behind number `after`, at most `limit` (1 … 200). */
  listSessions(after: number, limit: number): SessionsView {
    return listSessions(this.#state, after, limit);
  }

  /** Tells `listener` of every change from now on, `undefined`: nobody. Also after `become`. */
  listen(listener: ChangeListener | undefined): void {
    this.#listener = listener;
    this.#state.listener = listener;
  }

  /**
   * Begins a snapshot of the table as it is now, and gives it in chunks of about `chunkBytes` bytes
   * (1 … 2^23; default 256 KiB); the last ones, and those of a table that changes fast, may be
   * shorter. Entries may be applied between two chunks: they do not change what it says. Each
   * `next()` is a bounded piece of work. One at a time; `return()` gives it up, and must be called
   * on one that is not drawn to its end.
   */
  snapshot(chunkBytes?: number): Generator<Uint8Array, void, void> {
    return takeSnapshot(this.#state, chunkBytes);
  }

  /**
   * Becomes the table that `restored` is; `restored` must not be used any more. A snapshot of this
   * table that is under way goes on with what the table was.
   */
  become(restored: LockTable): void {
    this.#state = restored.#state;
    this.#state.listener = this.#listener;
    restored.#state = new TableState(this.#state.settings);
  }

  /**
   * What a new cluster begins with that goes on from here: settings, limits that were set, and what
   * keeps keys closed. This table stays as it is.
   */
  refounded(options: RefoundOptions): LockTable {
    return LockTable.of(refound(this.#state, options));
  }

  /** 16 hex digits over all that is replicated; takes time proportional to it. */
  hash(): string {
    return hashState(this.#state);
  }
}
