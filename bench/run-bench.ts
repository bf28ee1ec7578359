/**
 * One run: clients, warm-up, measured time, result. Bounded in time whatever the cluster does.
 */
import { setMaxListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { type Client, clusterStatus, connect } from "../src/index.js";
import type { BenchOptions, Workload } from "./bench-options.js";
import { ClosedLoop } from "./closed-loop.js";
import { cpuSeconds, type MeasuredProcess } from "./process-cpu.js";

const DRAIN_MS_MAX = 10_000;
/**
 * A young process runs interpreted code, and at one worker's pace it would do so for the whole
 * measurement; a cluster that people use has long been compiled. So before every workload this many
 * workers make the cluster run, on keys of their own.
 */
const HEATING_WORKERS = 256;
/** The measured workers then run so long without being counted. */
const SETTLING_SECONDS = 1;

/** The shape of `--json`; a contract. */
export interface BenchResult {
  readonly workload: Workload;
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
export async function runBench(
  options: BenchOptions,
  endpoints: readonly string[],
  signal: AbortSignal,
): Promise<BenchResult> {
  // Each client listens, which is no leak.
  setMaxListeners(0, signal);
  const clients = await connectAll(options.connections, endpoints, signal);
  // Own keys for each run: one that was broken off may have left locks behind.
  const prefix = `bench/${Date.now().toString(36)}-${process.pid}`;
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
      await within(DRAIN_MS_MAX, loop.stop());
    }
  } finally {
    await within(DRAIN_MS_MAX, Promise.all(clients.map((client) => client.close())));
  }
}

async function heat(
  clients: readonly Client[],
  seconds: number,
  prefix: string,
  signal: AbortSignal,
): Promise<void> {
  if (seconds === 0) return;
  const keyOf = (worker: number) => `${prefix}/${worker}`;
  const loop = new ClosedLoop({ clients, workers: HEATING_WORKERS, keyOf });
  try {
    await delay(seconds * 1_000, undefined, { signal });
  } finally {
    await within(DRAIN_MS_MAX, loop.stop());
  }
}

async function measure(
  options: BenchOptions,
  loop: ClosedLoop,
  processes: readonly MeasuredProcess[],
  endpoints: readonly string[],
  signal: AbortSignal,
): Promise<BenchResult> {
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

async function connectAll(
  count: number,
  endpoints: readonly string[],
  signal: AbortSignal,
): Promise<Client[]> {
  const settled = await Promise.allSettled(
    Array.from({ length: count }, (_, index) =>
      connect({ endpoints, name: `bench ${process.pid}/${index}`, signal }),
    ),
  );
  const clients: Client[] = [];
  let failure: PromiseRejectedResult | undefined;
  for (const result of settled) {
    if (result.status === "fulfilled") clients.push(result.value);
    else failure ??= result;
  }
  if (failure === undefined) return clients;
  await Promise.all(clients.map((client) => client.close()));
  throw failure.reason;
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

async function within(milliseconds: number, promise: Promise<unknown>): Promise<void> {
  const late = new AbortController();
  await Promise.race([
    promise,
    delay(milliseconds, undefined, { signal: late.signal }).catch(() => undefined),
  ]);
  late.abort();
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
