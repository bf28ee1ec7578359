/**
 * Whether this process has caught up: whether it has applied what was committed before it could
 * take part. What it applies until then happened long ago, so no counter and no point of the node
 * includes it. A follower has caught up when it has what its leader said was committed in its first
 * append of the term, and something of that term; a leader, when it has its own first entry.
 * Decides nothing else.
 */
import type { TableCounts } from "../../lockfsm/index.js";
import type { Message } from "../../raft/index.js";

/** The core, as far as this looks at it. */
export interface CaughtUpCore {
  readonly role: string;
  readonly term: number;
  matches(index: number, term: number): boolean;
}

export class CatchUp {
  #isDone = false;
  /** The term of the leader whose first append was heard. */
  #term = 0;
  /** What was committed then, as that leader knew. */
  #target = 0;
  #countsBefore: TableCounts | undefined;

  get isDone(): boolean {
    return this.#isDone;
  }

  onMessage(message: Message): void {
    if (this.#isDone || message.type !== "append" || message.term <= this.#term) return;
    this.#term = message.term;
    this.#target = message.commitIndex;
  }

  /** Before each entry that is applied. `index`: the last applied one; `counts`: of the table. */
  look(core: CaughtUpCore, index: number, counts: () => TableCounts): void {
    if (this.#isDone || !this.#hasAll(core, index)) return;
    this.#isDone = true;
    this.#countsBefore = counts();
  }

  #hasAll(core: CaughtUpCore, index: number): boolean {
    const { role, term } = core;
    // An entry of the term of the leader comes after all that was committed in earlier terms.
    const isKnown = role === "leader" || (this.#term === term && index >= this.#target);
    return isKnown && core.matches(index, term);
  }

  /** `counts` of the table without what was counted while this node caught up. */
  since(counts: TableCounts): TableCounts {
    const before = this.#isDone ? this.#countsBefore : counts;
    if (before === undefined) return counts;
    const { sessions, claims, bytes, waiters } = counts.limited;
    return {
      ...counts,
      searchesDeferred: counts.searchesDeferred - before.searchesDeferred,
      searchesGivenUp: counts.searchesGivenUp - before.searchesGivenUp,
      deadlocks: counts.deadlocks - before.deadlocks,
      limited: {
        sessions: sessions - before.limited.sessions,
        claims: claims - before.limited.claims,
        bytes: bytes - before.limited.bytes,
        waiters: waiters - before.limited.waiters,
      },
    };
  }
}
