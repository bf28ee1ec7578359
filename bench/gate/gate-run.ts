/** Runs the load of the gate on a cluster of its own, and reads the counters around each phase. */

import { setTimeout as delay } from "node:timers/promises";
import { closeAll, connectAll, runPrefix } from "../cluster/bench-clients.js";
import { fetchMetrics } from "../cluster/node-pages.js";
import { type OwnCluster, withOwnCluster } from "../cluster/own-cluster.js";
import { warmUp } from "../load/warm-up.js";
import { AllocationTrace, TRACE_FLAGS } from "../measures/allocation-trace.js";
import { type Counters, type Counts, type CountsByPhase, countsOf, PHASES } from "./gate-counts.js";
import { runPhase } from "./gate-load.js";

const CLIENTS = 8;
/** Most of the code is compiled after that. */
const WARM_UP_SECONDS = 3;
const REST_MS = 250;

const METRICS = [
  "holdfast_commands_applied_total",
  "holdfast_proposals_total",
  "holdfast_log_syncs_total",
  "holdfast_log_bytes_total",
  'holdfast_client_frames_total{direction="sent"}',
  'holdfast_client_frames_total{direction="received"}',
  'holdfast_client_bytes_total{direction="sent"}',
  'holdfast_client_bytes_total{direction="received"}',
  'holdfast_peer_frames_total{direction="sent"}',
  'holdfast_peer_bytes_total{direction="sent"}',
] as const;

/** Rejects if it cannot be measured, and if `signal` is aborted. */
export async function runGate(signal: AbortSignal): Promise<CountsByPhase> {
  const trace = new AllocationTrace();
  const runtime = {
    flags: TRACE_FLAGS,
    onOutput: (_node: number, line: string) => trace.take(line),
  };
  return withOwnCluster({ signal, runtime }, async (cluster) => {
    const leader = await cluster.healthy();
    const clients = await connectAll(CLIENTS, [leader.endpoint], signal);
    const prefix = runPrefix();
    try {
      await warmUp(clients, WARM_UP_SECONDS, `${prefix}/warm-up`, signal);
      const counts: Partial<Record<keyof CountsByPhase, Counts>> = {};
      for (const phase of PHASES) {
        const before = await readAtRest(cluster, trace, signal);
        await runPhase(phase, clients, prefix, signal);
        counts[phase] = countsOf(before, await readAtRest(cluster, trace, signal));
      }
      if (trace.collections === 0) throw new Error("V8 reported no collection");
      return counts as CountsByPhase;
    } finally {
      await closeAll(clients);
    }
  });
}

/**
 * Reads the counters when nothing of the previous phase is under way, so that only the next phase
 * is counted.
 */
async function readAtRest(
  cluster: OwnCluster,
  trace: AllocationTrace,
  signal: AbortSignal,
): Promise<Counters> {
  let counters = await readCounters(cluster, trace);
  for (;;) {
    await delay(REST_MS, undefined, { signal });
    const next = await readCounters(cluster, trace);
    // A session that renews itself now sends a command or two.
    const isAtRest = next.commands - counters.commands <= CLIENTS;
    counters = next;
    if (isAtRest) return counters;
  }
}

async function readCounters(cluster: OwnCluster, trace: AllocationTrace): Promise<Counters> {
  const pages = await Promise.all(
    cluster.nodes.map(({ endpoint }) => fetchMetrics(endpoint, METRICS)),
  );
  const values = pages.map((page) => {
    if (page === undefined) throw new Error("a node does not report its metrics");
    return page;
  });
  const sum = (...names: readonly (typeof METRICS)[number][]): number =>
    values.reduce((total, page) => names.reduce((part, name) => part + page[name], total), 0);
  return {
    // Each node applies all of them, but not all at the same time.
    commands: Math.max(...values.map((page) => page.holdfast_commands_applied_total)),
    entries: sum("holdfast_proposals_total"),
    syncs: sum("holdfast_log_syncs_total"),
    logBytes: sum("holdfast_log_bytes_total"),
    clientFrames: sum(
      'holdfast_client_frames_total{direction="sent"}',
      'holdfast_client_frames_total{direction="received"}',
    ),
    clientBytes: sum(
      'holdfast_client_bytes_total{direction="sent"}',
      'holdfast_client_bytes_total{direction="received"}',
    ),
    peerFrames: sum('holdfast_peer_frames_total{direction="sent"}'),
    peerBytes: sum('holdfast_peer_bytes_total{direction="sent"}'),
    heapBytes: trace.bytes,
  };
}
