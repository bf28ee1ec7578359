/**
 * One self-contained page: it includes styles, script and drawings, and makes no network requests.
 * Drawings use percentages, so that they fit any width and magnification without being drawn again.
 */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { RefusedError } from "../harness/refused-error.js";
import { latencyRow, rateRow, scatterRows } from "./curves.js";
import { html, Markup } from "./html.js";
import {
  backgroundBands,
  drawnNote,
  faultRows,
  holdRows,
  nodeRows,
  operationRows,
  row,
} from "./lanes.js";
import { anomalyBands, anomalyRows, keyMarks } from "./marks.js";
import type { ReportData } from "./report-data.js";
import { duration, marksOf, TimeScale } from "./scale.js";
import { storyPart } from "./story.js";
import {
  checksPart,
  comparisonPart,
  configurationPart,
  countsPart,
  coveragePart,
  figuresPart,
  verdictPart,
} from "./tables.js";

/** Marks of the time axis: for every width, and for a magnified one only. */
const MARKS = 8;
const FINE_MARKS = 64;
/** How much time before the load is shown. */
const LEAD_MS = 500;
const STYLES = ["report.css", "anomalies.css"] as const;
/** Nothing may be loaded, whatever a value in the page contains. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

export function renderReport(data: ReportData): string {
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>jepsen-lite, ${data.system}: ${data.valid === true ? "valid" : data.valid === false ? "not valid" : "unknown"}</title>
<style>${STYLES.map((name) => new Markup(pageFile(name)))}</style></head>
<body><button type="button" id="theme" aria-label="light or dark">◐</button><main>
${verdictPart(data)}${figuresPart(data)}${comparisonPart(data)}${storyPart(data)}${timelinePart(data)}${checksPart(data)}${countsPart(data)}${coveragePart(data)}${configurationPart(data)}
</main><div id="tip" role="tooltip" hidden></div>
<script>${new Markup(pageFile("report.js"))}</script></body></html>
`;
  return page.text;
}

function timelinePart(data: ReportData): Markup {
  const scale = new TimeScale(Math.max(0, data.loadStartMs - LEAD_MS), data.endMs);
  const parts: (readonly [string, Markup[]])[] = [
    ["What went wrong", anomalyRows(data, scale)],
    ["Faults", faultRows(data, scale)],
    ["Nodes: role and term", nodeRows(data, scale)],
    ["Rate and latency", [rateRow(data, scale), latencyRow(data, scale)]],
    ["Latency of each operation", scatterRows(data, scale)],
    ["Who held what", holdRows(data, scale, (key, height) => keyMarks(data, key, height, scale))],
    ["Operations", operationRows(data, scale)],
  ];
  const rows = parts
    .filter(([, content]) => content.length > 0)
    .map(([title, content]) => html`<h3>${title}</h3>${content}`);
  return html`<section class="timeline"><h2>Timeline</h2>
<div class="tools"><button type="button" data-zoom="0.5" aria-label="smaller">−</button><button type="button" data-zoom="2" aria-label="larger">+</button><button type="button" data-zoom="0">fit</button>${legend(data.checks.some(({ anomalies }) => anomalies.length > 0))}</div>
<div class="scroller" tabindex="0"><div class="canvas">${backgroundBands(data, scale, anomalyBands(data, scale))}${axis(scale)}${rows}</div></div>
<p class="note">${drawnNote(data)} Shaded: a fault was active. Green, at the end: all faults are over, after ${duration(data.loadEndMs - data.loadStartMs)} of load.</p></section>`;
}

function axis(scale: TimeScale): Markup {
  const coarse = new Set(marksOf(scale, MARKS));
  const marks = marksOf(scale, FINE_MARKS).map((timeMs) => {
    const kind = coarse.has(timeMs) ? "" : "fine";
    const anchor = scale.percent(timeMs) < 2 ? "start" : "middle";
    return html`<g class="${kind}"><line class="tick" x1="${scale.at(timeMs)}" x2="${scale.at(timeMs)}" y1="14" y2="20"/><text class="mark" x="${scale.at(timeMs)}" y="11" text-anchor="${anchor}">${timeMs / 1_000} s</text></g>`;
  });
  return row(html`time`, 20, html`${marks}`, "slim axis");
}

function legend(hasAnomalies: boolean): Markup {
  const words = [
    ["op ok", "succeeded"],
    ["op fail", "refused"],
    ["op info", "unknown"],
    ["node leader", "leads"],
    ["node down", "down"],
    ["node paused", "stopped"],
    ["stale", "held past its deadline"],
    ["lost", "lost"],
    ["wrong", "anomaly"],
  ] as const;
  const shown = words.filter(([kind]) => hasAnomalies || kind !== "wrong");
  const entries = shown.map(([kind, word]) => {
    return html`<span><svg width="14" height="10"><rect class="${kind}" width="14" height="10" rx="2"/></svg>${word}</span>`;
  });
  return html`<span class="legend">${entries}</span>`;
}

/** Refuses a run whose report could not be written because the files of its page are missing. */
export function requirePageFiles(): void {
  for (const name of [...STYLES, "report.js"]) pageFile(name);
}

/** Looks next to this file, or next to its source. */
function pageFile(name: string): string {
  for (const place of ["./page/", "../../../jepsen-lite/report/page/"]) {
    const file = fileURLToPath(new URL(place + name, import.meta.url));
    if (existsSync(file)) return readFileSync(file, "utf8");
  }
  throw new RefusedError(`jepsen-lite/report/page/${name} is missing: run it in a checkout`);
}
