/**
 * What one core promises its driver, checked input by input: a read is confirmed by a majority
 * and not older than what was committed when it was requested; the core stays loyal to a live
 * leader, and for a moment to the candidate it voted for; it accepts no change of members too
 * early and no proposal during a transfer of leadership, which it gives up in time; it keeps entries back for a
 * limited time only; it does not lead without a majority and a disk that answer. Which nodes hear each other
 * follows from the messages (`core-ear.ts`), and which ones count from the log.
 */
import {
  type Configuration,
  decodeConfiguration,
  type Effects,
  type Heartbeat,
  type Input,
  type Message,
  membersOf,
  type Raft,
  type TimeoutNow,
  type Write,
} from "../../../../src/raft/index.js";
import type { CoreWatch } from "../../world/node/watched-core.js";
import type { Fail } from "../violation.js";
import { CoreEar, type CoreTimes } from "./core-ear.js";
import { HandOver } from "./hand-over.js";
import { Spares } from "./spares.js";

/**
 * A leader that has to step down may do so later by this, for what it puts down to a pause, and by as many
 * turns, where turns are late.
 */
const PATIENCE_TIMEOUTS = 3;

export interface CoreSurroundings {
  readonly times: CoreTimes & { readonly spareDelayMs: number };
  /** By how much the turns of its node end late at the moment. */
  readonly lateMs: () => number;
  /** The highest index that any node ever held for committed. */
  readonly committedIndex: () => number;
  /** Those that count on this node by its log, as far as it was handed over. */
  readonly members: () => Configuration;
  /** The entry of its log that made them so; 0: none did. */
  readonly membersIndex: () => number;
}

interface AskedRead {
  /** What was committed anywhere when it was asked for. */
  readonly behind: number;
  /** The term of its node then, and the last round it had sent in that; 0 for none. */
  readonly term: number;
  readonly round: number;
}

/** Whom this node voted for. */
interface GivenVote {
  readonly term: number;
  readonly candidate: number;
  readonly atMs: number;
}

export class CoreChecks implements CoreWatch {
  readonly #id: number;
  readonly #raft: Raft;
  readonly #around: CoreSurroundings;
  readonly #fail: Fail;
  readonly #ear: CoreEar;
  readonly #handOver: HandOver;
  readonly #spares: Spares;
  readonly #reads = new Map<number, AskedRead>();
  /** Pre-votes that were asked for in this turn when no leader was in the way, by `ballot`. */
  readonly #welcome = new Set<string>();
  /** Those for which no vote of this node was in the way. */
  readonly #unbound = new Set<string>();
  /** Changes of members in this turn that nothing of the own term was committed for. */
  readonly #untimely = new Set<number>();
  /** Changes of members in this turn that came before the one before them was over. */
  readonly #overlapping = new Set<number>();
  #vote: GivenVote | undefined;
  /** The last request to stand. */
  #toldToStand: TimeoutNow | undefined;
  /** As they were before the current input. */
  #termBefore = 0;
  #hadLiveLeader = false;

  constructor(id: number, raft: Raft, around: CoreSurroundings, fail: Fail) {
    this.#id = id;
    this.#raft = raft;
    this.#around = around;
    this.#fail = fail;
    this.#ear = new CoreEar(id, around.times, around.lateMs);
    this.#handOver = new HandOver(around.times.electionTimeoutMs);
    this.#spares = new Spares(around.times.spareDelayMs);
  }

  beforeStep(input: Input): void {
    const ear = this.#ear;
    const { term } = this.#raft;
    this.#termBefore = term;
    this.#hadLiveLeader = ear.hasLiveLeader(term);
    ear.onInput(input, term);
    this.#handOver.onInput(input, ear.nowMs);
    this.#spares.onInput(input);
    if (input.type === "readIndex") {
      const behind = this.#around.committedIndex();
      const round = ear.reign?.term === term ? ear.reign.round : 0;
      this.#reads.set(input.id, { behind, term, round });
    } else if (input.type === "changeMembership") {
      const members = this.#around.members();
      const { reign } = ear;
      if (reign?.hasCommitted(members) !== true) this.#untimely.add(input.id);
      const isOver = reign?.hasAcknowledged(members, this.#around.membersIndex()) === true;
      if (members.outgoing.length > 0 || !isOver) this.#overlapping.add(input.id);
    } else if (input.type === "message") {
      const { message } = input;
      if (message.type === "timeoutNow") this.#toldToStand = message;
      if (message.type !== "preVote") return;
      const asked = ballot(message.from, message.term);
      if (!this.#hadLiveLeader) this.#welcome.add(asked);
      if (!this.#isBound(message.from, term)) this.#unbound.add(asked);
    }
  }

  afterStep(input: Input): void {
    if (input.type !== "message") return;
    const { message } = input;
    const { term } = this.#raft;
    if (teachesTerm(message) && term < message.term) {
      const text = `node ${this.#id} stays in ${term} after ${message.type} of ${message.term}`;
      this.#fail("higher terms are taken up", text);
    }
    if (term === this.#termBefore) return;
    if (message.type === "vote" && !message.isTransfer && this.#hadLiveLeader) {
      this.#fail("loyalty", `node ${this.#id} leaves its leader for ${message.from}`);
    }
  }

  onTake(effects: Effects): void {
    this.#ear.onTake(effects);
    this.#checkHandOver(effects);
    for (const peer of this.#spares.onTake(effects, this.#ear.nowMs, this.#members)) {
      this.#fail("nothing is kept back for long", `node ${this.#id} keeps entries from ${peer}`);
    }
    this.#checkFitness();
    this.#checkReads(effects);
    for (const { id } of effects.accepted) {
      if (this.#overlapping.has(id)) {
        this.#fail("one change of members at a time", `node ${this.#id} accepts ${id}`);
      }
      if (!this.#untimely.has(id)) continue;
      const rule = "no change before a commit of the own term";
      this.#fail(rule, `node ${this.#id} accepts ${id}`);
    }
    this.#checkPreVotes(effects.sendNow);
    for (const message of effects.sendNow) {
      if (message.type === "heartbeat") this.#checkNamed(message);
      if (message.type !== "appendReply" || !message.needsSnapshot) continue;
      const text = `node ${this.#id} contradicts ${message.to} after ${message.hintIndex}`;
      this.#fail("no log contradicts a leader's", text);
    }
    for (const { message } of effects.sendAfter) this.#onVote(message);
    this.#welcome.clear();
    this.#unbound.clear();
    this.#untimely.clear();
    this.#overlapping.clear();
  }

  get #members(): number[] {
    return membersOf(this.#around.members());
  }

  #checkHandOver(effects: Effects): void {
    const { accepted, refused, overdue } = this.#handOver.onTake(effects, this.#ear.nowMs);
    for (const id of accepted) {
      this.#fail("no proposal during a transfer", `node ${this.#id} accepts ${id}`);
    }
    for (const id of refused) {
      this.#fail("a transfer ends", `node ${this.#id} refuses ${id} although none is under way`);
    }
    for (const id of overdue) {
      this.#fail("a transfer ends", `node ${this.#id} does not give up transfer ${id}`);
    }
  }

  #checkReads({ reads, readsRefused, write }: Effects): void {
    if (reads.length === 0 && readsRefused.length === 0) return;
    const { lastReign: reign } = this.#ear;
    // What was answered when this turn began to change the members was so by those before.
    const deciding = [this.#around.members(), ...membersIn(write)];
    for (const { id, index } of reads) {
      const { behind, term, round } = this.#reads.get(id) ?? { behind: 0, term: 0, round: 0 };
      this.#reads.delete(id);
      if (index < behind) {
        this.#fail("read index", `node ${this.#id} reads at ${index}, asked behind ${behind}`);
      }
      const isSure =
        reign?.term === term && deciding.some((members) => reign.hasConfirmed(members, round));
      if (isSure) continue;
      const asked = `asked after round ${round} of term ${term}`;
      this.#fail("a majority confirms a read", `node ${this.#id} reads at ${index}, ${asked}`);
    }
    for (const id of readsRefused) this.#reads.delete(id);
  }

  /** A follower that gets it commits its log up to there, without checking the log again. */
  #checkNamed({ to, term, commitIndex }: Heartbeat): void {
    const reign = this.#ear.lastReign;
    const acknowledged = reign?.term === term ? reign.acknowledgedBy(to) : 0;
    if (commitIndex <= acknowledged) return;
    const text = `node ${this.#id} names ${commitIndex} to ${to}, which has ${acknowledged}`;
    this.#fail("a heartbeat names what is acknowledged", text);
  }

  #checkPreVotes(sent: readonly Message[]): void {
    for (const message of sent) {
      if (message.type !== "preVoteReply" || !message.granted) continue;
      const asked = ballot(message.to, message.term);
      if (!this.#welcome.has(asked)) {
        this.#fail("loyalty", `node ${this.#id} would vote for ${message.to} despite its leader`);
      }
      if (this.#unbound.has(asked)) continue;
      // It may have lost in this very turn, before it was asked.
      if (this.#vote?.candidate === this.#id && this.#ear.role !== "candidate") continue;
      const other = `after its vote for ${this.#vote?.candidate}`;
      this.#fail("a vote binds for a moment", `node ${this.#id} lets ${message.to} stand ${other}`);
    }
  }

  /** Whether a vote of this node in `term` may be about to elect somebody else than `from`. */
  #isBound(from: number, term: number): boolean {
    const vote = this.#vote;
    if (vote?.term !== term || vote.candidate === from) return false;
    const ear = this.#ear;
    if (ear.hasHeardLeader(term)) return false;
    const isOwn = vote.candidate === this.#id;
    const mayWin = isOwn ? ear.role === "candidate" : ear.isUp(vote.candidate);
    return mayWin && ear.nowMs < vote.atMs + this.#around.times.closedPeerDelayMs;
  }

  /** A vote, or the request for one, was decided on. */
  #onVote(message: Message): void {
    if (message.type !== "vote" && message.type !== "voteReply") return;
    if (message.type === "voteReply" && !message.granted) return;
    const { type, term } = message;
    const candidate = type === "vote" ? this.#id : message.to;
    if (this.#vote?.term !== term || this.#vote.candidate !== candidate) {
      this.#vote = { term, candidate, atMs: this.#ear.nowMs };
    }
    if (type !== "vote" || !message.isTransfer) return;
    const told = this.#toldToStand;
    const isWhole =
      told?.term === term - 1 &&
      told.lastLogIndex === message.lastLogIndex &&
      told.lastLogTerm === message.lastLogTerm;
    if (isWhole) return;
    const logs = `to ${message.lastLogIndex} and not ${told?.lastLogIndex}`;
    this.#fail("transfer to a whole log", `node ${this.#id} stands with a log ${logs}`);
  }

  /** Who leads without being able to keeps everybody else from leading. */
  #checkFitness(): void {
    const { role, reign, restoringIndex, nowMs, awakeSinceMs, oldestWriteMs, lateMs } = this.#ear;
    if (role !== "follower" && restoringIndex > 0) {
      this.#fail("no candidate without a table", `node ${this.#id} restores and is a ${role}`);
    }
    if (reign === undefined) return;
    const { electionTimeoutMs } = this.#around.times;
    const limitMs = nowMs - PATIENCE_TIMEOUTS * (electionTimeoutMs + lateMs);
    if (awakeSinceMs >= limitMs || reign.sinceMs >= limitMs) return;
    if (!reign.wasAnswered(this.#around.members(), limitMs)) {
      this.#fail("no leader without a majority", `node ${this.#id} leads on`);
    }
    if (oldestWriteMs < limitMs) {
      this.#fail("no leader without a disk", `node ${this.#id} leads on`);
    }
  }
}

/** The members that a write brings, if it brings any. */
function membersIn(write: Write | undefined): Configuration[] {
  const entry = write?.entries.findLast(({ kind }) => kind === "configuration");
  const members = entry === undefined ? undefined : decodeConfiguration(entry.data);
  return members === undefined ? [] : [members];
}

/** A node that hears it takes up its term (Raft paper, 5.1); mere questions are left out. */
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
