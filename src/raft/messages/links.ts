/**
 * The outgoing connections of this node: which of them are up, with which epoch, and which were
 * closed by the other process. A closed connection means a dead process; but messages that the
 * process had sent before it died may still be read afterwards and must not make it look alive.
 */
import type { NodeId } from "../types.js";

interface Link {
  /** 0 while the connection is down. */
  epoch: number;
  lastEpoch: number;
  /** When the other process closed the connection; `undefined` if it was heard again since. */
  closedAtMs: number | undefined;
}

export class Links {
  private readonly byPeer = new Map<NodeId, Link>();

  /** The epoch of the connection to `peer`, 0 without one. */
  epochOf(peer: NodeId): number {
    return this.byPeer.get(peer)?.epoch ?? 0;
  }

  isUp(peer: NodeId): boolean {
    return this.epochOf(peer) !== 0;
  }

  /** Whether the process of `peer` has ended, as far as is known. */
  isClosed(peer: NodeId): boolean {
    return this.byPeer.get(peer)?.closedAtMs !== undefined;
  }

  /** Returns false for a report that a newer one has overtaken. */
  up(peer: NodeId, epoch: number): boolean {
    const link = this.byPeer.get(peer);
    if (link === undefined) {
      this.byPeer.set(peer, { epoch, lastEpoch: epoch, closedAtMs: undefined });
      return true;
    }
    if (epoch <= link.lastEpoch) return false;
    link.epoch = epoch;
    link.lastEpoch = epoch;
    return true;
  }

  /** Returns false if `epoch` does not belong to the current connection. */
  down(peer: NodeId, epoch: number, closed: boolean, nowMs: number): boolean {
    const link = this.byPeer.get(peer);
    if (link === undefined || link.epoch !== epoch) return false;
    link.epoch = 0;
    if (closed) link.closedAtMs = nowMs;
    return true;
  }

  /** `peer` was heard. More than `graceMs` after its end, this proves that it lives. */
  heard(peer: NodeId, nowMs: number, graceMs: number): void {
    const link = this.byPeer.get(peer);
    if (link?.closedAtMs !== undefined && nowMs > link.closedAtMs + graceMs) {
      link.closedAtMs = undefined;
    }
  }
}
