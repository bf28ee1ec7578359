/**
 * `storm`: the leader is killed, and all its clients come back at once, each with a session and a
 * lock of its own. How long it takes until each has been granted another lock, and whether a session
 * or a lock was lost. All clients are in this process, so their handshakes take part of the machine.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Client, Lock } from "../../../src/index.js";
import { closeAll, connectAll, runPrefix } from "../../cluster/bench-clients.js";
import { requireDescriptors } from "../../cluster/descriptors.js";
import { type OwnCluster, withOwnCluster } from "../../cluster/own-cluster.js";
import { describeMachine, type Machine } from "../../measures/machine.js";
import { type Summary, summaryOf } from "../../measures/statistics.js";
import type { StormOptions } from "../../options/bench-options.js";
import { Progress } from "../../progress.js";

/** The SDK's default. */
const TTL_MS = 15_000;
/** Connections that are opened at the same time. */
const CONNECTING = 200;
/** After the last client was connected: then all renew their leases at their own pace. */
const SETTLING_MS = TTL_MS / 2;
const SERVED_MS_MAX = 120_000;
const EXIT_MS_MAX = 20_000;

export interface StormRun {
  /** From the kill until half of the clients, and until all, were granted another lock. */
  readonly halfServedMs: number;
  readonly allServedMs: number;
  readonly sessionsLost: number;
  readonly locksLost: number;
}

/** The shape of `--json`; a contract. */
export interface StormResult {
  readonly workload: "storm";
  readonly machine: Machine;
  readonly tls: boolean;
  readonly count: number;
  readonly ttlMs: number;
  readonly runs: number;
  readonly halfServedMs: Summary;
  readonly allServedMs: Summary;
  readonly sessionsLost: number;
  readonly locksLost: number;
  readonly details: readonly StormRun[];
}

/** `signal` ends it early, by rejecting. */
export async function runStorm(options: StormOptions, signal: AbortSignal): Promise<StormResult> {
  const { count, runs, tls } = options;
  requireDescriptors(count);
  const machine = describeMachine();
  const details = await withOwnCluster({ isEncrypted: tls, signal }, async (cluster) => {
    const done: StormRun[] = [];
    while (done.length < runs) done.push(await runOnce(cluster, options, done.length + 1, signal));
    return done;
  });
  const sum = (lossOf: (run: StormRun) => number) =>
    details.reduce((total, run) => total + lossOf(run), 0);
  return {
    ...{ workload: "storm", machine, tls, count, ttlMs: TTL_MS, runs },
    halfServedMs: summaryOf(details.map((run) => run.halfServedMs)),
    allServedMs: summaryOf(details.map((run) => run.allServedMs)),
    sessionsLost: sum((run) => run.sessionsLost),
    locksLost: sum((run) => run.locksLost),
    details,
  };
}

async function runOnce(
  cluster: OwnCluster,
  { count, runs }: StormOptions,
  run: number,
  signal: AbortSignal,
): Promise<StormRun> {
  const prefix = runPrefix();
  const progress = new Progress();
  const clients: Client[] = [];
  try {
    while (clients.length < count) {
      const next = Math.min(CONNECTING, count - clients.length);
      clients.push(...(await connectAll(next, cluster.endpoints, signal, () => cluster.tls)));
      progress.show(`run ${run} of ${runs}: ${clients.length} of ${count} clients are connected`);
    }
    const held = await Promise.all(
      clients.map((client, index) => client.acquire(`${prefix}/held/${index}`, { signal })),
    );
    await delay(SETTLING_MS, undefined, { signal });
    progress.show(`run ${run} of ${runs}: the leader is killed`);
    return await measure(cluster, clients, held, prefix, signal);
  } finally {
    progress.clear();
    await closeAll(clients);
  }
}

async function measure(
  cluster: OwnCluster,
  clients: readonly Client[],
  held: readonly Lock[],
  prefix: string,
  signal: AbortSignal,
): Promise<StormRun> {
  const sessions = clients.map(({ session }) => session);
  const leader = await cluster.healthy();
  const patience = AbortSignal.any([signal, AbortSignal.timeout(SERVED_MS_MAX)]);
  const killedMs = performance.now();
  leader.signal("SIGKILL");
  const servedMs = await Promise.all(
    clients.map(async (client, index) => {
      await client.acquire(`${prefix}/after/${index}`, { signal: patience });
      return performance.now() - killedMs;
    }),
  );
  const sessionsLost = clients.filter(({ session }, at) => session !== sessions[at]).length;
  const locksLost = held.filter((lock) => lock.signal.aborted).length;
  if (!(await leader.exited(EXIT_MS_MAX))) {
    throw new Error(`node ${leader.id} did not end within ${EXIT_MS_MAX} ms`);
  }
  leader.spawn();
  await cluster.healthy();
  const { median: halfServedMs, max: allServedMs } = summaryOf(servedMs);
  return { halfServedMs, allServedMs, sessionsLost, locksLost };
}
