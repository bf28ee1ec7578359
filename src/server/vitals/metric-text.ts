/**
 * Metrics in the Prometheus text format 0.0.4: our own few lines instead of a library (decision 39).
 */
import type { Histogram } from "./histogram.js";

const PREFIX = "holdfast_";

export interface Metric {
  /** The whole name. */
  readonly name: string;
  readonly type: "gauge" | "counter";
  readonly help: string;
  /** One value, or one for each value of a label. */
  readonly samples: number | readonly (readonly [label: string, value: number])[];
}

/** A gauge of this service: its name gets the service's prefix. */
export function gauge(name: string, help: string, samples: Metric["samples"]): Metric {
  return { name: PREFIX + name, type: "gauge", help, samples };
}

export function counter(name: string, help: string, samples: Metric["samples"]): Metric {
  return { name: PREFIX + name, type: "counter", help, samples };
}

export function metricText({ name, type, help, samples }: Metric): string {
  const lines = headOf(name, type, help);
  if (typeof samples === "number") lines.push(`${name} ${samples}`);
  else for (const [label, value] of samples) lines.push(`${name}{${label}} ${value}`);
  return `${lines.join("\n")}\n`;
}

/** Histograms of one name, whose rows have different labels; nothing if there are none. */
export function histogramText(histograms: readonly Histogram[], prefix = PREFIX): string {
  const [first] = histograms;
  if (first === undefined) return "";
  const name = prefix + first.shape.name;
  const lines = headOf(name, "histogram", first.shape.help);
  for (const histogram of histograms) addRows(lines, name, histogram);
  return `${lines.join("\n")}\n`;
}

function addRows(lines: string[], name: string, histogram: Histogram): void {
  const { rows, bounds, shownEmpty } = histogram.shape;
  for (const [row, labels] of rows.entries()) {
    const counts = histogram.countsOf(row);
    const all = counts.reduce((sum, count) => sum + count, 0);
    if (all === 0 && shownEmpty !== undefined && !shownEmpty.has(row)) continue;
    const before = labels === "" ? "" : `${labels},`;
    let below = 0;
    for (const [bucket, bound] of bounds.entries()) {
      below += counts[bucket] as number;
      lines.push(`${name}_bucket{${before}le="${bound}"} ${below}`);
    }
    const braces = labels === "" ? "" : `{${labels}}`;
    lines.push(`${name}_bucket{${before}le="+Inf"} ${all}`);
    lines.push(`${name}_sum${braces} ${histogram.sumOf(row)}`);
    lines.push(`${name}_count${braces} ${all}`);
  }
}

function headOf(name: string, type: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}
