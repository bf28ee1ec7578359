/** The chart of several measurements: cycles per second of all systems, load by load. */

import { OWN_SYSTEM } from "../options/system-names.js";
import { grouped } from "../workloads/report-table.js";
import { type BarGroup, barChart } from "./bar-chart.js";
import type { MeasuredStep } from "./comparison.js";
import { rowsOf, shortText } from "./comparison-report.js";

const TITLE = "Acquire and release, cycles per second";
const NOTE = "Logarithmic. After each bar: cycles per second, and the median time of an acquire.";

/** `undefined` if nothing was measured with more than one system. */
export function comparisonChart(steps: readonly MeasuredStep[]): string | undefined {
  const groups = steps.filter(({ peers }) => peers.length > 0).map(groupOf);
  return groups.length === 0 ? undefined : barChart(TITLE, NOTE, groups);
}

function groupOf(measured: MeasuredStep): BarGroup {
  const rows = rowsOf(measured);
  const [first] = rows;
  const { workload = "", workers = 0, connections = 0 } = first?.result ?? {};
  const noun = workers === 1 ? "worker" : `workers over ${grouped(connections)} connections`;
  return {
    title: `${workload === "contended" ? "one lock" : "one lock each"}, ${grouped(workers)} ${noun}`,
    bars: rows.map(({ name, result }) => ({
      name,
      value: result.cyclesPerSecond,
      text: `${grouped(Math.round(result.cyclesPerSecond))}, ${shortText(result.acquireMs.p50)} ms`,
      isOwn: name === OWN_SYSTEM,
    })),
  };
}
