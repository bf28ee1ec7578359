/**
 * The wait-for graph as SVG. Boxes are tasks; an arrow leads to what a task waits for, dashed if that
 * one only waits ahead. What it says stands in the table next to it, so it is one picture with one
 * name to those who hear the page.
 */
import { useId } from "preact/hooks";
import { keyText } from "../../../src/text/index.js";
import { phraseText, whoPhrase } from "../../../src/views/index.js";
import type { DrawnEdge, GraphLayout, PlacedTask } from "./graph-layout.js";

const BOX_WIDTH = 170;
const BOX_HEIGHT = 44;
const COLUMN_WIDTH = 300;
const ROW_HEIGHT = 72;
const MARGIN = 16;
/** Characters that fit into a box and onto an arrow. */
const NAME_MAX = 21;
const LABEL_MAX = 16;

export interface GraphDrawingProps {
  readonly layout: GraphLayout;
  readonly title?: string | undefined;
}

export function GraphDrawing({ layout, title = "Who waits for whom" }: GraphDrawingProps) {
  const id = useId();
  const width = (layout.columns - 1) * COLUMN_WIDTH + BOX_WIDTH + 2 * MARGIN;
  const height = (layout.rows - 1) * ROW_HEIGHT + BOX_HEIGHT + 2 * MARGIN + ROW_HEIGHT / 2;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it, no key scrolls a wide drawing
    <section class="drawing" aria-label={`${title}, as a picture`} tabIndex={0}>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        width={width}
        height={height}
        role="img"
        aria-label={`${title}, drawn; the table next to it says the same`}
      >
        <defs>
          <marker
            id={`${id}-arrow`}
            viewBox="0 0 10 10"
            refX="9"
            refY="5"
            markerWidth="8"
            markerHeight="8"
            orient="auto-start-reverse"
          >
            <path class="arrow-head" d="M0 0l10 5-10 5z" />
          </marker>
        </defs>
        {layout.edges.map((edge) => (
          <Arrow key={`${edge.from.task.id} ${edge.to.task.id}`} edge={edge} marker={id} />
        ))}
        {layout.tasks.map((placed) => (
          <Box key={placed.task.id} placed={placed} />
        ))}
      </svg>
    </section>
  );
}

function placeOf({ column, row }: PlacedTask): { readonly x: number; readonly y: number } {
  return { x: MARGIN + column * COLUMN_WIDTH, y: MARGIN + row * ROW_HEIGHT };
}

function Box({ placed }: { readonly placed: PlacedTask }) {
  const { x, y } = placeOf(placed);
  const name = phraseText(whoPhrase(placed.task));
  return (
    <g class="task">
      <title>{name}</title>
      <rect x={x} y={y} width={BOX_WIDTH} height={BOX_HEIGHT} rx="6" />
      <text x={x + 8} y={y + 18}>
        {shortened(name, NAME_MAX)}
      </text>
      <text class="quiet" x={x + 8} y={y + 35}>
        {`session ${placed.task.session}, task ${placed.task.task}`}
      </text>
    </g>
  );
}

interface ArrowProps {
  readonly edge: DrawnEdge;
  readonly marker: string;
}

function Arrow({ edge: { from, to, edges }, marker }: ArrowProps) {
  const [start, end] = [placeOf(from), placeOf(to)];
  const isForward = to.column > from.column;
  const [x1, y1] = [
    start.x + (isForward ? BOX_WIDTH : BOX_WIDTH / 2),
    start.y + (isForward ? BOX_HEIGHT / 2 : BOX_HEIGHT),
  ];
  const [x2, y2] = [
    end.x + (isForward ? 0 : BOX_WIDTH / 2),
    end.y + (isForward ? BOX_HEIGHT / 2 : BOX_HEIGHT),
  ];
  const middle = (x1 + x2) / 2;
  const below = Math.max(y1, y2) + ROW_HEIGHT / 2;
  const path = isForward
    ? `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`
    : `M${x1} ${y1}C${x1} ${below} ${x2} ${below} ${x2} ${y2}`;
  const names = edges.map(({ key }) => keyText(key));
  const isDashed = edges.every(({ why }) => why === "ahead");
  const label = shortened(names[0] ?? "", LABEL_MAX);
  const more = names.length > 1 ? ` +${names.length - 1}` : "";
  return (
    <g class={isDashed ? "arrow arrow-ahead" : "arrow"}>
      <title>{names.join(", ")}</title>
      <path d={path} marker-end={`url(#${marker}-arrow)`} />
      <text
        x={isForward ? x1 + 8 : middle}
        y={isForward ? y1 + (y2 > y1 ? 16 : -6) : below - ROW_HEIGHT / 8}
        text-anchor={isForward ? "start" : "middle"}
      >
        {label + more}
      </text>
    </g>
  );
}

/** Whole characters, and a mark where some are left out. */
function shortened(text: string, max: number): string {
  const characters = [...text];
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join("")}…`;
}
