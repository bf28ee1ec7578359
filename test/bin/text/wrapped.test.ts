/** Lines of a text that is wider than where it is shown. */
import { expect, test } from "vitest";
import { wrapped } from "../../../bin/text/wrapped.js";

test("a text is broken between words, and a word that is too long within", () => {
  expect(wrapped("  one two three", 9)).toEqual(["  one two", "three"]);
  expect(wrapped("abcdefgh", 3)).toEqual(["abc", "def", "gh"]);
  expect(wrapped("one two", Number.POSITIVE_INFINITY)).toEqual(["one two"]);
});
