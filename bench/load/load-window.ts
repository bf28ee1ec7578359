/**
 * One measured period of a running load: cycles, times of acquires, CPU of the processes. Nothing
 * from before it is counted.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { MeasuredProcess } from "../measures/process-cpu.js";
import { type ProcessUsage, UsageMeter } from "../measures/process-usage.js";
import { tenths } from "../measures/statistics.js";
import type { Histogram } from "./histogram.js";
import type { MeasuredLoad } from "./measured-load.js";

export interface Latencies {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** By process: `load` is this one, `n1` … are the nodes, if they run on this machine. */
export interface LoadWindow extends ProcessUsage {
  /** As measured. */
  readonly seconds: number;
  /** Acquire and release, both durable on a majority. For `contended`: hand-overs. */
  readonly cyclesPerSecond: number;
  readonly acquireMs: Latencies;
  /** The same by kind: for `rw` by mode, for `multi` by the number of locks; otherwise empty. */
  readonly acquireMsByKind: Readonly<Record<string, Latencies>>;
  /** CPU per cycle, in microseconds. */
  readonly cpuMicrosPerCycle: Readonly<Record<string, number>>;
}

/** `signal` ends it early, by rejecting. */
export async function measureLoad(
  load: Pick<MeasuredLoad, "reset" | "collect" | "cycles" | "acquireTimes" | "acquireTimesByKind">,
  processes: readonly MeasuredProcess[],
  milliseconds: number,
  signal: AbortSignal,
): Promise<LoadWindow> {
  await load.reset();
  const meter = new UsageMeter(processes);
  const startMs = performance.now();
  await delay(milliseconds, undefined, { signal });
  await load.collect();
  const seconds = (performance.now() - startMs) / 1_000;
  const { cycles } = load;
  const usage = meter.usage();
  const kinds = [...load.acquireTimesByKind].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    seconds: thousandths(seconds),
    cyclesPerSecond: tenths(cycles / seconds),
    acquireMs: latenciesOf(load.acquireTimes),
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

/** Empty if there were no cycles to divide by. */
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
