/**
 * A cluster whose links and disks take time: what is sent arrives after a delay of its link, in order,
 * what is written is durable after one of its disk, and a broken connection is noticed after one. Drawn from a seed, at production tuning,
 * so that how long an election takes is a figure in simulated time, and the same on every machine.
 */
import { seededRandom } from "../../../lab/random-stream.js";
import { Timeline } from "../../../lab/simulated/timeline.js";
import type { NodeId, RaftConfig } from "../../../src/raft/index.js";
import { NODE_TUNING_DEFAULTS } from "../../../src/server/options.js";
import { Cluster } from "./cluster.js";
import type { SimulatedNode } from "./simulated-node.js";

export interface Weather {
  /** One way, the shortest and the longest, in milliseconds. */
  readonly linkMs: readonly [number, number];
  /** A write, likewise. */
  readonly diskMs: readonly [number, number];
}

export interface TimedOptions {
  readonly size: number;
  readonly seed: number;
  readonly weather: Weather;
  readonly config?: Partial<Omit<RaftConfig, "id">>;
}

export class TimedCluster {
  readonly cluster: Cluster;
  readonly random: () => number;
  readonly #weather: Weather;
  /** Goes after the clock of the cluster, which its timers move on as well. */
  readonly #timeline = new Timeline();
  readonly #lastArrivalMs = new Map<string, number>();
  readonly #writing = new Set<NodeId>();
  readonly #noticing = new Set<string>();

  constructor({ size, seed, weather, config }: TimedOptions) {
    const { electionTimeoutMs, heartbeatIntervalMs, closedPeerDelayMs, spareDelayMs } =
      NODE_TUNING_DEFAULTS;
    const production = { electionTimeoutMs, heartbeatIntervalMs, closedPeerDelayMs, spareDelayMs };
    this.cluster = new Cluster({ size, seed, config: { ...production, ...config } });
    this.random = seededRandom(seed * 7_919 + 1);
    this.#weather = weather;
    this.cluster.startAll();
    for (const link of this.cluster.network.links) this.cluster.connect(link);
  }

  get nowMs(): number {
    return this.cluster.nowMs;
  }

  /** A leader that has committed an entry of its own term, and so serves. */
  get servingLeader(): SimulatedNode | undefined {
    const { leader } = this.cluster;
    if (leader === undefined) return undefined;
    const { commitIndex } = leader.raft;
    if (commitIndex === 0) return undefined;
    const [committed] = leader.raft.entries(commitIndex, commitIndex);
    return committed?.term === leader.raft.term ? leader : undefined;
  }

  after(delayMs: number, act: () => void): void {
    this.#timeline.at(this.nowMs + delayMs, act);
  }

  /** Goes on until `isDone`, at most for `limitMs`. Returns how long it took. */
  runUntil(isDone: () => boolean, limitMs: number): number {
    const beganMs = this.nowMs;
    this.#plan();
    while (!isDone()) {
      this.#step(beganMs + limitMs);
      if (this.nowMs >= beganMs + limitMs) break;
    }
    return this.nowMs - beganMs;
  }

  #step(endMs: number): void {
    const { cluster } = this;
    const running = cluster.nodes.filter((node) => node.isRunning);
    const timerMs = Math.min(...running.map(({ nextDeadlineMs }) => nextDeadlineMs));
    const nextMs = Math.min(timerMs, this.#timeline.nextMs, endMs);
    cluster.nowMs = Math.max(cluster.nowMs, nextMs);
    const event = this.#timeline.take(cluster.nowMs);
    if (event !== undefined) event.run();
    else
      for (const node of running) if (node.nextDeadlineMs <= cluster.nowMs) cluster.turn(node.id);
    this.#plan();
  }

  /** Whatever the last step set going arrives, is durable or is noticed in its time. */
  #plan(): void {
    const { cluster } = this;
    for (const { from, to } of cluster.sent.splice(0)) {
      const link = cluster.network.link(from, to);
      const key = `${from}>${to}`;
      const atMs = Math.max(
        this.#lastArrivalMs.get(key) ?? 0,
        this.nowMs + this.#draw(this.#weather.linkMs),
      );
      this.#lastArrivalMs.set(key, atMs);
      this.after(atMs - this.nowMs, () => cluster.deliver(link, 1));
    }
    for (const node of cluster.nodes) this.#planWrite(node);
    for (const link of cluster.network.links) {
      const key = `${link.from}>${link.to}`;
      if (link.epoch === 0 || !link.isClosed || this.#noticing.has(key)) continue;
      this.#noticing.add(key);
      this.after(this.#draw(this.#weather.linkMs), () => cluster.notice(link));
    }
  }

  #planWrite(node: SimulatedNode): void {
    const { pending } = node.disk;
    if (!node.isRunning || pending.length === 0 || this.#writing.has(node.id)) return;
    this.#writing.add(node.id);
    this.after(this.#draw(this.#weather.diskMs), () => {
      this.#writing.delete(node.id);
      this.cluster.persist(node.id, 1);
    });
  }

  #draw([least, most]: readonly [number, number]): number {
    return least + (most - least) * this.random();
  }
}
