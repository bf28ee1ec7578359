/** How sessions and requests are written on the command line, and how such names are parsed. */
import { printable } from "../../src/safe-text.js";

/** A session by its name, or by its number if it has none. */
export function sessionText(name: string, session: number): string {
  if (name !== "") return printable(name);
  return session === 0 ? "none" : `session ${session}`;
}

/** Two whole numbers with a slash between them, as in requests and revisions; or `undefined`. */
export function parseNumberPair(text: string): readonly [number, number] | undefined {
  const match = /^(\d{1,15})\/(\d{1,15})$/.exec(text);
  return match === null ? undefined : [Number(match[1]), Number(match[2])];
}
