/**
 * Lines over time as SVG, for values of the last quarter of an hour. What the lines show is also
 * said in a sentence below them, and stands in a table that opens; each line has a pattern of its
 * own. A moment without a value is a gap.
 */
import { DataTable } from "./data-table.js";
import { timeText } from "./time.js";

export interface Series {
  readonly name: string;
  /** One for each time; `null`: there is none. */
  readonly values: readonly (number | null)[];
}

export interface ChartProps {
  readonly title: string;
  /** After each value, such as "ms". */
  readonly unit: string;
  /** Wall times in milliseconds, rising. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
}

const WIDTH = 600;
const HEIGHT = 120;
/** Rows of the table: one a minute is enough to read. */
const ROW_MS = 60_000;

export function Chart({ title, unit, times, series }: ChartProps) {
  const highest = Math.max(...series.flatMap(({ values }) => values.map((value) => value ?? 0)), 0);
  const top = niceTop(highest);
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        <ul class="legend">
          {series.map(({ name }, at) => (
            <li key={name}>
              <svg viewBox="0 0 24 6" width="24" height="6" aria-hidden="true" focusable="false">
                <path class={`line line-${at}`} d="M0 3H24" />
              </svg>
              {name}
            </li>
          ))}
        </ul>
      </figcaption>
      <div class="plot">
        <span class="top number" aria-hidden="true">
          {valueText(top, unit)}
        </span>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          aria-hidden="true"
          focusable="false"
        >
          <path
            class="grid"
            d={`M0 1H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT - 1}H${WIDTH}`}
          />
          {series.map(({ name, values }, at) => (
            <path key={name} class={`line line-${at}`} d={pathOf(times, values, top)} />
          ))}
        </svg>
      </div>
      <p class="summary">{summaryOf(series, unit)}</p>
      <details>
        <summary>{title} as a table</summary>
        <DataTable
          caption={`${title}, minute by minute`}
          isCaptionHidden
          columns={[
            {
              id: "time",
              title: "Until",
              isRowHeader: true,
              cell: (at) => timeText(times[at] ?? 0),
            },
            ...series.map(({ name, values }) => ({
              id: name,
              title: name,
              isNumeric: true,
              cell: (at: number) => valueText(values[at] ?? null, unit),
            })),
          ]}
          rows={rowsOf(times)}
          rowKey={(at) => times[at] ?? at}
          empty="There are no values yet."
        />
      </details>
    </figure>
  );
}

/** 1, 2 or 5 times a power of ten, not below the value. */
function niceTop(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 5, 10].find((one) => one * power >= value) ?? 10;
  return factor * power;
}

function valueText(value: number | null, unit: string): string {
  if (value === null) return "–";
  const shown = value >= 10 ? Math.round(value) : Math.round(value * 10) / 10;
  return `${shown.toLocaleString()} ${unit}`.trimEnd();
}

function pathOf(times: readonly number[], values: readonly (number | null)[], top: number): string {
  const [first = 0] = times;
  const span = Math.max((times.at(-1) ?? 0) - first, 1);
  let path = "";
  let isDown = false;
  for (const [at, value] of values.entries()) {
    if (value === null) {
      isDown = false;
      continue;
    }
    const x = (((times[at] ?? 0) - first) / span) * WIDTH;
    const y = HEIGHT - 2 - (value / top) * (HEIGHT - 4);
    path += `${isDown ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    // A value with gaps on both sides is a dot.
    if (!isDown && (values[at + 1] ?? null) === null) path += "h1";
    isDown = true;
  }
  return path;
}

/** The newest value of each minute, newest first. */
function rowsOf(times: readonly number[]): number[] {
  const rows: number[] = [];
  let nextMs = Number.POSITIVE_INFINITY;
  for (let at = times.length - 1; at >= 0; at -= 1) {
    const timeMs = times[at] ?? 0;
    if (timeMs > nextMs) continue;
    rows.push(at);
    nextMs = timeMs - ROW_MS;
  }
  return rows;
}

function summaryOf(series: readonly Series[], unit: string): string {
  const parts = series.map(({ name, values }) => {
    const known = values.filter((value) => value !== null);
    if (known.length === 0) return `${name}: no values yet`;
    const now = values.findLast((value) => value !== null) ?? null;
    return `${name}: now ${valueText(now, unit)}, at most ${valueText(Math.max(...known), unit)}`;
  });
  return `${parts.join("; ")}.`;
}
