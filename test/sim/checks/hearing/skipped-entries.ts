/**
 * A node that takes over a snapshot never makes the replies of the entries that it skips. So no
 * connection that it had outlives the turn in which it begins to, whatever the snapshot knows of
 * the client behind it: not one with a session, and not one that waits, watches or only reads.
 */
import type { Effects } from "../../../../src/raft/index.js";
import type { SimNode } from "../../world/node/sim-node.js";
import type { Fail } from "../violation.js";

/** For one life of a node. */
export class SkippedEntries {
  readonly #node: SimNode;
  readonly #fail: Fail;
  /** The connections of the node when it began to take over a snapshot in this turn. */
  #had: SimNode["openConnections"] = [];

  constructor(node: SimNode, fail: Fail) {
    this.#node = node;
    this.#fail = fail;
  }

  onTake({ restore }: Effects): void {
    if (restore !== undefined) this.#had = this.#node.openConnections;
  }

  afterTurn(): void {
    const kept = this.#had.filter(({ isOpen }) => isOpen);
    this.#had = [];
    if (kept.length === 0 || !this.#node.isAlive) return;
    const text = `node ${this.#node.id} keeps ${kept.length} connections with a new snapshot`;
    this.#fail("no connection outlives what a node skips", text);
  }
}
