/**
 * One node: the real core, a simulated disk, and a driver's duties in their order. A turn is: tick,
 * the inputs, `take`, then what it asks for.
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
} from "../../src/raft/index.js";
import { SimulatedDisk } from "./simulated-disk.js";

export interface NodeOptions {
  readonly config: RaftConfig;
  readonly configuration: Configuration;
  readonly random: Random;
  /** Called for each message as it leaves. */
  readonly send: (message: Message) => void;
}

export class SimulatedNode {
  readonly id: NodeId;
  readonly disk = new SimulatedDisk();
  /** Applied since the last start, in order. */
  readonly applied: Entry[] = [];
  readonly roleChanges: RoleChange[] = [];
  readonly accepted: Effects["accepted"][number][] = [];
  readonly refused: Effects["refused"][number][] = [];
  nextDeadlineMs = 0;
  private readonly options: NodeOptions;
  private running: Raft | undefined = undefined;
  private readonly deferred: DeferredMessage[] = [];

  constructor(options: NodeOptions) {
    this.options = options;
    this.id = options.config.id;
  }

  get isRunning(): boolean {
    return this.running !== undefined;
  }

  get raft(): Raft {
    if (this.running === undefined) throw new Error(`node ${this.id} is down`);
    return this.running;
  }

  start(nowMs: number): void {
    if (this.running !== undefined) throw new Error(`node ${this.id} runs already`);
    const { config, configuration, random } = this.options;
    this.running = new Raft(config, this.disk.boot(configuration), random);
    this.applied.length = 0;
    this.turn(nowMs);
  }

  /** Everything that is only in memory is gone, records that are not durable included. */
  crash(): void {
    this.running = undefined;
    this.deferred.length = 0;
    this.disk.loseCache();
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
    this.release();
    this.turn(nowMs, { type: "persisted", seq });
    return true;
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
    const from = this.applied.length + 1;
    if (effects.applyTo >= from) {
      this.applied.push(...this.raft.entries(from, effects.applyTo));
      this.raft.step({ type: "applied", index: effects.applyTo });
    }
    this.accepted.push(...effects.accepted);
    this.refused.push(...effects.refused);
    if (effects.roleChange !== undefined) this.roleChanges.push(effects.roleChange);
    this.nextDeadlineMs = effects.nextDeadlineMs;
  }
}
