/**
 * The leader that this node follows: its term, its id, and the connection to it. When any of them
 * changes, what was sent before may be lost, and everything kept is sent again.
 */
import type { NodeId, Raft } from "../../raft/index.js";

export class LeaderView {
  readonly #linkEpochs = new Map<NodeId, number>();
  #revision = 0;
  #term = 0;
  #leader: NodeId = 0;
  #linkEpoch = 0;
  #isLeading = false;

  get term(): number {
    return this.#term;
  }

  /** 0 if unknown. */
  get leader(): NodeId {
    return this.#leader;
  }

  get isLeading(): boolean {
    return this.#isLeading;
  }

  /** Grows with each change of the leader or of a link. */
  get revision(): number {
    return this.#revision;
  }

  /** The peers to which there is a link. */
  get linked(): NodeId[] {
    return [...this.#linkEpochs.keys()];
  }

  isLinked(peer: NodeId): boolean {
    return this.#linkEpochs.has(peer);
  }

  /** Whether another node leads and is connected. */
  get canReachLeader(): boolean {
    return !this.#isLeading && this.#linkEpoch !== 0;
  }

  onLinkUp(peer: NodeId, epoch: number): void {
    this.#linkEpochs.set(peer, epoch);
    this.#revision += 1;
  }

  onLinkDown(peer: NodeId, epoch: number): void {
    if (this.#linkEpochs.get(peer) !== epoch) return;
    this.#linkEpochs.delete(peer);
    this.#revision += 1;
  }

  isCurrent(raft: Raft): boolean {
    return (
      this.#term === raft.term &&
      this.#leader === raft.leader &&
      this.#isLeading === (raft.role === "leader") &&
      this.#linkEpoch === this.#linkTo(raft)
    );
  }

  follow(raft: Raft): void {
    this.#term = raft.term;
    this.#leader = raft.leader;
    this.#isLeading = raft.role === "leader";
    this.#linkEpoch = this.#linkTo(raft);
    this.#revision += 1;
  }

  #linkTo(raft: Raft): number {
    return this.#linkEpochs.get(raft.leader) ?? 0;
  }
}
