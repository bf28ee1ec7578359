/**
 * `snapshot`: the cost of a snapshot of a large table while clients are served. A table is filled
 * with held locks, then one steady load runs until every node has taken a snapshot by itself; the
 * stalls and the throughput of that one load are compared with and without a snapshot under way.
 * Then a node is restarted with such data.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../../../src/index.js";
import { closeAll, connectAll, drained, runPrefix } from "../../cluster/bench-clients.js";
import { isReady } from "../../cluster/node-pages.js";
import { type OwnCluster, withOwnCluster } from "../../cluster/own-cluster.js";
import { until } from "../../cluster/until.js";
import { ClosedLoop } from "../../load/closed-loop.js";
import { fillTable } from "../../load/hold-filler.js";
import { ownKeys } from "../../load/load-shapes.js";
import { warmUp } from "../../load/warm-up.js";
import { describeMachine } from "../../measures/machine.js";
import { cpuSeconds } from "../../measures/process-cpu.js";
import { residentMiB } from "../../measures/resident-memory.js";
import type { SnapshotOptions } from "../../options/bench-options.js";
import { Progress } from "../../progress.js";
import { type Restarted, type SnapshotResult, snapshotResult } from "./snapshot-result.js";
import { SnapshotWatch } from "./snapshot-watch.js";

/** The holder is silent while the table is filled and for minutes after. */
const HOLDER_TTL_MS = 600_000;
/** After the table was filled, before the load begins. */
const SETTLING_MS = 2_000;
const EXIT_MS_MAX = 30_000;

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
    await warmUp(clients, warmupSeconds, `${prefix}/warm-up`, signal);
    const empty = residentMiB(cluster);
    const holderOptions = () => ({ ttlMs: HOLDER_TTL_MS });
    const holders = await connectAll(connections, endpoints, signal, holderOptions);
    clients.push(...holders);
    const held = `${prefix}/held`;
    const fillSeconds = await fillTable(cluster, holders, held, holds, progress, signal);
    const filled = residentMiB(cluster);
    progress.show(`${holds} locks are held; settling`);
    await delay(SETTLING_MS, undefined, { signal });
    const watch = new SnapshotWatch(cluster.nodes);
    const shape = ownKeys(`${prefix}/load`);
    const load = new ClosedLoop({ clients: clients.slice(0, connections), workers, shape });
    try {
      await watch.observe(load, signal, (text) => progress.show(text));
    } finally {
      await drained(load.stop());
    }
    const end = residentMiB(cluster);
    progress.show("restarting a node");
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

/** Stops and starts a follower: from the start of the process until it is ready. */
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
