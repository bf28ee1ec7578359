/** One change of a lock, as `holdfast watch` reports it. Pure. */
import type { ChangeView } from "../protocol/index.js";
import { endText } from "./history.js";
import type { Phrase } from "./phrase.js";
import { whoPhrase } from "./who.js";

/** A change, with the name of its reason; a later version may know others. */
export interface SeenChange extends Omit<ChangeView, "reason"> {
  readonly reason: string;
}

/** The longest name of a change. */
const TYPE_WIDTH = "converted".length;

/** Its words in their order: what, in which key and mode, whose, and what else there is to say. */
export function changePhrases(change: SeenChange): readonly Phrase[] {
  const { type, key, mode, token, reason, value } = change;
  const words: Phrase[] = [[type.padEnd(TYPE_WIDTH)], [{ key }], [mode], whoPhrase(change)];
  if (token !== 0) words.push([`token ${token}`]);
  if (type === "ended") words.push([`(${endText(reason)})`]);
  if (value !== "") words.push(['value "', { other: value }, '"']);
  return words;
}
