/**
 * The rows of the timeline with a scale of their own: operations per second, their latency, and
 * each operation as a point.
 */
import { html, type Markup } from "./html.js";
import { row } from "./lanes.js";
import type { ReportData } from "./report-data.js";
import { count, duration, type TimeScale } from "./scale.js";

const HEIGHT = 110;
/** Latencies are drawn on a logarithmic scale between these. */
const LATENCY_MS = [0.1, 30_000] as const;
const LATENCY_MARKS_MS = [1, 10, 100, 1_000, 10_000];
const DOTS_HEIGHT = 84;
const DOTS_MARKS_MS = [1, 100, 10_000];

export function rateRow(data: ReportData, scale: TimeScale): Markup {
  const { slices, sliceMs } = data;
  const perSecond = 1_000 / sliceMs;
  const most = Math.max(1, ...slices.map(({ ok, fail, info }) => ok + fail + info));
  const y = (value: number) => HEIGHT - (value / most) * (HEIGHT - 6);
  const layers = [
    ["info", slices.map(({ ok, fail, info }) => ok + fail + info)],
    ["fail", slices.map(({ ok, fail }) => ok + fail)],
    ["ok", slices.map(({ ok }) => ok)],
  ] as const;
  const areas = layers.map(([name, values]) => {
    const points = values.map((value, index) => {
      return `L${index * sliceMs} ${y(value)}L${(index + 1) * sliceMs} ${y(value)}`;
    });
    const end = slices.length * sliceMs;
    return html`<path class="area ${name}" d="M0 ${HEIGHT}${points.join("")}L${end} ${HEIGHT}Z"/>`;
  });
  const top = count(Math.round(most * perSecond));
  const label = html`operations per second<small>up to ${top}</small>`;
  return row(label, HEIGHT, stretched(areas, scale));
}

export function latencyRow(data: ReportData, scale: TimeScale): Markup {
  const { slices, sliceMs } = data;
  const y = latencyScale(HEIGHT);
  const lines = (["max", "p99", "p50"] as const).map((name) => {
    let path = "";
    let isDrawing = false;
    for (const [index, slice] of slices.entries()) {
      const value = slice[name];
      if (value !== null) path += `${isDrawing ? "L" : "M"}${(index + 0.5) * sliceMs} ${y(value)}`;
      isDrawing = value !== null;
    }
    return html`<path class="line ${name}" d="${path}"/>`;
  });
  const label = html`latency<small><b class="p50">median</b> <b class="p99">99 %</b> <b class="max">most</b></small>`;
  const grid = latencyGrid(HEIGHT, LATENCY_MARKS_MS);
  return row(label, HEIGHT, html`${stretched(lines, scale)}${grid}`);
}

/** A row for each kind of operation, a point for each operation, where it began. */
export function scatterRows(data: ReportData, scale: TimeScale): Markup[] {
  const kinds = [...new Set(data.dots.map(({ f }) => f))].sort();
  return kinds.map((kind) => {
    const dots = data.dots.filter(({ f }) => f === kind);
    const y = latencyScale(DOTS_HEIGHT);
    // Operations that did not succeed are drawn last, so that they are visible.
    const paths = (["ok", "fail", "info"] as const).map((outcome) => {
      const points = dots
        .filter((dot) => dot.outcome === outcome)
        .map(({ startMs, endMs }) => `M${startMs.toFixed(1)} ${y(endMs - startMs).toFixed(1)}h0`);
      return html`<path class="dots ${outcome}" d="${points.join("")}"/>`;
    });
    const label = html`${kind}<small>${count(dots.length)} drawn</small>`;
    const grid = latencyGrid(DOTS_HEIGHT, DOTS_MARKS_MS);
    return row(label, DOTS_HEIGHT, html`${stretched(paths, scale, DOTS_HEIGHT)}${grid}`, "scatter");
  });
}

/** From milliseconds to pixels from the top. */
function latencyScale(height: number): (milliseconds: number) => number {
  const [least, most] = LATENCY_MS.map(Math.log) as [number, number];
  return (milliseconds) => {
    const at = (Math.log(Math.max(milliseconds, LATENCY_MS[0])) - least) / (most - least);
    return height - Math.min(1, at) * (height - 8) - 2;
  };
}

function latencyGrid(height: number, marks: readonly number[]): Markup[] {
  const y = latencyScale(height);
  return marks.map((mark) => {
    return html`<line class="grid" x1="0" x2="100%" y1="${y(mark)}" y2="${y(mark)}"/><text class="mark" x="3" y="${y(mark) - 2}">${duration(mark)}</text>`;
  });
}

/** Paths do not support percentages: they have a coordinate space of one unit per millisecond. */
function stretched(content: readonly Markup[], scale: TimeScale, height = HEIGHT): Markup {
  return html`<svg width="100%" height="${height}" viewBox="${scale.startMs} 0 ${scale.endMs - scale.startMs} ${height}" preserveAspectRatio="none">${content}</svg>`;
}
