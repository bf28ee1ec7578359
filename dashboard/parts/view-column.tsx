/** A column of `src/views` in a table of the page, drawn as it says or in a way of the page's own. */
import type { Column as ViewColumn } from "../../src/views/index.js";
import type { Column } from "./data-table.js";
import { PhraseText } from "./phrase-text.js";

export function viewColumn<Row>(
  { id, title, cell, isNumeric }: ViewColumn<Row>,
  own: Partial<Column<Row>> = {},
): Column<Row> {
  return {
    id,
    title,
    isNumeric,
    cell: (row, index) => <PhraseText phrase={cell(row, index)} />,
    ...own,
  };
}
