/** Text for a terminal of the usual width, whatever it is written to. */
export const COLUMNS = 80;

/**
 * Breaks a text between words so that no line is longer than `COLUMNS`; further lines begin with
 * `indent` blanks. A word that is longer than a line stays whole, so that it can be copied.
 */
export function wrapped(text: string, indent: number): string {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > COLUMNS) {
    const lead = rest.length - rest.trimStart().length;
    const within = rest.lastIndexOf(" ", COLUMNS);
    const at = within > lead ? within : rest.indexOf(" ", COLUMNS);
    if (at === -1) break;
    lines.push(rest.slice(0, at).trimEnd());
    rest = " ".repeat(indent) + rest.slice(at).trimStart();
  }
  return [...lines, rest].join("\n");
}

/** A name in a column of its own, and a text next to it. */
export function named(name: string, text: string, width: number): string {
  const column = name.length < width ? name.padEnd(width) : `${name} `;
  return wrapped(column + text, width);
}
