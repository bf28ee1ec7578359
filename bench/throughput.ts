/**
 * `uncontended` and `contended`: closed loops for a fixed time. Clients, warm-up, measured time,
 * result; bounded in time whatever the cluster does.
 */
import { setTimeout as delay } from "node:timers/promises";
import { clusterStatus } from "../src/index.js";
import { closeAll, connectAll, drained, runPrefix } from "./bench-clients.js";
import type { ThroughputOptions, ThroughputWorkload } from "./bench-options.js";
import { ClosedLoop } from "./closed-loop.js";
import { heat } from "./heat.js";
import { withOwnCluster } from "./own-cluster.js";
import { cpuSeconds, type MeasuredProcess } from "./process-cpu.js";

/** The measured workers then run so long without being counted. */
const SETTLING_SECONDS = 1;

/** The shape of `--json`; a contract. */
export interface ThroughputResult {
  readonly workload: ThroughputWorkload;
  readonly workers: number;
  readonly connections: number;
  /** As measured. */
  readonly seconds: number;
  /** Acquire and release, both durable on a majority. Of `contended`: hand-overs. */
  readonly cyclesPerSecond: number;
  readonly acquireMs: {
    readonly p50: number;
    readonly p99: number;
    readonly p999: number;
    readonly max: number;
  };
  /** `load` is this process, `n1` … the nodes; only those of this machine. */
  readonly cpuSecondsPerProcess: Readonly<Record<string, number>>;
  /** Name of the node that led when the run ended, if one did. */
  readonly leader: string | null;
  readonly errors: Readonly<Record<string, number>>;
  readonly fencingViolations: number;
}

/** `signal` ends the run early, by rejecting. */
export async function runThroughput(
  options: ThroughputOptions,
  signal: AbortSignal,
): Promise<ThroughputResult> {
  const { endpoints } = options;
  if (endpoints !== undefined) return runAgainst(endpoints, options, signal);
  return withOwnCluster({ signal }, (own) => runAgainst(own.endpoints, options, signal));
}

async function runAgainst(
  endpoints: readonly string[],
  options: ThroughputOptions,
  signal: AbortSignal,
): Promise<ThroughputResult> {
  const clients = await connectAll(options.connections, endpoints, signal);
  const prefix = runPrefix();
  const isContended = options.workload === "contended";
  const keyOf = (worker: number) => (isContended ? prefix : `${prefix}/${worker}`);
  try {
    await heat(clients, options.warmupSeconds, `${prefix}/heat`, signal);
    const loop = new ClosedLoop({ clients, workers: options.workers, keyOf });
    try {
      await delay(SETTLING_SECONDS * 1_000, undefined, { signal });
      const { processes } = await findProcesses(endpoints);
      return await measure(options, loop, processes, endpoints, signal);
    } finally {
      await drained(loop.stop());
    }
  } finally {
    await closeAll(clients);
  }
}

async function measure(
  options: ThroughputOptions,
  loop: ClosedLoop,
  processes: readonly MeasuredProcess[],
  endpoints: readonly string[],
  signal: AbortSignal,
): Promise<ThroughputResult> {
  loop.reset();
  const cpuBefore = cpuSeconds(processes);
  const startMs = performance.now();
  await delay(options.seconds * 1_000, undefined, { signal });
  const seconds = (performance.now() - startMs) / 1_000;
  const { cycles, acquireTimes } = loop;
  const acquireMs = {
    p50: rounded(acquireTimes.quantileMs(0.5)),
    p99: rounded(acquireTimes.quantileMs(0.99)),
    p999: rounded(acquireTimes.quantileMs(0.999)),
    max: rounded(acquireTimes.maxMs),
  };
  const cpuAfter = cpuSeconds(processes);
  const errors = Object.fromEntries(loop.errors);
  const { leader } = await findProcesses(endpoints);
  return {
    workload: options.workload,
    workers: options.workers,
    connections: options.connections,
    seconds: rounded(seconds),
    cyclesPerSecond: Math.round((cycles / seconds) * 10) / 10,
    acquireMs,
    cpuSecondsPerProcess: difference(cpuBefore, cpuAfter),
    leader,
    errors,
    fencingViolations: loop.fencingViolations,
  };
}

/** This process, the nodes that run on this machine, and who leads. */
async function findProcesses(
  endpoints: readonly string[],
): Promise<{ processes: MeasuredProcess[]; leader: string | null }> {
  const processes: MeasuredProcess[] = [{ name: "load", pid: process.pid }];
  let leader: string | null = null;
  for (const report of await clusterStatus(endpoints)) {
    if (!report.isReachable) continue;
    const name = `n${report.id}`;
    if (report.role === "leader") leader = name;
    if (isLoopback(report.endpoint)) processes.push({ name, pid: report.pid });
  }
  return { processes, leader };
}

function isLoopback(endpoint: string): boolean {
  const { hostname } = new URL(endpoint);
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}

function difference(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): Record<string, number> {
  const seconds: Record<string, number> = {};
  for (const [name, value] of after) {
    const start = before.get(name);
    if (start !== undefined) seconds[name] = Math.round((value - start) * 100) / 100;
  }
  return seconds;
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
