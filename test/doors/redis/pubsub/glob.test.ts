/** Patterns of Redis. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Glob } from "../../../../src/doors/redis/pubsub/glob.js";

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
  const long = new Glob(`*${"a".repeat(1_000)}b`);
  expect(long.matches("a".repeat(400_000))).toBe(false);
  expect(long.matches(`${"a".repeat(400_000)}b`)).toBe(true);
});

test("patterns of any length match as a naive reader of them does", () => {
  const character = fc.constantFrom(..."ab[]^-\\?c");
  const part = fc.oneof(
    character,
    fc.constantFrom("*", "**", "?", "[ab]", "[^a]", "[a-c]", "\\*", "a".repeat(31), "b".repeat(33)),
  );
  const pattern = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(""));
  const run = fc.tuple(fc.constantFrom(..."abc^-"), fc.constantFrom(1, 1, 1, 30, 31, 32, 33, 64));
  const text = fc
    .array(run, { maxLength: 8 })
    .map((runs) => runs.map(([one, count]) => one.repeat(count)).join(""));
  fc.assert(
    fc.property(pattern, text, (shown, subject) => {
      expect(new Glob(shown).matches(subject)).toBe(naive(shown, subject));
    }),
    { numRuns: 2_000 },
  );
});

/** By a regular expression of the engine. */
function naive(pattern: string, text: string): boolean {
  const literal = (one: string): string => one.replace(/[\\\][^$.*+?(){}|\-/]/g, "\\$&");
  let source = "";
  for (let at = 0; at < pattern.length; at++) {
    const one = pattern[at] as string;
    const close = one === "[" ? pattern.indexOf("]", at + 1) : -1;
    if (one === "*") source = source.endsWith(".*") ? source : `${source}.*`;
    else if (one === "?") source += ".";
    else if (close > at + 1) {
      source += classOf(pattern.slice(at + 1, close), literal);
      at = close;
    } else {
      if (one === "\\" && at + 1 < pattern.length) at += 1;
      source += literal(pattern[at] as string);
    }
  }
  return new RegExp(`^(?:${source})$`, "s").test(text);
}

function classOf(members: string, literal: (one: string) => string): string {
  const isNegated = members.startsWith("^");
  const rest = isNegated ? members.slice(1) : members;
  let listed = "";
  for (let at = 0; at < rest.length; at++) {
    const [first, dash, last] = [...rest.slice(at, at + 3)] as [string, string?, string?];
    if (dash !== "-" || last === undefined) {
      listed += literal(first);
      continue;
    }
    const [low, high] = first <= last ? [first, last] : [last, first];
    listed += `${literal(low)}-${literal(high)}`;
    at += 2;
  }
  if (listed === "") return isNegated ? "." : "(?!)";
  return `[${isNegated ? "^" : ""}${listed}]`;
}
