/**
 * Forms of text that only the command line writes: lines without secrets, documents for programs.
 * Like every text that is shown, they must not hold a character that a terminal obeys. Pure.
 */
import { escapeUnseen } from "../../src/safe-text.js";

/** The user and password of a URL; of its query as much as may be a secret: all of it. */
const CREDENTIALS = /(:\/\/)[^\s/"']*@|(:\/\/[^\s?"']*\?)[^\s"',]+/g;

/** With what a URL should not have, and may be secret, as `…`. */
export function withoutCredentials(text: string): string {
  return text.replace(CREDENTIALS, (_, beforeUser?: string, beforeQuery?: string) => {
    return beforeUser === undefined ? `${beforeQuery}…` : `${beforeUser}…@`;
  });
}

/**
 * One line of JSON that says the same as `JSON.stringify`, in which such characters are escaped too:
 * JSON itself asks that only of those below U+0020, and a terminal obeys others as well.
 */
export function jsonLine(
  document: unknown,
  replacer?: (name: string, value: unknown) => unknown,
): string {
  return escapeUnseen(JSON.stringify(document, replacer), (character) =>
    [...Array(character.length).keys()]
      .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** A text of the DOT language, with such characters but line feeds as entities, which it knows. */
export function dotText(text: string): string {
  return escapeUnseen(text, (character) =>
    character === "\n" ? character : `&#${character.codePointAt(0)};`,
  );
}
