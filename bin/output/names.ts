/** How sessions, tasks and requests are called on the command line, there and back. */
import { printable } from "../../src/safe-text.js";

/** A session by its name, by its number where it has none. */
export function sessionText(name: string, session: number): string {
  if (name !== "") return printable(name);
  return session === 0 ? "nobody" : `session ${session}`;
}

/** Two whole numbers with a slash between them, as of requests and revisions; or `undefined`. */
export function parseNumberPair(text: string): readonly [number, number] | undefined {
  const match = /^(\d{1,15})\/(\d{1,15})$/.exec(text);
  return match === null ? undefined : [Number(match[1]), Number(match[2])];
}
