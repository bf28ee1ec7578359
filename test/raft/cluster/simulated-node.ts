/**
 * One node: the real core, a simulated disk, a table, and a driver's duties in their order. A turn
 * is: tick, the inputs, `take`, then what it asks for.
 */
import {
  type Configuration,
  type DeferredMessage,
  type Effects,
  type Entry,
  type Input,
  type Message,
  type NodeId,
  Raft,
  type RaftConfig,
  type Random,
  type RoleChange,
} from "../../../src/raft/index.js";
import { configurationOf, NO_MEMBERS } from "./configurations.js";
import { SimulatedDisk } from "./simulated-disk.js";
import type { Transfer } from "./simulated-network.js";
import { checksumOf, EMPTY_TABLE, type TableSnapshot, tableAfter } from "./simulated-table.js";

export interface NodeOptions {
  readonly config: RaftConfig;
  /** In force at the beginning of the log. */
  readonly configuration: Configuration;
  readonly random: Random;
  /** Called for each message as it leaves. */
  readonly send: (message: Message) => void;
  /** Called for each snapshot that begins to leave. */
  readonly transfer: (transfer: Transfer) => void;
  /** Called for the effects of each turn, after they were carried out. */
  readonly onEffects: (node: SimulatedNode, effects: Effects) => void;
}

export class SimulatedNode {
  readonly id: NodeId;
  disk = new SimulatedDisk();
  /** Applied one by one since the last start or restored snapshot, in order. */
  readonly applied: Entry[] = [];
  appliedIndex = 0;
  table = EMPTY_TABLE;
  /** In force at `appliedIndex`. */
  appliedConfiguration: Configuration;
  readonly roleChanges: RoleChange[] = [];
  readonly accepted: Effects["accepted"][number][] = [];
  readonly refused: Effects["refused"][number][] = [];
  readonly reads: Effects["reads"][number][] = [];
  readonly readsRefused: number[] = [];
  readonly configurations: Configuration[] = [];
  readonly transfersEnded: NonNullable<Effects["transferEnded"]>[] = [];
  nextDeadlineMs = 0;
  /** While set, committed entries wait to be applied. */
  isApplyHeld = false;
  /** Takes the place of the table when the write `seq` is durable. */
  private restoring: { readonly seq: number; readonly snapshot: TableSnapshot } | undefined;
  /** Taken of the table and not yet durable. */
  private taken: TableSnapshot | undefined = undefined;
  /** The newest durable one; what a peer is sent. */
  private latest: TableSnapshot | undefined = undefined;
  private applyTo = 0;
  private readonly options: NodeOptions;
  /** In force at the beginning of the log. */
  private initial: Configuration;
  private running: Raft | undefined = undefined;
  private readonly deferred: DeferredMessage[] = [];

  constructor(options: NodeOptions) {
    this.options = options;
    this.id = options.config.id;
    this.initial = options.configuration;
    this.appliedConfiguration = options.configuration;
  }

  get isRunning(): boolean {
    return this.running !== undefined;
  }

  get raft(): Raft {
    if (this.running === undefined) throw new Error(`node ${this.id} is down`);
    return this.running;
  }

  /** In force at `tableIndex`, were it not for a snapshot that is about to replace the table. */
  get tableConfiguration(): Configuration {
    return this.restoring?.snapshot.configuration ?? this.appliedConfiguration;
  }

  get tableIndex(): number {
    return this.restoring?.snapshot.index ?? this.appliedIndex;
  }

  start(nowMs: number): void {
    if (this.running !== undefined) throw new Error(`node ${this.id} runs already`);
    const { config, random } = this.options;
    const { standing } = this.disk;
    this.running = new Raft(config, this.disk.boot(this.initial), random);
    this.restore(standing);
    this.latest = standing;
    this.applyTo = this.appliedIndex;
    this.turn(nowMs);
  }

  /** Everything that is only in memory is gone, records that are not durable included. */
  crash(): void {
    this.running = undefined;
    this.deferred.length = 0;
    this.restoring = undefined;
    this.taken = undefined;
    this.isApplyHeld = false;
    this.disk.loseCache();
  }

  /** A new disk, and no configuration until a leader sends one. */
  wipe(): void {
    this.disk = new SimulatedDisk();
    this.initial = NO_MEMBERS;
  }

  turn(nowMs: number, ...inputs: readonly Input[]): void {
    const { raft } = this;
    raft.step({ type: "tick", nowMs });
    for (const input of inputs) raft.step(input);
    this.carryOut(raft.take());
  }

  /** Makes the oldest `count` records durable and reports it. */
  persist(nowMs: number, count = Number.POSITIVE_INFINITY): boolean {
    const seq = this.disk.persist(count);
    if (seq === 0) return false;
    const inputs: Input[] = [{ type: "persisted", seq }];
    if (this.restoring !== undefined && this.restoring.seq <= seq) {
      this.latest = this.restoring.snapshot;
      this.restoring = undefined;
      this.restore(this.latest);
      inputs.push({ type: "applied", index: this.appliedIndex });
    }
    this.release();
    this.turn(nowMs, ...inputs);
    return true;
  }

  /** Takes a snapshot of the table as it is now. */
  beginSnapshot(): boolean {
    const { appliedIndex: index, table } = this;
    if (index === 0 || index <= (this.latest?.index ?? 0) || this.restoring !== undefined) {
      return false;
    }
    const term = this.applied.at(-1)?.term;
    if (term === undefined) return false;
    const checksum = checksumOf(index, term, table);
    this.taken = { index, term, checksum, table, configuration: this.appliedConfiguration };
    return true;
  }

  /** The snapshot begun before is durable; all but the last `kept` entries before it may go. */
  finishSnapshot(nowMs: number, kept: number): boolean {
    const { taken } = this;
    if (taken === undefined) return false;
    this.taken = undefined;
    this.disk.store(taken);
    if (taken.index > (this.latest?.index ?? 0)) this.latest = taken;
    const keepFrom = Math.max(1, taken.index + 1 - kept);
    const { index, term, checksum } = taken;
    this.turn(nowMs, { type: "compact", snapshot: { index, term, checksum }, keepFrom });
    return true;
  }

  /** A transfer is complete here. */
  receiveSnapshot(nowMs: number, transfer: Transfer): void {
    const { from, term, epoch, snapshot } = transfer;
    this.disk.store(snapshot);
    const { index, term: entryTerm, checksum, configuration } = snapshot;
    const installed = { index, term: entryTerm, checksum, configuration };
    this.turn(nowMs, { type: "snapshotReceived", from, term, epoch, snapshot: installed });
  }

  private restore(snapshot: TableSnapshot | undefined): void {
    this.applied.length = 0;
    this.appliedIndex = snapshot?.index ?? 0;
    this.table = snapshot?.table ?? EMPTY_TABLE;
    this.appliedConfiguration = snapshot?.configuration ?? this.initial;
  }

  /** Sends, in order, what waited for records that are durable now. */
  private release(): void {
    const { lastSeq } = this.disk;
    const waiting = this.deferred.findIndex((message) => message.seq > lastSeq);
    const ready = this.deferred.splice(0, waiting < 0 ? this.deferred.length : waiting);
    for (const { message } of ready) this.options.send(message);
  }

  private carryOut(effects: Effects): void {
    if (effects.write !== undefined) this.disk.hold(effects.write);
    for (const message of effects.sendNow) this.options.send(message);
    this.deferred.push(...effects.sendAfter);
    this.release();
    if (effects.restore !== undefined) {
      if (effects.write === undefined) throw new Error(`node ${this.id}: restore without a write`);
      const snapshot = this.disk.stored(effects.restore);
      this.restoring = { seq: effects.write.seq, snapshot };
    }
    this.applyTo = effects.applyTo;
    this.apply();
    this.answer(effects);
    this.nextDeadlineMs = effects.nextDeadlineMs;
    this.options.onEffects(this, effects);
  }

  private apply(): void {
    if (this.isApplyHeld || this.restoring !== undefined) return;
    if (this.applyTo <= this.appliedIndex) return;
    for (const entry of this.raft.entries(this.appliedIndex + 1, this.applyTo)) {
      this.applied.push(entry);
      this.table = tableAfter(this.table, entry);
      if (entry.kind === "configuration") {
        this.appliedConfiguration = configurationOf(entry);
      }
    }
    this.appliedIndex = this.applyTo;
    this.raft.step({ type: "applied", index: this.applyTo });
  }

  private answer(effects: Effects): void {
    this.accepted.push(...effects.accepted);
    this.refused.push(...effects.refused);
    this.reads.push(...effects.reads);
    this.readsRefused.push(...effects.readsRefused);
    if (effects.roleChange !== undefined) this.roleChanges.push(effects.roleChange);
    if (effects.configuration !== undefined) this.configurations.push(effects.configuration);
    if (effects.transferEnded !== undefined) this.transfersEnded.push(effects.transferEnded);
    for (const { peer, epoch } of effects.snapshotsWanted) {
      const { latest: snapshot } = this;
      if (snapshot === undefined) throw new Error(`node ${this.id} has no snapshot to send`);
      this.options.transfer({ from: this.id, to: peer, term: this.raft.term, epoch, snapshot });
    }
  }
}
