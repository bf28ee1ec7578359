/**
 * Makes text of unknown origin safe to show. In a terminal or a log all of it must be visible
 * characters (no escape sequence, no C1 control, no mark that changes the direction of writing),
 * and different keys must never look alike. Do not use this for text that programs read: JSON and
 * the protocol carry every text exactly.
 *
 * Pure, and for browsers too: net, server, client, views and bin import it.
 */

/**
 * Controls, invisible format characters, line separators, lone surrogates, and letters and marks
 * without a shape of their own.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** `text` with every character replaced by `toEscape` that could be obeyed or overlooked. */
export function escapeUnseen(text: string, toEscape: (character: string) => string): string {
  return text.replace(UNSEEN, toEscape);
}

/** One line of visible characters; all others are written as `\u{…}`. */
export function printable(text: string): string {
  return escapeUnseen(text, escaped);
}

/**
 * ASCII without a blank at an edge or next to another one, and without text that looks like an
 * escape.
 */
const PLAIN = /^(?!.*(?:^ | $| {2}|\\u\{))[ -~]*$/;

/** The characters of keys in human writing: letters with their marks, digits, pictures. */
const WRITING =
  /^(?!\p{Script=Inherited}|\p{Default_Ignorable_Code_Point})[\p{L}\p{M}\p{Nd}\p{Extended_Pictographic}]$/u;

/** Decomposed by NFKC, although the parts are never written separately: Thai and Lao "am". */
const WHOLE_AM = /[\u0e33\u0eb3]/;

/**
 * Alphabets with letters that look alike. Chinese, Japanese and Korean ones resemble none of them.
 */
const ALPHABETS = [
  /\p{Script=Latin}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Cyrillic}/u,
  /(?![\p{ASCII}\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}])(?![\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}])[\p{L}\p{Nd}]/u,
] as const;

/**
 * A key as shown to people, so that different keys look different. The following are written as
 * `\u{…}`: blanks at the edges and next to others; every character that is neither ASCII nor a
 * letter, a digit or a picture, or that is only a form of another character; and, in a key that
 * mixes alphabets or has separate accents, every character that is not ASCII.
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

/** A key in quotes, for a sentence that people read. */
export function quotedKey(key: string): string {
  return inQuotes(keyText(key));
}

/** Any other text in quotes, for such a sentence. */
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

/** What a node says in an answer that is a problem (RFC 9457); the first line of any other answer. */
export function sentenceIn(text: string): string {
  const [line = ""] = text.split("\n");
  try {
    const { detail } = JSON.parse(line) as { readonly detail?: unknown };
    return typeof detail === "string" ? detail : line;
  } catch {
    return line;
  }
}
