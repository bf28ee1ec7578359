/**
 * What one core promises its driver, input by input: reads that are not older than what was
 * committed when they were asked for, loyalty to a live leader, no change of members too early, no
 * proposal while leadership is handed over, no leading without a majority or a disk that answer.
 */
import type { Effects, Input, Message, Raft } from "../../../src/raft/index.js";
import type { CoreWatch } from "../world/watched-core.js";
import type { Fail } from "./violation.js";

/** A leader that has to step down may do so later by this, for what it puts down to a pause. */
const PATIENCE_TIMEOUTS = 3;

interface HandedOver {
  readonly seq: number;
  readonly atMs: number;
}

export class CoreChecks implements CoreWatch {
  readonly #id: number;
  readonly #raft: Raft;
  readonly #fail: Fail;
  readonly #committedIndex: () => number;
  /** What was committed anywhere when a read was asked for. */
  readonly #askedBehind = new Map<number, number>();
  /** Pre-votes that were asked for in this turn when no leader was in the way, by `ballot`. */
  readonly #welcome = new Set<string>();
  /** Of this turn: what must be refused, and the rule that says so. */
  readonly #untimely = new Map<number, string>();
  /** Writes that are not durable. */
  readonly #writes: HandedOver[] = [];
  readonly #electionTimeoutMs: number;
  /** The table is being replaced by the snapshot of this index; 0: it is whole. */
  #restoringIndex = 0;
  #nowMs = 0;
  /** When this process last went on after a pause. */
  #awakeSinceMs = 0;
  /** When this node, leading, was last in touch with a majority, or did not lead. */
  #quorumMs = 0;
  /** As they were before the present input. */
  #termBefore = 0;
  #hadLiveLeader = false;

  /** `committedIndex`: the highest that any node ever held for committed. */
  constructor(
    id: number,
    raft: Raft,
    electionTimeoutMs: number,
    fail: Fail,
    committedIndex: () => number,
  ) {
    this.#id = id;
    this.#electionTimeoutMs = electionTimeoutMs;
    this.#raft = raft;
    this.#fail = fail;
    this.#committedIndex = committedIndex;
  }

  beforeStep(input: Input): void {
    const raft = this.#raft;
    this.#termBefore = raft.term;
    this.#hadLiveLeader = raft.role === "leader" || raft.hasQuorumContact;
    if (input.type === "tick") {
      if (input.nowMs > this.#nowMs + this.#electionTimeoutMs / 2) this.#awakeSinceMs = input.nowMs;
      this.#nowMs = input.nowMs;
    } else if (input.type === "persisted") {
      while ((this.#writes[0]?.seq ?? Number.POSITIVE_INFINITY) <= input.seq) this.#writes.shift();
    } else if (input.type === "applied") {
      if (input.index >= this.#restoringIndex) this.#restoringIndex = 0;
    } else if (input.type === "readIndex") {
      this.#askedBehind.set(input.id, this.#committedIndex());
    } else if (input.type === "propose" && raft.isTransferring) {
      this.#untimely.set(input.id, "no proposal during a transfer");
    } else if (input.type === "changeMembership" && !this.#hasCommittedOwn) {
      this.#untimely.set(input.id, "no change before a commit of the own term");
    } else if (input.type === "message" && input.message.type === "preVote") {
      const { from, term } = input.message;
      if (!this.#hadLiveLeader) this.#welcome.add(ballot(from, term));
    }
  }

  afterStep(input: Input): void {
    if (input.type !== "message") return;
    const { message } = input;
    const { term, lastIndex } = this.#raft;
    if (teachesTerm(message) && term < message.term) {
      const text = `node ${this.#id} stays in ${term} after ${message.type} of ${message.term}`;
      this.#fail("higher terms are taken up", text);
    }
    if (term === this.#termBefore) return;
    if (message.type === "vote" && !message.isTransfer && this.#hadLiveLeader) {
      this.#fail("loyalty", `node ${this.#id} leaves its leader for ${message.from}`);
    } else if (message.type === "timeoutNow" && message.lastLogIndex !== lastIndex) {
      const logs = `${lastIndex} and not ${message.lastLogIndex}`;
      this.#fail("transfer to a whole log", `node ${this.#id} stands with a log to ${logs}`);
    }
  }

  onTake({ reads, accepted, sendNow, write, restore }: Effects): void {
    if (restore !== undefined) this.#restoringIndex = restore.index;
    if (write !== undefined) this.#writes.push({ seq: write.seq, atMs: this.#nowMs });
    this.#checkFitness();
    for (const { id, index } of reads) {
      const behind = this.#askedBehind.get(id) ?? 0;
      this.#askedBehind.delete(id);
      if (index >= behind) continue;
      this.#fail("read index", `node ${this.#id} reads at ${index}, asked behind ${behind}`);
    }
    for (const { id } of accepted) {
      const rule = this.#untimely.get(id);
      if (rule !== undefined) this.#fail(rule, `node ${this.#id} accepts ${id}`);
    }
    for (const message of sendNow) {
      if (message.type !== "preVoteReply" || !message.granted) continue;
      if (this.#welcome.has(ballot(message.to, message.term))) continue;
      this.#fail("loyalty", `node ${this.#id} would vote for ${message.to} beside its leader`);
    }
    this.#welcome.clear();
    this.#untimely.clear();
  }

  /** Who leads without being able to keeps everybody else from leading. */
  #checkFitness(): void {
    const { role, hasQuorumContact } = this.#raft;
    if (role !== "leader" || hasQuorumContact) this.#quorumMs = this.#nowMs;
    if (role !== "follower" && this.#restoringIndex > 0) {
      this.#fail("no candidate without a table", `node ${this.#id} restores and is a ${role}`);
    }
    if (role !== "leader") return;
    const limitMs = this.#nowMs - PATIENCE_TIMEOUTS * this.#electionTimeoutMs;
    if (this.#awakeSinceMs >= limitMs) return;
    if (this.#quorumMs < limitMs) {
      this.#fail("no leader without a majority", `node ${this.#id} leads on`);
    }
    if ((this.#writes[0]?.atMs ?? this.#nowMs) < limitMs) {
      this.#fail("no leader without a disk", `node ${this.#id} leads on`);
    }
  }

  get #hasCommittedOwn(): boolean {
    const { commitIndex, baseIndex, baseTerm, term } = this.#raft;
    const lastTerm = commitIndex > baseIndex ? this.#raft.entry(commitIndex).term : baseTerm;
    return lastTerm === term;
  }
}

/** Whoever hears it takes up its term (Raft paper, 5.1); what only asks is left out. */
function teachesTerm(message: Message): boolean {
  switch (message.type) {
    case "preVote":
    case "vote":
    case "timeoutNow":
      return false;
    case "preVoteReply":
      return !message.granted;
    default:
      return true;
  }
}

function ballot(candidate: number, term: number): string {
  return `${candidate} ${term}`;
}
