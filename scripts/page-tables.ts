/** Makes tables of a page again. Each stands between two comments; the rest is written by hand. */

/** The page with these tables, which are named in its comments. */
export function withTables(page: string, tables: Readonly<Record<string, () => string>>): string {
  let result = page;
  for (const [name, table] of Object.entries(tables)) {
    const begin = `<!-- ${name}: made from the code by \`npm run docs:protocol\` -->\n\n`;
    const end = `\n\n<!-- end of ${name} -->`;
    const [before, rest] = result.split(begin);
    const after = rest?.slice(rest.indexOf(end));
    if (before === undefined || !after?.startsWith(end)) throw new Error(`no place for ${name}`);
    result = before + begin + table() + after;
  }
  return result;
}

export function tableOf(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(heading), `|${"---|".repeat(heading.length)}`, ...rows.map(line)].join("\n");
}

export const grouped = (number: number): string => number.toLocaleString("en-US");
