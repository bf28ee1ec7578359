/** What leaders believe about the logs of other nodes, compared with the disks of those nodes. */
import type { Configuration, Raft } from "../../../../src/raft/index.js";
import type { Fail } from "../violation.js";
import type { LogicalLog } from "./logical-log.js";
import type { NodeLedger } from "./node-ledger.js";

export class PeerViews {
  readonly #fail: Fail;
  /** The ledgers of its disk, and of the disks that it had before. */
  readonly #ledgersOf: (id: number) => readonly NodeLedger[];
  /** By leader, then by voter: the highest match in the leader's current term. */
  readonly #matches = new Map<number, Map<number, number>>();

  constructor(fail: Fail, ledgersOf: (id: number) => readonly NodeLedger[]) {
    this.#fail = fail;
    this.#ledgersOf = ledgersOf;
  }

  /** Node `id` begins to lead: nothing is known of anybody. */
  begin(id: number): void {
    this.#matches.set(id, new Map());
  }

  /** `log`: what the leader `id` itself has handed over. `members`: those that count on it. */
  check(id: number, raft: Raft, log: LogicalLog, members: Configuration): void {
    for (const { id: peer, matchIndex, nextIndex } of raft.peers) {
      if (matchIndex >= nextIndex) {
        this.#fail("match < next", `${matchIndex}, ${nextIndex} of ${peer} at ${id}`);
      }
      this.#checkRising(id, peer, matchIndex, members);
      const entry = log.entry(matchIndex);
      if (entry === undefined) continue;
      const isTrue = this.#ledgersOf(peer).some(({ durable }) => {
        return durable.hardState.term > raft.term || durable.holds(entry);
      });
      if (isTrue) continue;
      this.#fail("match is durable", `${matchIndex} of ${peer} at ${id} is not on its disk`);
    }
  }

  /** What a voter has, it never lacks again; a learner may be a node that was set up again. */
  #checkRising(id: number, peer: number, matchIndex: number, { voters }: Configuration): void {
    const matches = this.#matches.get(id);
    if (matches === undefined) return;
    if (!voters.includes(peer)) {
      matches.delete(peer);
      return;
    }
    const before = matches.get(peer) ?? 0;
    if (matchIndex < before) {
      this.#fail("match never falls", `${matchIndex} after ${before} of ${peer} at ${id}`);
    }
    matches.set(peer, matchIndex);
  }
}
