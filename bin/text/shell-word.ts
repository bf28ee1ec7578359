/** A text as one word of a shell command, for lines that people copy. Pure. */

const PLAIN = /^[\w@%+=:,./-]+$/;

export function shellWord(text: string): string {
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
