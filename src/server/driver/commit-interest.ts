/**
 * Reports to the leader whether clients wait at this node. If none does, the leader need not send
 * every advance of the commit index at once: the next append or heartbeat carries it, which saves
 * two messages and two turns of the loop per entry. The leader assumes interest until this node
 * denies it, so a lost message costs messages and never delays a client.
 */
import type { PeerMessage } from "../../net/index.js";
import type { NodeId } from "../../raft/index.js";

export class CommitInterest {
  readonly #send: (peer: NodeId, message: PeerMessage) => void;
  /** The last message to the current leader over the current link. */
  #told: boolean | undefined;

  constructor(send: (peer: NodeId, message: PeerMessage) => void) {
    this.#send = send;
  }

  /** Term, leader or link changed: the current leader knows nothing. */
  restart(): void {
    this.#told = undefined;
  }

  /** Once a turn while the leader can be reached, before anything is forwarded to it. */
  tell(leader: NodeId, isInterested: boolean): void {
    if (this.#told === isInterested) return;
    this.#told = isInterested;
    this.#send(leader, { type: "commitInterest", isInterested });
  }
}
