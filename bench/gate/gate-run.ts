/** Runs the load of the gate on a cluster of its own, and reads the counters around each phase. */

import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../../src/index.js";
import { closeAll, connectAll, runPrefix } from "../cluster/bench-clients.js";
import { fetchMetrics } from "../cluster/node-pages.js";
import type { NodeRuntime } from "../cluster/node-process.js";
import { type OwnCluster, withOwnCluster } from "../cluster/own-cluster.js";
import { warmUp } from "../load/warm-up.js";
import { AllocationTrace, TRACE_FLAGS } from "../measures/allocation-trace.js";
import { readingAndWritingCalls, voluntarySwitches } from "../measures/process-calls.js";
import {
  ENTRY_PHASES,
  type EntryCounters,
  type EntryCounts,
  type EntryPhase,
  type EntryRounds,
  entryCountsOf,
  roundsOf,
} from "./entry-counts.js";
import { type Counters, type Counts, type CountsByPhase, countsOf, PHASES } from "./gate-counts.js";
import { runPhase } from "./gate-load.js";
import { LoopCounters } from "./loop-counts.js";

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

export interface GateResult {
  readonly perCommand: CountsByPhase;
  readonly perEntry: EntryRounds;
}

/**
 * Rejects if it cannot be measured, and if `signal` is aborted. Each of the two kinds of counts has a
 * cluster of its own: the trace of the heap changes how often the nodes write and sleep.
 */
export async function runGate(rounds: number, signal: AbortSignal): Promise<GateResult> {
  const perCommand = await countCommands(signal);
  return { perCommand, perEntry: await countEntries(rounds, signal) };
}

async function countCommands(signal: AbortSignal): Promise<CountsByPhase> {
  const trace = new AllocationTrace();
  const runtime = {
    flags: TRACE_FLAGS,
    onOutput: (_node: number, line: string) => trace.take(line),
  };
  return withLoad(runtime, signal, async (cluster, clients, prefix) => {
    const read = () => readCounters(cluster, trace);
    const counts: Partial<Record<keyof CountsByPhase, Counts>> = {};
    for (const phase of PHASES) {
      const before = await atRest(read, signal);
      await runPhase(phase, clients, prefix, signal);
      counts[phase] = countsOf(before, await atRest(read, signal));
    }
    if (trace.collections === 0) throw new Error("V8 reported no collection");
    return counts as CountsByPhase;
  });
}

async function countEntries(rounds: number, signal: AbortSignal): Promise<EntryRounds> {
  const counters = new LoopCounters();
  return withLoad(counters.runtime, signal, async (cluster, clients, prefix) => {
    const read = async () => {
      const { commands } = await readCounters(cluster);
      return { commands, ...(await readEntryCounters(cluster, counters, signal)) };
    };
    const counts: Record<EntryPhase, EntryCounts[]> = { alone: [], spread: [] };
    for (let round = 0; round < rounds; round += 1) {
      for (const phase of ENTRY_PHASES) {
        const before = await atRest(read, signal);
        await runPhase(phase, clients, prefix, signal);
        // At once: what a cluster at rest does would count as well.
        counts[phase].push(entryCountsOf(before, await read()));
      }
    }
    return { alone: roundsOf(counts.alone), spread: roundsOf(counts.spread) };
  });
}

async function withLoad<T>(
  runtime: NodeRuntime,
  signal: AbortSignal,
  work: (cluster: OwnCluster, clients: readonly Client[], prefix: string) => Promise<T>,
): Promise<T> {
  return withOwnCluster({ signal, runtime }, async (cluster) => {
    const leader = await cluster.healthy();
    const clients = await connectAll(CLIENTS, [leader.endpoint], signal);
    const prefix = runPrefix();
    try {
      await warmUp(clients, WARM_UP_SECONDS, `${prefix}/warm-up`, signal);
      return await work(cluster, clients, prefix);
    } finally {
      await closeAll(clients);
    }
  });
}

/**
 * Reads the counters when nothing of the previous phase is under way, so that only the next phase
 * is counted.
 */
async function atRest<Read extends { readonly commands: number }>(
  read: () => Promise<Read>,
  signal: AbortSignal,
): Promise<Read> {
  let counters = await read();
  for (;;) {
    await delay(REST_MS, undefined, { signal });
    const next = await read();
    // A session that renews itself now sends a command or two.
    const isAtRest = next.commands - counters.commands <= CLIENTS;
    counters = next;
    if (isAtRest) return counters;
  }
}

async function readEntryCounters(
  { nodes }: OwnCluster,
  counters: LoopCounters,
  signal: AbortSignal,
): Promise<EntryCounters> {
  const total = { entries: 0, calls: 0, socketWrites: 0, turns: 0, switches: 0 };
  for (const node of nodes) {
    const page = await fetchMetrics(node.endpoint, ["holdfast_proposals_total"]);
    const [calls, switches] = [readingAndWritingCalls(node.pid), voluntarySwitches(node.pid)];
    if (page === undefined || calls === undefined || switches === undefined) {
      throw new Error(`node ${node.id} does not report its counts`);
    }
    const { turns, socketWrites } = await counters.of(node, signal);
    total.entries += page.holdfast_proposals_total;
    total.calls += calls;
    total.switches += switches;
    total.turns += turns;
    total.socketWrites += socketWrites;
  }
  return total;
}

async function readCounters(cluster: OwnCluster, trace?: AllocationTrace): Promise<Counters> {
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
    heapBytes: trace?.bytes ?? 0,
  };
}
