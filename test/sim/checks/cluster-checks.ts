/**
 * What must hold of one cluster, from its first entry on: of its log, and of everything that its
 * nodes and clients do and say. A cluster restored from a snapshot of another one begins with
 * what survived of that (`founding.ts`), and is checked in the same way from then on.
 */
import { isStrong, type SequencedCommand } from "../../../src/protocol/index.js";
import type { Entry, Raft } from "../../../src/raft/index.js";
import type { SimPlan } from "../plan/plan.js";
import type { SimNode } from "../world/node/sim-node.js";
import type { CoreWatch } from "../world/node/watched-core.js";
import { CoreChecks } from "./consensus/core-checks.js";
import { MarkLaws } from "./consensus/mark-laws.js";
import { RaftChecks } from "./consensus/raft-checks.js";
import { ReadIndexes } from "./consensus/read-index.js";
import { ReignClock } from "./consensus/reign-clock.js";
import type { Founding } from "./founding.js";
import { ForwardOrder } from "./hearing/forward-order.js";
import { ProgramOrder } from "./hearing/program-order.js";
import { SkippedEntries } from "./hearing/skipped-entries.js";
import { WatchStreams } from "./hearing/watch-streams.js";
import { Witness, type WitnessEvents } from "./hearing/witness.js";
import type { Fail } from "./violation.js";

/** At each multiple of this index, the tables of nodes are compared with the witness's table. */
const HASH_EVERY = 4;

export type ClusterEvents = WitnessEvents & {
  /** An entry is committed; before anything is made of it. */
  onCommitted(entry: Entry, raft: Raft): void;
};

export class ClusterChecks {
  readonly founding: Founding;
  readonly raft: RaftChecks;
  readonly witness: Witness;
  readonly streams: WatchStreams;
  readonly order: ProgramOrder;
  readonly forwarded: ForwardOrder;
  readonly readIndexes: ReadIndexes;
  readonly marks: MarkLaws;
  readonly clock: ReignClock;
  readonly #events: ClusterEvents;
  readonly #fail: Fail;
  readonly #hashes = new Map<number, string>();
  /** For the latest life of each node. */
  readonly #skipped = new Map<number, SkippedEntries>();
  /** Where the log stood, as far as anybody outside can know. */
  #knownIndex: number;
  /** `#knownIndex` when something was asked for. */
  readonly #askedAt = new Map<string, number>();

  constructor(plan: SimPlan, founding: Founding, events: ClusterEvents, fail: Fail) {
    this.founding = founding;
    this.#events = events;
    this.#fail = fail;
    this.#knownIndex = founding.index;
    const count = plan.nodeCount + plan.spareCount;
    const ids = Array.from({ length: count }, (_, at) => at + 1);
    const hasReaders = plan.clients.some(({ mix }) => mix.inspect > 0);
    const keys = [...plan.keys, ...plan.semaphores.map(({ key }) => key)];
    this.order = new ProgramOrder(fail);
    const heard: WitnessEvents = {
      ...events,
      onExecuted: (session, epoch, command) => {
        this.order.onExecuted(session, epoch, command);
        events.onExecuted(session, epoch, command);
      },
    };
    this.witness = new Witness(keys, hasReaders, heard, founding.beginning);
    if (founding.index > 0) this.#hashes.set(founding.index, this.witness.table.hash());
    this.streams = new WatchStreams(this.witness.table, fail);
    if (plan.clients.some(({ speaks }) => speaks === "sdk")) this.streams.listen();
    this.forwarded = new ForwardOrder(fail, (session) => this.witness.laws.highestOf(session));
    this.readIndexes = new ReadIndexes(fail, () => this.raft.committedIndex);
    this.marks = new MarkLaws(fail);
    this.clock = new ReignClock(fail);
    this.raft = new RaftChecks(ids, founding, fail, (entry, raft) => {
      this.#onCommitted(entry, raft);
    });
  }

  coreOf(node: SimNode, raft: Raft): CoreWatch {
    const around = {
      times: node.tuning,
      lateMs: () => node.lateMs,
      committedIndex: () => this.raft.committedIndex,
      members: () => this.raft.membersOf(node.id),
      membersIndex: () => this.raft.membersIndexOf(node.id),
    };
    const checks = new CoreChecks(node.id, raft, around, this.#fail);
    const skipped = new SkippedEntries(node, this.#fail);
    this.#skipped.set(node.id, skipped);
    return {
      beforeStep: (input) => checks.beforeStep(input),
      afterStep: (input) => checks.afterStep(input),
      onTake: (effects) => {
        checks.onTake(effects);
        skipped.onTake(effects);
      },
    };
  }

  afterTurn(node: SimNode): void {
    this.raft.afterTurn(node.id, node.assembled.raft, node.isAlive);
    this.#skipped.get(node.id)?.afterTurn();
    this.#compareTable(node);
  }

  /** Compares the table of a node with the witness's table, if the node has applied more since. */
  #compareTable(node: SimNode): void {
    const { raft, table, driver } = node.assembled;
    if (raft.appliedIndex === node.comparedIndex) return;
    // While the table waits for a snapshot the core is ahead of it.
    const index = driver.status.appliedIndex;
    if (index === node.comparedIndex) return;
    node.comparedIndex = index;
    const known = this.#hashes.get(index);
    if (known !== undefined && table.hash() !== known) {
      this.#fail("state machine safety", `tables differ behind entry ${index}, node ${node.id}`);
    }
  }

  // Questions, and what is known by their answers.

  onAsked(question: string): void {
    this.#askedAt.set(question, this.#knownIndex);
  }

  /** `undefined`: nobody asked that. */
  askedAt(question: string): number | undefined {
    return this.#askedAt.get(question);
  }

  /** Somebody has learned the state at that index. */
  onTold(index: number): void {
    this.#knownIndex = Math.max(this.#knownIndex, index);
  }

  /** A node did not admit it. Returns whether it may wait for nothing but room. */
  onRefused(session: number, epoch: number, sequence: number): SequencedCommand | undefined {
    const command = this.order.onRefused(session, epoch, sequence);
    return command === undefined || isStrong(command) ? undefined : command;
  }

  #onCommitted(entry: Entry, raft: Raft): void {
    this.#events.onCommitted(entry, raft);
    this.streams.beginEntry(entry.index);
    const complaint = this.witness.apply(entry);
    const forbidden = this.witness.access.complaint;
    if (forbidden !== undefined) this.#fail("what grants forbid has no effect", forbidden);
    if (complaint !== undefined) this.#fail("one order of everything", complaint);
    if (entry.index % HASH_EVERY !== 0) return;
    this.#hashes.set(entry.index, this.witness.table.hash());
  }
}
