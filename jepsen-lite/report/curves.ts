/** The rows of the timeline that are curves: how many operations a second, and how long they took. */
import { html, type Markup } from "./html.js";
import { row } from "./lanes.js";
import type { ReportData } from "./report-data.js";
import { count, duration, type TimeScale } from "./scale.js";

const HEIGHT = 110;
/** Latencies are drawn on a logarithmic scale between these. */
const LATENCY_MS = [0.1, 30_000] as const;
const LATENCY_MARKS_MS = [1, 10, 100, 1_000, 10_000];

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
  const label = html`operations a second<small>up to ${top}</small>`;
  return row(label, HEIGHT, stretched(areas, scale));
}

export function latencyRow(data: ReportData, scale: TimeScale): Markup {
  const { slices, sliceMs } = data;
  const [least, most] = LATENCY_MS.map(Math.log) as [number, number];
  const y = (milliseconds: number) => {
    const at = (Math.log(Math.max(milliseconds, LATENCY_MS[0])) - least) / (most - least);
    return HEIGHT - Math.min(1, at) * (HEIGHT - 8) - 2;
  };
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
  const grid = LATENCY_MARKS_MS.map((mark) => {
    return html`<line class="grid" x1="0" x2="100%" y1="${y(mark)}" y2="${y(mark)}"/><text class="mark" x="3" y="${y(mark) - 2}">${duration(mark)}</text>`;
  });
  const label = html`latency<small><b class="p50">median</b> <b class="p99">99 %</b> <b class="max">most</b></small>`;
  return row(label, HEIGHT, html`${grid}${stretched(lines, scale)}`);
}

/** Paths know no percentages: they have a space of their own, one unit a millisecond. */
function stretched(content: readonly Markup[], scale: TimeScale): Markup {
  return html`<svg width="100%" height="${HEIGHT}" viewBox="${scale.startMs} 0 ${scale.endMs - scale.startMs} ${HEIGHT}" preserveAspectRatio="none">${content}</svg>`;
}
