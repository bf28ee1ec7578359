/**
 * The real Sentinels of a run, one next to each Redis: started when the servers answer, watched to
 * learn which node they have made the master, and ended with the run. They are not killed with their
 * nodes, which is in favour of Redis, but a cut of a node's network cuts theirs.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileOf, REDIS } from "../../lab/peer-servers.js";
import { askRedis } from "../../lab/redis-command.js";
import { ServerProcess } from "../../lab/server-process.js";
import { type HostPort, type Network, type NodeAddresses, nodePlace } from "../cluster/network.js";
import type { NodeProcess, NodeStatus } from "../cluster/node-process.js";
import { parentDeathPrefix } from "../cluster/parent-death.js";
import { type Replication, replicationOf } from "./redis-replication.js";
import { MASTER } from "./redlock-locks.js";
import type { SystemEvents } from "./system.js";

const LOOK_MS = 100;
const ANSWER_MS_MAX = 300;
const START = { msMax: 30_000, intervalMs: 50 };
const STOP_MS_MAX = 2_000;
/** A master that is silent for this long counts as dead; the default is 30 s. */
const DOWN_AFTER_MS = 500;
/** Twice this, and a Sentinel tries another failover; the default is 180 s. */
const FAILOVER_MS_MAX = 3_000;
const FIRST_MASTER = 1;

export class SentinelProcesses {
  readonly firstMaster = FIRST_MASTER;
  readonly #network: Network;
  readonly #processes = new Map<number, ServerProcess>();
  readonly #roles = new Map<number, string>();
  /** The epoch in which each node became the master. */
  readonly #appointed = new Map([[FIRST_MASTER, 1]]);
  readonly #stop = new AbortController();
  #master = FIRST_MASTER;
  /** The number of failovers so far, plus one. */
  #epoch = 1;

  constructor(network: Network) {
    this.#network = network;
  }

  /** By which all others know this Redis. */
  addressOf(id: number): HostPort {
    // It is the same from everywhere.
    return this.#network.peerAddress(nodePlace(id), id);
  }

  pidOf(node: number): number | undefined {
    return this.#processes.get(node)?.pid;
  }

  /** The state that a Redis reports, in the terms of a cluster. */
  async statusOf({ id, host, clientPort }: NodeAddresses): Promise<NodeStatus | undefined> {
    const replication = await replicationOf({ host, port: clientPort }, ANSWER_MS_MAX);
    if (replication === undefined) return undefined;
    const leader = this.#followedBy(id, replication);
    const role = replication.get("role") === "master" ? "leader" : "follower";
    return { id, role, term: this.#epoch, ...(leader === undefined ? {} : { leader }) };
  }

  /** Resolves when the Sentinels agree; the returned function ends them. */
  async attend(nodes: readonly NodeProcess[], events: SystemEvents): Promise<() => Promise<void>> {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-sentinels-"));
    let watching: Promise<unknown> = Promise.resolve();
    const leave = async () => {
      this.#stop.abort();
      await watching;
      await Promise.all([...this.#processes.values()].map((each) => each.stop(STOP_MS_MAX)));
      await rm(directory, { recursive: true, force: true });
    };
    try {
      await Promise.all(nodes.map((node) => this.#start(node, directory)));
    } catch (error) {
      await leave();
      throw error;
    }
    watching = this.#watch(events);
    return leave;
  }

  async #start({ id }: NodeProcess, directory: string): Promise<void> {
    const file = join(directory, `sentinel-${id}.conf`);
    await writeFile(file, this.#settingsOf(id, directory));
    const prefix = [...(await parentDeathPrefix()), ...this.#network.prefixOf(nodePlace(id))];
    const sentinel = new ServerProcess({
      name: `sentinel ${id}`,
      command: [...prefix, fileOf(REDIS), file, "--sentinel"],
      isDetached: true,
    });
    this.#processes.set(id, sentinel);
    sentinel.start();
    await sentinel.answers(async () => this.#knowsAll(await this.#toldBy(id)), START);
  }

  #settingsOf(id: number, directory: string): string {
    const node = this.#node(id);
    const own = this.#network.companionAddress(id);
    const master = this.addressOf(FIRST_MASTER);
    const majority = Math.floor(this.#network.nodes.length / 2) + 1;
    const lines = [
      `bind ${node.host}`,
      `port ${node.companionPort}`,
      `dir ${directory}`,
      "set-proc-title no",
      `sentinel announce-ip ${own.host}`,
      `sentinel announce-port ${own.port}`,
      `sentinel monitor ${MASTER} ${master.host} ${master.port} ${majority}`,
      `sentinel down-after-milliseconds ${MASTER} ${DOWN_AFTER_MS}`,
      `sentinel failover-timeout ${MASTER} ${FAILOVER_MS_MAX}`,
      `sentinel parallel-syncs ${MASTER} ${this.#network.nodes.length}`,
    ];
    return `${lines.join("\n")}\n`;
  }

  async #watch(events: SystemEvents): Promise<void> {
    const { signal } = this.#stop;
    const { nodes } = this.#network;
    while (!signal.aborted) {
      await this.#judge();
      await Promise.all(nodes.map((node) => this.#tellRole(node, events)));
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** What a majority of the Sentinels names is the master. */
  async #judge(): Promise<void> {
    const { nodes } = this.#network;
    const told = await Promise.all(nodes.map(({ id }) => this.#toldBy(id)));
    const isNamed = (id: number) => {
      const { host, port } = this.addressOf(id);
      const count = told.filter((master) => master?.address === `${host}:${port}`).length;
      return count > nodes.length / 2;
    };
    const named = nodes.find(({ id }) => isNamed(id))?.id;
    if (named === undefined || named === this.#master) return;
    this.#master = named;
    this.#epoch += 1;
    this.#appointed.set(named, this.#epoch);
  }

  /** A master that was deposed and does not know it still reports that it leads, in its old term. */
  async #tellRole({ id, host, clientPort }: NodeAddresses, events: SystemEvents): Promise<void> {
    const replication = await replicationOf({ host, port: clientPort }, ANSWER_MS_MAX);
    if (replication === undefined) {
      this.#roles.delete(id);
      return;
    }
    const isMaster = replication.get("role") === "master";
    const role = isMaster ? "leader" : "follower";
    const term = isMaster ? this.#appointed.get(id) : this.#epoch;
    if (term === undefined || this.#roles.get(id) === `${role} ${term}`) return;
    this.#roles.set(id, `${role} ${term}`);
    events.onRole(id, role, term);
  }

  /** What the Sentinel next to this node says of the master. */
  async #toldBy(id: number): Promise<NamedMaster | undefined> {
    const { host, companionPort = 0 } = this.#node(id);
    const text = await askRedis({ host, port: companionPort }, "INFO sentinel", ANSWER_MS_MAX);
    const [, address = "", replicas, sentinels] =
      /^master0:.*,address=([^,]+),slaves=(\d+),sentinels=(\d+)/m.exec(text ?? "") ?? [];
    if (address === "") return undefined;
    return { address, replicas: Number(replicas), sentinels: Number(sentinels) };
  }

  #knowsAll(master: NamedMaster | undefined): boolean {
    const count = this.#network.nodes.length;
    return master !== undefined && master.replicas >= count - 1 && master.sentinels >= count;
  }

  #followedBy(id: number, replication: Replication): number | undefined {
    if (replication.get("role") === "master") return id;
    if (replication.get("master_link_status") !== "up") return undefined;
    const port = Number(replication.get("master_port"));
    return this.#network.nodes.find((node) => this.addressOf(node.id).port === port)?.id;
  }

  #node(id: number): NodeAddresses {
    const node = this.#network.nodes.find((each) => each.id === id);
    if (node === undefined) throw new RangeError(`there is no node ${id}`);
    return node;
  }
}

interface NamedMaster {
  readonly address: string;
  readonly replicas: number;
  readonly sentinels: number;
}
