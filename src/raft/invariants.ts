/**
 * What must hold of one node in every state, and what one step may change. Cheap enough to stay on
 * in production: `Raft` checks it in every `take`. Tests check the invariants that span several
 * nodes (election safety, log matching, …).
 */
import { assert } from "../errors/index.js";
import type { Leadership, State } from "./state.js";

/** Remembers the values that may only change in one direction. */
export class InvariantWatch {
  private readonly state: State;
  private term: number;
  private vote: number;
  private commitIndex: number;
  private appliedIndex: number;
  private snapshotIndex: number;
  private baseIndex: number;

  constructor(state: State) {
    this.state = state;
    this.term = state.term;
    this.vote = state.vote;
    this.commitIndex = state.commitIndex;
    this.appliedIndex = state.appliedIndex;
    this.snapshotIndex = state.compaction.snapshotIndex;
    this.baseIndex = state.log.baseIndex;
    this.check();
  }

  /** Throws `InvariantError` at the first broken invariant. */
  check(): void {
    this.checkProgressOfTime();
    this.checkBase();
    this.checkOrder();
    this.checkRole();
    this.checkLeadership();
  }

  private checkProgressOfTime(): void {
    const { term, vote, commitIndex, appliedIndex } = this.state;
    assert(term >= this.term, () => `term fell from ${this.term} to ${term}`);
    assert(
      term > this.term || this.vote === 0 || vote === this.vote,
      () => `vote of term ${term} changed from ${this.vote} to ${vote}`,
    );
    assert(
      commitIndex >= this.commitIndex,
      () => `commit fell from ${this.commitIndex} to ${commitIndex}`,
    );
    assert(
      appliedIndex >= this.appliedIndex,
      () => `applied fell from ${this.appliedIndex} to ${appliedIndex}`,
    );
    this.term = term;
    this.vote = vote;
    this.commitIndex = commitIndex;
    this.appliedIndex = appliedIndex;
  }

  private checkBase(): void {
    const { log, compaction } = this.state;
    const { baseIndex } = log;
    const { snapshotIndex } = compaction;
    if (snapshotIndex === this.snapshotIndex && baseIndex === this.baseIndex) return;
    const { baseTerm, lastTerm } = log;
    assert(baseTerm <= lastTerm, () => `term falls from ${baseTerm} to ${lastTerm} in the log`);
    assert(
      snapshotIndex >= this.snapshotIndex,
      () => `snapshot fell from ${this.snapshotIndex} to ${snapshotIndex}`,
    );
    assert(baseIndex >= this.baseIndex, () => `base fell from ${this.baseIndex} to ${baseIndex}`);
    assert(baseIndex <= snapshotIndex, () => `base ${baseIndex}, snapshot ${snapshotIndex}`);
    this.snapshotIndex = snapshotIndex;
    this.baseIndex = baseIndex;
  }

  private checkOrder(): void {
    const { log, durability, configurationHistory, appliedIndex, commitIndex, term } = this.state;
    const { lastIndex, lastTerm } = log;
    const { snapshotIndex } = this.state.compaction;
    const { effectiveIndex } = configurationHistory;
    assert(
      snapshotIndex <= appliedIndex,
      () => `snapshot ${snapshotIndex}, ${appliedIndex} applied`,
    );
    assert(effectiveIndex <= lastIndex, () => `configuration ${effectiveIndex}, last ${lastIndex}`);
    assert(appliedIndex <= commitIndex, () => `applied ${appliedIndex}, commit ${commitIndex}`);
    assert(commitIndex <= lastIndex, () => `commit ${commitIndex}, last ${lastIndex}`);
    assert(lastTerm <= term, () => `log of term ${lastTerm} in term ${term}`);
    const { durableIndex, persistedSeq, lastSeq } = durability;
    assert(durableIndex <= lastIndex, () => `durable ${durableIndex}, last ${lastIndex}`);
    assert(persistedSeq <= lastSeq, () => `persisted ${persistedSeq}, handed over ${lastSeq}`);
  }

  private checkRole(): void {
    const { role, leader, vote, id, term, leadership } = this.state;
    const isLeader = role === "leader";
    assert(isLeader === (leadership !== undefined), () => `${role} with wrong leadership`);
    assert(isLeader === (leader === id), () => `${role} of term ${term} follows ${leader}`);
    const isStanding = role === "candidate" || isLeader;
    assert(!isStanding || vote === id, () => `${role} of term ${term} voted for ${vote}`);
    const isCandidate = role === "candidate" || role === "preCandidate";
    assert(!isCandidate || leader === 0, () => `${role} of term ${term} follows ${leader}`);
  }

  private checkLeadership(): void {
    const { leadership, configurationHistory, commitIndex } = this.state;
    if (leadership === undefined) return;
    assert(
      leadership.uncommittedBytes >= 0,
      () => `${leadership.uncommittedBytes} uncommitted bytes`,
    );
    // Earlier terms may have left more of them, committed without this node's knowledge.
    const settledIndex = Math.max(commitIndex, leadership.firstIndex - 1);
    if (configurationHistory.effectiveIndex > settledIndex) {
      const open = configurationHistory.countAfter(settledIndex);
      assert(open <= 1, () => `${open} configurations are not committed`);
    }
    this.checkPeers(leadership);
  }

  private checkPeers(leadership: Leadership): void {
    const { log, config } = this.state;
    for (const peer of leadership.peers) {
      const { id, match, next, mode, inflight, isConnected } = peer;
      assert(match >= 0 && match < next, () => `peer ${id}: match ${match}, next ${next}`);
      assert(
        next > log.baseIndex || mode === "snapshot",
        () => `peer ${id}: next ${next} in ${mode}, base ${log.baseIndex}`,
      );
      assert(isConnected || mode === "probe", () => `peer ${id}: ${mode} without a connection`);
      assert(next <= log.lastIndex + 1, () => `peer ${id}: next ${next}, last ${log.lastIndex}`);
      assert(
        inflight.messages <= config.inflightMessagesMax,
        () => `peer ${id}: ${inflight.messages} messages in flight`,
      );
    }
  }
}
