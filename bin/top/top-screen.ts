/**
 * The screen of `holdfast top` as lines of text, from its state and nothing else: never more lines
 * than the terminal has, and none wider than it. What a colour says is always said by a word or a
 * sign too. Pure.
 */
import { keyText, printable } from "../../src/text/index.js";
import { plainTableLines } from "../output/text-table.js";
import { formatTimeOfDay } from "../text/wall-time.js";
import { explainLines } from "../views/explain-view.js";
import { findingText } from "../views/finding-view.js";
import {
  closingLine,
  HOLD_COLUMNS,
  holdRow,
  limitText,
  WAITER_COLUMNS,
  waiterRow,
} from "../views/key-view.js";
import type { LockRow, LockSeen, LocksSeen, NodeRow } from "./cluster-facts.js";
import { healthOf } from "./cluster-health.js";
import type { Happening } from "./happenings.js";
import { edges, type FixedColumn, fitted, fixedCells, type Line, plain, wrapped } from "./line.js";
import {
  heldCell,
  holderCell,
  keyCell,
  leaseCell,
  modeCell,
  tokenCell,
  waitersCell,
} from "./lock-cells.js";
import { shownLocks, type TopState, tableRows } from "./top-state.js";

/** Exactly as many lines as the terminal has. */
export function screenLines(state: TopState): Line[] {
  const { columns, rows } = state.size;
  const top = [titleLine(state), healthLine(state), subjectLine(state)];
  const bottom = [newsLine(state), keysLine(state)];
  const body = bodyLines(state).slice(0, tableRows(state) + 1);
  const blanks = Math.max(0, rows - top.length - bottom.length - body.length);
  const all = [...top, ...body, ...Array<Line>(blanks).fill([]), ...bottom];
  // Of a terminal with hardly any lines the first ones are left.
  return all.slice(0, rows).map((line) => fitted(line, columns));
}

/** As text without styles, for tests and for reading. */
export function screenText(state: TopState): string[] {
  return screenLines(state).map((line) =>
    line
      .map(({ text }) => text)
      .join("")
      .trimEnd(),
  );
}

/** The last line that scrolling can bring to the top; what is typed beyond it has no effect. */
export function scrollMax(state: TopState): number {
  return Math.max(0, scrollingLines(state).length - tableRows(state) - 1);
}

const TITLES: Readonly<Record<TopState["view"], string>> = Object.freeze({
  locks: "locks",
  cluster: "cluster",
  lock: "one lock",
  help: "keys",
});

function titleLine(state: TopState): Line {
  const time = formatTimeOfDay(state.wallMs).replace(/\.\d+$/, "");
  const title = [
    { text: "holdfast top", style: "bold" as const },
    { text: `  ${TITLES[state.view]}` },
  ];
  if (state.pausedAtMs === undefined) return edges(title, time, state.size.columns);
  const since = formatTimeOfDay(state.pausedAtMs).replace(/\.\d+$/, "");
  const pause = { text: `  PAUSED since ${since} (p goes on)`, style: "yellow" as const };
  return edges([...title, pause], time, state.size.columns);
}

const SIGNS = Object.freeze({ well: "ok:", hurt: "LOOK:", down: "DOWN:" });
const COLOURS = Object.freeze({ well: "green", hurt: "yellow", down: "red" } as const);

function healthLine({ nodes, failure }: TopState): Line {
  if (failure !== undefined) {
    const since = formatTimeOfDay(failure.sinceMs).replace(/\.\d+$/, "");
    return plain(`NO ANSWER since ${since}, trying again: ${printable(failure.text)}`, "red");
  }
  if (nodes === undefined) return plain("asking the nodes", "dim");
  const { text, state } = healthOf(nodes);
  return [{ text: SIGNS[state], style: COLOURS[state] }, { text: ` ${text}` }];
}

const SORT_TEXTS = Object.freeze({
  waiters: "most waiters first",
  held: "longest held first",
  key: "by name",
});

function subjectLine(state: TopState): Line {
  const { view, typed, prefix, sort, locks, lockKey } = state;
  if (typed !== undefined) {
    return [{ text: "names that begin with: " }, { text: `${keyText(typed)}_`, style: "bold" }];
  }
  if (view === "lock") return plain(keyText(lockKey ?? ""), "bold");
  if (view !== "locks") return [];
  const of = prefix === "" ? "" : ` under ${keyText(prefix)}`;
  return plain(`${countText(locks)}${of}, ${SORT_TEXTS[sort]}`);
}

function countText(locks: LocksSeen | undefined): string {
  if (locks === undefined) return "looking for locks";
  const { total, counted, rows } = locks;
  if (total === undefined) {
    const many = counted > rows.length ? "more than" : "at least";
    return `${many} ${rows.length} locks`;
  }
  const shown = total > rows.length ? `, the first ${rows.length} here` : "";
  return `${total} ${total === 1 ? "lock" : "locks"}${shown}`;
}

function newsLine({ happened }: TopState): Line {
  const last = happened.at(-1);
  return last === undefined ? [] : happeningLine(last);
}

function happeningLine({ wallMs, text, isBad }: Happening): Line {
  const time = formatTimeOfDay(wallMs).replace(/\.\d+$/, "");
  return [{ text: `${time}  ` }, { text, style: isBad ? "red" : undefined }];
}

const KEYS: Readonly<Record<TopState["view"], string>> = Object.freeze({
  locks: "Enter one lock  / prefix  s sort  c cluster  p pause  ? help  q quit",
  cluster: "l locks  p pause  ? help  q quit",
  lock: "Esc back  c cluster  p pause  ? help  q quit",
  help: "Esc back  q quit",
});

function keysLine({ view, typed, size }: TopState): Line {
  if (typed !== undefined) return plain("Enter filters  Esc leaves it  Ctrl-U erases", "dim");
  const keys = KEYS[view];
  const isNarrow = keys.length > size.columns;
  return plain(isNarrow ? "? help  q quit" : keys, "dim");
}

function bodyLines(state: TopState): Line[] {
  if (state.view === "locks") return lockLines(state);
  return scrollingLines(state).slice(Math.min(state.scroll, scrollMax(state)));
}

function scrollingLines(state: TopState): Line[] {
  if (state.view === "cluster") return clusterLines(state);
  return state.view === "lock" ? oneLockLines(state) : helpLines(state);
}

interface LockColumn extends FixedColumn {
  readonly cell: (row: LockRow) => string;
}

const KEY: LockColumn = { heading: "KEY", width: { share: 5 }, cell: keyCell };
const HOLDER: LockColumn = { heading: "HELD BY", width: { share: 4 }, cell: holderCell };
const MODE: LockColumn = { heading: "MODE", width: 10, cell: modeCell };
const number = (heading: string, width: number, cell: LockColumn["cell"]): LockColumn => {
  return { heading, width, cell, alignment: "right" };
};
const HELD = number("FOR", 7, heldCell);
const LEASE = number("LEASE", 7, leaseCell);
const TOKEN = number("TOKEN", 16, tokenCell);
const WAITERS = number("WAIT", 6, waitersCell);

/** By the columns of the terminal that they need, the widest first. */
const LOCK_COLUMNS: readonly (readonly [number, readonly LockColumn[]])[] = [
  [110, [KEY, MODE, HOLDER, HELD, LEASE, TOKEN, WAITERS]],
  [76, [KEY, MODE, HOLDER, HELD, LEASE, WAITERS]],
  [52, [KEY, HOLDER, HELD, WAITERS]],
  [34, [KEY, HOLDER, WAITERS]],
  [0, [KEY, WAITERS]],
];

function lockLines(state: TopState): Line[] {
  const { locks, size, selected } = state;
  if (locks !== undefined && locks.rows.length === 0) return [[], plain("no lock is in use here")];
  const columns = LOCK_COLUMNS.find(([least]) => size.columns >= least)?.[1] ?? [KEY];
  const width = size.columns - 2;
  const headings = columns.map(({ heading }) => heading);
  const heading = plain(`  ${fixedCells(columns, headings, width)}`, "dim");
  const rows = shownLocks(state).map((row): Line => {
    const cells = columns.map(({ cell }) => cell(row));
    const isSelected = row.key === selected;
    const text = `${isSelected ? "> " : "  "}${fixedCells(columns, cells, width)}`;
    return plain(text, isSelected ? "reverse" : undefined);
  });
  return [heading, ...rows];
}

interface NodeColumn extends FixedColumn {
  readonly cell: (row: NodeRow) => string;
}

const shown = (value: number | null): string => (value === null ? "-" : String(value));
const NODE_COLUMNS: Readonly<Record<string, NodeColumn>> = {
  node: { heading: "NODE", width: 4, alignment: "right", cell: ({ id }) => shown(id ?? null) },
  role: { heading: "ROLE", width: 11, cell: ({ role }) => printable(role) },
  term: { heading: "TERM", width: 6, alignment: "right", cell: ({ term }) => shown(term) },
  commit: {
    heading: "COMMIT",
    width: 10,
    alignment: "right",
    cell: ({ commitIndex }) => shown(commitIndex),
  },
  applied: {
    heading: "APPLIED",
    width: 10,
    alignment: "right",
    cell: ({ appliedIndex }) => shown(appliedIndex),
  },
  lag: {
    heading: "LAG",
    width: 6,
    alignment: "right",
    cell: ({ lagEntries }) => shown(lagEntries),
  },
  endpoint: {
    heading: "ENDPOINT",
    width: { share: 1 },
    cell: ({ endpoint }) => (endpoint === "" ? "-" : printable(endpoint)),
  },
};

const NODE_LAYOUTS: readonly (readonly [number, readonly string[]])[] = [
  [76, ["node", "role", "term", "commit", "applied", "lag", "endpoint"]],
  [44, ["node", "role", "commit", "lag", "endpoint"]],
  [0, ["node", "role", "lag"]],
];

function clusterLines(state: TopState): Line[] {
  const { nodes, size, happened } = state;
  if (nodes === undefined) return [];
  const names = NODE_LAYOUTS.find(([least]) => size.columns >= least)?.[1] ?? [];
  const columns = names.flatMap((name) => NODE_COLUMNS[name] ?? []);
  const headings = columns.map(({ heading }) => heading);
  const lines: Line[] = [plain(fixedCells(columns, headings, size.columns), "dim")];
  for (const node of nodes.nodes) {
    const cells = columns.map(({ cell }) => cell(node));
    const style = node.answers === "no" ? "red" : undefined;
    lines.push(plain(fixedCells(columns, cells, size.columns), style));
  }
  for (const { id, problem } of nodes.nodes) {
    if (problem === "") continue;
    const text = `node ${id ?? "?"}: ${printable(problem)}`;
    lines.push(...wrapped(text, size.columns).map((line) => plain(line)));
  }
  for (const finding of healthOf(nodes).findings) {
    const text = wrapped(findingText(finding), size.columns);
    lines.push([], ...text.map((line) => plain(line)));
  }
  lines.push([], plain("WHAT HAPPENED, newest first", "dim"));
  if (happened.length === 0) lines.push(plain("nothing since this was started"));
  lines.push(...[...happened].reverse().map(happeningLine));
  return lines;
}

function oneLockLines({ lock, size }: TopState): Line[] {
  if (lock === undefined) return [plain("asking", "dim")];
  const table = (lines: readonly string[]): Line[] =>
    lines.map((line, at) => plain(line, at === 0 ? "dim" : undefined));
  const { holds, waiters, closings, kind, limit, truncated } = lock.view;
  const lines: Line[] = [];
  if (kind === "semaphore") lines.push(plain(limitText(limit)));
  if (holds.length === 0) lines.push(plain(closings.length > 0 ? "not held" : "free"));
  else lines.push(...table(plainTableLines(HOLD_COLUMNS, holds.map(holdRow), size.columns)));
  lines.push(...closings.map((closing) => plain(closingLine(closing))));
  if (waiters.length > 0) {
    const queue = plainTableLines(WAITER_COLUMNS, waiters.map(waiterRow), size.columns);
    lines.push([], ...table(queue));
  }
  if (truncated !== undefined) {
    lines.push(plain(`in total ${truncated.holds} holds, ${truncated.waiters} waiting requests`));
  }
  return [...lines, [], ...whyLines(lock, size.columns)];
}

function whyLines({ why, view }: LockSeen, columns: number): Line[] {
  const about = view.waiters.length > 0 ? "WHY THE FIRST ONE WAITS" : "WHAT A NEW REQUEST MEETS";
  const lines = explainLines(why).flatMap((line) => wrapped(line, columns));
  return [plain(about, "dim"), ...lines.map((line) => plain(line))];
}

const HELP: readonly string[] = [
  "arrows, PgUp, PgDn, Home, End   move",
  "Enter                           one lock: holders, queue, and why",
  "Esc                             back",
  "/                               only names that begin with …",
  "s                               sort: most waiters, longest held, by name",
  "l, c                            locks, cluster",
  "p                               pause, and go on",
  "Ctrl-L                          draw the screen anew",
  "q, Ctrl-C                       quit;  Ctrl-Z leaves it for a while",
  "",
  "The order of locks is settled among all of them, 2,000 a round; the lines on",
  "the screen are asked for each round.",
];

function helpLines({ size }: TopState): Line[] {
  return HELP.flatMap((line) => (line === "" ? [[]] : helpLine(line, size.columns)));
}

/** Blanks between a key and its meaning are kept where there is room for both. */
function helpLine(line: string, columns: number): Line[] {
  if (line.length <= columns) return [plain(line)];
  return wrapped(line.replace(/ {2,}/g, "  "), columns).map((part) => plain(part));
}
