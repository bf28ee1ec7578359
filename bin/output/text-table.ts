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
  const [heading = [], ...padded] = paddedCells(columns, rows, widthMax);
  const line = (texts: readonly string[], at: number): string => {
    const cells = texts.map((text, index) => {
      const style = columns[index]?.style?.(rows[at]?.[index] ?? "");
      return style === undefined ? text : styled(style, text, stream);
    });
    return cells.join(GAP).trimEnd();
  };
  return [styled("dim", heading.join(GAP).trimEnd(), stream), ...padded.map(line)];
}

/** The same without any style, the heading first. */
export function plainTableLines(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  widthMax: number,
): string[] {
  return paddedCells(columns, rows, widthMax).map((cells) => cells.join(GAP).trimEnd());
}

/** The heading and every row, each cell as wide as its column. */
function paddedCells(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  widthMax: number,
): string[][] {
  const headings = columns.map(({ heading }) => heading);
  const natural = columns.map((_, index) =>
    [headings, ...rows].reduce(
      (widest, row) => Math.max(widest, displayWidth(row[index] ?? "")),
      0,
    ),
  );
  const widths = fittedWidths(columns, natural, widthMax);
  return [headings, ...rows].map((cells) =>
    cells.map((cell, index) => {
      const width = widths[index] ?? 0;
      return pad(cutInTheMiddle(cell, width), width, columns[index]?.alignment ?? "left");
    }),
  );
}

/** The width of a terminal; anything else is unlimited. */
export function widthOf(stream: NodeJS.WriteStream): number {
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

/** A cell in a column of that width, which it does not exceed. */
export function pad(cell: string, width: number, alignment: Alignment): string {
  const blanks = " ".repeat(width - displayWidth(cell));
  return alignment === "right" ? blanks + cell : cell + blanks;
}
