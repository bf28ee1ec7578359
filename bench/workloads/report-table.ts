/** Results as tables for people. The layout is not a contract; `--json` is. */
import type { Latencies } from "../load/load-window.js";
import type { Summary } from "../measures/statistics.js";

export type Row = readonly [name: string, value: string];

/** Lines of two columns. */
export function tableLines(rows: readonly Row[]): string[] {
  const widest = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(widest)}  ${value}`);
}

export function errorsText(errors: Readonly<Record<string, number>>): string {
  const parts = Object.entries(errors).map(([code, count]) => `${code} ${count}`);
  return parts.length === 0 ? "none" : parts.join(", ");
}

export function violationsText(violations: number): string {
  return violations === 0 ? "every token was larger than the last" : `${violations} VIOLATIONS`;
}

export function grouped(value: number): string {
  return value.toLocaleString("en-US");
}

export function latenciesText({ p50, p99, p999, max }: Latencies): string {
  return `p50 ${p50} ms, p99 ${p99} ms, p99.9 ${p999} ms, max ${max} ms`;
}

/** Resident memory by node. */
export function memoryText(mibPerNode: Readonly<Record<string, number>>): string {
  const parts = Object.entries(mibPerNode).map(([node, mib]) => `${node} ${grouped(mib)} MiB`);
  return parts.length === 0 ? "not known on this system" : parts.join(", ");
}

/** Times of several runs. */
export function summaryText({ median, max }: Summary): string {
  return `median ${median} ms, max ${max} ms`;
}
