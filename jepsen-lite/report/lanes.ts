/** The rows of the timeline that are bars: faults, nodes, holds, operations. */

import type { DrawnHold } from "../attack/hold-chart.js";
import type { DrawnOperation, LaneChange } from "../attack/observer.js";
import { clientOfProcess } from "../history/history-event.js";
import { html, type Markup } from "./html.js";
import type { ReportData } from "./report-data.js";
import { count, duration, moment, type TimeScale } from "./scale.js";

const COLOURS = 8;
const PROCESS_LANE_PX = 7;
const LIVES_STEP = 100_000;
const LABELLED_PERCENT_MIN = 3.2;

/** One labelled row; `height` in pixels. */
export function row(label: Markup, height: number, content: Markup, kind = ""): Markup {
  return html`<div class="row ${kind}"><div class="label">${label}</div>
<svg class="plot" height="${height}" role="img">${content}</svg></div>`;
}

/** In the background: when which fault was active. */
export function backgroundBands(
  data: ReportData,
  scale: TimeScale,
  further: readonly Markup[],
): Markup {
  const bands = data.faults.map(({ startMs, endMs }) => {
    return html`<rect class="band" x="${scale.at(startMs)}" width="${scale.span(startMs, endMs)}" y="0" height="100%"/>`;
  });
  const calm = html`<rect class="calm" x="${scale.at(data.loadEndMs)}" width="${scale.span(data.loadEndMs, data.endMs)}" y="0" height="100%"/>`;
  return html`<svg class="bands" aria-hidden="true">${calm}${bands}${further}</svg>`;
}

export function faultRows(data: ReportData, scale: TimeScale): Markup[] {
  const names = [...new Set(data.faults.map(({ nemesis }) => nemesis))].sort();
  return names.map((name) => {
    const bars = data.faults
      .filter(({ nemesis }) => nemesis === name)
      .map(({ what, startMs, endMs }) => {
        const tip = `${name}: ${what}\n${moment(startMs)} – ${moment(endMs)} (${duration(endMs - startMs)})`;
        return html`<rect class="fault" rx="2" x="${scale.at(startMs)}" width="${scale.span(startMs, endMs, 0.15)}" y="3" height="12" data-t="${tip}"/>`;
      });
    return row(html`${name}`, 18, html`${bars}`, "slim");
  });
}

export function nodeRows(data: ReportData, scale: TimeScale): Markup[] {
  return data.nodes.map((node) => {
    const changes = data.lanes.filter((change) => change.node === node);
    const bars = changes.map((change, index) => {
      return nodeBar(change, changes[index + 1]?.timeMs ?? data.endMs, scale);
    });
    return row(html`node ${node}`, 24, html`${bars}`, "slim");
  });
}

function nodeBar(change: LaneChange, endMs: number, scale: TimeScale): Markup {
  const { node, timeMs, state, term } = change;
  const inTerm = term > 0 ? `, term ${term}` : "";
  const tip = `node ${node}: ${state}${inTerm}\n${moment(timeMs)} – ${moment(endMs)}`;
  const isWide = scale.percent(endMs) - scale.percent(timeMs) >= LABELLED_PERCENT_MIN;
  const text =
    state === "leader" && isWide
      ? html`<text class="on-bar" x="${scale.at(timeMs)}" dx="6" y="16">term ${term}</text>`
      : undefined;
  return html`<rect class="node ${state}" x="${scale.at(timeMs)}" width="${scale.span(timeMs, endMs)}" y="3" height="18" data-t="${tip}"/>${text}`;
}

/** `marksOf`: what is drawn over the row of a key of that height. */
export function holdRows(
  data: ReportData,
  scale: TimeScale,
  marksOf: (key: string, height: number) => readonly Markup[],
): Markup[] {
  return data.keys.map((key) => {
    const holds = data.holds.filter((hold) => hold.key === key);
    const isShared = holds.some(({ mode }) => mode !== "exclusive");
    const lanes = isShared ? 3 : 1;
    const bars = holds.map((hold) => holdBar(hold, lanes, scale));
    const height = lanes * 9 + 15;
    return row(html`${key}`, height, html`${bars}${marksOf(key, height)}`, "slim");
  });
}

function holdBar(hold: DrawnHold, lanes: number, scale: TimeScale): Markup {
  const { process, token, mode, startMs, endMs, untilMs, end } = hold;
  const client = clientOfProcess(process);
  const height = lanes === 1 ? 14 : 8;
  // Shared holds overlap: each client has a lane.
  const y = 4 + (lanes === 1 ? 0 : (client % lanes) * 10);
  const tip =
    `${hold.key} (${mode}) held by process ${process}, client ${client}\ntoken ${token}\n` +
    `${moment(startMs)} – ${moment(endMs)} (${duration(endMs - startMs)}), ${end}\n` +
    `certain until ${moment(untilMs)}`;
  const isWide = scale.percent(endMs) - scale.percent(startMs) >= 2 * LABELLED_PERCENT_MIN;
  const label = isWide
    ? html`<text class="on-bar" x="${scale.at(startMs)}" dx="5" y="${y + height - 3}">${shortToken(token)}</text>`
    : undefined;
  const middle = y + height / 2;
  // Solid while the client was certain; not solid while it only believed, stopped or cut off.
  const solidMs = Math.min(endMs, Math.max(untilMs, startMs));
  const colour = `c${client % COLOURS}`;
  const bar = html`<rect class="hold ${colour}" x="${scale.at(startMs)}" width="${scale.span(startMs, solidMs, 0.06)}" y="${y}" height="${height}" data-t="${tip}"/>`;
  const stale = html`<rect class="stale" x="${scale.at(solidMs)}" width="${scale.span(solidMs, endMs, 0)}" y="${middle - 2}" height="4" data-t="${tip}"/>`;
  const lease = html`<rect class="lease ${colour}" x="${scale.at(endMs)}" width="${scale.span(endMs, untilMs, 0)}" y="${middle - 1}" height="2"/>`;
  const lost = html`<rect class="lost" x="${scale.at(endMs)}" width="2" y="${y - 2}" height="${height + 4}"/>`;
  const beyond = endMs > solidMs ? stale : undefined;
  const rest = endMs < untilMs && end !== "released" ? lease : undefined;
  return html`${rest}${bar}${beyond}${end === "lost" ? lost : undefined}${label}`;
}

/** Tokens begin with the cluster time; only their ends differ. */
function shortToken(token: number): string {
  return `…${String(token).slice(-5)}`;
}

/** A row for each client, with a lane for each of its workers. */
export function operationRows(data: ReportData, scale: TimeScale): Markup[] {
  const clients = new Set(data.operations.map(({ process }) => clientOfProcess(process)));
  return [...clients]
    .sort((a, b) => a - b)
    .map((client) => {
      const operations = data.operations.filter(
        ({ process }) => clientOfProcess(process) === client,
      );
      const workers = [...new Set(operations.map(workerOf))].sort((a, b) => a - b);
      const bars = operations.map((operation) => {
        return operationBar(operation, workers.indexOf(workerOf(operation)), scale);
      });
      const label = html`<i class="dot c${client % COLOURS}"></i>client ${client}`;
      return row(label, workers.length * PROCESS_LANE_PX + 6, html`${bars}`);
    });
}

function operationBar(operation: DrawnOperation, lane: number, scale: TimeScale): Markup {
  const { process, workload, f, key = "", startMs, endMs, outcome, detail } = operation;
  const tip =
    `process ${process}, ${workload}: ${f} ${key}\n${outcome} ${detail}\n` +
    `${moment(startMs)}, ${duration(endMs - startMs)}`;
  const y = 3 + lane * PROCESS_LANE_PX;
  return html`<rect class="op ${outcome}" x="${scale.at(startMs)}" width="${scale.span(startMs, endMs)}" y="${y}" height="5" data-t="${tip}"/>`;
}

function workerOf({ process }: DrawnOperation): number {
  return process % LIVES_STEP;
}

/** How many of all operations and holds are drawn. */
export function drawnNote(data: ReportData): string {
  const operations = `${count(data.operations.length)} of ${count(data.operationsOffered)} operations`;
  const holds = `${count(data.holds.length)} of ${count(data.holdsOffered)} holds`;
  const dots = `${count(data.dots.length)} points`;
  return `Drawn: ${operations} and ${holds}, the longest and the unknown first; ${dots} of latency.`;
}
