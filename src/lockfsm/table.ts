/**
 * The lock table: a deterministic function of the entries it is given. It must not read a clock or
 * draw a random number; every lease and deadline is compared with the stamps of entries. Equal
 * entries give equal messages and equal hashes on every node.
 *
 * - `commands`: what each command does; `holds`: how claims begin, wait and end
 * - `deadlock`, `expiry`: cycles of waits; claims and sessions that are due
 * - `records`, over the data `structures`: everything that the table remembers
 * - `views`, `snapshot`: what it shows, and how it is saved and restored
 */
import { assert } from "../errors/index.js";
import type {
  AccessLevel,
  AccessView,
  CheckAccessView,
  ExplainView,
  KeysView,
  KeyView,
  OwnLeaseView,
  SessionsView,
  SettingView,
  VerifyView,
  WaitGraphView,
} from "../protocol/index.js";
import { execute } from "./commands/execute.js";
import { giverOf } from "./commands/orders.js";
import { expire } from "./expiry/expire.js";
import { type LongLeases, leasesBeyond } from "./holds/lease-holds.js";
import type { Credential, Identity } from "./records/identity.js";
import { TableState } from "./records/state.js";
import { resolveTableSettings, viewSettings } from "./settings.js";
import { type RefoundOptions, refound } from "./snapshot/refound.js";
import { hashState } from "./snapshot/state-hash.js";
import { takeSnapshot } from "./snapshot/take.js";
import {
  type AccessCounts,
  type AccessListener,
  type ChangeListener,
  type CredentialCounts,
  NOBODY,
  type OrderGiver,
  type TableCounts,
  type TableEntry,
  type TableOutbox,
  type TableSettings,
} from "./types.js";
import { checkAccess, countExpiring, levelsOf, listIdentities } from "./views/access-views.js";
import { countPossibleDeadlocks, explain, type HoldTimes, waitGraph } from "./views/explain.js";
import { inspect, leaseIn, listSessions, query, verify } from "./views/views.js";

/** As whom a reader is shown things; without one it is shown everything. */
export type Viewer = Identity;

/** Most cycles of waits end sooner by themselves. */
const POSSIBLE_LASTED_MS = 60_000;
const POSSIBLE_COUNTED_MS = 10_000;

export class LockTable {
  #state: TableState;
  /** How many possible deadlocks were counted last, and until when that stands. */
  #possible = { until: 0, count: 0 };
  #listener: ChangeListener | undefined;
  #accessListener: AccessListener | undefined;

  /**
   * @param settings replicated limits; omitted ones have their defaults
   */
  constructor(settings?: Partial<TableSettings>) {
    this.#state = new TableState(resolveTableSettings(settings));
  }

  /** For `TableRestore`: a table with this state. */
  static of(state: TableState): LockTable {
    const table = new LockTable(state.settings);
    table.#state = state;
    return table;
  }

  /**
   * Applies one stamped entry: first the work that earlier entries left, then everything due at its
   * stamp, then its commands in order. Messages go to `outbox` in the order of their causes.
   * Indexes must rise and stamps must not fall; commands may contain anything.
   */
  apply(entry: TableEntry, outbox: TableOutbox): void {
    const state = this.#state;
    const { index, stamp } = entry;
    assert(index > state.index, () => `entry ${index} after ${state.index}`);
    assert(stamp >= state.stamp, () => `entry ${index}: stamp ${stamp} after ${state.stamp}`);
    state.index = index;
    state.stamp = stamp;
    state.wallMs = entry.wallMs;
    state.outbox = outbox;
    state.searchSteps.left = state.searchStepsMax;
    state.tokens.begin(entry.wallMs);
    if (stamp >= state.quietUntil) state.quietUntil = 0;
    expire(state);
    for (const command of entry.commands) execute(state, command);
    state.outbox = NOBODY;
  }

  /** Cluster time of the last applied entry, in milliseconds. */
  get stamp(): number {
    return this.#state.stamp;
  }

  /**
   * The cluster time, in milliseconds, at which something next ends by itself; `undefined` if
   * nothing can. It can be in the past: then an entry reached its limit of units, and another entry
   * is needed.
   */
  get nextDueAt(): number | undefined {
    const { due, quietUntil } = this.#state;
    const dueAt = due.first?.dueAt;
    if (quietUntil === 0) return dueAt;
    return dueAt === undefined ? quietUntil : Math.min(dueAt, quietUntil);
  }

  /** How long no session can be opened, in milliseconds of cluster time. */
  get quietMs(): number {
    return Math.max(0, this.#state.quietUntil - this.#state.stamp);
  }

  /** The lowest token that the next grant can get; 0 before the first entry. */
  get nextToken(): number {
    return this.#state.tokens.next;
  }

  /** Index of the last applied entry. */
  get index(): number {
    return this.#state.index;
  }

  /** Whether the next entry has work to continue, even if it has no commands. */
  get hasQueuedWork(): boolean {
    return this.#state.work.size > 0 || !this.#state.searches.isEmpty;
  }

  /**
   * The shortest lease of any session that has not ended, in milliseconds; up to a second too
   * short.
   */
  get shortestTtlMs(): number | undefined {
    return this.#state.sessions.shortestTtlMs;
  }

  /** Leases of named owners, with their lock delays, that have an end and last longer than `ms`. */
  leasesBeyond(ms: number): LongLeases {
    return leasesBeyond(this.#state, ms);
  }

  counts(): TableCounts {
    const { sessions, keys, holds, requestCount, cooldowns, leases, bytes } = this.#state;
    const { searchesDeferred, searchesGivenUp, deadlocks, access } = this.#state;
    return {
      sessions: sessions.size,
      keys: keys.size,
      holds: holds.size,
      waiters: requestCount,
      cooldowns: cooldowns.size,
      leases: leases.count,
      endlessLeases: leases.endlessCount,
      tableBytes: bytes,
      searchesDeferred,
      searchesGivenUp,
      deadlocks,
      limited: { ...access.limited },
    };
  }

  accessCounts(): AccessCounts {
    const { size, refused } = this.#state.access;
    return { identities: size, refused: { ...refused } };
  }

  /** Counts the credentials of all identities, however many there are. */
  countExpiring(wallMs: number, soonMs: number): CredentialCounts {
    return countExpiring(this.#state, wallMs, soonMs);
  }

  /** The highest level that everybody has, on every key and on any. */
  get anonymousLevels(): { readonly everywhere: AccessLevel; readonly highest: AccessLevel } {
    return levelsOf(this.#state.access.anonymous);
  }

  /**
   * The holds and waiters of a key, each in order, at most 1,000 of either (and then `truncated`).
   */
  inspect(key: string): KeyView {
    return inspect(this.#state, key);
  }

  /** The lease that an owner of the viewer's identity has in a key; `owner`: as in a take. */
  leaseIn(key: string, owner: string, viewer: Viewer): OwnLeaseView | null {
    return leaseIn(this.#state, key, owner, viewer);
  }

  /**
   * Keys in use that begin with `prefix` and come after `after`, in the order of their UTF-8 bytes.
   * Returns at most `limit` (1 … 200) of them; a page of crowded keys ends early. `next` is null at
   * the end.
   */
  query(prefix: string, after: string | undefined, limit: number, viewer?: Viewer): KeysView {
    return query(this.#state, prefix, after, limit, viewer);
  }

  /**
   * Why a request of the key waits, or what a new request would find. `holdTimes` says how long
   * keys were held before, which the table does not remember.
   */
  explain(
    key: string,
    request: { readonly session: number; readonly sequence: number } | undefined,
    holdTimes: HoldTimes,
    viewer?: Viewer,
  ): ExplainView {
    return explain(this.#state, key, request, holdTimes, viewer);
  }

  /** Which task waits for which. Looks at no more than `edgesMax` (1 … 2,000) edges. */
  waitGraph(edgesMax: number, viewer?: Viewer): WaitGraphView {
    return waitGraph(this.#state, edgesMax, viewer);
  }

  /** Possible deadlocks that have lasted a minute, counted again every ten seconds of cluster time. */
  possibleDeadlocks(): number {
    const { stamp } = this.#state;
    if (stamp >= this.#possible.until) {
      const count = countPossibleDeadlocks(this.#state, POSSIBLE_LASTED_MS);
      this.#possible = { until: stamp + POSSIBLE_COUNTED_MS, count };
    }
    return this.#possible.count;
  }

  /** Whether `token` is current in the key. Asking fences nothing. */
  verify(key: string, token: number): VerifyView {
    return verify(this.#state, key, token);
  }

  /** The credential of the token with this SHA-256 (64 hex digits), if there is one. */
  findToken(digest: string): Credential | undefined {
    return this.#state.access.findToken(digest);
  }

  /**
   * The credential by which a certificate speaks for the identity of that name, if there is one; of
   * several the one that expires last.
   */
  findCertificate(name: string): Credential | undefined {
    return this.#state.access.findCertificate(name);
  }

  /** The credential of that number, until it is removed. */
  findCredential(number: number): Credential | undefined {
    return this.#state.access.findCredential(number);
  }

  /** As whom the audit names one who has that credential; `undefined` when it is removed. */
  giverOf(credential: number): OrderGiver | undefined {
    const found = this.findCredential(credential);
    return found === undefined ? undefined : giverOf(found, 0);
  }

  /** The identity for which a credential speaks, until that is removed. */
  viewerOf(credential: number): Viewer | undefined {
    return this.findCredential(credential)?.identity;
  }

  /** The number of the identity of a session, until that ends. */
  identityOf(session: number): number | undefined {
    return this.#state.sessions.find(session)?.credential.identity.number;
  }

  /** Index of the entry that last changed who may do what; 0: none has. */
  get accessRevision(): number {
    return this.#state.access.revision;
  }

  /** Identities in the order of their names, after `after`, at most `limit` (1 … 200). */
  listIdentities(after: string | undefined, limit: number): AccessView {
    return listIdentities(this.#state, after, limit);
  }

  checkAccess(name: string, level: AccessLevel, key: string, isPrefix: boolean): CheckAccessView {
    return checkAccess(this.#state, name, level, key, isPrefix);
  }

  /** The replicated settings, with their defaults. */
  settings(): readonly SettingView[] {
    return viewSettings(this.#state.settings);
  }

  /** Live sessions with numbers above `after`, at most `limit` (1 … 200). */
  listSessions(after: number, limit: number): SessionsView {
    return listSessions(this.#state, after, limit);
  }

  /** Reports every change to `listener` from now on, also after `become`; `undefined` ends that. */
  listen(listener: ChangeListener | undefined): void {
    this.#listener = listener;
    this.#state.listener = listener;
  }

  /** As `listen`, for what grants decide about commands. */
  listenToAccess(listener: AccessListener): void {
    this.#accessListener = listener;
    this.#state.accessListener = listener;
  }

  /**
   * Begins a snapshot of the table as it is now, and returns it in chunks of about `chunkBytes`
   * bytes (1 … 2^23, default 256 KiB). The last chunks, and chunks of a table that changes quickly,
   * can be shorter. Entries may be applied between two chunks and do not change the snapshot. Each
   * `next()` is a bounded amount of work. There may be one snapshot at a time. `return()` abandons
   * it, and must be called on a snapshot that is not read to its end.
   */
  snapshot(chunkBytes?: number): Generator<Uint8Array, void, void> {
    return takeSnapshot(this.#state, chunkBytes);
  }

  /**
   * Replaces this table by `restored`, which must not be used afterwards. A snapshot of this table
   * that is under way continues with the state before.
   */
  become(restored: LockTable): void {
    restored.#state.refused.push(...this.#state.refused);
    this.#state = restored.#state;
    this.#state.listener = this.#listener;
    this.#state.accessListener = this.#accessListener;
    restored.#state = new TableState(this.#state.settings);
  }

  /**
   * The table with which a new cluster begins that is restored from this one: settings, limits that
   * were set, and cooldowns. This table does not change.
   */
  refounded(options: RefoundOptions): LockTable {
    return LockTable.of(refound(this.#state, options));
  }

  /** A hash of all replicated state, as 16 hex digits. Takes time proportional to the state. */
  hash(): string {
    return hashState(this.#state);
  }
}
