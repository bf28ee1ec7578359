/**
 * A cluster of real processes for a test: `holdfast server` from the build, on free ports of the
 * loopback interface, with its data in a directory of its own that goes when the test ends. All
 * waits are bounded, and end with what the nodes wrote.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import type { PageTls } from "../../../src/reach/read-page.js";
import {
  type CliOptions,
  type CliResult,
  type RunningCli,
  runCli,
  startCli,
} from "./command-line.js";
import { NodeHandle } from "./node-handle.js";

export {
  type CliOptions,
  type CliResult,
  type RunningCli,
  runCli,
  startCli,
} from "./command-line.js";
export type { NodeHandle };

const LEADER_MS_MAX = 30_000;
const POLL_INTERVAL_MS = 20;

export interface ClusterOptions {
  /** Default 3. */
  readonly nodes?: number;
  /** Default: a temporary one, removed by `stop`. */
  readonly directory?: string;
  /** Client ports, then peer ports, as many as nodes of each. Default: free ones. */
  readonly ports?: readonly number[];
  /** Further arguments of every `holdfast server`. */
  readonly serverArguments?: readonly string[];
  /** Further arguments of one node. */
  readonly argumentsOf?: (id: number) => readonly string[];
  /** How nodes that the arguments make speak TLS are asked for their status. */
  readonly tls?: PageTls;
}

export class ClusterProcess implements AsyncDisposable {
  readonly nodes: readonly NodeHandle[];
  readonly directory: string;
  readonly #removesDirectory: boolean;

  /** As in `ClusterOptions`. */
  readonly #tls: PageTls | undefined;

  constructor(
    nodes: readonly NodeHandle[],
    directory: string,
    removesDirectory: boolean,
    tls?: PageTls,
  ) {
    this.nodes = nodes;
    this.directory = directory;
    this.#tls = tls;
    this.#removesDirectory = removesDirectory;
  }

  get endpoints(): string[] {
    return this.nodes.map(({ endpoint }) => endpoint);
  }

  /** Runs a command that finds this cluster in its environment; `options.env` counts for more. */
  holdfast(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
    return runCli(args, this.#findable(options));
  }

  /** As `holdfast`, without waiting for its end. */
  startHoldfast(args: readonly string[], options: CliOptions = {}): RunningCli {
    return startCli(args, this.#findable(options));
  }

  /** Runs a command of an operator, which must succeed. */
  async operate(...args: readonly string[]): Promise<CliResult> {
    const result = await this.holdfast(args);
    expect([args, result.code, result.stderr]).toEqual([args, 0, expect.any(String)]);
    return result;
  }

  node(id: number): NodeHandle {
    const node = this.nodes.find((candidate) => candidate.id === id);
    if (node === undefined) throw new RangeError(`there is no node ${id}`);
    return node;
  }

  /** Resolves with the node that leads and that a majority of all nodes knows as the leader. */
  async leader(): Promise<NodeHandle> {
    const deadlineMs = performance.now() + LEADER_MS_MAX;
    while (performance.now() < deadlineMs) {
      const statuses = await Promise.all(this.nodes.map((node) => node.status()));
      for (const candidate of statuses) {
        if (candidate?.role !== "leader") continue;
        const followers = statuses.filter(
          (status) => status?.leader === candidate.id && status.term === candidate.term,
        );
        if (followers.length > this.nodes.length / 2) return this.node(candidate.id);
      }
      await delay(POLL_INTERVAL_MS);
    }
    const logs = this.nodes.map(({ id, stderr }) => `node ${id}:\n${stderr.slice(-4_000)}`);
    throw new Error(`no leader within ${LEADER_MS_MAX} ms\n${logs.join("\n")}`);
  }

  /**
   * A node that has not been started: it will ask this cluster to let it join. `further`: its arguments
   * for TLS.
   */
  async newcomer(
    id: number,
    further: readonly string[] = [],
  ): Promise<{ readonly node: NodeHandle; readonly address: string }> {
    const [clientPort, peerPort] = await freePorts(2);
    const listen = `127.0.0.1:${clientPort}`;
    const address = `127.0.0.1:${peerPort}`;
    const tls = this.#tls;
    const endpoint = `${tls === undefined ? "ws" : "wss"}://${listen}`;
    const given = [
      `--id=${id}`,
      `--data=${join(this.directory, `n${id}`)}`,
      `--listen=${listen}`,
      `--peer-listen=${address}`,
      `--join=${this.endpoints.join(",")}`,
      "--stop-on-stdin-end",
      ...further,
    ];
    return { node: new NodeHandle(id, endpoint, given, { tls }), address };
  }

  /** Stops every node and removes the directory if it was made here. */
  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
    if (this.#removesDirectory) await rm(this.directory, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** With this cluster in the environment. */
  #findable(options: CliOptions): CliOptions {
    const env = { HOLDFAST_ENDPOINTS: this.endpoints.join(","), ...options.env };
    return { ...options, env };
  }
}

/** Starts the nodes and waits for a leader. */
export async function startCluster(options: ClusterOptions = {}): Promise<ClusterProcess> {
  const count = options.nodes ?? 3;
  const ports = options.ports ?? (await freePorts(2 * count));
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), "holdfast-test-")));
  const members = Array.from(
    { length: count },
    (_, index) => `${index + 1}=127.0.0.1:${ports[count + index]}`,
  ).join(",");
  const nodes = Array.from({ length: count }, (_, index) => {
    const listen = `127.0.0.1:${ports[index]}`;
    const serverArguments = [
      `--id=${index + 1}`,
      `--data=${join(directory, `n${index + 1}`)}`,
      `--listen=${listen}`,
      `--initial-cluster=${members}`,
      "--stop-on-stdin-end",
      ...(options.serverArguments ?? []),
      ...(options.argumentsOf?.(index + 1) ?? []),
    ];
    const { tls } = options;
    const endpoint = `${tls === undefined ? "ws" : "wss"}://${listen}`;
    return new NodeHandle(index + 1, endpoint, serverArguments, { tls });
  });
  const cluster = new ClusterProcess(
    nodes,
    directory,
    options.directory === undefined,
    options.tls,
  );
  try {
    await Promise.all(nodes.map((node) => node.start()));
    await cluster.leader();
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}
