/** Patterns of Redis. */
import { expect, test } from "vitest";
import { Glob } from "../../../src/doors/redis/glob.js";

test.each([
  ["*", "", true],
  ["*", "abc", true],
  ["a*c", "abbc", true],
  ["a*c", "abbd", false],
  ["a?c", "abc", true],
  ["a?c", "ac", false],
  ["h[ae]llo", "hallo", true],
  ["h[^e]llo", "hello", false],
  ["h[a-c]llo", "hbllo", true],
  ["h[c-a]llo", "hbllo", true],
  ["a\\*c", "a*c", true],
  ["a\\*c", "abc", false],
  ["[", "[", true],
  ["**a**", "bab", true],
  ["", "", true],
  ["", "a", false],
])("%j and %j: %j", (pattern, text, matches) => {
  expect(new Glob(pattern).matches(text)).toBe(matches);
});

test("no pattern is slow", () => {
  const pattern = new Glob("*a".repeat(500));
  expect(pattern.matches(`${"a".repeat(499)}${"b".repeat(500)}`)).toBe(false);
});
