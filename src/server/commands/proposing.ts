/**
 * The leader's way from what waits to an entry of the log: when one may be proposed, when one is due,
 * and what becomes of it. At most one entry a turn; the clock is read when everything that goes into
 * it was read before.
 */
import type { LockTable } from "../../lockfsm/index.js";
import type { Input, Raft, RefusalReason } from "../../raft/index.js";
import type { NodeTuning } from "../options.js";
import type { Clock } from "../ports.js";
import type { EntryCache } from "./entry-cache.js";
import { EntrySchedule } from "./entry-schedule.js";
import { Proposals } from "./proposals.js";
import type { WaitingLine } from "./waiting-line.js";

/** Full entries that may be uncommitted: what waits longer still takes turns in the line. */
const FULL_BATCHES_MAX = 2;

export interface ProposingParts {
  readonly raft: Raft;
  readonly table: LockTable;
  readonly clock: Clock;
  readonly line: WaitingLine;
  readonly cache: EntryCache;
  readonly step: (input: Input) => void;
}

export class Proposing {
  readonly #parts: ProposingParts;
  readonly #tuning: NodeTuning;
  readonly #proposals: Proposals;
  readonly #schedule: EntrySchedule;
  /** The commit index at which the core had no room; nothing is proposed until it moves. */
  #refusedAtCommit = -1;

  constructor(parts: ProposingParts, tuning: NodeTuning) {
    this.#parts = parts;
    this.#tuning = tuning;
    this.#proposals = new Proposals(tuning.batchBytesMax);
    this.#schedule = new EntrySchedule(tuning.electionTimeoutMs);
  }

  /** Entries proposed since the start. */
  get count(): number {
    return this.#proposals.count;
  }

  /** This node began to lead a term; up to `appliedIndex` the table knows the stamps of the log. */
  begin(appliedIndex: number, nowMs: number): void {
    const { raft, table, cache } = this.#parts;
    this.#refusedAtCommit = -1;
    cache.clear();
    this.#schedule.begin(raft, table, appliedIndex, nowMs);
  }

  /** It does not lead any more. */
  end(): void {
    this.#refusedAtCommit = -1;
    this.#parts.cache.clear();
    this.#schedule.end();
  }

  /** Before leadership is given away: time that was counted and is in no entry would be lost. */
  stampNow(): void {
    this.#schedule.stampNow();
  }

  /** Once a turn while leading, after everything of the turn was read. */
  propose(nowMs: number): void {
    const { line, clock, step } = this.#parts;
    const stamp = this.#schedule.countTime(nowMs);
    if (!this.isDue(nowMs)) return;
    const { id, data } = this.#proposals.compose(line, stamp, clock.wallMs());
    step({ type: "propose", id, data });
  }

  /** Whether an entry should and can be proposed now. */
  isDue(nowMs: number): boolean {
    const { line, table } = this.#parts;
    return !this.#isBlocked && this.#schedule.isEntryDue(nowMs, line, table);
  }

  nextDeadlineMs(nowMs: number): number {
    const { line, table } = this.#parts;
    return this.#schedule.nextDeadlineMs(nowMs, line, table, this.#isBlocked);
  }

  onAccepted(id: number, index: number): void {
    const { stamp, data, commands } = this.#proposals.close(id);
    this.#schedule.onStamped(stamp, index);
    this.#parts.cache.add(index, data, commands);
  }

  /**
   * The core did not take the entry: what was in it waits again, before everything newer. After
   * `notLeader` a change of the leader follows, which empties the line.
   */
  onRefused(id: number, reason: RefusalReason, nowMs: number): void {
    const { raft, line } = this.#parts;
    line.putBack(this.#proposals.close(id).items, nowMs);
    if (reason === "busy") this.#refusedAtCommit = raft.commitIndex;
  }

  onApplied(index: number): void {
    this.#schedule.onApplied(index);
  }

  /** No entry can be proposed before another one commits, or somebody else is to lead. */
  get #isBlocked(): boolean {
    const { raft } = this.#parts;
    const { pipelineEntriesMax, batchBytesMax, uncommittedBytesMax } = this.#tuning;
    if (raft.isTransferring || raft.commitIndex === this.#refusedAtCommit) return true;
    if (raft.uncommittedBytes >= uncommittedBytesMax) return true;
    const isPipelineFull =
      raft.uncommittedEntries >= pipelineEntriesMax ||
      raft.uncommittedBytes >= FULL_BATCHES_MAX * batchBytesMax;
    return isPipelineFull && !this.#schedule.mustStamp;
  }
}
