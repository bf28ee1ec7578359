/**
 * Columns for people: padded to the widest cell, two spaces apart, headings dimmed on a terminal.
 * Machines use `--json`; the layout here is no contract.
 */
import { styled } from "./terminal.js";

export type Alignment = "left" | "right";

export interface Column {
  readonly heading: string;
  readonly alignment?: Alignment;
}

/** The lines of a table; every row has one cell for each column. */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  stream: NodeJS.WriteStream = process.stdout,
): string[] {
  const widths = columns.map(({ heading }, index) =>
    rows.reduce((widest, row) => Math.max(widest, (row[index] ?? "").length), heading.length),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) => pad(cell, widths[index] ?? 0, columns[index]?.alignment ?? "left"))
      .join("  ")
      .trimEnd();
  const heading = line(columns.map((column) => column.heading));
  return [styled("dim", heading, stream), ...rows.map(line)];
}

function pad(cell: string, width: number, alignment: Alignment): string {
  return alignment === "right" ? cell.padStart(width) : cell.padEnd(width);
}
