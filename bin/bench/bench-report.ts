/**
 * The result of `holdfast bench`: as a JSON document for programs, as tables and a chart for
 * people.
 */

import { styled } from "../output/terminal.js";
import { type Column, tableLines } from "../output/text-table.js";
import { formatDuration } from "../text/durations.js";
import { formatLatency, type LatencySummary } from "./latencies.js";
import type { LoadResult } from "./lock-load.js";

export interface BenchSetup {
  readonly workers: number;
  readonly clients: number;
  readonly keys: number;
}

const BAR_WIDTH = 40;

const LATENCY_COLUMNS: readonly Column[] = [
  { heading: "" },
  { heading: "MIN", alignment: "right" },
  { heading: "P50", alignment: "right" },
  { heading: "P90", alignment: "right" },
  { heading: "P99", alignment: "right" },
  { heading: "P99.9", alignment: "right" },
  { heading: "MAX", alignment: "right" },
];

const PICTURE_COLUMNS: readonly Column[] = [
  { heading: "ACQUIRE UP TO", alignment: "right" },
  { heading: "COUNT", alignment: "right" },
  { heading: "" },
];

export function benchDocument(setup: BenchSetup, result: LoadResult): Record<string, unknown> {
  return {
    ...setup,
    isWhole: result.isWhole,
    elapsedMs: Math.round(result.elapsedMs),
    cycles: result.cycles,
    cyclesPerSecond: Math.round(rateOf(result) * 10) / 10,
    failures: result.failures,
    acquireMs: result.acquire.summary(),
    releaseMs: result.release.summary(),
    acquireHistogram: result.acquire.buckets(),
  };
}

export function benchLines(setup: BenchSetup, result: LoadResult): string[] {
  const { workers, keys, clients } = setup;
  const rate = rateOf(result).toLocaleString("en", { maximumFractionDigits: 0 });
  const cycles = result.cycles.toLocaleString("en");
  const lines = [
    `${count(workers, "worker")}, ${count(keys, "lock")}, ${count(clients, "connection")}, ` +
      `${formatDuration(result.elapsedMs)}${result.isWhole ? "" : " (stopped early)"}`,
    `${styled("bold", `${rate} locks per second`, process.stdout)}, ${cycles} in total, ` +
      "each acquired and released",
  ];
  const [acquire, release] = [result.acquire.summary(), result.release.summary()];
  if (acquire !== null && release !== null) {
    const rows = [latencyRow("acquire", acquire), latencyRow("release", release)];
    lines.push("", ...tableLines(LATENCY_COLUMNS, rows), "", ...pictureLines(result));
  }
  const failures = Object.entries(result.failures).map(([code, times]) => `${code} ${times}`);
  if (failures.length > 0) {
    lines.push("", styled("red", `failed: ${failures.join(", ")}`, process.stdout));
  }
  return lines;
}

function rateOf({ cycles, elapsedMs }: LoadResult): number {
  return elapsedMs === 0 ? 0 : (cycles * 1_000) / elapsedMs;
}

function latencyRow(name: string, summary: LatencySummary): string[] {
  const { min, p50, p90, p99, p999, max } = summary;
  return [name, ...[min, p50, p90, p99, p999, max].map(formatLatency)];
}

function pictureLines({ acquire }: LoadResult): string[] {
  const buckets = acquire.buckets();
  const most = Math.max(...buckets.map((bucket) => bucket.count));
  const rows = buckets.map((bucket) => [
    bucket.upToMs === null ? "more" : formatLatency(bucket.upToMs),
    bucket.count.toLocaleString("en"),
    "#".repeat(Math.ceil((bucket.count / most) * BAR_WIDTH)),
  ]);
  return tableLines(PICTURE_COLUMNS, rows);
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
