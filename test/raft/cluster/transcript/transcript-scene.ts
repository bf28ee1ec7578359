/**
 * What a transcript runs on: a cluster of production cores without any randomness, and a record
 * of the effects of each command. Nothing may happen that no command asked for. Every invariant
 * of the cluster is checked after each turn.
 */
import type { Effects, Entry, NodeId } from "../../../../src/raft/index.js";
import { Cluster, TEST_CONFIG } from "../cluster.js";
import type { SimulatedLink } from "../simulated-network.js";
import type { SimulatedNode } from "../simulated-node.js";
import {
  answerTexts,
  configurationText,
  diskText,
  messageText,
  roleText,
  routeOf,
  statusText,
  writeText,
} from "./effect-lines.js";

/** Two heartbeats an election timeout: enough to show a rule, and few lines. */
const CONFIG = { ...TEST_CONFIG, heartbeatIntervalMs: 50 };
/** More than `appendBytesMax` where each entry is to travel alone. */
const PRESET_BYTES = 2;
const TURNS_OF_TICK_MAX = 1_000;

export interface SceneOptions {
  readonly voters: number;
  readonly spares: number;
  /**
   * The timeout of each node, from `electionTimeoutMs` (100) up to and not including twice that.
   */
  readonly timeoutsMs: readonly number[];
  readonly isOneEntryAnAppend: boolean;
}

export class Scene {
  readonly cluster: Cluster;
  /** While set, messages and writes are not recorded. */
  private isBrief = false;
  private lines: string[] = [];
  /** How many messages are recorded. */
  private sentCount = 0;
  private readonly commits = new Map<NodeId, number>();
  private readonly paused = new Set<NodeId>();
  private readonly presets = new Map<string, Entry>();

  constructor({ voters, spares, timeoutsMs, isOneEntryAnAppend }: SceneOptions) {
    const shares = timeoutsMs.map((timeoutMs) => timeoutMs / CONFIG.electionTimeoutMs - 1);
    const isComplete = shares.length === voters + spares;
    if (!isComplete || shares.some((share) => !(share >= 0 && share < 1))) {
      throw new Error("a timeout of 100 to 199 ms for each node");
    }
    this.cluster = new Cluster({
      size: voters,
      spares,
      config: isOneEntryAnAppend ? { ...CONFIG, appendBytesMax: 1 } : CONFIG,
      randomOf: (id) => () => shares[id - 1] ?? 0,
      onEffects: (node, effects) => this.record(node, effects),
    });
  }

  /** The lines since they were taken last. */
  takeLines(): string[] {
    const { lines } = this;
    this.lines = [];
    return lines;
  }

  note(line: string): void {
    this.lines.push(line);
  }

  /** The request that the command under way made. */
  noteRequest(id: number): void {
    this.lines.unshift(`> request ${id}`);
  }

  /** Whether the command under way brought about anything. */
  get hasEffects(): boolean {
    return this.lines.some((line) => !line.startsWith(">"));
  }

  /** What a node finds on its disk when it starts. Equal positions hold the same entry everywhere. */
  preset(id: NodeId, term: number, vote: NodeId, terms: readonly number[]): void {
    const node = this.cluster.node(id);
    if (node.isRunning) throw new Error(`node ${id} runs`);
    node.disk.hardState = { term, vote };
    node.disk.entries = terms.map((entryTerm, at) => this.presetEntry(at + 1, entryTerm));
  }

  start(id: NodeId): void {
    const node = this.cluster.node(id);
    if (node.isRunning) throw new Error(`node ${id} runs`);
    this.commits.set(id, node.disk.snapshotIndex);
    this.cluster.start(id);
    for (const link of this.links) {
      if (link.from !== id && link.to !== id) continue;
      this.cluster.notice(link);
      this.cluster.connect(link);
    }
  }

  /** The process of `id` ends, which the others see at once. */
  crash(id: NodeId): void {
    this.running(id);
    this.cluster.crash(id);
    for (const link of this.links) if (link.to === id) this.cluster.notice(link);
  }

  heal(): void {
    this.cluster.unblockAll();
    for (const link of this.links) {
      this.cluster.notice(link);
      this.cluster.connect(link);
    }
  }

  /** The process of `id` stands still: time passes without it. */
  pause(id: NodeId): void {
    this.paused.add(this.running(id).id);
  }

  /** It goes on, and has seen nothing yet of what arrived meanwhile. */
  resume(id: NodeId): void {
    if (!this.paused.delete(id)) throw new Error(`node ${id} is not paused`);
    this.cluster.turn(id);
  }

  /** Time passes, every timer at its time; nothing is delivered and nothing becomes durable. */
  tick(durationMs: number): void {
    const { cluster } = this;
    const beganMs = cluster.nowMs;
    const endMs = beganMs + durationMs;
    const nodes = cluster.nodes.filter(({ id, isRunning }) => isRunning && !this.paused.has(id));
    for (let turns = 0; ; turns += 1) {
      if (turns > TURNS_OF_TICK_MAX) throw new Error("a timer that is due forever");
      const dueMs = Math.max(cluster.nowMs, Math.min(...nodes.map((node) => node.nextDeadlineMs)));
      cluster.nowMs = Math.min(dueMs, endMs);
      const isDue = dueMs <= endMs;
      const at = this.lines.length;
      for (const node of nodes) {
        if (!isDue || node.nextDeadlineMs <= cluster.nowMs) cluster.turn(node.id);
      }
      const isWorthATime = this.lines.length > at && (at > 0 || cluster.nowMs < endMs);
      if (isWorthATime) this.lines.splice(at, 0, `> after ${cluster.nowMs - beganMs} ms`);
      if (!isDue) return;
    }
  }

  /** Lets everything that can happen without time happen, and records what comes of it. */
  settle(): void {
    if (this.paused.size > 0) throw new Error("a node is paused");
    this.isBrief = true;
    this.cluster.settle();
    this.isBrief = false;
  }

  status(id: NodeId): void {
    const node = this.cluster.node(id);
    const text = node.isRunning ? statusText(node.raft) : diskText(node.disk);
    this.note(`${id} ${text}`);
  }

  /** The node, which must be able to act. */
  running(id: NodeId): SimulatedNode {
    const node = this.cluster.node(id);
    if (!node.isRunning || this.paused.has(id)) throw new Error(`node ${id} does not run`);
    return node;
  }

  get links(): readonly SimulatedLink[] {
    return this.cluster.network.links;
  }

  private record(node: SimulatedNode, effects: Effects): void {
    const { id } = node;
    const { roleChange, configuration, write, sendAfter, applyTo } = effects;
    const say = (text: string) => this.note(`${id} ${text}`);
    if (roleChange !== undefined) say(`is ${roleText(roleChange)}`);
    if (configuration !== undefined) say(`goes by ${configurationText(configuration)}`);
    if (write !== undefined && !this.isBrief) say(writeText(write));
    this.recordSent();
    for (const { seq, message } of sendAfter) {
      if (seq <= node.disk.lastSeq || this.isBrief) continue;
      this.note(`${routeOf(message)} ${messageText(message)}, waits for write ${seq}`);
    }
    if (applyTo > (this.commits.get(id) ?? 0)) say(`commits ${applyTo}`);
    this.commits.set(id, applyTo);
    for (const text of answerTexts(effects)) say(text);
  }

  private recordSent(): void {
    const { sent, network } = this.cluster;
    const messages = sent.slice(this.sentCount);
    this.sentCount = sent.length;
    if (this.isBrief) return;
    for (const message of messages) {
      const isLost = !network.link(message.from, message.to).isAlive;
      this.note(`${routeOf(message)} ${messageText(message)}${isLost ? ", lost" : ""}`);
    }
  }

  private presetEntry(index: number, term: number): Entry {
    const key = `${index}@${term}`;
    const known = this.presets.get(key);
    if (known !== undefined) return known;
    const data = new Uint8Array(PRESET_BYTES).fill(term);
    const entry: Entry = { index, term, kind: "command", data };
    this.presets.set(key, entry);
    return entry;
  }
}
