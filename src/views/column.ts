/**
 * A column of a table that shows rows of a cluster. A terminal writes its title in capitals and its
 * cells as text; the page may draw a cell in a way of its own, such as a bar. Pure.
 */
import type { Shown } from "./phrase.js";

export interface Column<Row> {
  readonly id: string;
  readonly title: string;
  /** `index`: of the row, from 0. */
  readonly cell: (row: Row, index: number) => Shown;
  /** Right-aligned. */
  readonly isNumeric?: boolean;
}

/** Columns by their ids; a surface chooses which it shows, and in which order. */
export type Columns<Row> = Readonly<Record<string, Column<Row>>>;
