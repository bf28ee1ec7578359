/**
 * Sentences that contain other people's text: names of clients, identities, keys. Such text stays
 * apart from ours until it is drawn: a terminal escapes it, a page also isolates it. Pure.
 */
import { keyText, printable } from "../text/index.js";

/** Our own words, a key, or any other text of a client or node. */
export type PhrasePart = string | { readonly key: string } | { readonly other: string };
export type Phrase = readonly PhrasePart[];
/** What a cell says; a bare string is our own words. */
export type Shown = string | Phrase;

/** What a cell says that has nothing to say. */
export const NOTHING = "-";

/** As plain text that is safe to show. */
export function phraseText(shown: Shown): string {
  return typeof shown === "string" ? shown : shown.map(partText).join("");
}

function partText(part: PhrasePart): string {
  if (typeof part === "string") return part;
  return "key" in part ? keyText(part.key) : printable(part.other);
}

/** Other people's text; "-" if there is none. */
export function otherOr(text: string): Shown {
  return text === "" ? NOTHING : [{ other: text }];
}

/** "a", "a and b", "a, b and c". */
export function listPhrase(items: readonly Phrase[]): Phrase {
  return items.flatMap((item, index) => {
    if (index === 0) return item;
    return [index === items.length - 1 ? " and " : ", ", ...item];
  });
}

/** Remarks in one cell: "a, b". */
export function remarksPhrase(items: readonly Phrase[]): Phrase {
  return items.flatMap((item, index) => (index === 0 ? item : [", ", ...item]));
}

/** A clause as a sentence. */
export function sentence([first = "", ...rest]: Phrase): Phrase {
  if (typeof first !== "string") return [first, ...rest, "."];
  return [first.slice(0, 1).toUpperCase() + first.slice(1), ...rest, "."];
}

/** "1 request", "1,200 requests". */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${numberText(count)} ${count === 1 ? one : many}`;
}

/** A count, which people compare by its size. Indexes and tokens, which they copy, have no commas. */
export function numberText(count: number): string {
  return count.toLocaleString("en");
}
