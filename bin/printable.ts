/**
 * Names, values and reasons are other people's text. Nothing in them may reach a terminal as
 * anything but visible characters: no escape sequence, no C1 control, no mark that turns the
 * direction of writing. Pure.
 */

/** The user and password of a URL; of its query as much as may be a secret: all of it. */
const CREDENTIALS = /(:\/\/)[^\s/"']*@|(:\/\/[^\s?"']*\?)[^\s"',]+/g;

/** With what a URL should not have, and may be secret, as `…`. */
export function withoutCredentials(text: string): string {
  return text.replace(CREDENTIALS, (_, beforeUser?: string, beforeQuery?: string) => {
    return beforeUser === undefined ? `${beforeQuery}…` : `${beforeUser}…@`;
  });
}

/** Control characters, invisible format characters, and what else breaks a line. */
const UNSEEN = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** With every such character as `\u{…}`. */
export function printable(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u{${codeOf(character).toString(16)}}`);
}

/**
 * One line of JSON that says the same as `JSON.stringify`, in which such characters are escaped too:
 * JSON itself asks that only of those below U+0020, and a terminal obeys others as well.
 */
export function jsonLine(document: unknown): string {
  return JSON.stringify(document).replace(UNSEEN, (character) =>
    [...Array(character.length).keys()]
      .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** A text of the DOT language, with such characters but line feeds as entities, which it knows. */
export function dotText(text: string): string {
  return text.replace(UNSEEN, (character) =>
    character === "\n" ? character : `&#${codeOf(character)};`,
  );
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}
