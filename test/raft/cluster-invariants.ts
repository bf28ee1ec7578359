/**
 * What must hold of all nodes together, for ever (Raft paper, figure 3, and what durability adds).
 * Remembers what was ever seen: leaders by term, entries by index and term, votes, commits. Throws
 * an error that names the invariant and the numbers.
 */
import {
  type Configuration,
  type Entry,
  type Message,
  type NodeId,
  quorumValue,
} from "../../src/raft/index.js";
import type { SimulatedNode } from "./simulated-node.js";

interface SeenEntry {
  readonly entry: Entry;
  readonly previousTerm: number;
}

interface CommittedEntry {
  readonly entry: Entry;
  /** The term of the node that first held it for committed. */
  readonly inTerm: number;
}

interface LastSeen {
  term: number;
  commitIndex: number;
  /** The log of a node that leads, as it was. */
  ledTerm: number;
  ledEntries: Entry[];
  durableTerm: number;
}

export class ClusterInvariants {
  private readonly configuration: Configuration;
  private readonly nodes: readonly SimulatedNode[];
  private readonly leaders = new Map<number, NodeId>();
  private readonly votes = new Map<string, NodeId>();
  private readonly entries = new Map<string, SeenEntry>();
  private readonly committed: CommittedEntry[] = [];
  private readonly lastSeen = new Map<NodeId, LastSeen>();

  constructor(configuration: Configuration, nodes: readonly SimulatedNode[]) {
    this.configuration = configuration;
    this.nodes = nodes;
    for (const { id } of nodes) {
      this.lastSeen.set(id, {
        term: 0,
        commitIndex: 0,
        ledTerm: 0,
        ledEntries: [],
        durableTerm: 0,
      });
    }
  }

  /** A restart begins with what the disk holds. */
  onStart(id: NodeId): void {
    const seen = this.of(id);
    seen.term = this.node(id).disk.hardState.term;
    seen.commitIndex = 0;
    seen.ledTerm = 0;
  }

  check(): void {
    for (const node of this.nodes) {
      this.checkDisk(node);
      if (!node.isRunning) continue;
      this.checkLog(node);
      this.checkMonotonic(node);
      if (node.raft.role === "leader") this.checkLeader(node);
      this.checkCommitted(node);
    }
    for (const node of this.nodes) {
      if (node.isRunning && node.raft.role === "leader") this.checkCompleteness(node);
    }
    this.checkDurability();
  }

  /** What leaves must be true of the disk already, where it speaks of the disk. */
  onSend(message: Message): void {
    const { disk } = this.node(message.from);
    const { term, vote } = disk.hardState;
    switch (message.type) {
      case "vote":
        this.onVote(message.from, message.term, message.from);
        require(term > message.term || (term === message.term && vote === message.from), () =>
          `${message.from} asks for votes of ${message.term}, disk: ${term}, ${vote}`);
        // A request that waited while somebody else won its term can elect nobody any more, and the
        // winner may have cut the log it speaks of.
        if (term > message.term || this.leaders.has(message.term)) return;
        require(disk.entryAt(message.lastLogIndex)?.term ===
          (message.lastLogTerm || undefined), () =>
          `${message.from} advertises entry ${message.lastLogIndex} and lacks it on disk`);
        break;
      case "voteReply":
        if (!message.granted) return;
        this.onVote(message.from, message.term, message.to);
        require(term > message.term || (term === message.term && vote === message.to), () =>
          `${message.from} grants ${message.to} ${message.term}, disk: ${term}, ${vote}`);
        break;
      case "appendReply":
        if (!message.success) return;
        require(term > message.term ||
          (term === message.term && disk.lastIndex >= message.matchIndex), () =>
          `${message.from} acknowledges ${message.matchIndex} in term ${message.term}, ` +
          `disk: ${disk.lastIndex} in term ${term}`);
        break;
      case "append":
      case "heartbeat":
        require(this.leaders.get(message.term) === undefined ||
          this.leaders.get(message.term) === message.from, () =>
          `${message.from} acts as leader of term ${message.term}`);
        break;
      default:
        break;
    }
  }

  private onVote(voter: NodeId, term: number, candidate: NodeId): void {
    const key = `${voter}@${term}`;
    const before = this.votes.get(key);
    require(before === undefined || before === candidate, () =>
      `${voter} votes for ${before} and ${candidate} in term ${term}`);
    this.votes.set(key, candidate);
  }

  private checkDisk(node: SimulatedNode): void {
    const seen = this.of(node.id);
    const { term } = node.disk.hardState;
    require(term >= seen.durableTerm, () =>
      `durable term of ${node.id} fell from ${seen.durableTerm} to ${term}`);
    seen.durableTerm = term;
    if (!node.isRunning || node.disk.pending.length > 0) return;
    const { raft, disk } = node;
    require(raft.term === term, () => `${node.id} is in term ${raft.term}, its disk in ${term}`);
    require(raft.lastIndex === disk.lastIndex, () =>
      `${node.id} has ${raft.lastIndex} entries, its disk ${disk.lastIndex}`);
    for (const entry of disk.entries) {
      require(raft.entry(entry.index) === entry, () =>
        `entry ${entry.index} of ${node.id} differs from its disk`);
    }
  }

  /** Log matching: index and term of an entry settle it and everything before it. */
  private checkLog(node: SimulatedNode): void {
    let previousTerm = 0;
    for (const entry of node.raft.entries(1, node.raft.lastIndex)) {
      const key = `${entry.index}@${entry.term}`;
      const seen = this.entries.get(key);
      if (seen === undefined) this.entries.set(key, { entry, previousTerm });
      require(seen === undefined ||
        (seen.previousTerm === previousTerm && isSame(seen.entry, entry)), () =>
        `log matching: two entries ${entry.index} of term ${entry.term}, at ${node.id}`);
      require(entry.term >= previousTerm, () =>
        `term falls to ${entry.term} at ${entry.index} of ${node.id}`);
      previousTerm = entry.term;
    }
  }

  private checkMonotonic(node: SimulatedNode): void {
    const seen = this.of(node.id);
    const { term, commitIndex } = node.raft;
    require(term >= seen.term, () => `term of ${node.id} fell from ${seen.term} to ${term}`);
    require(commitIndex >= seen.commitIndex, () =>
      `commit of ${node.id} fell from ${seen.commitIndex} to ${commitIndex}`);
    seen.term = term;
    seen.commitIndex = commitIndex;
  }

  /** Election safety, leader append-only, and what it believes of its peers. */
  private checkLeader(node: SimulatedNode): void {
    const { raft, id } = node;
    const before = this.leaders.get(raft.term);
    require(before === undefined || before === id, () =>
      `election safety: ${before} and ${id} lead term ${raft.term}`);
    this.leaders.set(raft.term, id);
    const seen = this.of(id);
    const entries = [...raft.entries(1, raft.lastIndex)];
    if (seen.ledTerm === raft.term) {
      for (const [at, entry] of seen.ledEntries.entries()) {
        require(entries[at] === entry, () => `leader ${id} changed its entry ${entry.index}`);
      }
    }
    seen.ledTerm = raft.term;
    seen.ledEntries = entries;
    for (const { id: peer, matchIndex, nextIndex } of raft.peers) {
      require(matchIndex < nextIndex, () =>
        `match ${matchIndex}, next ${nextIndex} of ${peer} at ${id}`);
      const { disk } = this.node(peer);
      if (disk.hardState.term > raft.term || matchIndex === 0) continue;
      const durable = disk.entryAt(matchIndex);
      require(durable?.term === raft.entry(matchIndex).term, () =>
        `match of ${peer} at ${id} is ${matchIndex}, which is not on its disk`);
    }
  }

  /** State-machine safety: what one node holds for committed, no other node ever contradicts. */
  private checkCommitted(node: SimulatedNode): void {
    const { raft, applied } = node;
    for (const entry of raft.entries(1, raft.commitIndex)) {
      const known = this.committed[entry.index - 1];
      require(known === undefined || isSame(known.entry, entry), () =>
        `state machine safety: two committed entries ${entry.index}, at ${node.id}`);
      if (known === undefined) this.committed.push({ entry, inTerm: raft.term });
    }
    require(applied.length <= raft.commitIndex, () =>
      `${node.id} applied ${applied.length}, commit ${raft.commitIndex}`);
  }

  private checkCompleteness(node: SimulatedNode): void {
    const { raft } = node;
    for (const { entry, inTerm } of this.committed) {
      if (inTerm > raft.term) continue;
      require(entry.index <= raft.lastIndex && isSame(raft.entry(entry.index), entry), () =>
        `leader completeness: ${node.id} leads ${raft.term} without entry ${entry.index}`);
    }
  }

  /** Every committed entry lies on the disks of a quorum, crashed nodes included. */
  private checkDurability(): void {
    const last = this.committed.at(-1);
    if (last === undefined) return;
    const durable = quorumValue(this.configuration, (id) => {
      const held = this.node(id).disk.entryAt(last.entry.index);
      return held !== undefined && isSame(held, last.entry) ? 1 : 0;
    });
    require(durable === 1, () =>
      `entry ${last.entry.index} is committed and not durable on a quorum`);
  }

  private node(id: NodeId): SimulatedNode {
    const node = this.nodes[id - 1];
    if (node === undefined) throw new Error(`no node ${id}`);
    return node;
  }

  private of(id: NodeId): LastSeen {
    const seen = this.lastSeen.get(id);
    if (seen === undefined) throw new Error(`no node ${id}`);
    return seen;
  }
}

function isSame(left: Entry, right: Entry): boolean {
  return left.term === right.term && left.kind === right.kind && left.data === right.data;
}

/** A broken invariant of the cluster, as against one that the core asserted itself. */
function require(condition: boolean, message: () => string): void {
  if (!condition) throw new Error(message());
}
