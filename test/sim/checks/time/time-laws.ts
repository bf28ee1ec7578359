/**
 * What a cluster owes in time when everything is set as in production and one thing breaks at a
 * time: a leader goes on leading unless something ends that; then the next one serves in time;
 * and while there is a leader, entries are committed in time, even if another node stands still
 * or is slow.
 */
import type { Entry, Message, Raft, Write } from "../../../../src/raft/index.js";
import type { NodeTuning } from "../../../../src/server/index.js";
import type { Simulation } from "../../engine/simulation.js";
import type { Fault } from "../../plan/fault.js";
import type { SimPlan } from "../../plan/plan.js";
import type { Fail } from "../violation.js";
import { type TimeBounds, timeBoundsOf } from "./time-bounds.js";

/** Why another leader may come. */
interface Cause {
  readonly what: string;
  /** The leader of this term is the one that it is about. */
  readonly term: number;
}

export class TimeLaws {
  readonly #simulation: Simulation;
  readonly #endMs: number;
  readonly #electionTimeoutMs: number;
  readonly #bounds: TimeBounds;
  readonly #fail: Fail;
  /** Until the first commit of a later term. */
  #cause: Cause | undefined;
  /** Who stands until then may have had a cause that is over. */
  #settledAtMs = 0;
  /** The highest term in which an entry was committed, and who leads it. */
  #term = 0;
  #leader = 0;
  #isTransferring = false;
  /** Nobody reaches it. */
  #cutOff = 0;
  /** When entries of the current leader got into its log, oldest first, by index. */
  readonly #appendedMs = new Map<number, number>();

  constructor(plan: SimPlan, tuning: NodeTuning, simulation: Simulation, fail: Fail) {
    this.#simulation = simulation;
    this.#endMs = plan.stormMs;
    this.#electionTimeoutMs = tuning.electionTimeoutMs;
    this.#bounds = timeBoundsOf(plan, tuning);
    this.#fail = fail;
    this.#expect("the start", this.#bounds.startMs);
  }

  /** `fault`: with the nodes that it is about. */
  onFault(fault: Fault): void {
    const { closedMs, silentMs } = this.#bounds;
    switch (fault.kind) {
      case "crash":
        if (fault.node === this.#leader) this.#expect("a closed link", closedMs);
        return;
      case "pause":
      case "freeze":
        if (fault.node === this.#leader) this.#expect("silence", silentMs);
        return;
      case "partition":
        if (fault.side.includes(this.#leader)) this.#expect("silence", silentMs);
        this.#cutOff = fault.side[0] ?? 0;
        // It was heard again, or hears somebody, before it has a reason to stand.
        this.#after(fault.forMs + this.#bounds.settledMs, () => {
          this.#cutOff = 0;
        });
        return;
      case "hangDisk":
        if (fault.node !== this.#leader || fault.forMs < this.#electionTimeoutMs) return;
        this.#allow("a disk that stands", fault.forMs + this.#bounds.settledMs);
        return;
      default:
    }
  }

  onAppend(id: number, { entries }: Write, raft: Raft | undefined): void {
    if (id !== this.#leader || this.#cause !== undefined) return;
    for (const { index, term } of entries) {
      if (raft?.term === term) this.#appendedMs.set(index, this.#simulation.nowMs);
    }
  }

  onCommitted({ index, term }: Entry, raft: Raft): void {
    if (term > this.#term) {
      this.#term = term;
      this.#leader = raft.id;
      this.#cause = undefined;
      this.#settledAtMs = this.#simulation.nowMs + this.#bounds.settledMs;
      this.#appendedMs.clear();
    }
    this.#appendedMs.delete(index);
  }

  onSend({ type, from }: Message): void {
    if (type !== "preVote" && type !== "vote") return;
    const { nowMs } = this.#simulation;
    if (this.#isOver || this.#cause !== undefined || nowMs < this.#settledAtMs) return;
    if (from === this.#cutOff) return;
    this.#fail("nobody stands without a cause", `node ${from} does, ${this.#leader} leads`);
  }

  afterTurn(raft: Raft): void {
    if (raft.id !== this.#leader || raft.term !== this.#term) return;
    const isTransferring = raft.isTransferring && raft.role === "leader";
    if (isTransferring && !this.#isTransferring) {
      this.#expect("a hand-over", this.#bounds.handOverMs);
    }
    this.#isTransferring = isTransferring;
    // Silence begins here, for everybody else.
    if (raft.role !== "leader") this.#onLeft();
    this.#checkCommits();
  }

  get #isOver(): boolean {
    return this.#simulation.nowMs >= this.#endMs;
  }

  #onLeft(): void {
    this.#leader = 0;
    if (this.#cause?.what !== "a disk that stands") return;
    this.#expect("a leader whose disk stood", this.#bounds.silentMs);
  }

  #checkCommits(): void {
    const [oldest] = this.#appendedMs;
    if (oldest === undefined || this.#isOver || this.#cause !== undefined) return;
    const [index, appendedMs] = oldest;
    const tookMs = this.#simulation.nowMs - appendedMs;
    const { commitMs } = this.#bounds;
    if (tookMs <= commitMs) return;
    this.#fail("commits in time", `entry ${index} takes ${tookMs} ms, at most ${commitMs}`);
  }

  /** The next leader commits something within `boundMs`. */
  #expect(what: string, boundMs: number): void {
    const cause = this.#begin(what);
    this.#after(boundMs, () => {
      if (this.#cause !== cause || this.#isOver) return;
      const took = `nothing is committed within ${boundMs} ms after ${what}`;
      this.#fail("another leader in time", `${took} of the leader of ${cause.term}`);
    });
  }

  /** There may be another leader, unless it goes well for so long. */
  #allow(what: string, forMs: number): void {
    const cause = this.#begin(what);
    this.#after(forMs, () => {
      if (this.#cause === cause) this.#cause = undefined;
    });
  }

  #begin(what: string): Cause {
    const cause = { what, term: this.#term };
    this.#cause = cause;
    this.#appendedMs.clear();
    return cause;
  }

  #after(delayMs: number, task: () => void): void {
    this.#simulation.after(delayMs, task);
  }
}
