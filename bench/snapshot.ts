/**
 * `snapshot`: what a snapshot of a large table costs while clients are served. A table is filled
 * with held locks, then one steady load runs until every node has taken a snapshot by itself; stalls
 * and throughput of that one load, with and without a snapshot under way, are what is compared. Then
 * a node is started anew on such data.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../src/index.js";
import { closeAll, connectAll, drained, runPrefix } from "./bench-clients.js";
import type { SnapshotOptions } from "./bench-options.js";
import { ClosedLoop } from "./closed-loop.js";
import { heat } from "./heat.js";
import { fillTable } from "./hold-filler.js";
import { describeMachine } from "./machine.js";
import { fetchFigures, isReady } from "./node-pages.js";
import type { NodeProcess } from "./node-process.js";
import { type OwnCluster, withOwnCluster } from "./own-cluster.js";
import { cpuSeconds } from "./process-cpu.js";
import { Progress } from "./progress.js";
import {
  type Restarted,
  residentMiB,
  type SnapshotResult,
  snapshotResult,
} from "./snapshot-result.js";
import { SnapshotWatch } from "./snapshot-watch.js";
import { tenths } from "./statistics.js";

/** Whoever holds is silent while the table is filled and for minutes after. */
const HOLDER_TTL_MS = 600_000;
/** After the table was filled, before the load begins. */
const SETTLING_MS = 2_000;
const WAIT_MS_MAX = 120_000;
const EXIT_MS_MAX = 30_000;
const POLL_INTERVAL_MS = 10;

/** `signal` ends it early, by rejecting. */
export async function runSnapshot(
  options: SnapshotOptions,
  signal: AbortSignal,
): Promise<SnapshotResult> {
  return withOwnCluster({ signal }, (cluster) => runOn(cluster, options, signal));
}

async function runOn(
  cluster: OwnCluster,
  options: SnapshotOptions,
  signal: AbortSignal,
): Promise<SnapshotResult> {
  const { connections, holds, warmupSeconds, workers } = options;
  const { endpoints } = cluster;
  const prefix = runPrefix();
  const progress = new Progress();
  const machine = describeMachine();
  const clients: Client[] = [];
  try {
    clients.push(...(await connectAll(connections, endpoints, signal)));
    await heat(clients, warmupSeconds, `${prefix}/heat`, signal);
    const empty = residentMiB(cluster);
    const holderOptions = () => ({ ttlMs: HOLDER_TTL_MS });
    const holders = await connectAll(connections, endpoints, signal, holderOptions);
    clients.push(...holders);
    const fillSeconds = await fill(cluster, holders, prefix, holds, progress, signal);
    const filled = residentMiB(cluster);
    progress.show(`${holds} locks are held; settling`);
    await delay(SETTLING_MS, undefined, { signal });
    const watch = new SnapshotWatch(cluster.nodes);
    const keyOf = (worker: number) => `${prefix}/load/${worker}`;
    const load = new ClosedLoop({ clients: clients.slice(0, connections), workers, keyOf });
    try {
      await watch.observe(load, signal, (text) => progress.show(text));
    } finally {
      await drained(load.stop());
    }
    const end = residentMiB(cluster);
    progress.show("starting a node again");
    const restarted = await restart(cluster, signal);
    return snapshotResult(cluster, options, load, watch, {
      machine,
      fillSeconds,
      residentMiB: { empty, filled, end },
      ...restarted,
    });
  } finally {
    progress.clear();
    await closeAll(clients);
  }
}

/** Resolves with the seconds until every node had every hold. */
async function fill(
  cluster: OwnCluster,
  holders: readonly Client[],
  prefix: string,
  holds: number,
  progress: Progress,
  signal: AbortSignal,
): Promise<number> {
  const step = Math.max(1, Math.floor(holds / 200));
  const startMs = performance.now();
  await fillTable(holders, `${prefix}/held`, holds, signal, (held) => {
    if (held % step === 0) progress.show(`${held} of ${holds} locks are held`);
  });
  const hasAll = async ({ endpoint }: NodeProcess) =>
    ((await fetchFigures(endpoint))?.holds ?? 0) >= holds;
  for (const node of cluster.nodes) {
    await until(`node ${node.id} to have every hold`, () => hasAll(node), signal);
  }
  return tenths((performance.now() - startMs) / 1_000);
}

/** A follower is stopped and started: from the start of the process until ready. */
async function restart(cluster: OwnCluster, signal: AbortSignal): Promise<Restarted> {
  const leader = await cluster.healthy();
  const follower = cluster.nodes.find((node) => node !== leader);
  if (follower === undefined) throw new Error("there is no follower");
  follower.signal("SIGTERM");
  if (!(await follower.exited(EXIT_MS_MAX))) {
    throw new Error(`node ${follower.id} did not stop within ${EXIT_MS_MAX} ms`);
  }
  const startMs = performance.now();
  follower.spawn();
  const isBack = () => isReady(follower.endpoint);
  await until(`node ${follower.id} to be ready again`, isBack, signal);
  const restartMs = Math.round(performance.now() - startMs);
  const cpu = cpuSeconds([{ name: "node", pid: follower.pid }]).get("node");
  return { restartMs, restartCpuMs: cpu === undefined ? null : Math.round(cpu * 1_000) };
}

async function until(
  what: string,
  isSo: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  const deadlineMs = performance.now() + WAIT_MS_MAX;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`waited in vain for ${what}`);
    await delay(POLL_INTERVAL_MS, undefined, { signal });
  }
}
