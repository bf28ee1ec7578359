/**
 * Forms of text that only the command line writes: lines without secrets, documents for programs.
 * Like every text that is shown, they must not contain a character that controls a terminal. Pure.
 */
import { escapeUnseen } from "../../src/text/index.js";

/** The user and password of a URL, and its whole query, since any part of it may be secret. */
const CREDENTIALS = /(:\/\/)[^\s/"']*@|(:\/\/[^\s?"']*\?)[^\s"',]+/g;

/** The access tokens that `holdfast access` makes, whole or nearly so. */
const ACCESS_TOKENS = /hf_[A-Za-z0-9_-]{40,}/g;

/** Replaces by `…` access tokens, and what a URL should not contain and may be secret. */
export function withoutCredentials(text: string): string {
  return text
    .replace(ACCESS_TOKENS, "hf_…")
    .replace(CREDENTIALS, (_, beforeUser?: string, beforeQuery?: string) => {
      return beforeUser === undefined ? `${beforeQuery}…` : `${beforeUser}…@`;
    });
}

/**
 * One line of JSON with the same meaning as `JSON.stringify`, in which such characters are escaped
 * too: JSON itself requires that only below U+0020, but other characters control a terminal as
 * well.
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

/**
 * A text of the DOT language: such characters, except line feeds, become entities, which DOT knows.
 */
export function dotText(text: string): string {
  return escapeUnseen(text, (character) =>
    character === "\n" ? character : `&#${character.codePointAt(0)};`,
  );
}
