/**
 * Redis Sentinel as seen from outside, one next to each Redis: each asks the primary over the
 * network of its own node. When a majority has not heard from it for a while, the most advanced
 * replica is promoted, the others follow it, and the clients are redirected at once. A node that
 * wrongly believes it is the primary becomes a replica as soon as the primary's node can reach it,
 * and loses what it alone knew. The promises of Redis depend on this and nothing more.
 *
 * It is kinder than the real one, which redirects clients later and waits 30 s by default.
 */
import { setTimeout as delay } from "node:timers/promises";
import { askRedis } from "../../lab/redis-command.js";
import { type HostPort, type Network, type NodeAddresses, nodePlace } from "../cluster/network.js";
import type { NodeProcess, NodeStatus } from "../cluster/node-process.js";
import { type Replication, replicationOf } from "./redis-replication.js";
import type { SystemEvents } from "./system.js";

const LOOK_MS = 100;
const ANSWER_MS_MAX = 300;
/** A primary that is silent for this long counts as dead. */
const DOWN_AFTER_MS = 1_500;
const FIRST_PRIMARY = 1;

export class RedisSentinels {
  readonly #network: Network;
  /** When the Sentinel next to each node last heard from the primary. */
  readonly #heardMs = new Map<number, number>();
  readonly #roles = new Map<number, string>();
  /** The epoch in which each node became the primary. */
  readonly #appointed = new Map([[FIRST_PRIMARY, 1]]);
  readonly #stop = new AbortController();
  #events: SystemEvents | undefined;
  #primary = FIRST_PRIMARY;
  /** The number of failovers so far, plus one. */
  #epoch = 1;

  constructor(network: Network) {
    this.#network = network;
  }

  /** The state that a Redis reports, in the terms of a cluster. */
  async statusOf({ id, host, clientPort }: NodeAddresses): Promise<NodeStatus | undefined> {
    const replication = await replicationOf({ host, port: clientPort }, ANSWER_MS_MAX);
    if (replication === undefined) return undefined;
    const leader = this.#followedBy(id, replication);
    const role = replication.get("role") === "master" ? "leader" : "follower";
    return { id, role, term: this.#epoch, ...(leader === undefined ? {} : { leader }) };
  }

  /** Returns a function that stops it, which resolves when no question is open any more. */
  watch(nodes: readonly NodeProcess[], events: SystemEvents): () => Promise<void> {
    this.#events = events;
    this.#listen();
    const watching = this.#watch(nodes);
    return async () => {
      this.#stop.abort();
      await watching;
    };
  }

  /**
   * No node waits for another: a node that is cut off answers late, and others must not seem to be.
   */
  async #watch(nodes: readonly NodeProcess[]): Promise<void> {
    const loops = nodes.flatMap(({ id }) => [
      this.#repeat(() => this.#hear(id)),
      this.#repeat(() => this.#tend(id)),
    ]);
    await Promise.all([...loops, this.#repeat(() => this.#judge(nodes))]);
  }

  async #repeat(look: () => Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await look();
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** The Sentinel next to this node asks the primary. */
  async #hear(id: number): Promise<void> {
    const primary = this.#primary;
    const answer = await askRedis(this.#addressFor(id, primary), "PING", ANSWER_MS_MAX);
    if (answer === "PONG" && primary === this.#primary) this.#heardMs.set(id, performance.now());
  }

  async #judge(nodes: readonly NodeProcess[]): Promise<void> {
    const silentMs = performance.now() - DOWN_AFTER_MS;
    const deaf = nodes.filter(({ id }) => (this.#heardMs.get(id) ?? 0) < silentMs);
    if (deaf.length > nodes.length / 2) await this.#failOver(deaf);
  }

  /** Manages the Redis of this node. */
  async #tend(id: number): Promise<void> {
    const replication = await replicationOf(this.#own(id), ANSWER_MS_MAX);
    if (replication === undefined) {
      this.#roles.delete(id);
      return;
    }
    this.#tellRole(id, replication);
    await this.#correct(id, replication);
  }

  /**
   * A primary that was deposed and does not know it still reports that it leads, in its old term.
   */
  #tellRole(id: number, replication: Replication): void {
    const isPrimary = replication.get("role") === "master";
    const role = isPrimary ? "leader" : "follower";
    const term = isPrimary ? this.#appointed.get(id) : this.#epoch;
    if (term === undefined || this.#roles.get(id) === `${role} ${term}`) return;
    this.#roles.set(id, `${role} ${term}`);
    this.#events?.onRole(id, role, term);
  }

  /** Makes it follow the primary, unless it does already or cannot be reached from there. */
  async #correct(id: number, replication: Replication): Promise<void> {
    if (id === this.#primary) return;
    const { host, port } = this.#addressFor(id, this.#primary);
    const isReplica = replication.get("role") === "slave";
    if (isReplica && replication.get("master_port") === String(port)) return;
    const road = this.#addressFor(this.#primary, id);
    if ((await askRedis(road, "PING", ANSWER_MS_MAX)) !== "PONG") return;
    await askRedis(this.#own(id), `REPLICAOF ${host} ${port}`, ANSWER_MS_MAX);
  }

  async #failOver(deaf: readonly NodeProcess[]): Promise<void> {
    const candidates = deaf.filter(({ id }) => id !== this.#primary);
    const offsets = await Promise.all(
      candidates.map(async ({ id }) => {
        const replication = await replicationOf(this.#own(id), ANSWER_MS_MAX);
        return { id, offset: offsetOf(replication) };
      }),
    );
    const [best] = offsets
      .filter(({ offset }) => Number.isFinite(offset))
      .sort((one, other) => other.offset - one.offset);
    if (best === undefined) return;
    const answer = await askRedis(this.#own(best.id), "REPLICAOF NO ONE", ANSWER_MS_MAX);
    if (answer !== "OK") return;
    this.#primary = best.id;
    this.#epoch += 1;
    this.#appointed.set(best.id, this.#epoch);
    this.#listen();
    this.#events?.onPrimary(best.id);
  }

  /** A newly appointed primary has some time to answer. */
  #listen(): void {
    const nowMs = performance.now();
    for (const { id } of this.#network.nodes) this.#heardMs.set(id, nowMs);
  }

  #followedBy(id: number, replication: Replication): number | undefined {
    if (replication.get("role") === "master") return id;
    if (replication.get("master_link_status") !== "up") return undefined;
    const port = Number(replication.get("master_port"));
    return this.#network.nodes.find((node) => {
      return node.id !== id && this.#addressFor(id, node.id).port === port;
    })?.id;
  }

  /** The address of another node as seen from the place of one. */
  #addressFor(from: number, to: number): HostPort {
    return from === to ? this.#own(to) : this.#network.peerAddress(nodePlace(from), to);
  }

  #own(id: number): HostPort {
    const node = this.#network.nodes.find((each) => each.id === id);
    if (node === undefined) throw new RangeError(`there is no node ${id}`);
    return { host: node.host, port: node.clientPort };
  }
}

/** How far its copy of the primary's commands goes. */
function offsetOf(replication: Replication | undefined): number {
  return Number(replication?.get("slave_repl_offset") ?? replication?.get("master_repl_offset"));
}
