/** Tables of `src/views` in a terminal: titles in capitals, cells as text that is safe to show. */
import { phraseText, type Column as ViewColumn } from "../../src/views/index.js";
import type { Style } from "../output/terminal.js";
import { type Column, plainTableLines, tableLines } from "../output/text-table.js";

/** Styles of cells on a terminal, by the ids of their columns. */
export type CellStyles = Readonly<Record<string, (cell: string) => Style | undefined>>;

/** The lines of a table on standard output; its remarks and problems have no heading. */
export function viewLines<Row>(
  columns: readonly ViewColumn<Row>[],
  rows: readonly Row[],
  styles: CellStyles = {},
): string[] {
  return tableLines(
    columns.map((column) => textColumn(column, styles)),
    cellsOf(columns, rows),
  );
}

/** The same without any style, for a screen of that width. */
export function plainViewLines<Row>(
  columns: readonly ViewColumn<Row>[],
  rows: readonly Row[],
  widthMax: number,
): string[] {
  return plainTableLines(
    columns.map((column) => textColumn(column)),
    cellsOf(columns, rows),
    widthMax,
  );
}

export function headingOf({ id, title }: Pick<ViewColumn<never>, "id" | "title">): string {
  return WITHOUT_HEADING.includes(id) ? "" : title.toUpperCase();
}

const WITHOUT_HEADING = ["remarks", "problem"];

function textColumn<Row>(column: ViewColumn<Row>, styles: CellStyles = {}): Column {
  const style = styles[column.id];
  return {
    heading: headingOf(column),
    alignment: column.isNumeric === true ? "right" : "left",
    ...(style === undefined ? {} : { style }),
  };
}

function cellsOf<Row>(columns: readonly ViewColumn<Row>[], rows: readonly Row[]): string[][] {
  return rows.map((row, index) => columns.map(({ cell }) => phraseText(cell(row, index))));
}
