/**
 * Directed links. Each is a connection with an epoch: messages arrive in order or, when the
 * connection breaks, not at all. The sender may learn of a break late; what it sends until then
 * is lost. A snapshot travels on the same connection, in pieces between the messages, so it can
 * arrive at any time. `lose`, `repeat` and `swap` do what no connection does, to test what the
 * core can tolerate.
 */
import type { Message, NodeId } from "../../../src/raft/index.js";
import type { TableSnapshot } from "./simulated-table.js";

/** A snapshot under way from a leader. */
export interface Transfer {
  readonly from: NodeId;
  readonly to: NodeId;
  /** The leader's, when it began to send. */
  readonly term: number;
  readonly epoch: number;
  readonly snapshot: TableSnapshot;
}

export interface SimulatedLink {
  readonly from: NodeId;
  readonly to: NodeId;
  /** The epoch of the connection the sender believes in; 0 for none. */
  epoch: number;
  /** Whether the connection still carries anything. */
  isAlive: boolean;
  /** No connection can be made. */
  isBlocked: boolean;
  /** How the sender will learn of the end: closed by the other process, or silence. */
  isClosed: boolean;
  readonly queue: Message[];
  readonly transfers: Transfer[];
}

export class SimulatedNetwork {
  readonly links: readonly SimulatedLink[];
  private readonly byEnds = new Map<string, SimulatedLink>();
  private lastEpoch = 0;

  constructor(ids: readonly NodeId[]) {
    for (const from of ids) {
      for (const to of ids) {
        if (from === to) continue;
        this.byEnds.set(`${from}>${to}`, {
          from,
          to,
          epoch: 0,
          isAlive: false,
          isBlocked: false,
          isClosed: false,
          queue: [],
          transfers: [],
        });
      }
    }
    this.links = [...this.byEnds.values()];
  }

  link(from: NodeId, to: NodeId): SimulatedLink {
    const link = this.byEnds.get(`${from}>${to}`);
    if (link === undefined) throw new Error(`no link from ${from} to ${to}`);
    return link;
  }

  send(message: Message): void {
    const link = this.link(message.from, message.to);
    if (link.isAlive) link.queue.push(message);
  }

  /** Begins to send a snapshot, on the connection it was wanted for and on no other. */
  transfer(transfer: Transfer): void {
    const link = this.link(transfer.from, transfer.to);
    if (link.isAlive && link.epoch === transfer.epoch) link.transfers.push(transfer);
  }

  /** What is under way is lost. */
  break(link: SimulatedLink): void {
    link.isAlive = false;
    link.queue.length = 0;
    link.transfers.length = 0;
  }

  /** `id` died: what it sent may still arrive, what was sent to it cannot. */
  end(id: NodeId): void {
    for (const link of this.links) {
      if (link.to === id) {
        link.isClosed ||= link.isAlive;
        this.break(link);
      } else if (link.from === id) {
        link.isAlive = false;
        link.epoch = 0;
        link.isClosed = false;
        link.transfers.length = 0;
      }
    }
  }

  /** Makes a new connection; the caller notifies the sender. */
  connect(link: SimulatedLink): void {
    this.lastEpoch += 1;
    link.epoch = this.lastEpoch;
    link.isAlive = true;
    link.isClosed = false;
  }

  lose(link: SimulatedLink, at: number): void {
    link.queue.splice(at % (link.queue.length + 1), 1);
  }

  /** The message at `at` arrives once more, after everything that is under way. */
  repeat(link: SimulatedLink, at: number): void {
    const message = link.queue[at % (link.queue.length + 1)];
    if (message !== undefined) link.queue.push(message);
  }

  /** The message at `at` is moved after everything that is under way. */
  swap(link: SimulatedLink, at: number): void {
    link.queue.push(...link.queue.splice(at % (link.queue.length + 1), 1));
  }
}
