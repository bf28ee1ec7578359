/**
 * What must hold of all nodes together after every turn (Raft paper, figure 3; thesis, 4.3; and
 * what durability adds). A violation throws an error that names the invariant and the numbers.
 * What has not changed since the last check is not checked again.
 */
import {
  type Configuration,
  type Entry,
  isVoter,
  type Message,
  type NodeId,
} from "../../../src/raft/index.js";
import { configurationOf, NO_MEMBERS, textOf } from "./configurations.js";
import { ClusterHistory, isSame, must } from "./history.js";
import { checkMessage } from "./message-invariants.js";
import type { SimulatedNetwork } from "./simulated-network.js";
import type { SimulatedNode } from "./simulated-node.js";

/** A node as it was when it was checked last. */
interface LastSeen {
  term: number;
  commitIndex: number;
  appliedIndex: number;
  durableTerm: number;
  lastIndex: number;
  lastEntry: Entry | undefined;
  baseIndex: number;
  /** In force, and the index of its entry. */
  configuration: Configuration;
  configurationIndex: number;
  /** The term it led. */
  ledTerm: number;
  /** What it knew of its members as leader of `ledTerm`, and on which connection. */
  matches: Map<NodeId, { readonly match: number; readonly epoch: number }>;
  /** How much of the committed history it was found to hold as leader of `ledTerm`. */
  completeUpTo: number;
}

export class ClusterInvariants {
  readonly history: ClusterHistory;
  private readonly nodes: readonly SimulatedNode[];
  private readonly network: SimulatedNetwork;
  private readonly lastSeen = new Map<NodeId, LastSeen>();
  /** What the last committed entry must be durable on a quorum of. */
  private deciding: Configuration;

  constructor(initial: Configuration, nodes: readonly SimulatedNode[], network: SimulatedNetwork) {
    this.history = new ClusterHistory(initial);
    this.deciding = initial;
    this.nodes = nodes;
    this.network = network;
    for (const { id } of nodes) this.lastSeen.set(id, neverSeen());
  }

  /** A restart begins with what the disk holds. */
  onStart(id: NodeId): void {
    const { disk } = this.node(id);
    this.lastSeen.set(id, {
      ...neverSeen(),
      term: disk.hardState.term,
      durableTerm: disk.hardState.term,
      commitIndex: disk.snapshotIndex,
      appliedIndex: disk.snapshotIndex,
    });
  }

  /** The disk of `id` was replaced by an empty one. */
  onWiped(id: NodeId): void {
    this.lastSeen.set(id, neverSeen());
    this.history.forgetVotes(id);
  }

  /** Whether no configuration that may still count lets `id` decide: its votes are worthless. */
  isNobodysVoter(id: NodeId): boolean {
    const { history } = this;
    if (isVoter(history.configurationAt(history.committedIndex), id)) return false;
    return this.nodes.every((node) => node.isRunning && !isVoter(node.raft.configuration, id));
  }

  /** After a turn of `id`, and whenever its disk went on. */
  check(id: NodeId): void {
    const node = this.node(id);
    if (node.isRunning) {
      const seen = this.of(id);
      const { configuration: before, configurationIndex: beforeIndex } = seen;
      const known = this.history.committedIndex;
      this.checkMonotonic(node);
      this.checkLog(node);
      if (node.raft.role === "leader") this.checkLeader(node);
      if (this.history.committedIndex > known) this.decide(seen, known, before, beforeIndex);
      this.checkApplied(node);
    }
    this.checkDisk(node);
    for (const other of this.nodes) {
      if (other.isRunning && other.raft.role === "leader") this.checkCompleteness(other);
    }
    this.mustBeDurable(this.history.committedIndex, this.deciding);
  }

  onSend(message: Message): void {
    checkMessage(this.history, this.node(message.from).disk, message);
  }

  private checkDisk(node: SimulatedNode): void {
    const seen = this.of(node.id);
    const { disk } = node;
    const { term } = disk.hardState;
    must(
      term >= seen.durableTerm,
      () => `durable term of ${node.id} fell from ${seen.durableTerm} to ${term}`,
    );
    seen.durableTerm = term;
    const { standing } = disk;
    must(
      standing === undefined || standing.table === this.history.tableAt(standing.index),
      () => `state machine safety: snapshot ${standing?.index} of ${node.id} holds another table`,
    );
    if (!node.isRunning || disk.pending.length > 0) return;
    const { raft } = node;
    must(raft.term === term, () => `${node.id} is in term ${raft.term}, its disk in ${term}`);
    must(
      raft.lastIndex === disk.lastIndex && raft.baseIndex === disk.baseIndex,
      () =>
        `${node.id} has (${raft.baseIndex}, ${raft.lastIndex}], ` +
        `its disk (${disk.baseIndex}, ${disk.lastIndex}]`,
    );
    must(
      disk.entries.every((entry) => raft.entry(entry.index) === entry),
      () => `the log of ${node.id} differs from its disk`,
    );
  }

  private checkMonotonic({ raft, id }: SimulatedNode): void {
    const seen = this.of(id);
    for (const name of ["term", "appliedIndex"] as const) {
      const value = raft[name];
      must(value >= seen[name], () => `${name} of ${id} fell from ${seen[name]} to ${value}`);
      seen[name] = value;
    }
    const { baseIndex, appliedIndex, commitIndex, lastIndex } = raft;
    must(
      commitIndex >= seen.commitIndex,
      () => `commit of ${id} fell from ${seen.commitIndex} to ${commitIndex}`,
    );
    must(
      baseIndex <= appliedIndex && appliedIndex <= commitIndex && commitIndex <= lastIndex,
      () => `order at ${id}: ${baseIndex}, ${appliedIndex}, ${commitIndex}, ${lastIndex}`,
    );
  }

  /**
   * Log matching, terms that never fall, state-machine safety of what is committed, one uncommitted
   * configuration at most, and the configuration that the log says is in force.
   */
  private checkLog(node: SimulatedNode): void {
    const { raft, id } = node;
    const seen = this.of(id);
    if (!hasChanged(seen, node)) return;
    const { baseIndex, lastIndex, commitIndex } = raft;
    must(
      baseIndex <= this.history.committedIndex,
      () => `the log of ${id} begins at ${baseIndex}, after every commit`,
    );
    let { tableConfiguration: configuration, tableIndex: configurationIndex } = node;
    const configurations: number[] = [];
    let previousTerm = raft.baseTerm;
    for (const entry of raft.entries(baseIndex + 1, lastIndex)) {
      this.history.onEntry(entry, previousTerm, id);
      if (entry.index <= commitIndex) this.history.onCommitted(entry, raft.term, id);
      must(
        entry.term >= previousTerm,
        () => `term falls to ${entry.term} at ${entry.index} of ${id}`,
      );
      previousTerm = entry.term;
      if (entry.kind !== "configuration") continue;
      configurations.push(entry.index);
      if (entry.index <= configurationIndex) continue;
      configuration = configurationOf(entry);
      configurationIndex = entry.index;
    }
    const open = configurations.filter((index) => index > this.history.committedIndex);
    must(open.length <= 1, () => `uncommitted configurations ${open.join(",")} at ${id}`);
    must(
      textOf(raft.configuration) === textOf(configuration),
      () => `${id} goes by ${textOf(raft.configuration)}, its log says ${textOf(configuration)}`,
    );
    must(
      !stillLeads(seen, node) || isPrefix(seen, node),
      () => `leader append-only: ${id} changed its log up to ${seen.lastIndex}`,
    );
    Object.assign(seen, { commitIndex, baseIndex, lastIndex, configuration, configurationIndex });
    seen.lastEntry = lastIndex > baseIndex ? raft.entry(lastIndex) : undefined;
  }

  /** Election safety, and what a leader believes of its peers. */
  private checkLeader(node: SimulatedNode): void {
    const { raft, id } = node;
    this.history.onLeader(raft.term, id);
    const seen = this.of(id);
    if (seen.ledTerm !== raft.term) {
      const { term, configuration } = raft;
      const hasVote = (voter: NodeId) => this.history.voteOf(voter, term) === id;
      must(
        isMajorityOf(configuration, (voter) => voter === id || hasVote(voter)),
        () => `${id} leads ${term} without a majority of ${textOf(configuration)}`,
      );
      seen.ledTerm = raft.term;
      seen.matches = new Map();
      seen.completeUpTo = 0;
    }
    const before = seen.matches;
    seen.matches = new Map();
    for (const { id: peer, matchIndex, nextIndex, isVoter: decides, isLearner } of raft.peers) {
      must(
        matchIndex >= 0 && matchIndex < nextIndex,
        () => `match ${matchIndex}, next ${nextIndex} of ${peer} at ${id}`,
      );
      const { epoch, isAlive } = this.network.link(id, peer);
      const known = before.get(peer);
      // A learner may come back as a new node; everything stays true about voters.
      const isForgotten = !decides && epoch !== known?.epoch;
      must(
        isForgotten || matchIndex >= (known?.match ?? 0),
        () => `match of ${peer} at ${id} fell from ${known?.match} to ${matchIndex}`,
      );
      // A peer that left and comes back is asked again.
      if (decides || isLearner) seen.matches.set(peer, { match: matchIndex, epoch });
      const { disk } = this.node(peer);
      if (disk.hardState.term > raft.term || matchIndex <= disk.snapshotIndex) continue;
      if (!decides && !isAlive) continue;
      const held = this.entryOf(node, matchIndex);
      must(
        held !== undefined && disk.termAt(matchIndex) === held.term,
        () => `match of ${peer} at ${id} is ${matchIndex}, which is not on its disk`,
      );
    }
  }

  /**
   * Finds the configuration that the new commits, the ones after `known`, needed a quorum of. The
   * node `now` was the first to hold them for committed; `before` was in force before its turn.
   */
  private decide(now: LastSeen, known: number, before: Configuration, beforeIndex: number): void {
    const { history } = this;
    const last = history.committedIndex;
    for (let index = known + 1; index <= last; index += 1) {
      // Both halves of a joint configuration, whatever came in the same turn.
      if (history.committed[index - 1]?.entry.kind !== "configuration") continue;
      this.mustBeDurable(index, history.configurationAt(index));
    }
    this.deciding = history.configurationAt(last);
    if (beforeIndex > last) {
      // It counts since it was appended, though it is not committed.
      this.deciding = before;
    } else if (now.configurationIndex > last && !this.isDurable(last, this.deciding)) {
      // The joint configuration ended in this very turn.
      must(this.deciding.outgoing.length > 0, () => `${last} is committed without a quorum`);
      this.deciding = now.configuration;
    }
  }

  /** One table for one index, forever. */
  private checkApplied({ appliedIndex, table, raft, id }: SimulatedNode): void {
    must(
      appliedIndex <= raft.commitIndex,
      () => `${id} applied ${appliedIndex}, commit ${raft.commitIndex}`,
    );
    must(
      table === this.history.tableAt(appliedIndex),
      () => `state machine safety: ${id} has another table at ${appliedIndex}`,
    );
  }

  private checkCompleteness(node: SimulatedNode): void {
    const { raft, id } = node;
    const seen = this.of(id);
    const { committed } = this.history;
    for (let index = seen.completeUpTo + 1; index <= committed.length; index += 1) {
      const { entry, inTerm } = committed[index - 1] as (typeof committed)[number];
      if (inTerm > raft.term) return;
      must(
        index <= raft.baseIndex || (index <= raft.lastIndex && isSame(raft.entry(index), entry)),
        () => `leader completeness: ${id} leads ${raft.term} without entry ${index}`,
      );
      seen.completeUpTo = index;
    }
  }

  /** A committed entry lies on the disks of a quorum, crashed nodes included. */
  private mustBeDurable(index: number, configuration: Configuration): void {
    must(
      this.isDurable(index, configuration),
      () => `entry ${index} is committed and not durable on a quorum of ${textOf(configuration)}`,
    );
  }

  private isDurable(index: number, configuration: Configuration): boolean {
    const entry = this.history.committed[index - 1]?.entry;
    if (entry === undefined) return true;
    return isMajorityOf(configuration, (id) => {
      const { disk } = this.node(id);
      return index <= disk.snapshotIndex || disk.entryAt(index)?.term === entry.term;
    });
  }

  /** What a leader holds at `index`, compacted or not. */
  private entryOf({ raft }: SimulatedNode, index: number): Entry | undefined {
    if (index <= raft.baseIndex) return this.history.committed[index - 1]?.entry;
    return index <= raft.lastIndex ? raft.entry(index) : undefined;
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

/**
 * Whether more than half of each half of `configuration` are so. Counted here once more, since the
 * core's own arithmetic is on trial.
 */
function isMajorityOf(
  { voters, outgoing }: Configuration,
  isSo: (voter: NodeId) => boolean,
): boolean {
  const isMajority = (half: readonly NodeId[]) => 2 * half.filter(isSo).length > half.length;
  return isMajority(voters) && (outgoing.length === 0 || isMajority(outgoing));
}

function neverSeen(): LastSeen {
  return {
    term: 0,
    commitIndex: 0,
    appliedIndex: 0,
    durableTerm: 0,
    lastIndex: -1,
    lastEntry: undefined,
    baseIndex: 0,
    configuration: NO_MEMBERS,
    configurationIndex: 0,
    ledTerm: 0,
    matches: new Map(),
    completeUpTo: 0,
  };
}

function hasChanged(seen: LastSeen, { raft }: SimulatedNode): boolean {
  const { baseIndex, lastIndex, commitIndex } = raft;
  if (seen.lastIndex !== lastIndex || seen.baseIndex !== baseIndex) return true;
  if (seen.commitIndex !== commitIndex) return true;
  return lastIndex > baseIndex && raft.entry(lastIndex) !== seen.lastEntry;
}

/** Whether the node leads the term that it led when it was seen. */
function stillLeads(seen: LastSeen, { raft }: SimulatedNode): boolean {
  return raft.role === "leader" && seen.ledTerm === raft.term;
}

/** Whether the log goes on from where it was seen. */
function isPrefix(seen: LastSeen, { raft }: SimulatedNode): boolean {
  if (raft.lastIndex < seen.lastIndex) return false;
  if (seen.lastIndex <= raft.baseIndex) return true;
  return raft.entry(seen.lastIndex) === seen.lastEntry;
}
