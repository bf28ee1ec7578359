/**
 * Runs the processes of a local cluster: starts all, waits until they agree on a leader, watches
 * them, stops all. Nothing that it started is ever left running: a failure during the start stops
 * the other nodes, and a process that ignores SIGTERM is killed.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { TlsOptions } from "../../src/index.js";
import type { NodeReport } from "../cluster/node-report.js";
import { leaderOf } from "../cluster/node-report.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { MAKE_ROOM } from "../exit/start-failure.js";
import { note } from "../output/terminal.js";
import { type ClusterPlan, type NodePlan, restartDelayMs } from "./cluster-plan.js";
import { caughtUp, localReports } from "./local-reports.js";
import { describeEnd, type NodeEnd, NodeProcess } from "./node-process.js";

const READY_MS_MAX = 60_000;
const POLL_INTERVAL_MS = 100;
const STOP_MS_MAX = 10_000;
/** After a node has lived this long, its deaths are counted from zero again. */
const STEADY_MS = 30_000;

export interface LocalClusterOptions {
  /** Whether a node that dies is started again. */
  readonly restart: boolean;
  /** Further arguments of the `holdfast server` of a node. */
  readonly argumentsOf: (nodeId: number) => readonly string[];
  /** For endpoints with TLS. */
  readonly access: TlsOptions;
}

export class LocalCluster {
  readonly #plan: ClusterPlan;
  readonly #options: LocalClusterOptions;
  readonly #processes = new Map<number, NodeProcess>();
  readonly #deathsInARow = new Map<number, number>();
  readonly #stopping = new AbortController();
  #onEmpty: () => void = () => undefined;
  /** Resolves when no node runs and none will be started again. */
  readonly empty: Promise<void>;

  constructor(plan: ClusterPlan, options: LocalClusterOptions) {
    this.#plan = plan;
    this.#options = options;
    this.empty = new Promise((resolve) => {
      this.#onEmpty = resolve;
    });
  }

  /**
   * Starts all nodes and waits for a leader that all of them know. Rejects with a `Failure` if a
   * node ends before that or after `READY_MS_MAX`, and with the signal's reason when aborted; the
   * caller then calls `stop`.
   */
  async start(signal: AbortSignal): Promise<NodeReport[]> {
    const early = this.#plan.nodes.map((plan) => this.#earlyEnd(this.#spawn(plan)));
    const ready = new AbortController();
    const both = AbortSignal.any([signal, ready.signal]);
    try {
      return await Promise.race([this.#agreement(both), ...early]);
    } finally {
      // Ends the polling if a node ended first.
      ready.abort();
    }
  }

  /** From now on a node that ends is reported, and started again if `restart` is set. */
  watch(): void {
    for (const process of this.#processes.values()) this.#watch(process);
  }

  /** Stops all nodes at the same time and waits for them. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const processes = [...this.#processes.values()];
    for (const process of processes) process.terminate();
    const timer = setTimeout(() => {
      for (const process of processes) {
        if (process.isGone) continue;
        note(`node ${process.plan.id} did not stop within ${STOP_MS_MAX} ms and is killed`);
        process.kill();
      }
    }, STOP_MS_MAX);
    await Promise.all(processes.map(({ ended }) => ended));
    clearTimeout(timer);
  }

  /** Kills all nodes. */
  kill(): void {
    this.#stopping.abort();
    for (const process of this.#processes.values()) process.kill();
  }

  /** The process of the node with that id; `undefined`: it does not run. */
  processOf(id: number): NodeProcess | undefined {
    const process = this.#processes.get(id);
    return process?.isGone === true ? undefined : process;
  }

  /** Starts a node that ended. A cluster with `restart` does so by itself. */
  startNode(id: number): void {
    const plan = this.#plan.nodes.find((node) => node.id === id);
    if (plan === undefined || this.processOf(id) !== undefined) return;
    if (this.#options.restart || this.#stopping.signal.aborted) return;
    void this.#watch(this.#spawn(plan));
  }

  #spawn(plan: NodePlan): NodeProcess {
    const process = new NodeProcess(plan, this.#plan, this.#options.argumentsOf(plan.id));
    this.#processes.set(plan.id, process);
    return process;
  }

  async #earlyEnd(process: NodeProcess): Promise<never> {
    const end = await process.ended;
    const { id, logFile } = process.plan;
    const reason = process.lastWords() ?? `it ended with ${describeEnd(end)}, see ${logFile}`;
    throw new Failure(EXIT.failed, `node ${id} did not start: ${reason}`);
  }

  async #agreement(signal: AbortSignal): Promise<NodeReport[]> {
    const { nodes, directory } = this.#plan;
    const deadlineMs = performance.now() + READY_MS_MAX;
    let isCurrent = false;
    while (performance.now() < deadlineMs) {
      signal.throwIfAborted();
      const reports = await localReports(nodes, this.#options.access, { signal });
      const isAgreed = agreeOnLeader(reports);
      if (isAgreed && isCurrent) return reports;
      const leader = nodes.find(({ id }) => isAgreed && id === leaderOf(reports)?.id);
      if (leader !== undefined) {
        await caughtUp(leader, signal);
        isCurrent = true;
        continue;
      }
      demandRoom(reports);
      await delay(POLL_INTERVAL_MS, undefined, { signal });
    }
    throw new Failure(
      EXIT.noCluster,
      `the nodes did not agree on a leader within ${READY_MS_MAX} ms, see ${directory}/*.log`,
    );
  }

  async #watch(process: NodeProcess): Promise<void> {
    const startedAtMs = performance.now();
    const end = await process.ended;
    if (this.#stopping.signal.aborted) return;
    const { id } = process.plan;
    const lived = performance.now() - startedAtMs >= STEADY_MS;
    const deaths = lived ? 1 : (this.#deathsInARow.get(id) ?? 0) + 1;
    this.#deathsInARow.set(id, deaths);
    this.#report(process, end);
    if (this.#options.restart) await this.#startAgain(process.plan, restartDelayMs(deaths));
    else if (this.#running() === 0) this.#onEmpty();
  }

  async #startAgain(plan: NodePlan, delayMs: number): Promise<void> {
    note(`node ${plan.id} is started again in ${delayMs} ms`);
    await delay(delayMs);
    if (this.#stopping.signal.aborted) return;
    const process = this.#spawn(plan);
    if (process.pid !== undefined) note(`node ${plan.id} is running again as pid ${process.pid}`);
    await this.#watch(process);
  }

  #report(process: NodeProcess, end: NodeEnd): void {
    const { id, logFile } = process.plan;
    const words = process.lastWords();
    const because = words === undefined ? "" : `: ${words}`;
    const what =
      process.pid === undefined
        ? `node ${id} could not be started`
        : `node ${id} (pid ${process.pid}) ended by ${describeEnd(end)}`;
    note(`${what}${because} (see ${logFile})`);
    const nodes = this.#plan.nodes.length;
    if (this.#running() <= nodes / 2) {
      note(
        `${this.#running()} of ${nodes} nodes are running: without a majority, no locks are granted`,
      );
    }
  }

  #running(): number {
    return [...this.#processes.values()].filter(({ isGone }) => !isGone).length;
  }
}

/** A node would wait for room; a person who starts a cluster by hand needs an error instead. */
function demandRoom(reports: readonly NodeReport[]): void {
  for (const report of reports) {
    if (!report.isReachable || report.role !== "starting" || report.isDiskFull !== true) continue;
    const message = `node ${report.id} did not start: the disk is full: ${MAKE_ROOM}`;
    throw new Failure(EXIT.failed, message);
  }
}

/** Whether every node answers and all know the same leader. */
function agreeOnLeader(reports: readonly NodeReport[]): boolean {
  const leader = leaderOf(reports);
  return (
    leader !== undefined &&
    reports.every((report) => report.isReachable && report.leader === leader.id)
  );
}
