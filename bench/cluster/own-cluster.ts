/**
 * A three-node cluster for one run of the bench: real processes on free ports of this machine, in a
 * temporary directory. Nothing of it is left when `withOwnCluster` returns: its data are not
 * needed, so the nodes are killed rather than stopped.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePorts } from "../../lab/free-ports.js";
import { BenchCertificates, type ClientFiles } from "./bench-certificates.js";
import { fetchFigures, isReady } from "./node-pages.js";
import { NodeProcess, type NodeRuntime } from "./node-process.js";
import { PeerLinks } from "./peer-links.js";

const NODES = 3;
const LOOPBACK = "127.0.0.1";
const HEALTHY_MS_MAX = 60_000;
const GONE_MS_MAX = 10_000;
const POLL_INTERVAL_MS = 10;
/** Nodes are asked one after another while the log grows; a node this close has caught up. */
const LAG_ENTRIES_MAX = 1_024;

export interface OwnClusterOptions {
  /** Nodes reach each other through proxies that can be cut. */
  readonly isProxied?: boolean;
  /** TLS on both ports, with client certificates. */
  readonly isEncrypted?: boolean;
  readonly runtime?: NodeRuntime;
  /** Where nodes listen for clients. Default: on loopback. */
  readonly host?: string;
  /** Further flags of a node, by its id. */
  readonly flagsOf?: (node: number) => readonly string[];
  readonly signal: AbortSignal;
}

export class OwnCluster {
  readonly nodes: readonly NodeProcess[];
  /** With which its clients connect. */
  readonly tls: ClientFiles;
  readonly #links: PeerLinks | undefined;
  readonly #signal: AbortSignal;

  constructor(
    nodes: readonly NodeProcess[],
    links: PeerLinks | undefined,
    certificates: BenchCertificates | undefined,
    options: OwnClusterOptions,
  ) {
    this.nodes = nodes;
    this.tls = certificates?.client ?? {};
    this.#links = links;
    this.#signal = options.signal;
  }

  get endpoints(): string[] {
    return this.nodes.map(({ endpoint }) => endpoint);
  }

  /** The links that can be cut. */
  get links(): PeerLinks {
    if (this.#links === undefined) throw new Error("the nodes of this cluster have no proxies");
    return this.#links;
  }

  /** Resolves with the leader when every node is ready, follows it and has applied its entries. */
  async healthy(): Promise<NodeProcess> {
    const deadlineMs = performance.now() + HEALTHY_MS_MAX;
    while (performance.now() < deadlineMs) {
      const leader = await this.#findLeader();
      if (leader !== undefined) return leader;
      await delay(POLL_INTERVAL_MS, undefined, { signal: this.#signal });
    }
    throw new Error(`the cluster was not healthy within ${HEALTHY_MS_MAX} ms`);
  }

  async #findLeader(): Promise<NodeProcess | undefined> {
    const figures = await Promise.all(
      this.nodes.map(({ endpoint }) => fetchFigures(endpoint, this.tls)),
    );
    const leader = figures.find((each) => each?.role === "leader");
    if (leader === undefined) return undefined;
    const isFollowing = figures.every(
      (each) =>
        each?.term === leader.term &&
        each.leader === leader.id &&
        each.appliedIndex >= leader.commitIndex - LAG_ENTRIES_MAX,
    );
    if (!isFollowing) return undefined;
    const ready = await Promise.all(this.nodes.map(({ endpoint }) => isReady(endpoint, this.tls)));
    return ready.every(Boolean) ? this.nodes.find(({ id }) => id === leader.id) : undefined;
  }
}

/**
 * Starts a cluster, waits until it is healthy, does the work, and always ends everything. Rejects
 * as `work` does, if a node ends by itself, and if the cluster does not start.
 */
export async function withOwnCluster<T>(
  options: OwnClusterOptions,
  work: (cluster: OwnCluster) => Promise<T>,
): Promise<T> {
  options.signal.throwIfAborted();
  const directory = await mkdtemp(join(tmpdir(), "holdfast-bench-"));
  let links: PeerLinks | undefined;
  let nodes: NodeProcess[] = [];
  try {
    const ports = await freePorts(2 * NODES);
    const peerPorts = ports.slice(NODES);
    if (options.isProxied === true) links = await PeerLinks.between(peerPorts);
    const certificates =
      options.isEncrypted === true ? await BenchCertificates.create(directory, NODES) : undefined;
    let onDeath: (error: Error) => void = () => undefined;
    const death = new Promise<never>((_resolve, reject) => {
      onDeath = reject;
    });
    const { runtime, host = LOOPBACK, flagsOf = () => [] } = options;
    nodes = nodesOf({ directory, host, ports, links, certificates, onDeath, runtime, flagsOf });
    const cluster = new OwnCluster(nodes, links, certificates, options);
    for (const node of nodes) node.spawn();
    const run = cluster.healthy().then(() => work(cluster));
    return await Promise.race([run, death]);
  } finally {
    for (const node of nodes) node.signal("SIGKILL");
    await Promise.all(nodes.map((node) => node.exited(GONE_MS_MAX)));
    await links?.close();
    await rm(directory, { recursive: true, force: true });
  }
}

interface NodesOptions {
  readonly directory: string;
  readonly host: string;
  /** Those for clients, then those for peers. */
  readonly ports: readonly number[];
  readonly links: PeerLinks | undefined;
  readonly certificates: BenchCertificates | undefined;
  readonly onDeath: (error: Error) => void;
  readonly runtime: NodeRuntime | undefined;
  readonly flagsOf: (node: number) => readonly string[];
}

function nodesOf(options: NodesOptions): NodeProcess[] {
  const { directory, host, ports, links, certificates, onDeath, runtime } = options;
  const members = ports
    .slice(NODES)
    .map((port, index) => `${index + 1}=127.0.0.1:${port}`)
    .join(",");
  return ports.slice(0, NODES).map((port, index) => {
    const id = index + 1;
    const flags = [
      `--id=${id}`,
      `--data=${join(directory, `n${id}`)}`,
      `--listen=${host}:${port}`,
      ...(host === LOOPBACK ? [] : [`--advertise=ws://${LOOPBACK}:${port}`]),
      `--initial-cluster=${members}`,
      ...(links?.argumentsOf(id) ?? []),
      ...(certificates?.argumentsOf(id) ?? []),
      ...options.flagsOf(id),
    ];
    const scheme = certificates === undefined ? "ws" : "wss";
    return new NodeProcess(id, `${scheme}://127.0.0.1:${port}`, flags, onDeath, runtime);
  });
}
