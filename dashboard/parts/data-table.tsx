/**
 * A real table with a caption, whose columns can be sorted by. It does not sort by itself: the
 * order belongs to the address of the view. A table that is wider than the page scrolls within it.
 */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

export interface Column<Row> {
  readonly id: string;
  readonly title: string;
  /** `index`: of the row, from 0. */
  readonly cell: (row: Row, index: number) => ComponentChildren;
  /** Right-aligned, in digits of one width. */
  readonly isNumeric?: boolean | undefined;
  /** Names its row. At most one column. */
  readonly isRowHeader?: boolean | undefined;
  readonly isSortable?: boolean | undefined;
}

export interface Sorting {
  readonly column: string;
  readonly isDescending: boolean;
}

export interface DataTableProps<Row> {
  readonly caption: string;
  /** For those who see the heading above the table. The caption is still heard. */
  readonly isCaptionHidden?: boolean | undefined;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string | number;
  /** Shown in place of rows. */
  readonly empty: ComponentChildren;
  readonly sorting?: Sorting | undefined;
  readonly onSort?: ((sorting: Sorting) => void) | undefined;
}

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { caption, isCaptionHidden, columns, rows, rowKey, empty } = props;
  const id = useId();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it, no key scrolls a wide table
    <section class="table-frame" aria-labelledby={id} tabIndex={0}>
      <table>
        <caption id={id} class={isCaptionHidden === true ? "heard-only" : undefined}>
          {caption}
        </caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Heading key={column.id} column={column} {...props} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.length === 0 ? (
            <tr>
              <td colSpan={columns.length} class="empty">
                {empty}
              </td>
            </tr>
          ) : (
            rows.map((row, index) => (
              <tr key={rowKey(row)}>
                {columns.map((column) => (
                  <Cell key={column.id} column={column} row={row} index={index} />
                ))}
              </tr>
            ))
          )}
        </tbody>
      </table>
    </section>
  );
}

interface CellProps<Row> {
  readonly column: Column<Row>;
  readonly row: Row;
  readonly index: number;
}

function Cell<Row>({ column, row, index }: CellProps<Row>) {
  const align = column.isNumeric === true ? "numeric" : undefined;
  if (column.isRowHeader !== true) return <td class={align}>{column.cell(row, index)}</td>;
  return (
    <th scope="row" class={align}>
      {column.cell(row, index)}
    </th>
  );
}

interface HeadingProps<Row> {
  readonly column: Column<Row>;
  readonly sorting?: Sorting | undefined;
  readonly onSort?: ((sorting: Sorting) => void) | undefined;
}

function Heading<Row>({ column, sorting, onSort }: HeadingProps<Row>) {
  const align = column.isNumeric === true ? "numeric" : undefined;
  if (column.isSortable !== true || onSort === undefined) {
    return (
      <th scope="col" class={align}>
        {column.title}
      </th>
    );
  }
  const isSorted = sorting?.column === column.id;
  const isDescending = isSorted && sorting.isDescending;
  const order = isSorted ? (isDescending ? "descending" : "ascending") : "none";
  const mark = { none: "", ascending: "▲", descending: "▼" }[order];
  return (
    <th scope="col" class={align} aria-sort={order}>
      <button
        type="button"
        class="sort"
        onClick={() => onSort({ column: column.id, isDescending: isSorted && !isDescending })}
      >
        {column.title} <span aria-hidden="true">{mark}</span>
      </button>
    </th>
  );
}
