/**
 * Checks the chain of the audit from its first kept block to its head: that each block follows the
 * one before, and that its records are stored as they were written. It changes nothing, and damage
 * ends up in the report, never in an error.
 *
 * The chain alone proves nothing against the owner of the files, who can rewrite all of it. A head
 * that was kept elsewhere does: everything up to it is as it was then (decision 40).
 */
import { type AuditBlock, type AuditHead, NO_DIGEST, RecordsDigest } from "./audit-block.js";
import { decodeAuditRecord } from "./audit-record.js";
import { auditRowOf } from "./audit-rows.js";
import type { AuditStore, StoredBlock } from "./audit-store.js";

export const AUDIT_PROBLEMS = ["lost", "altered", "restarted", "unnamed", "truncated"] as const;

/**
 * `lost`: blocks, or records of a block, are missing. `altered`: a block or its records are not what
 * was written. `restarted`: the block does not say what it follows, because the block before was
 * unreadable. `unnamed`: records that no kept block names; they may be of lost blocks. `truncated`:
 * blocks were removed from the front, and no block says that they were.
 */
export type AuditProblemKind = (typeof AUDIT_PROBLEMS)[number];

export interface AuditProblem {
  readonly kind: AuditProblemKind;
  /** The blocks that it is about; 0 for `unnamed`. */
  readonly fromBlock: number;
  readonly toBlock: number;
  /** How many records it is about, as far as that is known. */
  readonly records: number;
  /** Between these wall times, by the intact blocks around it; 0: not known. */
  readonly afterWallMs: number;
  readonly beforeWallMs: number;
}

/** One end of what is kept. */
export interface AuditEnd {
  readonly block: number;
  readonly record: number;
  readonly wallMs: number;
}

/**
 * What became of a head that was kept elsewhere. `removed`: its block was trimmed for its age or for
 * room, and nothing can be said. `missing`: the chain ends before it, or its block is lost.
 */
export type ExpectedHead = "same" | "different" | "removed" | "missing";

export interface AuditReport {
  readonly head: AuditHead;
  /** The last block that was removed for its age or for room. */
  readonly trimmed: AuditHead;
  /** Intact ones. */
  readonly blocks: number;
  readonly records: number;
  /** `undefined` without any record. */
  readonly first: AuditEnd | undefined;
  readonly last: AuditEnd | undefined;
  /** In the order of their blocks, at most `AUDIT_PROBLEMS_MAX`. */
  readonly problems: readonly AuditProblem[];
  readonly problemsTotal: number;
  /** `undefined` if none was to be found. */
  readonly expected: ExpectedHead | undefined;
}

const AUDIT_PROBLEMS_MAX = 1_000;

/** @param store has been loaded, and nothing is written to it meanwhile */
export function verifyAudit(
  store: AuditStore,
  expected: AuditHead | undefined,
): Promise<AuditReport> {
  return new Verification(store, expected).run();
}

class Verification {
  readonly #store: AuditStore;
  readonly #wanted: AuditHead | undefined;
  readonly #problems: AuditProblem[] = [];
  #problemsTotal = 0;
  /** The last block that was looked at, or the one after which the kept ones begin. */
  #before: AuditHead;
  #newest: AuditBlock | undefined;
  /** 0 while it is not known. */
  #nextRecord = 0;
  #newestWallMs = 0;
  #blocks = 0;
  #records = 0;
  #first: AuditEnd | undefined;
  #last: AuditEnd | undefined;
  #expected: ExpectedHead | undefined;

  constructor(store: AuditStore, wanted: AuditHead | undefined) {
    this.#store = store;
    this.#wanted = wanted;
    this.#before = store.trimmed;
    this.#expected = wanted === undefined ? undefined : firstGuess(wanted, store.trimmed);
  }

  async run(): Promise<AuditReport> {
    const { head, trimmed } = this.#store;
    for await (const stored of this.#store.blocks(1, head.number, 1)) {
      // Blocks that should be gone say nothing about the kept ones.
      if (stored.block.number > trimmed.number) await this.#onBlock(stored);
    }
    this.#onEnd(head, trimmed);
    await this.#findUnnamed();
    return {
      ...{ head, trimmed, blocks: this.#blocks, records: this.#records },
      ...{ first: this.#first, last: this.#last, expected: this.#expected },
      ...{ problems: this.#problems, problemsTotal: this.#problemsTotal },
    };
  }

  async #onBlock({ block, digest }: StoredBlock): Promise<void> {
    const { number, previous, firstRecord, places } = block;
    const before = this.#before;
    const isNext = number === before.number + 1;
    if (!isNext) {
      const records = this.#nextRecord === 0 ? 0 : Math.max(0, firstRecord - this.#nextRecord);
      this.#note("lost", before.number + 1, number - 1, records, block.oldestWallMs);
    } else if (previous !== before.digest) {
      const kind = previous === NO_DIGEST ? "restarted" : "altered";
      this.#note(kind, number, number, places.length, block.oldestWallMs);
    } else if (this.#nextRecord !== 0 && firstRecord !== this.#nextRecord) {
      this.#note("altered", number, number, places.length, block.oldestWallMs);
    }
    await this.#checkRecords(block);
    if (this.#wanted?.number === number) {
      this.#expected = this.#wanted.digest === digest ? "same" : "different";
    }
    this.#before = { number, digest };
    this.#newest = block;
    this.#nextRecord = firstRecord + places.length;
    this.#blocks += 1;
    if (places.length === 0) return;
    this.#newestWallMs = block.newestWallMs;
    this.#first ??= { block: number, record: firstRecord, wallMs: block.oldestWallMs };
    this.#last = { block: number, record: this.#nextRecord - 1, wallMs: block.newestWallMs };
  }

  async #checkRecords(block: AuditBlock): Promise<void> {
    const { number, places, recordsDigest, oldestWallMs } = block;
    const digest = new RecordsDigest();
    let missing = 0;
    let misplaced = 0;
    for (const place of places) {
      const value = await this.#store.valueAt(place);
      if (value === undefined) {
        missing += 1;
        continue;
      }
      digest.add(place, value);
      const record = decodeAuditRecord(value);
      const isFound = record !== undefined && auditRowOf(record.lockKey) === place.row;
      if (!isFound || !this.#store.isCounted(place)) misplaced += 1;
    }
    this.#records += places.length - missing;
    if (missing > 0) this.#note("lost", number, number, missing, oldestWallMs);
    else if (digest.end() !== recordsDigest || misplaced > 0)
      this.#note("altered", number, number, places.length, oldestWallMs);
  }

  #onEnd(head: AuditHead, trimmed: AuditHead): void {
    const before = this.#before;
    if (before.number < head.number) this.#note("lost", before.number + 1, head.number, 0, 0);
    else if (before.digest !== head.digest) this.#note("altered", head.number, head.number, 0, 0);
    const newest = this.#newest;
    // Else a lost block may have said it.
    if (newest?.number !== head.number) return;
    const { number, digest } = newest.trimmed;
    if (number === trimmed.number && digest === trimmed.digest) return;
    this.#note("truncated", number + 1, Math.max(number + 1, trimmed.number), 0, 0);
  }

  /** Records that were put where none was written, and records of lost blocks. */
  async #findUnnamed(): Promise<void> {
    const stored = await this.#store.countStored();
    if (stored > this.#records) this.#note("unnamed", 0, 0, stored - this.#records, 0);
  }

  #note(
    kind: AuditProblemKind,
    fromBlock: number,
    toBlock: number,
    records: number,
    beforeWallMs: number,
  ): void {
    this.#problemsTotal += 1;
    if (this.#problems.length === AUDIT_PROBLEMS_MAX) return;
    const afterWallMs = kind === "unnamed" ? 0 : this.#newestWallMs;
    this.#problems.push({ kind, fromBlock, toBlock, records, afterWallMs, beforeWallMs });
  }
}

function firstGuess({ number, digest }: AuditHead, trimmed: AuditHead): ExpectedHead {
  if (number === trimmed.number) return digest === trimmed.digest ? "same" : "different";
  return number < trimmed.number ? "removed" : "missing";
}
