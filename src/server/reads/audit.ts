/**
 * Writes the history of locks and the actions of operators into the store as they happen, and keeps
 * it for as long as the operator wants, within the size that the operator allows. It reads the change log like a watch, with one batch in flight, so that the
 * table never waits for it. A batch and its mark are one write, so that a restart, which replays
 * the log, continues after it.
 *
 * A node does not end because its audit cannot be written, unless its disk failed. It logs that,
 * keeps trying while only space is missing, and notes a gap when the change log has forgotten
 * something that was not written.
 */
import type { AuditPage, AuditPlace, LostTenures, Revision, Tenure } from "../../protocol/index.js";
import {
  type AuditMark,
  type AuditRecord,
  type AuditStore,
  isDiskFailure,
  isOutOfSpace,
} from "../../storage/index.js";
import type { NodeLogger } from "../ports.js";
import { StoreCalls } from "../snapshots/store-calls.js";
import type { ActionLog, NotedAction } from "./action-log.js";
import { encodeAction } from "./action-record.js";
import { type AuditFilter, readAuditPage } from "./audit-page.js";
import type { ChangeLog } from "./change-log.js";
import { endOfEntry, isAfter, wholeEntryAt } from "./revisions.js";
import { decodeTenure, encodeTenure, tenureAt } from "./tenures.js";

export interface AuditRetention {
  /** How long a record is kept after its tenure ended, by the wall clock. */
  readonly keepMs: number;
  /** What records may take, keys and values; the oldest ones go before their age. */
  readonly bytesMax: number;
}

export interface AuditParts {
  /** Has been loaded. */
  readonly store: AuditStore;
  readonly changeLog: ChangeLog;
  /** What operators did, and what was refused. Default: nothing of that is written. */
  readonly actions?: ActionLog | undefined;
  /** Asks for a turn. */
  readonly wake: () => void;
  readonly logger: NodeLogger;
}

/** Numbers for `/status` and `/metrics`. */
export interface AuditStatus {
  /**
   * `full`: the disk has no room, and writing is retried. `failed`: nothing more is written until a
   * restart.
   */
  readonly state: "writing" | "full" | "failed";
  /** Changes that were not looked at yet. */
  readonly lag: number;
  readonly writtenTotal: number;
  /** Times that changes were forgotten before they were written. */
  readonly gapsTotal: number;
  /** Records that the store has lost, as far as this was noticed. */
  readonly lostTotal: number;
  /** There is a record of every tenure that ended after this entry. */
  readonly completeAfter: number;
  /** What the kept records take. */
  readonly bytesKept: number;
  /** Whether younger records than `keepMs` are missing, because since the start room was needed. */
  readonly isSizeLimited: boolean;
}

/** Records of one batch; some 200 KB. */
const RECORDS_PER_BATCH_MAX = 1_024;
/** Bytes of tenures after which a batch takes no more: keys may be long. */
const BATCH_BYTES = 256 << 10;
/** Changes that one turn looks at for a batch: a few milliseconds. */
const LOOKS_PER_TURN_MAX = 8_192;
/** Entries without anything to write, after which the mark is written alone. */
const MARK_ENTRIES = 4_096;
const RETRY_MS = 2_000;
const TRIM_INTERVAL_MS = 60_000;
/** How often the head of the chain is logged, so that operators can keep it elsewhere. */
const TELL_HEAD_MS = 3_600_000;
/** How often it is logged that the size removes records before their age. */
const TELL_CUT_MS = 3_600_000;
/** Records that one step of trimming removes. */
const TRIM_RECORDS = 512;

export class Audit {
  readonly #parts: AuditParts;
  readonly #calls: StoreCalls;
  readonly #options: AuditRetention;
  /** As of the last write that succeeded. */
  #mark: AuditMark;
  /** Everything up to here is written or had nothing to write; never before the mark. */
  #through: Revision;
  #wasTakingSnapshot = false;
  /** A start from the snapshot that is being taken would not know the changes before it. */
  #mustMark = false;
  #state: AuditStatus["state"] = "writing";
  #isBusy = false;
  #hasMore = false;
  #retryAtMs = Number.POSITIVE_INFINITY;
  #trimAtMs = Number.NEGATIVE_INFINITY;
  /** Trimming and writing take turns: under load there is always something to write. */
  #isTrimNext: boolean;
  /** Records that were removed for room, and not logged yet. */
  #cutRecords = 0;
  #cutThroughWallMs = Number.NEGATIVE_INFINITY;
  #tellCutAtMs = Number.NEGATIVE_INFINITY;
  /** As of the last turn. */
  #wallMs = 0;
  #tellHeadAtMs = Number.NEGATIVE_INFINITY;
  /** The number of the block that was logged last. */
  #toldHead = 0;
  #writtenTotal = 0;
  #gapsTotal = 0;
  /** Lost records that were logged. */
  #toldTotal = 0;

  constructor(parts: AuditParts, options: AuditRetention) {
    const { store, changeLog, logger } = parts;
    this.#parts = parts;
    this.#options = options;
    this.#isTrimNext = store.bytesKept > options.bytesMax;
    this.#calls = new StoreCalls(parts.wake);
    const { floor } = changeLog;
    this.#mark = store.mark ?? { through: floor, completeAfter: floor.index };
    this.#through = this.#mark.through;
    for (const notice of store.notices) logger("warn", "the audit was damaged", { notice });
    this.#tellLost();
  }

  /** What is written. */
  get mark(): AuditMark {
    return this.#mark;
  }

  /** There is a record of every tenure that ended after this entry, or it is in memory. */
  get completeAfter(): number {
    const { floor } = this.#parts.changeLog;
    // The mark does not contain a gap that was not written yet.
    return isAfter(floor, this.#through) ? floor.index : this.#mark.completeAfter;
  }

  get state(): AuditStatus["state"] {
    return this.#state;
  }

  get status(): AuditStatus {
    const { changeLog } = this.#parts;
    return {
      state: this.#state,
      lag: changeLog.end - changeLog.positionAfter(this.#through),
      writtenTotal: this.#writtenTotal,
      gapsTotal: this.#gapsTotal,
      lostTotal: this.#parts.store.lostTotal,
      completeAfter: this.completeAfter,
      bytesKept: this.#parts.store.bytesKept,
      isSizeLimited: this.#cutThroughWallMs >= this.#wallMs - this.#options.keepMs,
    };
  }

  get hasWork(): boolean {
    return this.#hasMore && !this.#isBusy && this.#state === "writing";
  }

  get nextDeadlineMs(): number {
    if (this.#isBusy || this.#state === "failed") return Number.POSITIVE_INFINITY;
    return this.#state === "full" ? this.#retryAtMs : this.#trimAtMs;
  }

  /** Once a turn. `index`: the last applied entry. */
  work(index: number, isTakingSnapshot: boolean, nowMs: number, wallMs: number): void {
    this.#wallMs = wallMs;
    this.#calls.deliver(nowMs);
    if (nowMs >= this.#tellHeadAtMs) {
      this.#tellHeadAtMs = nowMs + TELL_HEAD_MS;
      this.#tellHead();
    }
    if (isTakingSnapshot && !this.#wasTakingSnapshot) this.#mustMark = true;
    this.#wasTakingSnapshot = isTakingSnapshot;
    if (this.#isBusy || this.#state === "failed") return;
    if (this.#state === "full" && nowMs < this.#retryAtMs) return;
    this.#noteGap();
    const isTrimDue = nowMs >= this.#trimAtMs;
    if ((!isTrimDue || !this.#isTrimNext) && this.#write(index)) this.#isTrimNext = true;
    else if (isTrimDue) this.#trim(wallMs, nowMs);
  }

  /**
   * Tenures of a key up to `through`, the newest first, and the tenures lost from that time. Calls
   * one of the two in a later turn.
   */
  read(
    key: string,
    through: Revision,
    limit: number,
    onDone: (tenures: readonly Tenure[], lost: readonly LostTenures[]) => void,
    onFailure: () => void,
  ): void {
    const { store, logger } = this.#parts;
    const reading = store.read(key, through, limit).then(({ records, holes }) => {
      return { tenures: records.map(({ body }) => decodeTenure(key, body)), holes };
    });
    this.#calls.run(
      reading,
      ({ tenures, holes }) => {
        this.#tellLost();
        onDone(tenures, holes);
      },
      (error) => {
        if (isDiskFailure(error)) throw error;
        logger("error", "the audit cannot be read", { error: messageOf(error) });
        onFailure();
      },
    );
  }

  /** A page of the audit. Calls one of the two in a later turn. */
  page(
    filter: AuditFilter,
    limit: number,
    before: AuditPlace | undefined,
    onDone: (page: AuditPage) => void,
    onFailure: () => void,
  ): void {
    const { store, logger } = this.#parts;
    this.#calls.run(readAuditPage(store, filter, limit, before), onDone, (error) => {
      if (isDiskFailure(error)) throw error;
      logger("error", "the audit cannot be read", { error: messageOf(error) });
      onFailure();
    });
  }

  /** Resolves when no call is under way. */
  async stop(): Promise<void> {
    this.#state = "failed";
    await this.#calls.settled();
    this.#tellHead();
  }

  #tellHead(): void {
    const { store, logger } = this.#parts;
    const { number, digest } = store.head;
    if (number <= this.#toldHead) return;
    this.#toldHead = number;
    logger("info", "audit head", { head: `${number}:${digest}`, records: store.recordsTotal });
  }

  /** The store lost them silently: only a reader of the whole row notices it. */
  #tellLost(): void {
    const { store, logger } = this.#parts;
    const { lostTotal } = store;
    if (lostTotal <= this.#toldTotal) return;
    this.#toldTotal = lostTotal;
    logger("error", "the audit has lost records: its store is damaged", { lost: lostTotal });
  }

  /** Forgotten before it was written: a snapshot was installed, or the store was too slow. */
  #noteGap(): void {
    const { floor } = this.#parts.changeLog;
    const through = this.#through;
    if (!isAfter(floor, through)) return;
    this.#gapsTotal += 1;
    const gap = { from: through.index, to: floor.index };
    this.#parts.logger("error", "the audit has a gap: what ended in it is not in history", gap);
    this.#parts.actions?.onHere({
      ...{ kind: "gap", identity: "", credential: "", address: "", key: "", outcome: "lost" },
      ...{ what: "entriesForgotten", details: gap },
    });
    this.#mark = { through: floor, completeAfter: floor.index };
    this.#through = floor;
  }

  /** Begins to write what is not written yet. Returns whether there is anything. */
  #write(index: number): boolean {
    const { records: tenures, reached } = this.#collect(index);
    const { actions, store } = this.#parts;
    const noted = actions?.upTo(wholeEntryAt(reached)) ?? [];
    const records = noted.length === 0 ? tenures : inOrder([...tenures, ...noted.map(recordOf)]);
    const written = this.#mark.through;
    if (records.length === 0) {
      if (isAfter(reached, this.#through)) this.#through = reached;
      const isMarkDue = this.#mustMark || reached.index - written.index >= MARK_ENTRIES;
      if (!isMarkDue || !isAfter(reached, written)) return false;
    }
    const mark: AuditMark = { through: reached, completeAfter: this.#mark.completeAfter };
    if (!this.#hasMore) this.#mustMark = false;
    this.#run(store.write(records, mark), () => {
      this.#mark = mark;
      this.#through = reached;
      this.#writtenTotal += records.length;
      if (store.bytesKept > this.#options.bytesMax) this.#trimAtMs = Number.NEGATIVE_INFINITY;
      actions?.forget(noted, wholeEntryAt(reached));
    });
    return true;
  }

  /** The next records, as many as one batch and one turn allow. */
  #collect(index: number): {
    readonly records: readonly AuditRecord[];
    readonly reached: Revision;
  } {
    const { changeLog } = this.#parts;
    const records: AuditRecord[] = [];
    const from = changeLog.positionAfter(this.#through);
    let position = from;
    let bytes = 0;
    while (position < changeLog.end && position - from < LOOKS_PER_TURN_MAX) {
      if (records.length === RECORDS_PER_BATCH_MAX || bytes >= BATCH_BYTES) break;
      const noted = tenureAt(changeLog, position);
      position += 1;
      if (noted === undefined) continue;
      const { revision, endedWallMs, tenure } = noted;
      const body = encodeTenure(tenure);
      bytes += tenure.key.length + body.length;
      records.push({ ...revision, lockKey: tenure.key, endedWallMs, body });
    }
    this.#hasMore = position < changeLog.end;
    const reached = this.#hasMore ? changeLog.revisionAt(position - 1) : endOfEntry(index);
    return { records, reached };
  }

  #trim(wallMs: number, nowMs: number): void {
    const { store } = this.#parts;
    const { keepMs, bytesMax } = this.#options;
    const limits = { fromWallMs: wallMs - keepMs, bytesMax };
    this.#run(store.trim(limits, TRIM_RECORDS, this.#mark), (trimming) => {
      const { mark, isRoundOver, cutRecords, cutThroughWallMs } = trimming;
      this.#isTrimNext = false;
      this.#tellLost();
      if (mark !== undefined) this.#mark = mark;
      if (cutRecords > 0) {
        this.#cutRecords += cutRecords;
        this.#cutThroughWallMs = Math.max(this.#cutThroughWallMs, cutThroughWallMs);
        this.#tellCut(nowMs);
      }
      this.#trimAtMs = isRoundOver ? nowMs + TRIM_INTERVAL_MS : Number.NEGATIVE_INFINITY;
      if (!isRoundOver) this.#hasMore = true;
    });
  }

  #tellCut(nowMs: number): void {
    if (nowMs < this.#tellCutAtMs) return;
    this.#tellCutAtMs = nowMs + TELL_CUT_MS;
    const { bytesMax } = this.#options;
    const fields = { records: this.#cutRecords, bytesMax };
    this.#cutRecords = 0;
    const event = "the audit has reached its size: records were removed before their age";
    this.#parts.logger("warn", event, fields);
  }

  #run<T>(call: Promise<T>, onDone: (value: T) => void): void {
    this.#isBusy = true;
    this.#calls.run(
      call,
      (value) => {
        this.#isBusy = false;
        if (this.#state === "full") this.#parts.logger("info", "the audit has room again");
        if (this.#state !== "failed") this.#state = "writing";
        onDone(value);
      },
      (error, nowMs) => {
        this.#isBusy = false;
        this.#onFailure(error, nowMs);
      },
    );
  }

  #onFailure(error: unknown, nowMs: number): void {
    const { logger } = this.#parts;
    // Then nothing else in the store can be written either.
    if (isDiskFailure(error)) throw error;
    if (!isOutOfSpace(error)) {
      this.#state = "failed";
      logger("error", "the audit is not written any more", { error: messageOf(error) });
      return;
    }
    if (this.#state !== "full") {
      logger("error", "no room for the audit", { error: messageOf(error) });
    }
    this.#state = "full";
    this.#retryAtMs = nowMs + RETRY_MS;
  }
}

/** A record of no lock. Its number says that it comes after what the entry changed. */
function recordOf({ index, wallMs, action }: NotedAction): AuditRecord {
  const body = encodeAction(action);
  return { ...endOfEntry(index), lockKey: "", endedWallMs: Math.floor(wallMs), body };
}

/** Stable: what has the same index stays as it is. */
function inOrder(records: AuditRecord[]): readonly AuditRecord[] {
  return records.sort((one, other) => one.index - other.index);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
