/**
 * The anomalies, kind by kind: each begins with one sentence, links to its mark in the timeline,
 * and is then explained step by step in the order of time.
 */
import { ANOMALIES, type AnomalyKind } from "../checker/index.js";
import { partsOf, shortNumbers } from "../text/short-numbers.js";
import { type Anomaly, sumOf } from "../verdict/anomaly.js";
import type { CheckResult } from "../verdict/check-result.js";
import { html, Markup } from "./html.js";
import type { ReportData } from "./report-data.js";
import { count, moment } from "./scale.js";

/** An anomaly with its number in story and timeline. */
export interface ToldAnomaly {
  readonly id: number;
  readonly check: CheckResult;
  readonly anomaly: Anomaly;
  /** From a check that is valid nevertheless: it was expected. */
  readonly isExpected: boolean;
}

export function toldAnomalies({ checks }: ReportData): ToldAnomaly[] {
  const all = checks.flatMap((check) => {
    const isExpected = check.valid !== false;
    return check.anomalies.map((anomaly) => ({ check, anomaly, isExpected }));
  });
  return all.map((each, index) => ({ ...each, id: index + 1 }));
}

/** Only if something went wrong. */
export function storyPart(data: ReportData): Markup[] {
  const told = toldAnomalies(data);
  const wrong = told.filter(({ isExpected }) => !isExpected);
  const expected = told.filter(({ isExpected }) => isExpected);
  const again = html`<p class="again">Repeat the run: <code>${data.command}</code></p>`;
  const sections: Markup[] = [];
  if (wrong.length > 0) {
    const kinds = kindsOf(wrong, data.anomalies);
    sections.push(html`<section><h2>What went wrong</h2>${kinds}${again}</section>`);
  }
  if (expected.length > 0) {
    const all = expected.map(({ check }) => check);
    const kinds = kindsOf(expected, sumOf([...new Set(all)].map((each) => each.anomalyCounts)));
    const why = "Shown, but not counted: a system cannot prevent this unless tokens are compared.";
    sections.push(html`<section><h2>What was expected</h2><p>${why}</p>${kinds}</section>`);
  }
  return sections;
}

function kindsOf(told: readonly ToldAnomaly[], counts: ReportData["anomalies"]): Markup[] {
  // In the order of the list of all kinds, which begins with the worst.
  const kinds = (Object.keys(ANOMALIES) as AnomalyKind[]).filter((kind) => {
    return told.some(({ anomaly }) => anomaly.kind === kind);
  });
  return kinds.map((kind) => {
    const own = told.filter(({ anomaly }) => anomaly.kind === kind);
    const times = counts[kind] ?? own.length;
    const shown =
      own.length < times
        ? html` <small>${own.length} of them ${own.length === 1 ? "is" : "are"} shown</small>`
        : "";
    const sign = own.some(({ isExpected }) => !isExpected) ? "invalid" : "unknown";
    return html`<h3 class="kind"><i class="sign ${sign}"></i>${kind} × ${count(times)}${shown}</h3><p class="note">${definition(kind)}</p>${own.map((each, index) => story(each, index === 0))}`;
  });
}

function definition(kind: AnomalyKind): string {
  return ANOMALIES[kind];
}

function story({ id, check, anomaly, isExpected }: ToldAnomaly, isOpen: boolean): Markup {
  const { sentence, steps, reasons, fromMs } = anomaly;
  const short = shortNumbers([sentence, ...steps.map(({ text }) => text), ...reasons]);
  const items = steps.map(({ text, timeMs, line }) => {
    const when = timeMs === undefined ? undefined : html`<time>${moment(timeMs)}</time> `;
    const where = line === undefined ? undefined : html` <small class="where">line ${line}</small>`;
    return html`<li>${when}${prose(text, short)}${where}</li>`;
  });
  const why = reasons.map((reason) => html`<li>${prose(reason, short)}</li>`);
  const told = html`<ol class="story">${items}</ol>${why.length > 0 ? html`<ul class="reasons">${why}</ul>` : undefined}`;
  const link = fromMs === undefined ? undefined : html` <a href="#mark-${id}">in the timeline</a>`;
  const state = new Markup(isOpen ? " open" : "");
  const details =
    items.length + why.length === 0
      ? undefined
      : html`<details${state}><summary>step by step</summary>${told}</details>`;
  return html`<article class="anomaly ${isExpected ? "unknown" : "invalid"}" id="anomaly-${id}"><p class="sentence"><b class="subject">${check.subject}</b> ${prose(sentence, short)}${link}</p>${details}</article>`;
}

/** Text between backticks is a name; long numbers show in full under the pointer. */
function prose(text: string, short: (number: string) => string): Markup[] {
  return text.split("`").map((piece, index) => {
    const parts = partsOf(piece).map((part) => {
      if (!part.isLong || short(part.text) === part.text) return html`${part.text}`;
      return html`<abbr data-t="${part.text}">${short(part.text)}</abbr>`;
    });
    return index % 2 === 1 ? html`<code>${parts}</code>` : html`${parts}`;
  });
}
