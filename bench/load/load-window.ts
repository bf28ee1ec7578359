/**
 * One measured stretch of a running load: cycles, times of acquires, CPU of the processes. Nothing
 * of what was before it is counted.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { MeasuredProcess } from "../measures/process-cpu.js";
import { type ProcessUsage, UsageMeter } from "../measures/process-usage.js";
import { tenths } from "../measures/statistics.js";
import type { Histogram } from "./histogram.js";
import type { LoadLoop } from "./load-loop.js";

export interface Latencies {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** Of each process: `load` is this one, `n1` … the nodes; only those of this machine. */
export interface LoadWindow extends ProcessUsage {
  /** As measured. */
  readonly seconds: number;
  /** Acquire and release, both durable on a majority. Of `contended`: hand-overs. */
  readonly cyclesPerSecond: number;
  readonly acquireMs: Latencies;
  /** The same by kind: of `rw` by mode, of `multi` by the number of locks, else none. */
  readonly acquireMsByKind: Readonly<Record<string, Latencies>>;
  /** CPU for each cycle, in microseconds. */
  readonly cpuMicrosPerCycle: Readonly<Record<string, number>>;
}

/** `signal` ends it early, by rejecting. */
export async function measureLoad(
  loop: Pick<LoadLoop<unknown>, "reset" | "cycles" | "acquireTimes" | "acquireTimesByKind">,
  processes: readonly MeasuredProcess[],
  milliseconds: number,
  signal: AbortSignal,
): Promise<LoadWindow> {
  loop.reset();
  const meter = new UsageMeter(processes);
  const startMs = performance.now();
  await delay(milliseconds, undefined, { signal });
  const seconds = (performance.now() - startMs) / 1_000;
  const { cycles } = loop;
  const usage = meter.usage();
  const kinds = [...loop.acquireTimesByKind].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    seconds: thousandths(seconds),
    cyclesPerSecond: tenths(cycles / seconds),
    acquireMs: latenciesOf(loop.acquireTimes),
    acquireMsByKind: Object.fromEntries(kinds.map(([kind, times]) => [kind, latenciesOf(times)])),
    ...usage,
    cpuMicrosPerCycle: perCycle(usage.cpuSecondsPerProcess, cycles),
  };
}

export function latenciesOf(times: Histogram): Latencies {
  return {
    p50: thousandths(times.quantileMs(0.5)),
    p99: thousandths(times.quantileMs(0.99)),
    p999: thousandths(times.quantileMs(0.999)),
    max: thousandths(times.maxMs),
  };
}

/** None when nothing was done: then it cost nothing that could be divided. */
function perCycle(
  seconds: Readonly<Record<string, number>>,
  cycles: number,
): Record<string, number> {
  if (cycles === 0) return {};
  return Object.fromEntries(
    Object.entries(seconds).map(([name, value]) => [name, tenths((value / cycles) * 1e6)]),
  );
}

function thousandths(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
