/** Texts cut to their room on the wire: as long as it allows, and always whole characters. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { cutText } from "../../src/net/cut-text.js";

test("a text that fits is left alone", () => {
  expect(cutText("a".repeat(123), 123)).toBe("a".repeat(123));
  expect(cutText("é".repeat(60), 120)).toBe("é".repeat(60));
});

test("a longer one is cut at a character, to at most the bytes there are", () => {
  expect(cutText(`${"a".repeat(122)}é!`, 123)).toBe("a".repeat(122));
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 100, maxLength: 200 }), (text) => {
      const cut = cutText(text, 123);
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(123);
      expect(text.startsWith(cut)).toBe(true);
      expect(Buffer.byteLength(text) <= 123 || Buffer.byteLength(cut) > 119).toBe(true);
    }),
  );
});
