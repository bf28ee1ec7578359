/**
 * What the screen of `holdfast top` shows and where its user is in it, as a function of events: what
 * was typed, what the cluster answered, what time it is. It asks nothing and writes nothing. Pure.
 */
import type { LockRow } from "../../src/views/index.js";
import { displayWidth } from "../text/display-width.js";
import type { LockSeen, LocksSeen, NodesSeen, Sort } from "./cluster-facts.js";
import { SORTS } from "./cluster-facts.js";
import { type Happening, happenings } from "./happenings.js";
import type { Key } from "./keys.js";

export type View = "locks" | "cluster" | "lock" | "help";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export interface TopState {
  readonly size: Size;
  readonly view: View;
  /** The view to which Escape leads back. */
  readonly below: "locks" | "cluster";
  readonly prefix: string;
  /** The prefix that is being typed. */
  readonly typed: string | undefined;
  readonly sort: Sort;
  /** The lock under the cursor; it stays under it when lines change places. */
  readonly selected: string | undefined;
  /** Where the cursor is, should that lock be gone. */
  readonly cursor: number;
  /** The first line that is shown of what is longer than the screen. */
  readonly scroll: number;
  readonly locks: LocksSeen | undefined;
  /** The lock that the view "lock" shows. */
  readonly lockKey: string | undefined;
  readonly lock: LockSeen | undefined;
  readonly nodes: NodesSeen | undefined;
  readonly pausedAtMs: number | undefined;
  readonly failure: { readonly text: string; readonly sinceMs: number } | undefined;
  /** Oldest first. */
  readonly happened: readonly Happening[];
  readonly wallMs: number;
  /** What the terminal has to do that is not drawing. */
  readonly wish: "none" | "quit" | "suspend" | "interrupt" | "redraw";
}

export type TopEvent =
  | { readonly type: "key"; readonly key: Key }
  | { readonly type: "resized"; readonly size: Size }
  | { readonly type: "locks"; readonly seen: LocksSeen }
  | { readonly type: "lock"; readonly seen: LockSeen }
  | { readonly type: "nodes"; readonly seen: NodesSeen }
  | { readonly type: "failed"; readonly text: string; readonly wallMs: number }
  | { readonly type: "tick"; readonly wallMs: number };

const HAPPENINGS_MAX = 100;
const PREFIX_BYTES_MAX = 512;
/** Lines of the screen that are not lines of the table: see `top-screen.ts`. */
const FRAME_LINES = 6;

export interface FirstState extends Pick<TopState, "size" | "prefix" | "sort" | "wallMs"> {}

export function firstState({ size, prefix, sort, wallMs }: FirstState): TopState {
  return {
    size,
    view: "locks",
    below: "locks",
    prefix,
    typed: undefined,
    sort,
    selected: undefined,
    cursor: 0,
    scroll: 0,
    locks: undefined,
    lockKey: undefined,
    lock: undefined,
    nodes: undefined,
    pausedAtMs: undefined,
    failure: undefined,
    happened: [],
    wallMs,
    wish: "none",
  };
}

export function after(state: TopState, event: TopEvent): TopState {
  switch (event.type) {
    case "key":
      return afterKey({ ...state, wish: "none" }, event.key);
    case "resized":
      return withCursor({ ...state, size: event.size }, state.cursor);
    case "tick":
      return { ...state, wallMs: event.wallMs };
    case "failed":
      return afterFailure(state, event.text, event.wallMs);
    case "locks":
      return afterLocks(state, event.seen);
    case "lock":
      if (event.seen.view.key !== state.lockKey) return state;
      return { ...answered(state, event.seen.wallMs), lock: event.seen };
    case "nodes": {
      const news = happenings(state.nodes, event.seen);
      return withHappenings({ ...state, nodes: event.seen }, news);
    }
  }
}

/** The lines that the table has room for. */
export function tableRows({ size }: Pick<TopState, "size">): number {
  return Math.max(1, size.rows - FRAME_LINES);
}

/** The locks on the screen, from the first line that is shown. */
export function shownLocks(state: TopState): readonly LockRow[] {
  return (state.locks?.rows ?? []).slice(state.scroll, state.scroll + tableRows(state));
}

function afterLocks(state: TopState, seen: LocksSeen): TopState {
  // An answer to what was asked before.
  if (seen.prefix !== state.prefix || seen.sort !== state.sort) return state;
  const next = { ...answered(state, seen.wallMs), locks: seen };
  const at = seen.rows.findIndex(({ key }) => key === state.selected);
  return withCursor(next, at < 0 ? state.cursor : at);
}

function answered(state: TopState, wallMs: number): TopState {
  if (state.failure === undefined) return state;
  return withHappenings({ ...state, failure: undefined }, [
    { wallMs, text: "the cluster answers again", isBad: false },
  ]);
}

function afterFailure(state: TopState, text: string, wallMs: number): TopState {
  const sinceMs = state.failure?.sinceMs ?? wallMs;
  const next = { ...state, failure: { text, sinceMs } };
  if (state.failure !== undefined) return next;
  return withHappenings(next, [{ wallMs, text: `no answer: ${text}`, isBad: true }]);
}

function withHappenings(state: TopState, news: readonly Happening[]): TopState {
  if (news.length === 0) return state;
  return { ...state, happened: [...state.happened, ...news].slice(-HAPPENINGS_MAX) };
}

function afterKey(state: TopState, key: Key): TopState {
  if (key === "interrupt") return { ...state, wish: "interrupt" };
  if (key === "suspend") return { ...state, wish: "suspend" };
  if (key === "redraw") return { ...state, wish: "redraw" };
  if (state.typed !== undefined) return afterTyping(state, state.typed, key);
  switch (key) {
    case "q":
      return { ...state, wish: "quit" };
    case "?":
      return { ...state, view: state.view === "help" ? state.below : "help", scroll: 0 };
    case "p":
      return paused(state);
    case "c":
      return { ...state, view: "cluster", below: "cluster", scroll: 0 };
    case "l":
      return toLocks(state);
    case "escape":
    case "left":
    case "backspace":
      if (state.view === "lock" || state.view === "help") return back(state);
      return state;
    default:
      return state.view === "locks" ? afterListKey(state, key) : scrolled(state, key);
  }
}

function paused(state: TopState): TopState {
  const pausedAtMs = state.pausedAtMs === undefined ? state.wallMs : undefined;
  return { ...state, pausedAtMs };
}

function toLocks(state: TopState): TopState {
  return withCursor({ ...state, view: "locks", below: "locks", scroll: 0 }, state.cursor);
}

function back(state: TopState): TopState {
  return state.below === "locks" ? toLocks(state) : { ...state, view: "cluster", scroll: 0 };
}

function afterListKey(state: TopState, key: Key): TopState {
  const page = tableRows(state);
  switch (key) {
    case "up":
      return withCursor(state, state.cursor - 1);
    case "down":
      return withCursor(state, state.cursor + 1);
    case "pageUp":
      return withCursor(state, state.cursor - page);
    case "pageDown":
      return withCursor(state, state.cursor + page);
    case "home":
      return withCursor(state, 0);
    case "end":
      return withCursor(state, Number.MAX_SAFE_INTEGER);
    case "/":
      return { ...state, typed: state.prefix };
    case "s":
      return fresh({ ...state, sort: nextSort(state.sort) });
    case "enter":
    case "right":
      if (state.selected === undefined) return state;
      return { ...state, view: "lock", lockKey: state.selected, lock: undefined, scroll: 0 };
    default:
      return state;
  }
}

/** In the other views keys only move what is longer than the screen, which the screen limits. */
function scrolled(state: TopState, key: Key): TopState {
  const page = tableRows(state);
  const steps: Readonly<Record<string, number>> = {
    up: -1,
    down: 1,
    pageUp: -page,
    pageDown: page,
    home: Number.NEGATIVE_INFINITY,
  };
  return { ...state, scroll: Math.max(0, state.scroll + (steps[key] ?? 0)) };
}

function afterTyping(state: TopState, typed: string, key: Key): TopState {
  switch (key) {
    case "enter":
      return fresh({ ...state, typed: undefined, prefix: typed });
    case "escape":
      return { ...state, typed: undefined };
    case "eraseLine":
      return { ...state, typed: "" };
    case "backspace":
      return { ...state, typed: withoutLast(typed) };
    default: {
      // Keys with a name, such as arrows, are longer than one character.
      const isCharacter = [...key].length === 1;
      const isRoom = Buffer.byteLength(typed + key) <= PREFIX_BYTES_MAX;
      return isCharacter && isRoom ? { ...state, typed: typed + key } : state;
    }
  }
}

/** Without what is read as one character: its accents go with it. */
function withoutLast(text: string): string {
  const characters = [...text];
  while (characters.length > 0) {
    const last = characters.pop() ?? "";
    if (displayWidth(last) > 0) break;
  }
  return characters.join("");
}

/** Another table: what was shown is not part of it. */
function fresh(state: TopState): TopState {
  return { ...state, locks: undefined, selected: undefined, cursor: 0, scroll: 0 };
}

function nextSort(sort: Sort): Sort {
  return SORTS[(SORTS.indexOf(sort) + 1) % SORTS.length] ?? "waiters";
}

/** Puts the cursor there, or at the nearest line, and scrolls just enough to show it. */
function withCursor(state: TopState, wanted: number): TopState {
  const rows = state.locks?.rows ?? [];
  const cursor = Math.max(0, Math.min(wanted, rows.length - 1));
  const selected = rows[cursor]?.key;
  if (state.view !== "locks") return { ...state, cursor, selected };
  const page = tableRows(state);
  const lowest = Math.max(0, Math.min(state.scroll, rows.length - page));
  const scroll = Math.min(cursor, Math.max(lowest, cursor - page + 1));
  return { ...state, cursor, selected, scroll };
}
