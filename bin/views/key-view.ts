/**
 * One key for people: its holders, its waiters in order, and what keeps it closed. Names and values
 * come from others, so they are never written to the terminal unescaped.
 */
import type { KeyView } from "../../src/index.js";
import { keyText, printable } from "../../src/text/index.js";
import { styled } from "../output/terminal.js";
import { type Column, tableLines } from "../output/text-table.js";
import { formatDuration } from "../text/durations.js";
import { holderText, isEndless, withIdentity } from "../text/session-names.js";

type Hold = KeyView["holds"][number];
type Waiter = KeyView["waiters"][number];
type Closing = KeyView["closings"][number];

export const HOLD_COLUMNS: readonly Column[] = [
  { heading: "HELD BY" },
  { heading: "MODE" },
  { heading: "SESSION", alignment: "right" },
  { heading: "FOR", alignment: "right" },
  { heading: "LEASE LEFT", alignment: "right" },
  { heading: "TOKEN", alignment: "right" },
  { heading: "" },
];

const LEASE_COLUMNS: readonly Column[] = [
  { heading: "LEASE OF" },
  { heading: "MODE" },
  { heading: "FOR", alignment: "right" },
  { heading: "LEFT", alignment: "right" },
  { heading: "TOKEN", alignment: "right" },
  { heading: "" },
];

export const WAITER_COLUMNS: readonly Column[] = [
  { heading: "#", alignment: "right" },
  { heading: "WAITING" },
  { heading: "MODE" },
  { heading: "REQUEST", alignment: "right" },
  { heading: "FOR", alignment: "right" },
  { heading: "" },
];

export function keyLines(view: KeyView): string[] {
  const { holds, waiters, closings } = view;
  const key = styled("bold", keyText(view.key), process.stdout);
  if (holds.length + waiters.length + closings.length === 0) {
    return [`${key}: free${view.limit === 0 ? "" : ` (${limitText(view.limit)})`}`];
  }
  const lines = [view.kind === "semaphore" ? `${key}: ${limitText(view.limit)}` : key, ""];
  if (holds.length === 0) lines.push("not held");
  else lines.push(...tableLines(HOLD_COLUMNS, holds.map(holdRow)));
  if (closings.length > 0) lines.push("", ...closings.map(closingLine));
  if (waiters.length > 0) lines.push("", ...tableLines(WAITER_COLUMNS, waiters.map(waiterRow)));
  const { truncated } = view;
  if (truncated !== undefined) {
    lines.push("", `in total: ${truncated.holds} holds, ${truncated.waiters} waiting requests`);
  }
  return lines;
}

/** For the table of many keys. */
export const LIST_COLUMNS: readonly Column[] = [
  { heading: "KEY" },
  { heading: "MODE" },
  { heading: "HELD BY" },
  { heading: "FOR", alignment: "right" },
  { heading: "WAITING", alignment: "right" },
];

/** One key as a line of that table. */
export function listRow(view: KeyView): string[] {
  const [first] = view.holds;
  const [closing] = view.closings;
  const holds = view.truncated?.holds ?? view.holds.length;
  const waiting = String(view.truncated?.waiters ?? view.waiters.length);
  const key = keyText(view.key);
  if (first === undefined) {
    const closed = closing === undefined ? ["-", "-"] : [modeText(closing), "(closed)"];
    return [key, ...closed, "-", waiting];
  }
  const others = holds > 1 ? ` and ${holds - 1} more` : "";
  return [key, modeText(first), holderText(first) + others, formatDuration(first.heldMs), waiting];
}

/** The leases of a key. */
export function leaseLines(key: string, leases: readonly Hold[]): string[] {
  const name = styled("bold", keyText(key), process.stdout);
  if (leases.length === 0) return [`${name}: no lease`];
  return [name, "", ...tableLines(LEASE_COLUMNS, leases.map(leaseRow))];
}

function leaseRow(hold: Hold): string[] {
  return [
    holderText(hold),
    modeText(hold),
    formatDuration(hold.heldMs),
    leftText(hold),
    String(hold.token),
    holdRemarks(hold).join(", "),
  ];
}

/** How long the hold lasts if nobody renews it. */
function leftText(hold: Hold): string {
  return isEndless(hold) ? "without end" : formatDuration(hold.leaseMs);
}

/** `exclusive`, `shared`, or how many permits. */
function modeText({ mode, permits }: { mode: string; permits: number }): string {
  return mode === "permits" ? (permits === 1 ? "1 permit" : `${permits} permits`) : mode;
}

export function limitText(limit: number): string {
  return `a semaphore of ${limit} ${limit === 1 ? "permit" : "permits"}`;
}

export function holdRow(hold: Hold): string[] {
  const isOfSession = hold.holder === "session";
  return [
    isOfSession ? nameOf(hold) : holderText(hold),
    modeText(hold),
    isOfSession ? String(hold.session) : "-",
    formatDuration(hold.heldMs),
    leftText(hold),
    String(hold.token),
    holdRemarks(hold).join(", "),
  ];
}

function holdRemarks({ slots, endsInMs, isRevoked, value, leaseOwner, leaseMs }: Hold): string[] {
  const remarks: string[] = [];
  if (slots.length > 0) remarks.push(`${slots.length === 1 ? "slot" : "slots"} ${slots.join(" ")}`);
  if (isRevoked) remarks.push("being revoked");
  // The end of a lease itself is shown as what is left of it.
  const isOwnEnd = leaseOwner !== "" && endsInMs === leaseMs;
  if (endsInMs !== null && !isOwnEnd) remarks.push(`ends in ${formatDuration(endsInMs)}`);
  if (value !== "") remarks.push(`value "${printable(value)}"`);
  return remarks;
}

export function waiterRow(waiter: Waiter, index: number): string[] {
  const { isUpgrade, isEligible, priority, endsInMs } = waiter;
  const remarks: string[] = [];
  if (isUpgrade) remarks.push("an upgrade");
  if (isEligible) remarks.push("waits for its other keys");
  if (priority > 0) remarks.push(`priority ${priority}`);
  if (endsInMs !== null) remarks.push(`gives up in ${formatDuration(endsInMs)}`);
  return [
    String(index + 1),
    nameOf(waiter),
    modeText(waiter),
    `${waiter.session}/${waiter.sequence}`,
    formatDuration(waiter.waitingMs),
    remarks.join(", "),
  ];
}

export function closingLine(closing: Closing): string {
  const { token, endsInMs } = closing;
  return `closed for ${formatDuration(endsInMs)} more after token ${token} (${modeText(closing)})`;
}

function nameOf({ sessionName, identity }: Hold | Waiter): string {
  return withIdentity(sessionName === "" ? "-" : printable(sessionName), identity);
}
