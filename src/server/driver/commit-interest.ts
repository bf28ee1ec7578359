/**
 * Tells the leader whether anybody waits at this node. While nobody does, the leader need not tell
 * every advance of the commit index at once: the next append or heartbeat carries it, which spares
 * two messages and two turns of the loop per entry. The leader assumes interest until it is told
 * otherwise, so a lost word costs messages, never a waiting client.
 */
import type { PeerMessage } from "../../net/index.js";
import type { NodeId } from "../../raft/index.js";

export class CommitInterest {
  readonly #send: (peer: NodeId, message: PeerMessage) => void;
  /** What the present leader was told over the present link. */
  #told: boolean | undefined;

  constructor(send: (peer: NodeId, message: PeerMessage) => void) {
    this.#send = send;
  }

  /** Term, leader or link changed: whoever leads now knows nothing. */
  restart(): void {
    this.#told = undefined;
  }

  /** Once a turn while a leader can be reached, before anything is forwarded to it. */
  tell(leader: NodeId, isInterested: boolean): void {
    if (this.#told === isInterested) return;
    this.#told = isInterested;
    this.#send(leader, { type: "commitInterest", isInterested });
  }
}
