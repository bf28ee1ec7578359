/**
 * `failover`: how long clients are not served when the leader is killed, stopped, or cut off from
 * the others while clients still reach it. Each fault happens a number of times to a healthy
 * cluster under a moderate load; the node returns before the next one. There are proxies between
 * the nodes only for the partitions: the other figures are of direct links.
 */
import { closeAll, connectAll, runPrefix } from "../../cluster/bench-clients.js";
import { type OwnCluster, withOwnCluster } from "../../cluster/own-cluster.js";
import { PACE_MS } from "../../load/paced-loop.js";
import { warmUp } from "../../load/warm-up.js";
import { describeMachine, type Machine } from "../../measures/machine.js";
import { type Summary, summaryOf } from "../../measures/statistics.js";
import type { FailoverOptions } from "../../options/bench-options.js";
import { Progress } from "../../progress.js";
import { FAULTS, type Fault, type FaultRun, runFault } from "./failover-run.js";

type ByFault<T> = Readonly<Record<Fault, T>>;

/** The shape of `--json`; a contract. */
export interface FailoverResult {
  readonly workload: "failover";
  readonly machine: Machine;
  readonly runs: number;
  readonly connections: number;
  /** A client begins a cycle at most this often. */
  readonly paceMs: number;
  /** Time without a grant to any client: SIGKILL of the leader, SIGTERM, links cut. */
  readonly killMs: Summary;
  readonly termMs: Summary;
  readonly partitionMs: Summary;
  /** For each run, the client that had the longest gap. */
  readonly worstClientMs: ByFault<Summary>;
  /** While the node came back. */
  readonly returnMs: ByFault<Summary>;
  readonly commands: ByFault<number>;
  /** By fault and code. */
  readonly failedCommands: ByFault<Readonly<Record<string, number>>>;
  readonly sessionsExpired: ByFault<number>;
  readonly fencingViolations: number;
  readonly details: readonly FaultRun[];
}

/** `signal` ends it early, by rejecting. */
export async function runFailover(
  options: FailoverOptions,
  signal: AbortSignal,
): Promise<FailoverResult> {
  const machine = describeMachine();
  const direct = await withOwnCluster({ signal }, async (cluster) => [
    ...(await runFaults(cluster, "kill", options, signal)),
    ...(await runFaults(cluster, "term", options, signal)),
  ]);
  const proxied = await withOwnCluster({ isProxied: true, signal }, (cluster) =>
    runFaults(cluster, "partition", options, signal),
  );
  return resultOf(options, machine, [...direct, ...proxied]);
}

async function runFaults(
  cluster: OwnCluster,
  fault: Fault,
  options: FailoverOptions,
  signal: AbortSignal,
): Promise<FaultRun[]> {
  const { runs, connections, warmupSeconds } = options;
  await warmUpCluster(cluster, connections, warmupSeconds, signal);
  const progress = new Progress();
  const done: FaultRun[] = [];
  while (done.length < runs) {
    const latest = done.at(-1);
    const text = latest === undefined ? "" : `, the last one ${latest.gapMs} ms`;
    progress.show(`${fault}: run ${done.length + 1} of ${runs}${text}`);
    done.push(await runFault(cluster, fault, connections, signal));
  }
  progress.clear();
  return done;
}

async function warmUpCluster(
  cluster: OwnCluster,
  connections: number,
  seconds: number,
  signal: AbortSignal,
): Promise<void> {
  const clients = await connectAll(connections, cluster.endpoints, signal);
  try {
    await warmUp(clients, seconds, `${runPrefix()}/warm-up`, signal);
  } finally {
    await closeAll(clients);
  }
}

function resultOf(
  options: FailoverOptions,
  machine: Machine,
  details: readonly FaultRun[],
): FailoverResult {
  const of = (fault: Fault) => details.filter((run) => run.fault === fault);
  const gap = (fault: Fault) => summaryOf(of(fault).map(({ gapMs }) => gapMs));
  const sum = (fault: Fault, value: (run: FaultRun) => number) =>
    of(fault).reduce((total, run) => total + value(run), 0);
  return {
    workload: "failover",
    machine,
    runs: options.runs,
    connections: options.connections,
    paceMs: PACE_MS,
    killMs: gap("kill"),
    termMs: gap("term"),
    partitionMs: gap("partition"),
    worstClientMs: byFault((fault) => summaryOf(of(fault).map((run) => run.worstClientMs))),
    returnMs: byFault((fault) => summaryOf(of(fault).map((run) => run.returnGapMs))),
    commands: byFault((fault) => sum(fault, (run) => run.commands)),
    failedCommands: byFault((fault) => totals(of(fault).map((run) => run.failedCommands))),
    sessionsExpired: byFault((fault) => sum(fault, (run) => run.sessionsExpired)),
    fencingViolations: details.reduce((total, run) => total + run.fencingViolations, 0),
    details,
  };
}

function byFault<T>(value: (fault: Fault) => T): ByFault<T> {
  return Object.fromEntries(FAULTS.map((fault) => [fault, value(fault)])) as Record<Fault, T>;
}

/** The sum of the counts by code. */
function totals(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const each of counts) {
    for (const [code, count] of Object.entries(each)) sums[code] = (sums[code] ?? 0) + count;
  }
  return sums;
}
