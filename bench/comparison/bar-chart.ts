/**
 * Draws groups of bars as a self-contained SVG image: no script, no font of its own, no assumed
 * window size, colours that can be told apart on light and dark backgrounds. The scale is
 * logarithmic, because systems differ by factors of a hundred.
 */
export interface BarGroup {
  readonly title: string;
  readonly bars: readonly Bar[];
}

export interface Bar {
  readonly name: string;
  /** More than 0, or the bar is left empty. */
  readonly value: number;
  /** The text after the bar. */
  readonly text: string;
  readonly isOwn: boolean;
}

const WIDTH = 860;
const NAMES_WIDTH = 170;
const MARGIN = 8;
const TEXTS_WIDTH = 190;
const BARS_WIDTH = WIDTH - NAMES_WIDTH - TEXTS_WIDTH;
const BAR_HEIGHT = 18;
const BAR_STEP = 24;
const TITLE_HEIGHT = 60;
const HEAD_HEIGHT = 56;
const FOOT_HEIGHT = 20;
const OWN_COLOUR = "#2f6fde";
const OTHER_COLOUR = "#8b95a5";
const TEXT_COLOUR = "#6b7280";

export function barChart(title: string, note: string, groups: readonly BarGroup[]): string {
  const values = groups.flatMap(({ bars }) => bars.map(({ value }) => value)).filter((v) => v > 0);
  const scale = scaleOf(values);
  let y = HEAD_HEIGHT;
  const parts: string[] = [];
  for (const group of groups) {
    parts.push(...gridLines(scale, y + TITLE_HEIGHT, group.bars.length * BAR_STEP));
    parts.push(textAt(MARGIN, y + TITLE_HEIGHT - 30, group.title, 'class="group"'));
    y += TITLE_HEIGHT;
    for (const bar of group.bars) {
      parts.push(...barParts(bar, scale, y));
      y += BAR_STEP;
    }
  }
  const height = y + FOOT_HEIGHT;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img"`,
    `  aria-label="${escaped(title)}" font-family="system-ui, sans-serif" font-size="13">`,
    `<style>text{fill:${TEXT_COLOUR}} .head{font-size:18px} .group{font-weight:600}</style>`,
    textAt(MARGIN, 20, title, 'class="head"'),
    textAt(MARGIN, 40, note),
    ...parts,
    "</svg>",
  ].join("\n")}\n`;
}

interface Scale {
  /** Powers of ten at both ends. */
  readonly low: number;
  readonly high: number;
}

function scaleOf(values: readonly number[]): Scale {
  if (values.length === 0) return { low: 0, high: 1 };
  const low = Math.floor(Math.log10(Math.min(...values)));
  return { low, high: Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values)))) };
}

function lengthOf(value: number, { low, high }: Scale): number {
  return value > 0 ? ((Math.log10(value) - low) / (high - low)) * BARS_WIDTH : 0;
}

function gridLines(scale: Scale, top: number, height: number): string[] {
  const lines: string[] = [];
  for (let power = scale.low; power <= scale.high; power += 1) {
    const x = NAMES_WIDTH + lengthOf(10 ** power, scale);
    const label = (10 ** power).toLocaleString("en-US");
    lines.push(
      `<line x1="${x.toFixed(1)}" y1="${top - 4}" x2="${x.toFixed(1)}" y2="${top + height}" ` +
        `stroke="${TEXT_COLOUR}" stroke-opacity="0.25"/>`,
      textAt(x, top - 8, label, 'text-anchor="middle" font-size="11"'),
    );
  }
  return lines;
}

function barParts({ name, value, text, isOwn }: Bar, scale: Scale, y: number): string[] {
  const length = Math.max(1, lengthOf(value, scale));
  const baseline = y + BAR_HEIGHT - 5;
  const weight = isOwn ? ' font-weight="600"' : "";
  return [
    textAt(NAMES_WIDTH - 10, baseline, name, `text-anchor="end"${weight}`),
    `<rect x="${NAMES_WIDTH}" y="${y}" width="${length.toFixed(1)}" height="${BAR_HEIGHT}" ` +
      `rx="2" fill="${isOwn ? OWN_COLOUR : OTHER_COLOUR}"/>`,
    textAt(NAMES_WIDTH + length + 8, baseline, text),
  ];
}

function textAt(x: number, y: number, text: string, attributes = ""): string {
  const space = attributes === "" ? "" : " ";
  return `<text x="${x.toFixed(1)}" y="${y}"${space}${attributes}>${escaped(text)}</text>`;
}

function escaped(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    "&": "amp",
    "<": "lt",
    ">": "gt",
    '"': "quot",
  };
  return text.replace(/[&<>"]/g, (character) => `&${entities[character]};`);
}
