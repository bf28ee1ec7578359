/**
 * What must hold of one node in every state, and what one step may change. Cheap enough to stay on
 * in production: `Raft` checks it in every `take`. What only several nodes together can break
 * (election safety, log matching, …) is checked by the tests.
 */
import { assert } from "../assert.js";
import type { State } from "./state.js";

/** The parts of a node that may only move one way. */
export class InvariantWatch {
  private readonly state: State;
  private term: number;
  private vote: number;
  private commitIndex: number;
  private appliedIndex: number;

  constructor(state: State) {
    this.state = state;
    this.term = state.term;
    this.vote = state.vote;
    this.commitIndex = state.commitIndex;
    this.appliedIndex = state.appliedIndex;
    this.check();
  }

  /** Throws `InvariantError` at the first one broken. */
  check(): void {
    this.checkProgressOfTime();
    this.checkOrder();
    this.checkRole();
    this.checkPeers();
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

  private checkOrder(): void {
    const { log, durability, appliedIndex, commitIndex, term } = this.state;
    const { baseIndex, lastIndex, lastTerm } = log;
    assert(baseIndex <= appliedIndex, () => `base ${baseIndex}, applied ${appliedIndex}`);
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

  private checkPeers(): void {
    const { leadership, log, config } = this.state;
    if (leadership === undefined) return;
    assert(
      leadership.uncommittedBytes >= 0,
      () => `${leadership.uncommittedBytes} uncommitted bytes`,
    );
    for (const { id, match, next, inflight } of leadership.peers) {
      assert(match >= 0 && match < next, () => `peer ${id}: match ${match}, next ${next}`);
      assert(next <= log.lastIndex + 1, () => `peer ${id}: next ${next}, last ${log.lastIndex}`);
      assert(
        inflight.messages <= config.inflightMessagesMax,
        () => `peer ${id}: ${inflight.messages} messages in flight`,
      );
    }
  }
}
