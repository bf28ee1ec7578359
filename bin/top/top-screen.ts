/**
 * The screen of `holdfast top` as lines of text, from its state and nothing else: never more lines
 * than the terminal has, and none wider than it. What a colour says is always said by a word or a
 * sign too. Pure.
 */
import { keyText, printable } from "../../src/text/index.js";
import {
  type Column,
  cooldownText,
  countText,
  explainPhrases,
  findingText,
  type Health,
  HOLD_COLUMNS,
  LEVEL_WORDS,
  LOCK_COLUMNS,
  limitText,
  NODE_COLUMNS,
  phraseText,
  totalText,
  WAITER_COLUMNS,
} from "../../src/views/index.js";
import { healthOf } from "../cluster/cluster-findings.js";
import type { Style } from "../output/terminal.js";
import { formatTimeOfDay } from "../text/wall-time.js";
import { wrapped } from "../text/wrapped.js";
import { headingOf, plainViewLines } from "../views/view-table.js";
import type { LockSeen, LocksSeen } from "./cluster-facts.js";
import type { Happening } from "./happenings.js";
import { edges, type FixedColumn, fitted, fixedCells, type Line, plain } from "./line.js";
import { shownLocks, type TopState, tableRows } from "./top-state.js";

/** Exactly as many lines as the terminal has. */
export function screenLines(state: TopState): Line[] {
  const { columns, rows } = state.size;
  const top = [titleLine(state), healthLine(state), subjectLine(state)];
  const bottom = [newsLine(state), keysLine(state)];
  const body = bodyLines(state).slice(0, tableRows(state) + 1);
  const blanks = Math.max(0, rows - top.length - bottom.length - body.length);
  const all = [...top, ...body, ...Array<Line>(blanks).fill([]), ...bottom];
  // On a terminal with hardly any lines only the first ones are left.
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

const COLOURS = Object.freeze({
  ...{ good: "green", asking: "dim", warning: "yellow" },
  ...{ bad: "red", down: "red" },
} as const satisfies Record<Health["level"], Style>);

function healthLine({ nodes, failure }: TopState): Line {
  if (failure !== undefined) {
    const since = formatTimeOfDay(failure.sinceMs).replace(/\.\d+$/, "");
    return plain(`NO ANSWER since ${since}, trying again: ${printable(failure.text)}`, "red");
  }
  if (nodes === undefined) return plain("asking the nodes", "dim");
  const { level, sentence } = healthOf(nodes.nodes, nodes.leader, nodes.wallMs);
  if (level === "good") return plain(sentence, COLOURS.good);
  return [{ text: `${LEVEL_WORDS[level]}:`, style: COLOURS[level] }, { text: ` ${sentence}` }];
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
  return plain(`${lockCountText(locks)}${of}, ${SORT_TEXTS[sort]}`);
}

function lockCountText(locks: LocksSeen | undefined): string {
  if (locks === undefined) return "looking for locks";
  const { total, counted, rows } = locks;
  if (total === undefined) {
    const many = counted > rows.length ? "more than" : "at least";
    return `${many} ${countText(rows.length, "lock")}`;
  }
  const shown = total > rows.length ? `, the first ${rows.length} here` : "";
  return `${countText(total, "lock")}${shown}`;
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

/** A column of a view, in a table that does not jump. */
interface ScreenColumn<Row> extends FixedColumn {
  readonly cell: Column<Row>["cell"];
}

function fixed<Row>(column: Column<Row>, width: FixedColumn["width"]): ScreenColumn<Row> {
  const alignment = column.isNumeric === true ? "right" : "left";
  return { heading: headingOf(column), width, alignment, cell: column.cell };
}

function rowText<Row>(columns: readonly ScreenColumn<Row>[], row: Row, width: number): string {
  return fixedCells(
    columns,
    columns.map(({ cell }) => phraseText(cell(row, 0))),
    width,
  );
}

function headingText(columns: readonly FixedColumn[], width: number): string {
  return fixedCells(
    columns,
    columns.map(({ heading }) => heading),
    width,
  );
}

const KEY = fixed(LOCK_COLUMNS.key, { share: 5 });
const MODE = fixed(LOCK_COLUMNS.mode, 10);
const HOLDER = fixed(LOCK_COLUMNS.holder, { share: 4 });
const HELD = fixed(LOCK_COLUMNS.since, 7);
const LEASE = fixed(LOCK_COLUMNS.lease, 7);
const TOKEN = fixed(LOCK_COLUMNS.token, 16);
const WAITERS = fixed(LOCK_COLUMNS.waiters, 7);

/** By the columns of the terminal that they need, the widest first. */
const LOCK_LAYOUTS = [
  [110, [KEY, fixed(LOCK_COLUMNS.mode, 14), HOLDER, HELD, LEASE, TOKEN, WAITERS]],
  [76, [KEY, MODE, HOLDER, HELD, LEASE, WAITERS]],
  [52, [KEY, HOLDER, HELD, WAITERS]],
  [34, [KEY, HOLDER, WAITERS]],
  [0, [KEY, WAITERS]],
] as const;

function lockLines(state: TopState): Line[] {
  const { locks, size, selected } = state;
  if (locks !== undefined && locks.rows.length === 0) return [[], plain("no lock is in use here")];
  const columns = LOCK_LAYOUTS.find(([least]) => size.columns >= least)?.[1] ?? [KEY];
  const width = size.columns - 2;
  const heading = plain(`  ${headingText(columns, width)}`, "dim");
  const rows = shownLocks(state).map((row): Line => {
    const isSelected = row.key === selected;
    const text = `${isSelected ? "> " : "  "}${rowText(columns, row, width)}`;
    return plain(text, isSelected ? "reverse" : undefined);
  });
  return [heading, ...rows];
}

const NODE = fixed(NODE_COLUMNS.node, 4);
const ROLE = fixed(NODE_COLUMNS.role, 11);
const STATE = fixed(NODE_COLUMNS.state, 12);
const TERM = fixed(NODE_COLUMNS.term, 6);
const COMMIT = fixed(NODE_COLUMNS.commit, 10);
const APPLIED = fixed(NODE_COLUMNS.applied, 10);
const LAG = fixed(NODE_COLUMNS.lag, 7);
const ENDPOINT = fixed(NODE_COLUMNS.endpoint, { share: 1 });

const NODE_LAYOUTS = [
  [100, [NODE, ROLE, STATE, TERM, COMMIT, APPLIED, LAG, ENDPOINT]],
  [76, [NODE, ROLE, STATE, COMMIT, LAG, ENDPOINT]],
  [44, [NODE, ROLE, STATE, LAG, ENDPOINT]],
  [0, [NODE, ROLE, STATE]],
] as const;

function clusterLines(state: TopState): Line[] {
  const { nodes, size, happened } = state;
  if (nodes === undefined) return [];
  const columns = NODE_LAYOUTS.find(([least]) => size.columns >= least)?.[1] ?? [NODE];
  const lines: Line[] = [plain(headingText(columns, size.columns), "dim")];
  for (const node of nodes.nodes) {
    const style = node.answers === "no" ? "red" : undefined;
    lines.push(plain(rowText(columns, node, size.columns), style));
  }
  for (const { id, problem } of nodes.nodes) {
    if (problem === "") continue;
    const text = `node ${id ?? "?"}: ${printable(problem)}`;
    lines.push(...wrapped(text, size.columns).map((line) => plain(line)));
  }
  for (const finding of healthOf(nodes.nodes, nodes.leader, nodes.wallMs).findings) {
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
  const { holds, waiters, cooldowns, kind, limit, truncated } = lock.view;
  const lines: Line[] = [];
  if (kind === "semaphore") lines.push(plain(limitText(limit)));
  if (holds.length === 0) lines.push(plain(cooldowns.length > 0 ? "not held" : "free"));
  else lines.push(...table(plainViewLines(Object.values(HOLD_COLUMNS), holds, size.columns)));
  lines.push(...cooldowns.map((cooldown) => plain(cooldownText(cooldown))));
  if (waiters.length > 0) {
    const queue = plainViewLines(Object.values(WAITER_COLUMNS), waiters, size.columns);
    lines.push([], ...table(queue));
  }
  if (truncated !== undefined) lines.push(plain(totalText(truncated)));
  return [...lines, [], ...whyLines(lock, size.columns)];
}

function whyLines({ why, view }: LockSeen, columns: number): Line[] {
  const about =
    view.waiters.length > 0 ? "WHY THE FIRST ONE WAITS" : "WHAT A NEW REQUEST WAITS FOR";
  const lines = explainPhrases(why).flatMap((phrase) => wrapped(phraseText(phrase), columns));
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
  "Ctrl-L                          draw the screen again",
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
