/**
 * Takes snapshots of the node's own table while it is in use. The next chunk is made when the store
 * has made the last one durable, at most one per turn; entries are applied in between. If the store
 * has no room, a later try follows; any other failure of the store ends the node.
 */
import { assert } from "../../errors/index.js";
import { type Configuration, encodeConfiguration } from "../../raft/index.js";
import { isOutOfSpace, type SnapshotManifest } from "../../storage/index.js";
import { SnapshotDraft } from "./draft.js";
import type { SnapshotPorts, SnapshotTuning } from "./ports.js";
import type { SnapshotRetention } from "./retention.js";
import type { StoreCalls } from "./store-calls.js";

/**
 * Election timeouts after which a snapshot that found no room is tried again; doubled each time …
 */
const RETRY_TIMEOUTS_MIN = 16;
/** … up to this many. */
const RETRY_TIMEOUTS_MAX = 1_024;

interface Attempt {
  readonly index: number;
  readonly draft: SnapshotDraft;
  readonly configuration: Uint8Array;
  readonly chunks: Generator<Uint8Array, void, void>;
  readonly startedMs: number;
  /** `#appliedBytes` when it began. */
  readonly appliedBytes: number;
  isFinishing: boolean;
}

export interface TakerEvents {
  /** It is complete and durable. */
  onTaken(manifest: SnapshotManifest): void;
  /** Something in the store has become garbage. */
  onGarbage(): void;
  /** One was given up because the disk is full. */
  onNoSpace(): void;
}

export class SnapshotTaker {
  readonly #ports: SnapshotPorts;
  readonly #options: SnapshotTuning;
  readonly #calls: StoreCalls;
  readonly #retention: Pick<SnapshotRetention, "newest">;
  readonly #events: TakerEvents;
  #attempt: Attempt | undefined;
  /** Abandoned, with a call of the store under way. */
  #leaving: SnapshotDraft | undefined;
  #appliedIndex = 0;
  #configuration: Configuration | undefined;
  #appliedBytes = 0;
  /** `#appliedBytes` when the last snapshot began. */
  #coveredBytes = 0;
  #retryAtMs = Number.NEGATIVE_INFINITY;
  #retryTimeouts = RETRY_TIMEOUTS_MIN;
  #takenTotal = 0;
  #abandonedTotal = 0;
  #durationMs = 0;

  constructor(
    ports: SnapshotPorts,
    options: SnapshotTuning,
    calls: StoreCalls,
    retention: Pick<SnapshotRetention, "newest">,
    events: TakerEvents,
  ) {
    this.#ports = ports;
    this.#options = options;
    this.#calls = calls;
    this.#retention = retention;
    this.#events = events;
  }

  /** The last entry that was applied since the start; 0 if none was. */
  get appliedIndex(): number {
    return this.#appliedIndex;
  }

  /**
   * Whether the members are known from applied entries. A node that joined and reads the log from
   * its beginning does not know the founders, so it knows no members before the first change.
   */
  get knowsMembers(): boolean {
    return this.#configuration !== undefined && this.#configuration.voters.length > 0;
  }

  get isUnderWay(): boolean {
    return this.#attempt !== undefined || this.#leaving !== undefined;
  }

  get isTaking(): boolean {
    return this.#attempt !== undefined;
  }

  get takenTotal(): number {
    return this.#takenTotal;
  }

  get abandonedTotal(): number {
    return this.#abandonedTotal;
  }

  get durationMs(): number {
    return this.#durationMs;
  }

  /** When to try again after there was no room. */
  get nextDeadlineMs(): number {
    return this.#isWanted && !this.isUnderWay ? this.#retryAtMs : Number.POSITIVE_INFINITY;
  }

  /**
   * `configuration` is in force at the applied entry `index`, so it is never one that may be
   * undone.
   */
  onApplied(index: number, bytes: number, configuration: Configuration): void {
    this.#appliedIndex = index;
    this.#configuration = configuration;
    this.#appliedBytes += bytes;
  }

  /** Whether a snapshot should begin now. */
  isDue(nowMs: number): boolean {
    return this.#isWanted && !this.isUnderWay && nowMs >= this.#retryAtMs;
  }

  /** Begins a snapshot of the current table. */
  begin(nowMs: number): void {
    const configuration = this.#configuration;
    assert(configuration !== undefined, () => "a snapshot is taken before any entry was applied");
    const { store, table, raft } = this.#ports;
    const index = this.#appliedIndex;
    const { term } = raft.entry(index);
    const chunks = table.snapshot(this.#options.chunkBytes);
    const draft = new SnapshotDraft(this.#calls, store.create({ index, term }), {
      onComplete: (manifest, atMs) => this.#complete(manifest, atMs),
      onFailure: (error, atMs) => {
        if (!isOutOfSpace(error)) throw error;
        this.abandon();
        this.postpone(atMs);
        this.#events.onNoSpace();
      },
      onGone: () => {
        this.#leaving = undefined;
        this.#events.onGarbage();
      },
    });
    this.#attempt = {
      index,
      draft,
      configuration: encodeConfiguration(configuration),
      chunks,
      startedMs: nowMs,
      appliedBytes: this.#appliedBytes,
      isFinishing: false,
    };
  }

  /** Makes the next chunk if the store is free, so that no chunks pile up. */
  work(): void {
    const attempt = this.#attempt;
    if (attempt === undefined || attempt.isFinishing || !attempt.draft.isWritable) return;
    const { draft, chunks } = attempt;
    const next = chunks.next();
    if (next.done !== true) {
      draft.append(next.value);
      return;
    }
    attempt.isFinishing = true;
    draft.finish(attempt.configuration);
  }

  /** Gives up the snapshot under way; another one is still wanted. */
  abandon(): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    this.#attempt = undefined;
    this.#leaving = attempt.draft;
    attempt.chunks.return();
    attempt.draft.abandon();
  }

  /** There was no room: tries again later, with a pause that doubles each time. */
  postpone(nowMs: number): void {
    this.#ports.logger("warn", "no room for a snapshot", {});
    this.#abandonedTotal += 1;
    this.#retryAtMs = nowMs + this.#retryTimeouts * this.#options.electionTimeoutMs;
    this.#retryTimeouts = Math.min(2 * this.#retryTimeouts, RETRY_TIMEOUTS_MAX);
  }

  /** Makes no more chunks; what was written is garbage for a later clearing. */
  stop(): void {
    this.#attempt?.chunks.return();
    this.#attempt = undefined;
  }

  /** The table was replaced by a snapshot of another node. */
  restart(): void {
    this.abandon();
    this.#coveredBytes = this.#appliedBytes;
  }

  get #isWanted(): boolean {
    const { snapshotLogBytes, snapshotSizeFactor } = this.#options;
    const bytes = this.#appliedBytes - this.#coveredBytes;
    const newestBytes = this.#retention.newest?.byteLength ?? 0;
    return bytes > snapshotLogBytes && bytes > snapshotSizeFactor * newestBytes;
  }

  #complete(manifest: SnapshotManifest, nowMs: number): void {
    const attempt = this.#attempt as Attempt;
    this.#attempt = undefined;
    this.#coveredBytes = attempt.appliedBytes;
    this.#retryTimeouts = RETRY_TIMEOUTS_MIN;
    this.#takenTotal += 1;
    this.#durationMs = nowMs - attempt.startedMs;
    const { index, byteLength } = manifest;
    const fields = { index, bytes: byteLength, durationMs: Math.round(this.#durationMs) };
    this.#ports.logger("info", "snapshot taken", fields);
    this.#events.onTaken(manifest);
  }
}
