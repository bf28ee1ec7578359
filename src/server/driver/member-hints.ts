/**
 * What other nodes said about members, at entries that this node has not applied yet. Without it, a
 * node that was away while members changed would refuse the connection of a new leader that it does
 * not know, and learn of it from no one else.
 *
 * A hint counts only as long as its sender does: a member by this node's own log, or named by a
 * hint that counts. So a node that is removed cannot keep its place, or a place of others, by what
 * it said before.
 */
import type { MemberAddress, NodeId } from "../../raft/index.js";

interface Hint {
  readonly index: number;
  readonly members: readonly MemberAddress[];
}

const NONE: readonly MemberAddress[] = [];

export class MemberHints {
  readonly #bySender = new Map<NodeId, Hint>();
  #members: readonly MemberAddress[] = NONE;

  /** By the newest hint that counts; empty if there is none. */
  get members(): readonly MemberAddress[] {
    return this.#members;
  }

  /** `sender` has applied the entry `index`, at which these are the members. */
  note(sender: NodeId, index: number, members: readonly MemberAddress[]): void {
    const before = this.#bySender.get(sender);
    if (before === undefined || before.index < index)
      this.#bySender.set(sender, { index, members });
  }

  /**
   * Forgets what no longer counts. Returns whether `members` has changed.
   * @param isMember by the own log
   */
  follow(appliedIndex: number, isMember: (id: NodeId) => boolean): boolean {
    if (this.#bySender.size === 0) return false;
    for (const [sender, { index }] of this.#bySender) {
      if (index <= appliedIndex) this.#bySender.delete(sender);
    }
    const counting = this.#counting(isMember);
    let newest: Hint | undefined;
    for (const [sender, hint] of this.#bySender) {
      if (!counting.has(sender)) this.#bySender.delete(sender);
      else if (newest === undefined || hint.index > newest.index) newest = hint;
    }
    const before = this.#members;
    this.#members = newest?.members ?? NONE;
    return this.#members !== before;
  }

  /**
   * Nodes in all hints that count, except the hint of `sender`, which must not vouch for itself.
   */
  *namedByOthersThan(sender: NodeId): Iterable<NodeId> {
    for (const [from, { members }] of this.#bySender) {
      if (from !== sender) for (const { id } of members) yield id;
    }
  }

  /** The senders whose hints count. */
  #counting(isMember: (id: NodeId) => boolean): ReadonlySet<NodeId> {
    const counting = new Set([...this.#bySender.keys()].filter(isMember));
    // A set is walked to its end, including what is added meanwhile.
    for (const sender of counting) {
      for (const { id } of this.#bySender.get(sender)?.members ?? NONE) counting.add(id);
    }
    return counting;
  }
}
