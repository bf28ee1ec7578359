/** Words and lines of a shell, for people to copy. Pure. */

const PLAIN = /^[\w@%+=:,./-]+$/;

export function shellWord(text: string): string {
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * Sets a variable in the environment. A list whose line would be longer than `columns` gets a line for
 * each element, since a shell cannot continue an indented word on another line.
 */
export function exportLines(name: string, value: string, columns: number): string[] {
  const whole = `export ${name}=${shellWord(value)}`;
  if (whole.length <= columns) return [whole];
  const [first = "", ...rest] = value.split(",");
  return [
    `export ${name}=${shellWord(first)}`,
    ...rest.map((part) => `export ${name}=$${name},${shellWord(part)}`),
  ];
}
