/**
 * `uncontended`, `contended`, `rw`, `semaphore`, `multi`: closed loops for a fixed time. Clients,
 * warm-up, measured time, result; bounded in time whatever the cluster does.
 */
import { setTimeout as delay } from "node:timers/promises";
import { clusterStatus } from "../src/index.js";
import { closeAll, connectAll, drained, runPrefix } from "./bench-clients.js";
import type { LoadWorkload } from "./bench-numbers.js";
import type { LoadOptions } from "./bench-options.js";
import { ClosedLoop } from "./closed-loop.js";
import type { Rule } from "./grant-witness.js";
import { heat } from "./heat.js";
import { loadShape } from "./load-shapes.js";
import { type LoadWindow, measureLoad } from "./load-window.js";
import { withOwnCluster } from "./own-cluster.js";
import type { MeasuredProcess } from "./process-cpu.js";

/** The measured workers then run so long without being counted. */
const SETTLING_SECONDS = 1;

/** The shape of `--json`; a contract. */
export interface ThroughputResult extends LoadWindow {
  readonly workload: LoadWorkload;
  readonly workers: number;
  readonly connections: number;
  /** Of `rw` and `multi`: how many locks; else 0. */
  readonly keys: number;
  /** Of `semaphore`: its permits; else 0. */
  readonly limit: number;
  /** Name of the node that led when the run ended, if one did. */
  readonly leader: string | null;
  readonly errors: Readonly<Record<string, number>>;
  /** What must not happen, by what it breaks; see `grant-witness.ts`. */
  readonly violations: Readonly<Record<Rule, number>>;
  /** All of these. */
  readonly fencingViolations: number;
}

/** `signal` ends the run early, by rejecting. */
export async function runThroughput(
  options: LoadOptions,
  signal: AbortSignal,
): Promise<ThroughputResult> {
  const { endpoints } = options;
  if (endpoints !== undefined) return runAgainst(endpoints, options, signal);
  return withOwnCluster({ signal }, (own) => runAgainst(own.endpoints, options, signal));
}

async function runAgainst(
  endpoints: readonly string[],
  options: LoadOptions,
  signal: AbortSignal,
): Promise<ThroughputResult> {
  const { workload, connections, workers, keys, limit } = options;
  const clients = await connectAll(connections, endpoints, signal);
  const prefix = runPrefix();
  try {
    await heat(clients, options.warmupSeconds, `${prefix}/heat`, signal);
    const loop = new ClosedLoop({ clients, workers, shape: loadShape(options, prefix) });
    try {
      await delay(SETTLING_SECONDS * 1_000, undefined, { signal });
      const { processes } = await findProcesses(endpoints);
      const window = await measureLoad(loop, processes, options.seconds * 1_000, signal);
      const errors = Object.fromEntries(loop.errors);
      const { leader } = await findProcesses(endpoints);
      const { violations, fencingViolations } = loop;
      return {
        workload,
        workers,
        connections,
        keys,
        limit,
        ...window,
        leader,
        errors,
        violations: { ...violations },
        fencingViolations,
      };
    } finally {
      await drained(loop.stop());
    }
  } finally {
    await closeAll(clients);
  }
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
