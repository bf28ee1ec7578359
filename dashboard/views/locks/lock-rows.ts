/**
 * The rows of the list of locks: what one line says about a key, and which lines are shown in which
 * order. Pure.
 *
 * The list is read once a second and not watched. A page of a hundred keys costs the node and the
 * browser the same whether a hundred or five thousand changes happen in that second; and leases,
 * which are renewed without a change, have to be read anyway.
 */
import type { HoldView, KeysView, KeyView } from "../../../src/index.js";

/** Rows of one page. */
export const PAGE_KEYS = 100;
/** Keys that one reading of a filtered page looks at, in questions of 200. */
const SCANNED_PAGES_MAX = 10;
const SCANNED_PAGE_KEYS = 200;

export const LOCK_FILTERS = ["all", "held", "contended", "closed"] as const;
export type LockFilter = (typeof LOCK_FILTERS)[number];
export const LOCK_COLUMNS = ["key", "mode", "holder", "since", "lease", "waiters"] as const;
export type LockColumn = (typeof LOCK_COLUMNS)[number];

/** What the address says about the list. */
export interface LockListPlace {
  readonly prefix: string;
  readonly filter: LockFilter;
  readonly sort: LockColumn;
  readonly isDescending: boolean;
  /** The pages begin after these names; the last one is shown, the others are the way back. */
  readonly after: readonly string[];
}

export interface LockRow {
  readonly key: string;
  /** `exclusive`, `shared`, `3 permits of 5`, `closed`, or "-" with waiters only. */
  readonly mode: string;
  readonly first: HoldView | undefined;
  readonly holds: number;
  readonly waiters: number;
  readonly closedMs: number | undefined;
  /** Of the first holder; `undefined` if nobody holds it. */
  readonly heldMs: number | undefined;
}

export function lockListPlace(query: URLSearchParams): LockListPlace {
  const sort = query.get("sort") ?? "";
  const isDescending = sort.startsWith("-");
  const column = isDescending ? sort.slice(1) : sort;
  return {
    prefix: query.get("prefix") ?? "",
    filter: LOCK_FILTERS.find((one) => one === query.get("show")) ?? "all",
    sort: LOCK_COLUMNS.find((one) => one === column) ?? "key",
    isDescending,
    after: query.getAll("after"),
  };
}

export function lockListQuery(place: LockListPlace): URLSearchParams {
  const query = new URLSearchParams();
  const { prefix, filter, sort, isDescending, after } = place;
  if (prefix !== "") query.set("prefix", prefix);
  if (filter !== "all") query.set("show", filter);
  if (sort !== "key" || isDescending) query.set("sort", `${isDescending ? "-" : ""}${sort}`);
  for (const each of after) query.append("after", each);
  return query;
}

export function lockRow(view: KeyView): LockRow {
  const [first] = view.holds;
  const [closing] = view.closings;
  return {
    key: view.key,
    mode: modeText(view),
    first,
    holds: view.truncated?.holds ?? view.holds.length,
    waiters: view.truncated?.waiters ?? view.waiters.length,
    closedMs: first === undefined ? closing?.endsInMs : undefined,
    heldMs: first?.heldMs,
  };
}

function modeText({ kind, limit, holds, closings }: KeyView): string {
  if (kind === "semaphore") {
    const used = holds.reduce((sum, { permits }) => sum + permits, 0);
    return `${used} of ${limit} permits`;
  }
  return holds[0]?.mode ?? (closings.length > 0 ? "closed" : "–");
}

export function isWanted({ first, waiters, closedMs }: LockRow, filter: LockFilter): boolean {
  switch (filter) {
    case "all":
      return true;
    case "held":
      return first !== undefined;
    case "contended":
      return waiters > 0;
    case "closed":
      return closedMs !== undefined;
  }
}

export interface LockPage {
  /** In the order of the cluster: by bytes of the name. */
  readonly rows: readonly LockRow[];
  /** Where the next page begins; `null` at the end. */
  readonly next: string | null;
  /** Keys that were looked at: more than the rows when a filter is on. */
  readonly scanned: number;
}

type ReadKeys = (after: string | undefined, limit: number) => Promise<KeysView>;

/**
 * Reads one page. With a filter it looks at more keys until the page is full, but at no more than
 * two thousand, so that a reading has a bounded cost; `next` goes on from there.
 */
export async function readLockPage(
  read: ReadKeys,
  filter: LockFilter,
  after: string | undefined,
): Promise<LockPage> {
  const limit = filter === "all" ? PAGE_KEYS : SCANNED_PAGE_KEYS;
  const rows: LockRow[] = [];
  let scanned = 0;
  let from = after;
  for (let pages = 0; pages < SCANNED_PAGES_MAX; pages += 1) {
    const { keys, next } = await read(from, limit);
    for (const view of keys) {
      const row = lockRow(view);
      scanned += 1;
      if (!isWanted(row, filter)) continue;
      rows.push(row);
      const isLast = next === null && view === keys.at(-1);
      if (rows.length === PAGE_KEYS) return { rows, next: isLast ? null : view.key, scanned };
    }
    if (next === null || filter === "all") return { rows, next, scanned };
    from = next;
  }
  return { rows, next: from ?? null, scanned };
}

/** Sorts one page; rows that are equal stay in the order of the cluster. */
export function sortedRows(
  rows: readonly LockRow[],
  column: LockColumn,
  isDescending: boolean,
): readonly LockRow[] {
  const sorted = [...rows];
  // Rows come in the order of their keys.
  if (column !== "key") sorted.sort((left, right) => compare(left, right, column));
  return isDescending ? sorted.reverse() : sorted;
}

function compare(left: LockRow, right: LockRow, column: Exclude<LockColumn, "key">): number {
  switch (column) {
    case "mode":
      return left.mode < right.mode ? -1 : left.mode > right.mode ? 1 : 0;
    case "holder": {
      const [one, other] = [holderKey(left), holderKey(right)];
      return one < other ? -1 : one > other ? 1 : 0;
    }
    case "since":
      return (left.heldMs ?? -1) - (right.heldMs ?? -1);
    case "lease":
      return leaseOrder(left) - leaseOrder(right);
    case "waiters":
      return left.waiters - right.waiters;
  }
}

/** A lease without end lasts longest. */
function leaseOrder({ first }: LockRow): number {
  if (first === undefined) return -1;
  return first.ttlMs === 0 ? Number.MAX_VALUE : first.leaseMs;
}

function holderKey({ first }: LockRow): string {
  if (first === undefined) return "";
  const { sessionName, identity, leaseOwner } = first;
  return `${sessionName === "" ? leaseOwner : sessionName} ${identity}`;
}
