/** Other people's text on terminals and in logs: nothing is obeyed, and keys can be told apart. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { keyText, printable, quotedKey } from "../../src/text/safe-text.js";

/** What a terminal may obey, or people overlook. */
const OBEYED = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u;

test("a text shows what a terminal would obey, and everything else as it is", () => {
  expect(printable("a\u001b[2J\u009b31m\u007f\u202e\u{e0001}\u2028z\ud800")).toBe(
    "a\\u{1b}[2J\\u{9b}31m\\u{7f}\\u{202e}\\u{e0001}\\u{2028}z\\u{d800}",
  );
  expect(printable("orders/Grüße/漢字/🔒")).toBe("orders/Grüße/漢字/🔒");
});

describe("a key is shown as it is when it is", () => {
  test.each([
    "orders/1001",
    "a b [c] \\d \"e\" 'f'",
    "Grüße/naïve/Ærø",
    "orders/漢字/かな/カナー/한글",
    "заказы/42",
    "παραγγελία",
    "काम/कतार",
    "งาน/จำนวน",
    "locks/🔒",
  ])("%s", (key) => {
    expect(keyText(key)).toBe(key);
  });
});

describe("keys that look alike are told apart:", () => {
  test.each([
    ["a blank in front", " orders", "\\u{20}orders"],
    ["a blank behind", "orders ", "orders\\u{20}"],
    ["a blank too many", "my  orders", "my \\u{20}orders"],
    ["nothing but blanks", "  ", "\\u{20}\\u{20}"],
    ["a blank that does not break", "my\u00a0orders", "my\\u{a0}orders"],
    ["a blank without width", "or\u200bders", "or\\u{200b}ders"],
    ["writing that turns round", "orders/\u202e1001", "orders/\\u{202e}1001"],
    ["a letter of another alphabet", "\u043erders", "\\u{43e}rders"],
    ["a digit of another alphabet", "orders/\u09ea", "orders/\\u{9ea}"],
    ["an accent of its own", "re\u0301sume\u0301", "re\\u{301}sume\\u{301}"],
    ["a wide letter", "\uff4frders", "\\u{ff4f}rders"],
    ["letters joined", "\ufb01le", "\\u{fb01}le"],
    ["another slash", "orders\u22151", "orders\\u{2215}1"],
    ["another hyphen", "a\u2010b", "a\\u{2010}b"],
    ["a letter that is not seen", "a\u3164b", "a\\u{3164}b"],
    ["a picture of nothing", "a\u2800b", "a\\u{2800}b"],
    ["half a pair", "a\ud800", "a\\u{d800}"],
    ["what looks like an escape", "or\\u{200b}ders", "or\\u{5c}u{200b}ders"],
  ])("%s", (_, key, shown) => {
    expect(keyText(key)).toBe(shown);
  });

  test("whatever the keys are, and nothing that a terminal obeys is left", () => {
    const part = fc.oneof(
      fc.constantFrom(" ", "\\", "u{", "20}", "5c}", "e", "\u0301", "é", "о", "ё", "ｅ", "\u00a0"),
      fc.string({ unit: "binary", maxLength: 3 }),
    );
    const key = fc.array(part, { maxLength: 6 }).map((parts) => parts.join(""));
    const unescaped = (shown: string): string =>
      shown.replace(/\\u\{([0-9a-f]+)\}/g, (_, code) =>
        String.fromCodePoint(Number.parseInt(code, 16)),
      );
    fc.assert(
      fc.property(key, (text) => {
        const shown = keyText(text);
        expect(shown).not.toMatch(OBEYED);
        // So that two keys never have one form.
        expect(unescaped(shown)).toBe(text);
      }),
      { numRuns: 2_000 },
    );
  });
});

test("a key in a sentence stands in quotation marks", () => {
  expect(quotedKey('my "orders" ')).toBe('"my \\"orders\\"\\u{20}"');
});
