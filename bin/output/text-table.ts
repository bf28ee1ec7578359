/**
 * Columns for people: padded to the widest cell, two spaces apart, headings dimmed on a terminal.
 * If the table is wider than the terminal, long texts are cut in the middle; numbers, and output to
 * a file or a pipe, are never cut. Machines use `--json`; the layout is not a contract.
 */
import { cutInTheMiddle, displayWidth } from "../text/display-width.js";
import { type Style, styled } from "./terminal.js";

export type Alignment = "left" | "right";

export interface Column {
  readonly heading: string;
  readonly alignment?: Alignment;
  /** The style of a cell on a terminal; `undefined`: plain. */
  readonly style?: (cell: string) => Style | undefined;
}

const GAP = "  ";
/** A text that is cut keeps this many columns, so that it can still be told from others. */
const TEXT_WIDTH_MIN = 8;

/** The lines of a table; every row has one cell for each column. */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  stream: NodeJS.WriteStream = process.stdout,
  widthMax = widthOf(stream),
): string[] {
  const natural = columns.map(({ heading }, index) =>
    rows.reduce(
      (widest, row) => Math.max(widest, displayWidth(row[index] ?? "")),
      displayWidth(heading),
    ),
  );
  const widths = fittedWidths(columns, natural, widthMax);
  const padded = (cells: readonly string[]): string[] =>
    cells.map((cell, index) => {
      const width = widths[index] ?? 0;
      return pad(cutInTheMiddle(cell, width), width, columns[index]?.alignment ?? "left");
    });
  const line = (cells: readonly string[]): string => {
    const texts = padded(cells).map((text, index) => {
      const style = columns[index]?.style?.(cells[index] ?? "");
      return style === undefined ? text : styled(style, text, stream);
    });
    return texts.join(GAP).trimEnd();
  };
  const heading = padded(columns.map((column) => column.heading))
    .join(GAP)
    .trimEnd();
  return [styled("dim", heading, stream), ...rows.map(line)];
}

/** The width of a terminal; anything else is unlimited. */
function widthOf(stream: NodeJS.WriteStream): number {
  // Some terminals do not report their size.
  return stream.isTTY && stream.columns > 0 ? stream.columns : Number.POSITIVE_INFINITY;
}

/** The widest columns of text become narrower, at most down to the width of their headings. */
function fittedWidths(
  columns: readonly Column[],
  natural: readonly number[],
  widthMax: number,
): number[] {
  const widths = [...natural];
  const least = columns.map(({ heading, alignment }, index) => {
    const isText = alignment !== "right";
    const width = natural[index] ?? 0;
    return isText ? Math.min(width, Math.max(displayWidth(heading), TEXT_WIDTH_MIN)) : width;
  });
  let excess = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length) - widthMax;
  while (excess > 0) {
    const spare = widths.map((width, index) => (width > (least[index] ?? 0) ? width : 0));
    const widest = Math.max(...spare);
    if (widest === 0) break;
    widths[spare.indexOf(widest)] = widest - 1;
    excess -= 1;
  }
  return widths;
}

function pad(cell: string, width: number, alignment: Alignment): string {
  const blanks = " ".repeat(width - displayWidth(cell));
  return alignment === "right" ? blanks + cell : cell + blanks;
}
