/**
 * The leader's way from waiting commands to an entry of the log: when an entry may be proposed,
 * when one is due, and what becomes of it. At most one entry a turn, with everything that was
 * collected; the clock is read after everything that goes into the entry. The bytes of an entry are
 * laid out once and then go to disk and to the peers.
 */
import { assert } from "../../errors/index.js";
import type { LockTable, TableCommand } from "../../lockfsm/index.js";
import { BATCH_HEADER_BYTES, writeBatchHeader } from "../../protocol/index.js";
import type { Input, Raft, RefusalReason } from "../../raft/index.js";
import type { NodeTuning } from "../options.js";
import type { Clock } from "../ports.js";
import type { CommandTimes } from "../vitals/command-times.js";
import type { EntryCache } from "./entry-cache.js";
import { EntrySchedule } from "./entry-schedule.js";
import { KeptCommand } from "./kept-commands.js";
import type { WaitingItem, WaitingLine } from "./waiting-line.js";

/** Full entries that may be uncommitted: commands that wait longer still take turns in the line. */
const FULL_BATCHES_MAX = 2;

export interface ProposerParts {
  readonly raft: Raft;
  readonly table: LockTable;
  readonly clock: Clock;
  readonly line: WaitingLine;
  readonly cache: EntryCache;
  readonly step: (input: Input) => void;
  readonly times: CommandTimes;
}

/** An entry on its way into the core. */
interface Proposal {
  readonly id: number;
  readonly stamp: number;
  readonly data: Uint8Array;
  readonly items: readonly WaitingItem[];
  readonly commands: readonly TableCommand[];
  readonly proposedMs: number;
}

export class Proposer {
  readonly #parts: ProposerParts;
  readonly #tuning: NodeTuning;
  readonly #schedule: EntrySchedule;
  /** The commit index at which the core was full; nothing is proposed until it moves. */
  #refusedAtCommit = -1;
  #lastId = 0;
  /** Proposed in this turn, and not answered by the core yet. */
  #open: Proposal | undefined;

  constructor(parts: ProposerParts, tuning: NodeTuning) {
    this.#parts = parts;
    this.#tuning = tuning;
    this.#schedule = new EntrySchedule(tuning.electionTimeoutMs);
  }

  /** Entries proposed since the start. */
  get count(): number {
    return this.#lastId;
  }

  /** This node began to lead a term. The table knows the stamps of the log up to `appliedIndex`. */
  begin(appliedIndex: number, nowMs: number): void {
    const { raft, table, cache } = this.#parts;
    this.#refusedAtCommit = -1;
    cache.clear();
    this.#parts.times.forgetProposed();
    this.#schedule.begin(raft, table, appliedIndex, nowMs);
  }

  /** This node no longer leads. */
  end(): void {
    this.#refusedAtCommit = -1;
    this.#parts.cache.clear();
    this.#parts.times.forgetProposed();
    this.#schedule.end();
  }

  /** Before leadership is given away: time that was counted and is in no entry would be lost. */
  stampNow(): void {
    this.#schedule.stampNow();
  }

  /** Once a turn on a leader, after everything of the turn was read. */
  propose(nowMs: number): void {
    const { clock, step } = this.#parts;
    const stamp = this.#schedule.countTime(nowMs);
    if (!this.isDue(nowMs)) return;
    const { id, data } = this.#compose(stamp, clock.wallMs(), nowMs);
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
    const { stamp, data, commands, proposedMs } = this.#close(id);
    this.#schedule.onStamped(stamp, index);
    this.#parts.cache.add(index, data, commands);
    this.#parts.times.proposed(index, proposedMs);
  }

  /**
   * The core did not take the entry: its commands wait again, before everything newer. After
   * `notLeader` a change of leader follows, which empties the line.
   */
  onRefused(id: number, reason: RefusalReason, nowMs: number): void {
    const { raft, line } = this.#parts;
    line.putBack(this.#close(id).items, nowMs);
    if (reason === "busy") this.#refusedAtCommit = raft.commitIndex;
  }

  onApplied(index: number): void {
    this.#schedule.onApplied(index);
  }

  #compose(stamp: number, wallMs: number, nowMs: number): Proposal {
    assert(this.#open === undefined, () => `proposal ${this.#lastId} has no answer yet`);
    const { bytes, view, items } = this.#parts.line.take(
      this.#tuning.batchBytesMax,
      BATCH_HEADER_BYTES,
    );
    const commands: TableCommand[] = [];
    for (const item of items) {
      if (item instanceof KeptCommand) commands.push(item);
      else for (const command of item.commands) commands.push(command);
    }
    writeBatchHeader(view, stamp, wallMs, commands.length);
    this.#lastId += 1;
    this.#open = { id: this.#lastId, stamp, data: bytes, items, commands, proposedMs: nowMs };
    return this.#open;
  }

  /** The core has answered: returns the proposal `id`. */
  #close(id: number): Proposal {
    const proposal = this.#open;
    assert(proposal?.id === id, () => `answer to proposal ${id}, open is ${proposal?.id}`);
    this.#open = undefined;
    return proposal;
  }

  /** No entry can be proposed before another one commits or a transfer ends. */
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
