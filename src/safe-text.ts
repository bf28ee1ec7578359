/**
 * Other people's text, made safe to show: nothing in it may reach a terminal or a log as anything but
 * visible characters (no escape sequence, no C1 control, no mark that turns the direction of
 * writing), and different keys must never look alike. What programs read is not for this file: JSON
 * and the protocol carry every text exactly.
 *
 * Pure, and for browsers too: net, client and bin import it.
 */

/**
 * Controls, invisible format characters, what breaks a line, halves of surrogate pairs, and letters
 * and marks without a shape of their own.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** `text` in which `toEscape` replaced every character that could be obeyed or overlooked. */
export function escapeUnseen(text: string, toEscape: (character: string) => string): string {
  return text.replace(UNSEEN, toEscape);
}

/** One line of visible characters; the others are written as `\u{…}`. */
export function printable(text: string): string {
  return escapeUnseen(text, escaped);
}

/** ASCII without a blank at an edge or beside another, and without what looks like an escape. */
const PLAIN = /^(?!.*(?:^ | $| {2}|\\u\{))[ -~]*$/;

/** Letters with their marks, digits, pictures: whatever a key of people's own writing is made of. */
const WRITING =
  /^(?!\p{Script=Inherited}|\p{Default_Ignorable_Code_Point})[\p{L}\p{M}\p{Nd}\p{Extended_Pictographic}]$/u;

/** Decomposed by NFKC although nobody writes the parts: Thai and Lao "am". */
const WHOLE_AM = /[\u0e33\u0eb3]/;

/** What looks like letters of another of these. Chinese, Japanese and Korean look like none. */
const ALPHABETS = [
  /\p{Script=Latin}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Cyrillic}/u,
  /(?![\p{ASCII}\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}])(?![\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}])[\p{L}\p{Nd}]/u,
] as const;

/**
 * A key as people are shown it, so that different keys look different. Written as `\u{…}` are
 * blanks at the edges and beside others; whatever is neither ASCII nor a letter, a digit or a
 * picture, or is only a form of another character; and in a key that mixes alphabets, or has accents
 * of their own, everything that is not ASCII.
 */
export function keyText(key: string): string {
  if (PLAIN.test(key)) return key;
  const isMixed = ALPHABETS.filter((alphabet) => alphabet.test(key)).length > 1;
  const showsWriting = !isMixed && key.normalize("NFC") === key;
  let text = "";
  let at = 0;
  for (const character of key) {
    const isShown =
      character === " "
        ? at > 0 && key[at - 1] !== " " && at < key.length - 1
        : character >= "!" && character <= "~"
          ? !key.startsWith("\\u{", at)
          : showsWriting && isWriting(character);
    text += isShown ? character : escaped(character);
    at += character.length;
  }
  return text;
}

/** A key within a sentence, for people. */
export function quotedKey(key: string): string {
  return inQuotes(keyText(key));
}

/** Any other text within a sentence. */
export function quoted(text: string): string {
  return inQuotes(printable(text));
}

function inQuotes(text: string): string {
  return `"${text.replaceAll('"', '\\"')}"`;
}

function isWriting(character: string): boolean {
  if (!WRITING.test(character)) return false;
  return character.normalize("NFKC") === character || WHOLE_AM.test(character);
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
