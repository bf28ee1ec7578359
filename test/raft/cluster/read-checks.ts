/**
 * Reads by index: each is answered once, by the node that received it, with an index that covers
 * everything that any node knew to be committed when the read was requested (thesis, 6.4).
 */
import type { Effects, NodeId } from "../../../src/raft/index.js";
import { must } from "./history.js";
import type { SimulatedNode } from "./simulated-node.js";

interface OpenRead {
  readonly node: NodeId;
  /** The last index that was committed when the read began. */
  readonly floor: number;
}

export class ReadChecks {
  private readonly open = new Map<number, OpenRead>();
  /** How many were answered with an index. */
  answered = 0;

  onAsked(id: number, node: NodeId, floor: number): void {
    this.open.set(id, { node, floor });
  }

  /** Nobody waits any more for what was asked at `node`. */
  onForgotten(node: NodeId): void {
    for (const [id, read] of this.open) if (read.node === node) this.open.delete(id);
  }

  isOpen(id: number): boolean {
    return this.open.has(id);
  }

  onEffects(node: SimulatedNode, { reads, readsRefused, restore }: Effects): void {
    for (const { id, index } of reads) {
      const { floor } = this.close(node, id);
      must(
        index >= floor,
        () => `stale read ${id} at ${node.id}: index ${index}, but ${floor} was committed before`,
      );
      must(
        index <= node.raft.commitIndex,
        () => `read ${id} at ${node.id}: index ${index}, commit ${node.raft.commitIndex}`,
      );
      this.answered += 1;
    }
    for (const id of readsRefused) this.close(node, id);
    if (restore !== undefined) this.onForgotten(node.id);
  }

  private close(node: SimulatedNode, id: number): OpenRead {
    const read = this.open.get(id);
    must(read?.node === node.id, () => `read ${id} answered at ${node.id}, asked at ${read?.node}`);
    this.open.delete(id);
    return read as OpenRead;
  }
}
