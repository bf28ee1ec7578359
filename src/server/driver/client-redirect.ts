/**
 * Decides when this node cannot serve its clients and should send them to another node: either it
 * had no leader and heard no majority for one election timeout, or it lags far behind the commit
 * index. A mere change of leader moves no client.
 */
import type { NodeId } from "../../raft/index.js";

/** Committed entries that a serving node may not have applied yet. */
const APPLY_LAG_ENTRIES_MAX = 8_192;

export class ClientRedirect {
  #voters: readonly NodeId[] = [];
  readonly #nodeId: NodeId;
  readonly #timeoutMs: number;
  readonly #heardAtMs = new Map<NodeId, number>();
  #troubleSinceMs: number | undefined;
  #troubleNumber = 0;
  #nextNoticeMs = Number.POSITIVE_INFINITY;

  constructor(nodeId: NodeId, electionTimeoutMs: number) {
    this.#nodeId = nodeId;
    this.#timeoutMs = electionTimeoutMs;
  }

  get nextDeadlineMs(): number {
    return this.#nextNoticeMs;
  }

  /** The number of the current or last time of trouble; in each, a client is told to move once. */
  get troubleNumber(): number {
    return this.#troubleNumber;
  }

  /** Sets the members whose messages count. */
  setVoters(voters: readonly NodeId[]): void {
    this.#voters = voters;
  }

  onHeard(peer: NodeId, nowMs: number): void {
    this.#heardAtMs.set(peer, nowMs);
  }

  /** Whether clients should be told to move now: once per timeout while the trouble lasts. */
  isNoticeDue(nowMs: number, hasLeader: boolean, lagEntries: number): boolean {
    const isLagging = lagEntries > APPLY_LAG_ENTRIES_MAX;
    if (hasLeader && !isLagging) {
      this.#troubleSinceMs = undefined;
      this.#nextNoticeMs = Number.POSITIVE_INFINITY;
      return false;
    }
    if (this.#troubleSinceMs === undefined) {
      this.#troubleSinceMs = nowMs;
      this.#troubleNumber += 1;
      this.#nextNoticeMs = nowMs + this.#timeoutMs;
      return false;
    }
    if (nowMs < this.#nextNoticeMs) return false;
    this.#nextNoticeMs = nowMs + this.#timeoutMs;
    return isLagging || !this.#hearsMajority(nowMs);
  }

  #hearsMajority(nowMs: number): boolean {
    let heard = 0;
    for (const voter of this.#voters) {
      const atMs = voter === this.#nodeId ? nowMs : this.#heardAtMs.get(voter);
      if (atMs !== undefined && nowMs - atMs <= this.#timeoutMs) heard += 1;
    }
    return heard * 2 > this.#voters.length;
  }
}
