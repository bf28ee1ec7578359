/**
 * Directed links, each a connection with an epoch: messages arrive in order or, when the connection
 * breaks, not at all. The sender may learn of a break late; what it sends until then is lost.
 */
import type { Message, NodeId } from "../../src/raft/index.js";

export interface SimulatedLink {
  readonly from: NodeId;
  readonly to: NodeId;
  /** Of the connection the sender believes in; 0 for none. */
  epoch: number;
  /** Whether the connection still carries anything. */
  isAlive: boolean;
  /** No connection can be made. */
  isBlocked: boolean;
  /** How the sender will learn of the end: closed by the other process, or silence. */
  isClosed: boolean;
  readonly queue: Message[];
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

  /** What is under way is lost. */
  break(link: SimulatedLink): void {
    link.isAlive = false;
    link.queue.length = 0;
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
      }
    }
  }

  /** Makes a new connection; whoever calls tells the sender. */
  connect(link: SimulatedLink): void {
    this.lastEpoch += 1;
    link.epoch = this.lastEpoch;
    link.isAlive = true;
    link.isClosed = false;
  }
}
