/**
 * Every lock in use, one line each, a page of a hundred at a time. What is searched, shown and sorted
 * by stands in the address. The page is read again once a second; see `lock-rows.ts` for why it is
 * not watched.
 */
import { useRef, useState } from "preact/hooks";
import {
  countText,
  LOCK_COLUMNS,
  type LockRow,
  NOTHING,
  type Column as ViewColumn,
} from "../../../src/views/index.js";
import { usePolled } from "../../connection/polled.js";
import { type Column, DataTable } from "../../parts/data-table.js";
import { KeyText } from "../../parts/key-text.js";
import { LeaseBar } from "../../parts/lease-bar.js";
import { PhraseText } from "../../parts/phrase-text.js";
import { Problem } from "../../parts/problem.js";
import type { Settled } from "../../parts/settle.js";
import { StillRows } from "../../parts/still-rows.js";
import { viewColumn } from "../../parts/view-column.js";
import type { Place } from "../../state/router.js";
import { hrefOf, setQuery } from "../../state/router.js";
import {
  LOCK_FILTERS,
  type LockFilter,
  type LockListPlace,
  type LockPage,
  lockListPlace,
  lockListQuery,
  PAGE_KEYS,
  readLockPage,
  sortedRows,
} from "./lock-rows.js";

const INTERVAL_MS = 1_000;
/** A reading with a filter asks up to ten questions. */
const FILTERED_INTERVAL_MS = 5_000;
/** Pages that the way back remembers. */
const BACK_MAX = 50;

const FILTER_NAMES: Readonly<Record<LockFilter, string>> = {
  all: "All",
  held: "Held",
  contended: "With a queue",
  coolingDown: "Cooling down",
};

export function LocksView({ query }: Pick<Place, "query">) {
  const place = lockListPlace(query);
  const { prefix, filter, after } = place;
  const from = after.at(-1);
  const { answer, atMs, error } = usePolled<LockPage>(
    (admin, signal) =>
      readLockPage(
        (next, limit) => admin.keysPage(prefix, { after: next, limit, signal }),
        filter,
        from,
      ),
    {
      intervalMs: filter === "all" ? INTERVAL_MS : FILTERED_INTERVAL_MS,
      question: JSON.stringify([prefix, filter, from]),
    },
  );
  // While the answer to another question is under way, the last one stays: no blank page at each key.
  const last = useRef<PageProps>();
  if (answer !== undefined) last.current = { page: answer, place, atMs };
  return (
    <>
      <SearchForm place={place} />
      {error !== undefined && <Problem error={error} />}
      {last.current === undefined ? (
        error === undefined && <p>Asking the cluster …</p>
      ) : (
        <Page {...last.current} />
      )}
    </>
  );
}

function SearchForm({ place }: { readonly place: LockListPlace }) {
  const [typed, setTyped] = useState(place.prefix);
  return (
    <search class="search">
      <label>
        Names that begin with
        <input
          type="search"
          value={typed}
          spellcheck={false}
          autocapitalize="off"
          onInput={({ currentTarget: { value } }) => {
            setTyped(value);
            setQuery({ prefix: value, after: undefined });
          }}
        />
      </label>
      <label>
        Show
        <select
          value={place.filter}
          onChange={({ currentTarget: { value } }) => {
            setQuery({ show: value === "all" ? undefined : value, after: undefined });
          }}
        >
          {LOCK_FILTERS.map((filter) => (
            <option key={filter} value={filter}>
              {FILTER_NAMES[filter]}
            </option>
          ))}
        </select>
      </label>
    </search>
  );
}

interface PageProps {
  readonly page: LockPage;
  readonly place: LockListPlace;
  readonly atMs: number;
}

function Page({ page, place, atMs }: PageProps) {
  const { sort, isDescending } = place;
  const rows = sortedRows(page.rows, sort, isDescending);
  return (
    <>
      <StillRows
        rows={rows}
        keyOf={({ key }) => key}
        list={lockListQuery(place).toString()}
        noun="lock"
      >
        {(settled) => (
          <DataTable
            caption={captionText(page, place)}
            columns={columnsFor(settled, atMs)}
            rows={settled.rows}
            rowKey={({ key }) => key}
            empty={emptyText(page, place)}
            sorting={{ column: sort, isDescending }}
            onSort={({ column, isDescending: isDown }) => {
              const isDefault = column === "key" && !isDown;
              setQuery({ sort: isDefault ? undefined : `${isDown ? "-" : ""}${column}` });
            }}
          />
        )}
      </StillRows>
      <Pages page={page} place={place} />
    </>
  );
}

function captionText({ rows, scanned }: LockPage, { sort, filter, after }: LockListPlace): string {
  const count = countText(rows.length, "lock");
  const of = filter === "all" ? "" : ` of ${countText(scanned, "name")} looked at`;
  const page = after.length === 0 ? "" : `, page ${after.length + 1}`;
  const order = sort === "key" ? "" : ", sorted within this page; the cluster sorts by name";
  return `${count}${of}${page}${order}`;
}

function emptyText({ next, scanned }: LockPage, { prefix, filter, after }: LockListPlace): string {
  if (next !== null) {
    return `None of the next ${countText(scanned, "name")} is like that. Go on with the next page.`;
  }
  if (after.length > 0) return "There are no more.";
  if (filter !== "all") return "No lock is like that.";
  return prefix === "" ? "No lock is in use." : "No lock in use has a name that begins so.";
}

function columnsFor({ gone }: Settled<LockRow>, atMs: number): readonly Column<LockRow>[] {
  const { key: keyColumn, mode, holder, since, lease, waiters } = LOCK_COLUMNS;
  /** A row that is gone and still shown has nothing in it but its key. */
  const ofRow = (column: ViewColumn<LockRow>, own: Partial<Column<LockRow>> = {}) => {
    const { cell, ...shown } = viewColumn(column, { isSortable: true, ...own });
    const cellOf = (row: LockRow, index: number) =>
      gone.has(row.key) ? NOTHING : cell(row, index);
    return { ...shown, cell: cellOf };
  };
  return [
    viewColumn(keyColumn, {
      isRowHeader: true,
      isSortable: true,
      cell: ({ key }) => (
        <a href={hrefOf("lock", key)}>
          <KeyText name={key} />
        </a>
      ),
    }),
    viewColumn(mode, {
      isSortable: true,
      cell: (row) => (gone.has(row.key) ? "no longer in use" : mode.cell(row)),
    }),
    ofRow(holder, {
      cell: (row) => (
        <span class="who">
          <PhraseText phrase={holder.cell(row)} />
        </span>
      ),
    }),
    ofRow(since),
    ofRow(lease, {
      isNumeric: false,
      cell: ({ first }) => (first === undefined ? NOTHING : <LeaseBar {...first} atMs={atMs} />),
    }),
    ofRow(waiters),
  ];
}

function Pages({ page, place }: Omit<PageProps, "atMs">) {
  const { after } = place;
  const hrefAfter = (all: readonly string[]): string => {
    const query = lockListQuery({ ...place, after: all.slice(-BACK_MAX) }).toString();
    return query === "" ? hrefOf("locks") : `${hrefOf("locks")}?${query}`;
  };
  if (after.length === 0 && page.next === null) return null;
  return (
    <nav class="pages" aria-label="Pages">
      {after.length > 0 && <a href={hrefAfter(after.slice(0, -1))}>Previous {PAGE_KEYS}</a>}
      {after.length > 1 && <a href={hrefAfter([])}>First page</a>}
      {page.next !== null && <a href={hrefAfter([...after, page.next])}>Next {PAGE_KEYS}</a>}
    </nav>
  );
}
