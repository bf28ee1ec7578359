/** The audit of a node for people: its records, and what a check of its chain found. */
import type { AuditEntry } from "../../src/index.js";
import type { AuditHead, AuditProblem, AuditReport } from "../../src/server/index.js";
import { keyText, printable } from "../../src/text/index.js";
import { countText } from "../../src/views/index.js";
import { type Column, tableLines } from "../output/text-table.js";
import { formatDuration } from "../text/durations.js";
import { formatWallTime } from "../text/wall-time.js";

/** `NUMBER:DIGEST`, as the log and the commands write a head. */
export function headText({ number, digest }: AuditHead): string {
  return `${number}:${digest}`;
}

/** The reverse; `undefined` for other texts. */
export function parseHead(text: string): AuditHead | undefined {
  const [, number, digest] = /^([1-9]\d{0,15}):([0-9a-f]{64})$/i.exec(text) ?? [];
  if (number === undefined || digest === undefined) return undefined;
  const head = { number: Number(number), digest: digest.toLowerCase() };
  return Number.isSafeInteger(head.number) ? head : undefined;
}

const COLUMNS: readonly Column[] = [
  ...[{ heading: "TIME" }, { heading: "IDENTITY" }, { heading: "ADDRESS" }, { heading: "WHAT" }],
  ...[{ heading: "KEY" }, { heading: "OUTCOME" }, { heading: "DETAILS" }],
];

/** One line for each record. */
export function entryLines(entries: readonly AuditEntry[], hasHeadings: boolean): string[] {
  if (entries.length === 0) return [];
  const lines = tableLines(COLUMNS, entries.map(entryRow));
  return hasHeadings ? lines : lines.slice(1);
}

function entryRow(entry: AuditEntry): string[] {
  const { wallMs, identity, credential, address, what, key, outcome } = entry;
  const who = [identity, credential === "" ? "" : `(${credential})`].filter((part) => part !== "");
  return [
    formatWallTime(wallMs),
    ...[printable(who.join(" ")) || "-", printable(address) || "-", printable(what)],
    key === "" ? "-" : keyText(key),
    ...[printable(outcome), detailsText(entry)],
  ];
}

function detailsText({ kind, details }: AuditEntry): string {
  if (kind === "hold") {
    const { sessionName, holder, heldMs, token, mode } = details;
    const held = formatDuration(Number(heldMs));
    const by = holder === "bearer" ? `(handed over by ${sessionName})` : `by ${sessionName}`;
    return printable(`${String(mode)} for ${held} ${by}, token ${token}`);
  }
  const shown = Object.entries(details).filter(([, value]) => value !== "" && value !== false);
  return printable(shown.map(([name, value]) => `${name}=${String(value)}`).join(" "));
}

/** Nothing is lost or altered, and the head that was kept elsewhere was found or has aged out. */
export function isInOrder({ problemsTotal, expected }: AuditReport): boolean {
  return problemsTotal === 0 && expected !== "different" && expected !== "missing";
}

export function reportLines(report: AuditReport): string[] {
  const { head, trimmed, first, last, blocks, records, problems, problemsTotal } = report;
  const lines = [`${countText(records, "record")} in ${countText(blocks, "block")}`];
  if (first !== undefined && last !== undefined) {
    lines.push(`first   record ${first.record}, ${formatWallTime(first.wallMs)}`);
    lines.push(`last    record ${last.record}, ${formatWallTime(last.wallMs)}`);
  }
  if (trimmed.number > 0)
    lines.push(`before  removed for age or room up to block ${trimmed.number}`);
  lines.push(`head    ${head.number === 0 ? "none" : headText(head)}`);
  for (const problem of problems) lines.push(problemText(problem));
  if (problemsTotal > problems.length) {
    lines.push(`and ${countText(problemsTotal - problems.length, "more problem")}`);
  }
  const expected = expectedText(report);
  if (expected !== undefined) lines.push(expected);
  lines.push(isInOrder(report) ? "in order" : "NOT in order");
  return lines;
}

function expectedText({ expected }: AuditReport): string | undefined {
  switch (expected) {
    case undefined:
      return undefined;
    case "same":
      return "expected head: found, so nothing up to it has changed";
    case "removed":
      return "expected head: its block was removed for its age or for room; it proves nothing any more";
    case "different":
      return "EXPECTED HEAD DIFFERS: something up to that block was changed";
    default:
      return "EXPECTED HEAD IS MISSING: the records from that block on were removed or lost";
  }
}

function problemText(problem: AuditProblem): string {
  const { kind, fromBlock, toBlock, records, afterWallMs, beforeWallMs } = problem;
  const where = fromBlock === toBlock ? `block ${fromBlock}` : `blocks ${fromBlock} to ${toBlock}`;
  const count = records === 0 ? "" : `, ${countText(records, "record")}`;
  const times = timesText(afterWallMs, beforeWallMs);
  switch (kind) {
    case "lost":
      return `LOST: ${where}${count}${times}`;
    case "altered":
      return `ALTERED: ${where}${count}${times}`;
    case "restarted":
      return `RESTARTED: ${where} does not say what came before it${times}`;
    case "truncated":
      return `CUT OFF: ${where} are gone from the front, and no block says that they were removed`;
    default:
      return `OUTSIDE THE CHAIN: ${countText(records, "record")} that no kept block names`;
  }
}

function timesText(afterWallMs: number, beforeWallMs: number): string {
  const after = afterWallMs === 0 ? undefined : formatWallTime(afterWallMs);
  const before = beforeWallMs === 0 ? undefined : formatWallTime(beforeWallMs);
  if (after !== undefined && before !== undefined) return `, between ${after} and ${before}`;
  if (after !== undefined) return `, after ${after}`;
  return before === undefined ? "" : `, before ${before}`;
}
