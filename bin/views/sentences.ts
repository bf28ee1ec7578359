/** Sentences of `src/views` on standard output: on a terminal broken between words. */
import { type Phrase, phraseText } from "../../src/views/index.js";
import { widthOf } from "../output/text-table.js";
import { wrapped } from "../text/wrapped.js";

export function sentenceLines(phrases: readonly Phrase[], indent = ""): string[] {
  const width = widthOf(process.stdout);
  return phrases.flatMap((phrase) => wrapped(indent + phraseText(phrase), width));
}
