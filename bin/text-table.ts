/**
 * Columns for people: padded to the widest cell, two spaces apart, headings dimmed on a terminal.
 * Machines use `--json`; the layout here is no contract.
 */
import { displayWidth } from "./display-width.js";
import { type Style, styled } from "./terminal.js";

export type Alignment = "left" | "right";

export interface Column {
  readonly heading: string;
  readonly alignment?: Alignment;
  /** How a cell looks on a terminal; `undefined`: plain. */
  readonly style?: (cell: string) => Style | undefined;
}

/** The lines of a table; every row has one cell for each column. */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  stream: NodeJS.WriteStream = process.stdout,
): string[] {
  const widths = columns.map(({ heading }, index) =>
    rows.reduce(
      (widest, row) => Math.max(widest, displayWidth(row[index] ?? "")),
      displayWidth(heading),
    ),
  );
  const padded = (cells: readonly string[]): string[] =>
    cells.map((cell, index) => pad(cell, widths[index] ?? 0, columns[index]?.alignment ?? "left"));
  const line = (cells: readonly string[]): string => {
    const texts = padded(cells).map((text, index) => {
      const style = columns[index]?.style?.(cells[index] ?? "");
      return style === undefined ? text : styled(style, text, stream);
    });
    return texts.join("  ").trimEnd();
  };
  const heading = padded(columns.map((column) => column.heading))
    .join("  ")
    .trimEnd();
  return [styled("dim", heading, stream), ...rows.map(line)];
}

function pad(cell: string, width: number, alignment: Alignment): string {
  const blanks = " ".repeat(width - displayWidth(cell));
  return alignment === "right" ? blanks + cell : cell + blanks;
}
