/** Pairs of numbers as they are typed: requests and revisions. Pure. */

/** Two whole numbers with a slash between them; or `undefined`. */
export function parseNumberPair(text: string): readonly [number, number] | undefined {
  const match = /^(\d{1,15})\/(\d{1,15})$/.exec(text);
  return match === null ? undefined : [Number(match[1]), Number(match[2])];
}
