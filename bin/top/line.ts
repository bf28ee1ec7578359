/**
 * Lines of a screen: pieces of text with a style, cut to a width in columns. All text in them must be
 * safe to show already. Pure.
 */
import type { Style } from "../output/terminal.js";
import { pad } from "../output/text-table.js";
import { cutAtTheEnd, cutInTheMiddle, displayWidth } from "../text/display-width.js";

export interface Piece {
  readonly text: string;
  readonly style?: Style | undefined;
}

export type Line = readonly Piece[];

export function plain(text: string, style?: Style): Line {
  return [{ text, style }];
}

/** The line, or its beginning, never wider than `columns`. */
export function fitted(line: Line, columns: number): Line {
  const pieces: Piece[] = [];
  let left = columns;
  for (const { text, style } of line) {
    if (left <= 0) break;
    const cut = cutAtTheEnd(text, left);
    pieces.push({ text: cut, style });
    left -= displayWidth(cut);
    if (cut.length < text.length) break;
  }
  return pieces;
}

/** Two texts at the two edges; the one at the left gives way. */
export function edges(left: Line, right: string, columns: number): Line {
  const room = columns - displayWidth(right) - 2;
  if (room < 8) return fitted(left, columns);
  const shown = fitted(left, room);
  const width = shown.reduce((sum, { text }) => sum + displayWidth(text), 0);
  return [...shown, { text: " ".repeat(columns - displayWidth(right) - width) }, plainPiece(right)];
}

function plainPiece(text: string): Piece {
  return { text, style: "dim" };
}

export interface FixedColumn {
  readonly heading: string;
  /** In columns of the terminal; a share of what the others leave, if it is `{ share }`. */
  readonly width: number | { readonly share: number };
  readonly alignment?: "left" | "right";
}

const GAP = "  ";

/**
 * The cells of rows, in columns whose widths depend on the screen and not on what is in the rows:
 * a table that is drawn again every second must not jump.
 */
export function fixedCells(
  columns: readonly FixedColumn[],
  cells: readonly string[],
  widthMax: number,
): string {
  const widths = widthsOf(columns, widthMax);
  const texts = columns.map(({ alignment }, index) => {
    const width = widths[index] ?? 0;
    return width < 1
      ? ""
      : pad(cutInTheMiddle(cells[index] ?? "", width), width, alignment ?? "left");
  });
  return texts.join(GAP);
}

function widthsOf(columns: readonly FixedColumn[], widthMax: number): number[] {
  const gaps = GAP.length * (columns.length - 1);
  const fixed = columns.map(({ width }) => (typeof width === "number" ? width : 0));
  const shares = columns.map(({ width }) => (typeof width === "number" ? 0 : width.share));
  const total = shares.reduce((sum, share) => sum + share, 0);
  const room = Math.max(0, widthMax - gaps - fixed.reduce((sum, width) => sum + width, 0));
  let left = room;
  const widths = columns.map((_, index) => {
    const share = shares[index] ?? 0;
    if (share === 0) return fixed[index] ?? 0;
    const width = Math.floor((room * share) / total);
    left -= width;
    return width;
  });
  // What rounding left goes to the first column that shares.
  const first = shares.findIndex((share) => share > 0);
  return widths.map((width, index) => (index === first ? width + left : width));
}
