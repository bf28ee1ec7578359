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
import { Leadership } from "./leadership.js";
import { Proposals } from "./proposals.js";
import type { WaitingLine } from "./waiting-line.js";

/** Full entries that may be uncommitted: what waits longer still takes turns in the line. */
const FULL_BATCHES_MAX = 2;

export interface ProposingRooms {
  readonly raft: Raft;
  readonly table: LockTable;
  readonly clock: Clock;
  readonly line: WaitingLine;
  readonly cache: EntryCache;
  readonly step: (input: Input) => void;
}

export class Proposing {
  readonly #rooms: ProposingRooms;
  readonly #tuning: NodeTuning;
  readonly #proposals: Proposals;
  readonly #leadership: Leadership;
  /** The commit index at which the core had no room; nothing is proposed until it moves. */
  #refusedAtCommit = -1;

  constructor(rooms: ProposingRooms, tuning: NodeTuning) {
    this.#rooms = rooms;
    this.#tuning = tuning;
    this.#proposals = new Proposals(tuning.batchBytesMax);
    this.#leadership = new Leadership(tuning.electionTimeoutMs);
  }

  /** Entries proposed since the start. */
  get count(): number {
    return this.#proposals.count;
  }

  /** This node began to lead a term; up to `appliedIndex` the table knows the stamps of the log. */
  begin(appliedIndex: number, nowMs: number): void {
    const { raft, table, cache } = this.#rooms;
    this.#refusedAtCommit = -1;
    cache.clear();
    this.#leadership.begin(raft, table, appliedIndex, nowMs);
  }

  /** It does not lead any more. */
  end(): void {
    this.#refusedAtCommit = -1;
    this.#rooms.cache.clear();
    this.#leadership.end();
  }

  /** Before leadership is given away: time that was counted and is in no entry would be lost. */
  stampNow(): void {
    this.#leadership.stampNow();
  }

  /** Once a turn while leading, after everything of the turn was read. */
  propose(nowMs: number): void {
    const { line, clock, step } = this.#rooms;
    const stamp = this.#leadership.countTime(nowMs);
    if (!this.isDue(nowMs)) return;
    const { id, data } = this.#proposals.compose(line, stamp, clock.wallMs());
    step({ type: "propose", id, data });
  }

  /** Whether an entry should and can be proposed now. */
  isDue(nowMs: number): boolean {
    const { line, table } = this.#rooms;
    return !this.#isBlocked && this.#leadership.isEntryDue(nowMs, line, table);
  }

  nextDeadlineMs(nowMs: number): number {
    const { line, table } = this.#rooms;
    return this.#leadership.nextDeadlineMs(nowMs, line, table, this.#isBlocked);
  }

  onAccepted(id: number, index: number): void {
    const { stamp, data, commands } = this.#proposals.close(id);
    this.#leadership.onStamped(stamp, index);
    this.#rooms.cache.add(index, data, commands);
  }

  /**
   * The core did not take the entry: what was in it waits again, before everything newer. After
   * `notLeader` a change of regime follows, which empties the line.
   */
  onRefused(id: number, reason: RefusalReason, nowMs: number): void {
    const { raft, line } = this.#rooms;
    line.putBack(this.#proposals.close(id).items, nowMs);
    if (reason === "busy") this.#refusedAtCommit = raft.commitIndex;
  }

  onApplied(index: number): void {
    this.#leadership.onApplied(index);
  }

  /** No entry can be proposed before another one commits, or somebody else is to lead. */
  get #isBlocked(): boolean {
    const { raft } = this.#rooms;
    const { pipelineEntriesMax, batchBytesMax, uncommittedBytesMax } = this.#tuning;
    if (raft.isTransferring || raft.commitIndex === this.#refusedAtCommit) return true;
    if (raft.uncommittedBytes >= uncommittedBytesMax) return true;
    const isPipelineFull =
      raft.uncommittedEntries >= pipelineEntriesMax ||
      raft.uncommittedBytes >= FULL_BATCHES_MAX * batchBytesMax;
    return isPipelineFull && !this.#leadership.mustStamp;
  }
}
