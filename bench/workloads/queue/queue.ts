/**
 * `queue`: the cost of joining, leaving and moving on in a queue of 100 and of 100,000 waiters.
 * Both lengths are measured in each round, in alternating order; only one of them exists at a time.
 * The medians over the rounds are compared, of wall time and of the CPU of all nodes: the load
 * generator shares their cores, so wall time alone would depend on it too.
 *
 * Each commit has a fixed cost. So that this does not hide the cost of a waiter, a batch has many
 * operations; so that a batch does not make a short queue long, there are ten short queues.
 */
import { setTimeout as delay } from "node:timers/promises";
import { closeAll, connectAll, runPrefix } from "../../cluster/bench-clients.js";
import { type OwnCluster, withOwnCluster } from "../../cluster/own-cluster.js";
import { StandingQueues } from "../../load/standing-queues.js";
import { warmUp } from "../../load/warm-up.js";
import { describeMachine } from "../../measures/machine.js";
import { cpuMicros } from "../../measures/process-cpu.js";
import type { QueueOptions } from "../../options/bench-options.js";
import { Progress } from "../../progress.js";
import {
  FEW_LOCKS,
  FEW_WAITERS,
  type MeasuredQueues,
  OPERATIONS,
  type QueueOperation,
  type QueueResult,
  queueResult,
} from "./queue-result.js";

/** Batches of each operation in one measurement; the first are not counted. */
const BATCHES = 20;
const UNCOUNTED_BATCHES = 2;
/** Operations per batch. A hand-over is a commit of its own. */
const BATCH: Readonly<Record<QueueOperation, number>> = {
  enqueue: 1_000,
  cancel: 1_000,
  handOver: 50,
};
/** After a batch followers still apply it; their share of the CPU is part of its cost. */
const TRAILING_MS = 5;

/** `signal` ends it early, by rejecting. */
export async function runQueue(options: QueueOptions, signal: AbortSignal): Promise<QueueResult> {
  return withOwnCluster({ signal }, (cluster) => runOn(cluster, options, signal));
}

async function runOn(
  cluster: OwnCluster,
  options: QueueOptions,
  signal: AbortSignal,
): Promise<QueueResult> {
  const { connections, rounds, waiters, warmupSeconds } = options;
  const machine = describeMachine();
  const progress = new Progress();
  const clients = await connectAll(connections, cluster.endpoints, signal);
  const prefix = runPrefix();
  const measured: MeasuredQueues[] = [];
  const measure = async (round: number, length: number): Promise<MeasuredQueues> => {
    progress.show(`round ${round} of ${rounds}: ${length} waiters`);
    const locks = length === FEW_WAITERS ? FEW_LOCKS : 1;
    const name = `${prefix}/${round}/${length}`;
    const queues = await StandingQueues.open(clients, name, locks, signal);
    const measurement = await measureQueues(queues, length * locks, cluster, signal);
    return { round, waiters: length, ...measurement };
  };
  try {
    await warmUp(clients, warmupSeconds, `${prefix}/warm-up`, signal);
    // A batch exceeds the length with which it begins.
    const waitersMax = waiters + BATCH.enqueue;
    await clients[0]?.changeSetting("waitersMax", waitersMax, { signal });
    // This compiles the code for joining and leaving, whichever queue comes first.
    await measure(0, FEW_WAITERS);
    for (let round = 1; round <= rounds; round += 1) {
      const lengths = [FEW_WAITERS, waiters];
      if (round % 2 === 0) lengths.reverse();
      for (const length of lengths) measured.push(await measure(round, length));
    }
    return queueResult(options, machine, measured, BATCH, BATCHES - UNCOUNTED_BATCHES);
  } finally {
    progress.clear();
    await closeAll(clients);
  }
}

/** `waiters`: over all queues. */
async function measureQueues(
  queues: StandingQueues,
  waiters: number,
  cluster: OwnCluster,
  signal: AbortSignal,
): Promise<Omit<MeasuredQueues, "round" | "waiters">> {
  const fillMs = await timed(() => queues.enqueue(waiters));
  const pids = cluster.nodes.map(({ pid }) => pid);
  const sums = { enqueue: newSum(), cancel: newSum(), handOver: newSum() };
  for (let batch = 0; batch < BATCHES; batch += 1) {
    for (const operation of OPERATIONS) {
      queues.count();
      await delay(TRAILING_MS, undefined, { signal });
      const cpuBefore = cpuMicros(pids);
      const wallMs = await timed(() => queues[operation](BATCH[operation]));
      await delay(TRAILING_MS, undefined, { signal });
      const cpuAfter = cpuMicros(pids);
      if (batch < UNCOUNTED_BATCHES) continue;
      const sum = sums[operation];
      sum.operations += BATCH[operation];
      sum.wallMicros += wallMs * 1_000;
      sum.cpuMicros +=
        cpuBefore === undefined || cpuAfter === undefined ? Number.NaN : cpuAfter - cpuBefore;
    }
    await queues.enqueue(BATCH.handOver);
  }
  const left = queues.count();
  if (left !== waiters) throw new Error(`${left} waiters instead of ${waiters}`);
  const drainMs = await timed(() => queues.close());
  return { fillMs, drainMs, sums, violations: queues.violations };
}

function newSum() {
  return { operations: 0, wallMicros: 0, cpuMicros: 0 };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}
