/**
 * What voters promised in elections, by the messages they sent: one vote per term, a majority of
 * pre-votes before a candidate asks for votes, and a majority of votes before it leads.
 */
import type { Configuration } from "../../../../src/raft/index.js";
import type { Fail } from "../violation.js";
import { isMajority } from "./majority.js";

export class Votes {
  readonly #fail: Fail;
  /** By voter and term. */
  readonly #votes = new Map<string, number>();
  /** Voter, candidate and term. */
  readonly #preVotes = new Set<string>();

  constructor(fail: Fail) {
    this.#fail = fail;
  }

  onVote(voter: number, term: number, candidate: number): void {
    const key = `${voter}@${term}`;
    const before = this.#votes.get(key);
    if (before !== undefined && before !== candidate) {
      const message = `${voter} votes for ${before} and ${candidate} in term ${term}`;
      this.#fail("one vote per term", message);
    }
    this.#votes.set(key, candidate);
  }

  onPreVote(voter: number, term: number, candidate: number): void {
    this.#preVotes.add(`${voter} ${candidate} ${term}`);
  }

  /** `candidate` asks for votes, and no leader told it to. */
  checkAsked(candidate: number, term: number, members: Configuration): void {
    const has = (id: number): boolean =>
      id === candidate || this.#preVotes.has(`${id} ${candidate} ${term}`);
    if (isMajority(members, has)) return;
    this.#fail("pre-vote first", `${candidate} stands in term ${term} unasked`);
  }

  /** `leader` leads `term`. `hasOwn`: its own vote is durable. */
  checkElected(leader: number, term: number, members: Configuration, hasOwn: boolean): void {
    const has = (id: number): boolean =>
      id === leader ? hasOwn : this.#votes.get(`${id}@${term}`) === leader;
    if (isMajority(members, has)) return;
    this.#fail("elected by a majority", `${leader} leads term ${term} without one`);
  }
}
