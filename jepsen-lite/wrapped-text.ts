/** Text for a terminal of the usual width, whatever it is written to. */
export const COLUMNS = 80;

/**
 * Breaks a text between words so that no line is longer than `COLUMNS`; further lines begin with as
 * many blanks as `indent` says. A word that is longer than a line stays whole, to be copied.
 */
export function wrapped(text: string, indent: number): string {
  const lines: string[] = [];
  const lead = /^ */.exec(text)?.[0] ?? "";
  let line = "";
  for (const word of text.trim().split(/ +/)) {
    const start = lines.length === 0 ? lead : " ".repeat(indent);
    if (line === "") line = start + word;
    else if (line.length + 1 + word.length <= COLUMNS) line += ` ${word}`;
    else {
      lines.push(line);
      line = " ".repeat(indent) + word;
    }
  }
  return [...lines, line].join("\n");
}

/** What belongs under a name: the name takes `width` columns, the text the rest. */
export function named(name: string, text: string, width: number): string {
  const label = name.padEnd(width);
  const rest = wrapped(`${" ".repeat(label.length)}${text}`, label.length);
  return label + rest.slice(label.length);
}
