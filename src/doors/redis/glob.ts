/**
 * A pattern of Redis: `*`, `?`, `[abc]`, `[^a-z]`, and `\` before a character that stands for itself.
 * Matching takes at most the product of both lengths, whatever the pattern is.
 */
type Matcher = (character: string) => boolean;

export class Glob {
  /** `undefined`: any number of characters. */
  readonly #parts: readonly (Matcher | undefined)[];

  constructor(pattern: string) {
    const parts: (Matcher | undefined)[] = [];
    for (let at = 0; at < pattern.length; at++) {
      const character = pattern[at] as string;
      const close = character === "[" ? pattern.indexOf("]", at + 1) : -1;
      if (character === "*") {
        parts.push(undefined);
      } else if (character === "?") {
        parts.push(() => true);
      } else if (close > at + 1) {
        parts.push(oneOf(pattern.slice(at + 1, close)));
        at = close;
      } else {
        if (character === "\\" && at + 1 < pattern.length) at += 1;
        const literal = pattern[at];
        parts.push((found) => found === literal);
      }
    }
    this.#parts = parts;
  }

  matches(text: string): boolean {
    const parts = this.#parts;
    let part = 0;
    let at = 0;
    /** After the last star, and where its text ends so far. */
    let afterStar = -1;
    let starEnd = 0;
    while (at < text.length) {
      const matcher = parts[part];
      if (part < parts.length && matcher === undefined) {
        afterStar = part += 1;
        starEnd = at;
      } else if (matcher?.(text[at] as string) === true) {
        part += 1;
        at += 1;
      } else if (afterStar >= 0) {
        part = afterStar;
        at = starEnd += 1;
      } else {
        return false;
      }
    }
    while (part < parts.length && parts[part] === undefined) part += 1;
    return part === parts.length;
  }
}

function oneOf(members: string): Matcher {
  const isNegated = members.startsWith("^");
  const listed = isNegated ? members.slice(1) : members;
  return (character) => isNegated !== isListed(listed, character);
}

function isListed(listed: string, character: string): boolean {
  for (let at = 0; at < listed.length; at++) {
    const first = listed[at] as string;
    const last = listed[at + 1] === "-" ? listed[at + 2] : undefined;
    if (last === undefined) {
      if (first === character) return true;
    } else {
      const [low, high] = first <= last ? [first, last] : [last, first];
      if (character >= low && character <= high) return true;
      at += 2;
    }
  }
  return false;
}
