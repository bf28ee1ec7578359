/**
 * The list of locks: which lines are shown in which order. Pure.
 *
 * The list is read once a second and not watched. A page of a hundred keys costs the node and the
 * browser the same whether a hundred or five thousand changes happen in that second; and leases,
 * which are renewed without a change, have to be read anyway.
 */
import type { KeysView } from "../../../src/index.js";
import { LOCK_COLUMNS, type LockRow, lockRow, phraseText } from "../../../src/views/index.js";

/** Rows of one page. */
export const PAGE_KEYS = 100;
/** Keys that one reading of a filtered page looks at, in questions of 200. */
const SCANNED_PAGES_MAX = 10;
const SCANNED_PAGE_KEYS = 200;

export const LOCK_FILTERS = ["all", "held", "contended", "coolingDown"] as const;
export type LockFilter = (typeof LOCK_FILTERS)[number];
const SORTABLE = ["key", "mode", "holder", "since", "lease", "waiters"] as const;
export type LockColumn = (typeof SORTABLE)[number];

/** What the address says about the list. */
export interface LockListPlace {
  readonly prefix: string;
  readonly filter: LockFilter;
  readonly sort: LockColumn;
  readonly isDescending: boolean;
  /** The pages begin after these names; the last one is shown, the others are the way back. */
  readonly after: readonly string[];
}

export function lockListPlace(query: URLSearchParams): LockListPlace {
  const sort = query.get("sort") ?? "";
  const isDescending = sort.startsWith("-");
  const column = isDescending ? sort.slice(1) : sort;
  return {
    prefix: query.get("prefix") ?? "",
    filter: LOCK_FILTERS.find((one) => one === query.get("show")) ?? "all",
    sort: SORTABLE.find((one) => one === column) ?? "key",
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

export function isWanted({ first, waiters, cooldown }: LockRow, filter: LockFilter): boolean {
  switch (filter) {
    case "all":
      return true;
    case "held":
      return first !== undefined;
    case "contended":
      return waiters > 0;
    case "coolingDown":
      return cooldown !== undefined;
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
    case "holder": {
      const { cell } = LOCK_COLUMNS[column];
      const [one, other] = [phraseText(cell(left)), phraseText(cell(right))];
      return one < other ? -1 : one > other ? 1 : 0;
    }
    case "since":
      return (left.first?.heldMs ?? -1) - (right.first?.heldMs ?? -1);
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
