/** Anomalies in the timeline: marks that link to their stories, and the holds they concern. */
import { html, type Markup } from "./html.js";
import { row } from "./lanes.js";
import type { ReportData } from "./report-data.js";
import { duration, moment, type TimeScale } from "./scale.js";
import { type ToldAnomaly, toldAnomalies } from "./story.js";

/** In percent of the width: a shorter mark can still be seen and clicked. */
const WIDTH_MIN = 0.5;
const LANE_PX = 14;
const LANES_MAX = 8;

interface Timed {
  readonly told: ToldAnomaly;
  readonly fromMs: number;
  readonly toMs: number;
}

function timed(data: ReportData): Timed[] {
  return toldAnomalies(data).flatMap((told) => {
    const { fromMs, toMs = fromMs } = told.anomaly;
    return fromMs === undefined || toMs === undefined ? [] : [{ told, fromMs, toMs }];
  });
}

/** One row, as high as there are anomalies at the same time; none without anomalies. */
export function anomalyRows(data: ReportData, scale: TimeScale): Markup[] {
  const all = timed(data).sort((one, other) => one.fromMs - other.fromMs);
  if (all.length === 0) return [];
  /** By lane: where it is free again, in percent. */
  const freeFrom: number[] = [];
  const bars = all.map((each) => {
    const from = scale.percent(each.fromMs);
    const free = freeFrom.findIndex((at) => at <= from);
    const lane = free === -1 ? Math.min(freeFrom.length, LANES_MAX - 1) : free;
    freeFrom[lane] = Math.max(scale.percent(each.toMs), from + WIDTH_MIN) + WIDTH_MIN / 2;
    return markOf(each, lane, scale);
  });
  const height = freeFrom.length * LANE_PX + 6;
  return [row(html`anomalies`, height, html`${bars}`, "slim wrongs")];
}

function markOf({ told, fromMs, toMs }: Timed, lane: number, scale: TimeScale): Markup {
  const { id, anomaly, isExpected } = told;
  const long = toMs > fromMs ? ` – ${moment(toMs)} (${duration(toMs - fromMs)})` : "";
  const tip = `${anomaly.kind}: ${anomaly.sentence.replaceAll("`", "")}\n${moment(fromMs)}${long}`;
  const y = 4 + lane * LANE_PX;
  const kind = isExpected ? "expected" : "wrong";
  return html`<a href="#anomaly-${id}" id="mark-${id}" data-from="${scale.percent(fromMs)}" data-to="${scale.percent(toMs)}" aria-label="${anomaly.kind}"><rect class="${kind}" rx="2" x="${scale.at(fromMs)}" width="${scale.span(fromMs, toMs, WIDTH_MIN)}" y="${y}" height="${LANE_PX - 4}" data-t="${tip}"/></a>`;
}

/** Through all rows: when something was wrong, however much at the same time. */
export function anomalyBands(data: ReportData, scale: TimeScale): Markup[] {
  const spans: { fromMs: number; toMs: number }[] = [];
  const wrong = timed(data).filter(({ told }) => !told.isExpected);
  for (const { fromMs, toMs } of wrong.sort((one, other) => one.fromMs - other.fromMs)) {
    const last = spans.at(-1);
    if (last === undefined || last.toMs < fromMs) spans.push({ fromMs, toMs });
    else last.toMs = Math.max(last.toMs, toMs);
  }
  return spans.map(({ fromMs, toMs }) => {
    return html`<rect class="wrong-band" x="${scale.at(fromMs)}" width="${scale.span(fromMs, toMs, 0.1)}" y="0" height="100%"/>`;
  });
}

/** In the row of a key: around wrong holds. */
export function keyMarks(
  data: ReportData,
  key: string,
  height: number,
  scale: TimeScale,
): Markup[] {
  return timed(data)
    .filter(({ told }) => told.anomaly.keys.includes(key))
    .map(({ told, fromMs, toMs }) => {
      const kind = told.isExpected ? "around expected" : "around";
      return html`<rect class="${kind}" x="${scale.at(fromMs)}" width="${scale.span(fromMs, toMs, 0.2)}" y="1" height="${height - 2}"/>`;
    });
}
