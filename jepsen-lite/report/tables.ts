/** The parts of a report that are words and numbers: verdict, figures, checks, story, tables. */
import { comparisonRows } from "../run/comparison.js";
import type { Validity } from "../verdict/check-result.js";
import { html, type Markup } from "./html.js";
import type { ReportData } from "./report-data.js";
import { count, duration, moment } from "./scale.js";

const HEADLINES: Readonly<Record<string, readonly [string, string]>> = {
  true: ["Valid", "Every answer that the clients got can be true."],
  false: ["Not valid", "The clients were told something that cannot be true."],
  unknown: ["Unknown", "No violation was found, but not everything could be decided."],
};

const CUT_SHORT = ["Interrupted", "No violation had been found until then."] as const;

export function verdictPart(data: ReportData): Markup {
  const isCutShort = data.wasInterrupted && data.valid !== false;
  const [headline, sentence] = isCutShort ? CUT_SHORT : (HEADLINES[String(data.valid)] ?? ["", ""]);
  const interrupted = data.wasInterrupted ? html`<p>The run was interrupted.</p>` : undefined;
  return html`<header class="verdict ${className(data.valid)}">
<div><p class="kicker">jepsen-lite · ${data.system} · ${data.startedAt}</p><h1>${headline}</h1><p>${sentence}</p>${interrupted}</div>
<div class="command"><span>repeats the run</span><code id="command">${commandWords(data.command)}</code><button type="button" data-copy="command">copy</button></div>
</header>`;
}

/** A line ends between words, never after a hyphen. */
function commandWords(command: string): Markup[] {
  return command.split(" ").map((word) => html`<b>${word}</b> `);
}

export function figuresPart({ figures }: ReportData): Markup {
  const cards: readonly (readonly [string, string, string])[] = [
    ["operations", count(figures.operations), `${count(figures.ok)} succeeded`],
    ["unknown outcome", count(figures.info), `${count(figures.fail)} refused`],
    [
      "faults",
      count(figures.faults),
      `${count(figures.clientKills)} ${figures.clientKills === 1 ? "client" : "clients"} killed`,
    ],
    ["elections", count(figures.elections), `up to term ${count(figures.termMax)}`],
    [
      "sessions lost",
      count(figures.sessionsLost),
      `${count(figures.holdsLost)} ${figures.holdsLost === 1 ? "hold" : "holds"} lost`,
    ],
    ["longest time without success", duration(figures.longestGapMs), "over all workloads"],
  ];
  const items = cards.map(([name, value, more]) => {
    return html`<div class="card"><dt>${name}</dt><dd>${value}<small>${more}</small></dd></div>`;
  });
  return html`<dl class="cards">${items}</dl>`;
}

/** Only if peers ran: the effect of the same faults on each system. */
export function comparisonPart({ comparison }: ReportData): Markup | undefined {
  if (comparison.length === 0) return undefined;
  const heads = comparison.map(({ name }) => html`<th class="n">${name}</th>`);
  const verdicts = comparison.map(({ valid }) => {
    return html`<td class="n word"><i class="sign ${className(valid)}"></i>${wordOf(valid)}</td>`;
  });
  const rows = comparisonRows(comparison).map(({ name, cells }) => {
    const values = cells.map(({ text, isLoss }) => {
      return html`<td class="n ${isLoss ? "loss" : ""}">${text}</td>`;
    });
    return html`<tr><td>${name}</td>${values}</tr>`;
  });
  const abouts = comparison.map(({ name, about }) => html`<dt>${name}</dt><dd>${about}</dd>`);
  return html`<section><h2>Side by side</h2><p>The same workloads and the same plan of faults, one system after the other. The verdict above is about ${comparison[0]?.name}.</p><div class="wide"><table class="narrow"><thead><tr><th></th>${heads}</tr></thead><tbody><tr><td>verdict</td>${verdicts}</tr>${rows}</tbody></table></div><dl class="pairs">${abouts}</dl><p class="note">Without fencing, updates are lost whenever a holder is stopped for longer than its lease: no lock service can prevent that. Each peer has a report of its own, in a directory with its name next to this page.</p></section>`;
}

export function checksPart({ checks }: ReportData): Markup {
  const names = [...new Set(checks.flatMap(({ parts = [] }) => parts.map(({ name }) => name)))];
  const rows = checks.map((check) => {
    const cells = names.map((name) => {
      const part = check.parts?.find((each) => each.name === name);
      if (part === undefined) return html`<td class="n none">–</td>`;
      if (part.compared === 0 && !part.isAsked) {
        const tip = `${name}: this workload is not made for it`;
        return html`<td class="n none" data-name="${name}" data-t="${tip}">–</td>`;
      }
      if (part.compared === 0) {
        const tip = `${name}: compared nothing, although this workload is made for it`;
        return html`<td class="n word alarm" data-name="${name}" data-t="${tip}"><i class="sign unknown"></i>nothing</td>`;
      }
      const tip = `${name}: ${wordOf(part.valid)}, ${count(part.compared)} compared`;
      return html`<td class="n word" data-name="${name}" data-t="${tip}"><i class="sign ${className(part.valid)}"></i>${count(part.compared)}</td>`;
    });
    const remarks = check.remarks.map((remark) => html`<small class="remark">${remark}</small>`);
    return html`<tr><td class="word"><i class="sign ${className(check.valid)}"></i><span class="word">${wordOf(check.valid)}</span></td><td>${check.subject}</td><td>${check.name}</td><td class="result">${check.summary}${remarks}</td>${cells}</tr>`;
  });
  const heads = names.map((name) => html`<th class="n">${name}</th>`);
  return html`<section><h2>Checks</h2><div class="wide"><table class="checks"><thead><tr><th>verdict</th><th>of</th><th>check</th><th>result</th>${heads}</tr></thead><tbody>${rows}</tbody></table></div><p class="note">Numbers: how many things each check compared. <b class="alarm">nothing</b>: the workload is made for that check but gave it nothing to compare, so nothing was shown. A dash: the workload is not made for it.</p></section>`;
}

export function countsPart({ counts, errors }: ReportData): Markup {
  const rows = counts.flatMap(({ workload, operations }) =>
    Object.entries(operations).map(([f, each]) => {
      return html`<tr><td>${workload}</td><td>${f}</td><td class="n">${count(each.ok)}</td><td class="n">${count(each.fail)}</td><td class="n">${count(each.info)}</td></tr>`;
    }),
  );
  const codes = errors.map(([code, times]) => html`<li><code>${code}</code> ${count(times)}</li>`);
  return html`<section><h2>Operations</h2><div class="wide"><table><thead><tr><th>history</th><th>operation</th><th class="n">succeeded</th><th class="n">refused</th><th class="n">unknown</th></tr></thead><tbody>${rows}</tbody></table></div><ul class="codes">${codes}</ul></section>`;
}

/** Which fault hit which workload, and for how long. */
export function coveragePart({ coverage, counts, faults }: ReportData): Markup | undefined {
  if (coverage.length === 0) return undefined;
  const workloads = counts.map(({ workload }) => workload);
  const rows = coverage.map(({ nemesis, times, seconds }) => {
    const cells = workloads.map(() => html`<td class="n">${seconds.toFixed(1)} s</td>`);
    return html`<tr><td>${nemesis}</td><td class="n">${count(times)}</td>${cells}</tr>`;
  });
  const heads = workloads.map((workload) => html`<th class="n">${workload}</th>`);
  const files = coverage.flatMap(({ nemesis, files: met }) => {
    const kinds = Object.entries(met).map(([kind, times]) => {
      return html`<li class="${times === 0 ? "none" : ""}"><code>${kind}</code> ${count(times)}</li>`;
    });
    if (kinds.length === 0) return [];
    return [html`<h3>Files hit by ${nemesis}, by kind</h3><ul class="codes">${kinds}</ul>`];
  });
  const list = faults.map(({ nemesis, what, startMs, endMs }) => {
    return html`<tr><td><time>${moment(startMs)}</time></td><td class="n">${duration(endMs - startMs)}</td><td>${nemesis}</td><td>${what}</td></tr>`;
  });
  return html`<section><h2>Faults and workloads</h2><p>All workloads run concurrently, so each fault hits all of them.</p><div class="wide"><table><thead><tr><th>fault</th><th class="n">times</th>${heads}</tr></thead><tbody>${rows}</tbody></table></div>${files}<details><summary>all faults</summary><div class="wide"><table><thead><tr><th>at</th><th class="n">for</th><th>nemesis</th><th>what</th></tr></thead><tbody>${list}</tbody></table></div></details></section>`;
}

export function configurationPart({ configuration }: ReportData): Markup {
  const rows = configuration.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`);
  return html`<section><h2>Configuration</h2><dl class="pairs">${rows}</dl></section>`;
}

function className(valid: Validity): string {
  return { true: "valid", false: "invalid", unknown: "unknown" }[String(valid)] ?? "unknown";
}

function wordOf(valid: Validity): string {
  return { true: "valid", false: "not valid", unknown: "unknown" }[String(valid)] ?? "unknown";
}
