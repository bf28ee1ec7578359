/**
 * `sessions`: the cost of thousands of connected clients that only renew their leases, and the
 * effect on the event loops when a session ends that holds very many locks.
 *
 * The client whose session expires dies as far as the cluster can see: its lease runs from the last
 * renewal on.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../../../src/index.js";
import { closeAll, connectAll, runPrefix } from "../../cluster/bench-clients.js";
import { requireDescriptors } from "../../cluster/descriptors.js";
import { DyingClients } from "../../cluster/dying-clients.js";
import { fetchFigures, fetchMetrics } from "../../cluster/node-pages.js";
import { type OwnCluster, withOwnCluster } from "../../cluster/own-cluster.js";
import { until } from "../../cluster/until.js";
import { fillTable } from "../../load/hold-filler.js";
import { warmUp } from "../../load/warm-up.js";
import { describeMachine } from "../../measures/machine.js";
import { cpuSeconds } from "../../measures/process-cpu.js";
import { residentMiB } from "../../measures/resident-memory.js";
import { StallWatch } from "../../measures/stall-watch.js";
import { tenths } from "../../measures/statistics.js";
import type { SessionsOptions } from "../../options/bench-options.js";
import { Progress } from "../../progress.js";
import {
  type Expiry,
  type IdleTime,
  type SessionsResult,
  sessionsResult,
} from "./sessions-result.js";

/** The SDK's default. */
const TTL_MS = 15_000;
/** Connections that are opened at the same time. */
const CONNECTING = 200;
const WARMING_CLIENTS = 8;
/** After the last session was opened: then all renew at their own pace. */
const SETTLING_MS = TTL_MS / 2;
/** A lease ends at most this much late on a busy machine. */
const EXPIRY_MS_MAX = TTL_MS + 60_000;
const POLL_INTERVAL_MS = 20;

/** `signal` ends it early, by rejecting. */
export async function runSessions(
  options: SessionsOptions,
  signal: AbortSignal,
): Promise<SessionsResult> {
  requireDescriptors(options.count);
  return withOwnCluster({ signal }, (cluster) => runOn(cluster, options, signal));
}

async function runOn(
  cluster: OwnCluster,
  options: SessionsOptions,
  signal: AbortSignal,
): Promise<SessionsResult> {
  const { count, seconds, warmupSeconds } = options;
  const prefix = runPrefix();
  const progress = new Progress();
  const machine = describeMachine();
  const clients: Client[] = [];
  try {
    await warmUpCluster(cluster, warmupSeconds, `${prefix}/warm-up`, signal);
    const before = residentMiB(cluster);
    const startMs = performance.now();
    while (clients.length < count) {
      const next = Math.min(CONNECTING, count - clients.length);
      clients.push(...(await connectAll(next, cluster.endpoints, signal)));
      progress.show(`${clients.length} of ${count} sessions are connected`);
    }
    const connectSeconds = tenths((performance.now() - startMs) / 1_000);
    const sessions = clients.map(({ session }) => session);
    await delay(SETTLING_MS, undefined, { signal });
    const connected = residentMiB(cluster);
    const watch = new StallWatch(cluster.nodes);
    const measure = async () => {
      progress.show(`${count} sessions are idle for ${seconds} s`);
      const idle = await measureIdle(cluster, seconds, signal);
      const expiry = await measureExpiry(cluster, options, `${prefix}/held`, progress, signal);
      progress.show("watching what follows");
      return { idle, expiry };
    };
    const { idle, expiry } = await watch.during(measure, signal);
    return sessionsResult(options, {
      machine,
      ttlMs: TTL_MS,
      connectSeconds,
      residentMiB: { before, connected },
      idle,
      expiry,
      boundsPerNode: cluster.nodes.map(({ id }) => [`n${id}`, watch.boundsOf(id)] as const),
      sessionsLost: clients.filter(({ session }, index) => session !== sessions[index]).length,
    });
  } finally {
    progress.clear();
    await closeAll(clients);
  }
}

async function warmUpCluster(
  cluster: OwnCluster,
  seconds: number,
  prefix: string,
  signal: AbortSignal,
): Promise<void> {
  const clients = await connectAll(WARMING_CLIENTS, cluster.endpoints, signal);
  try {
    await warmUp(clients, seconds, prefix, signal);
  } finally {
    await closeAll(clients);
  }
}

/** No requests: all commands are renewals. */
async function measureIdle(
  cluster: OwnCluster,
  seconds: number,
  signal: AbortSignal,
): Promise<IdleTime> {
  const processes = [
    { name: "load", pid: process.pid },
    ...cluster.nodes.map(({ id, pid }) => ({ name: `n${id}`, pid })),
  ];
  const leader = await cluster.healthy();
  const fromMs = Date.now();
  const commandsBefore = await commandsApplied(leader.endpoint);
  const cpuBefore = cpuSeconds(processes);
  await delay(seconds * 1_000, undefined, { signal });
  const cpuAfter = cpuSeconds(processes);
  const keepalives = (await commandsApplied(leader.endpoint)) - commandsBefore;
  return { leader: `n${leader.id}`, fromMs, toMs: Date.now(), keepalives, cpuBefore, cpuAfter };
}

async function commandsApplied(endpoint: string): Promise<number> {
  const name = "holdfast_commands_applied_total";
  const metrics = await fetchMetrics(endpoint, [name]);
  if (metrics === undefined) throw new Error(`${endpoint}/metrics did not answer`);
  return metrics[name];
}

async function measureExpiry(
  cluster: OwnCluster,
  { holds }: SessionsOptions,
  prefix: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<Expiry> {
  const holder = await DyingClients.connect(1, cluster.endpoints, signal, { ttlMs: TTL_MS });
  let death: Promise<void> | undefined;
  try {
    const fillSeconds = await fillTable(cluster, holder.clients, prefix, holds, progress, signal);
    progress.show(`a session with ${holds} locks expires`);
    const silentMs = Date.now();
    death = holder.die();
    let fromMs = silentMs;
    const hasEnded = async () => {
      const atMs = Date.now();
      const figures = await Promise.all(
        cluster.nodes.map(({ endpoint }) => fetchFigures(endpoint)),
      );
      const left = figures.map((each) => each?.holds ?? holds);
      // The first lock may have ended right after a node was asked.
      if (Math.min(...left) === holds) fromMs = atMs;
      if (Math.max(...left) === 0) return true;
      await delay(POLL_INTERVAL_MS, undefined, { signal });
      return false;
    };
    await until("the session to expire", hasEnded, signal, EXPIRY_MS_MAX);
    return { fillSeconds, silentMs, fromMs, toMs: Date.now() };
  } finally {
    await (death ?? holder.die());
  }
}
