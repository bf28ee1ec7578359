/** Reasons of close frames: as long as the frame can carry, and always whole characters. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { shortReason } from "../../src/net/close-socket.js";

test("a reason that fits is left alone", () => {
  expect(shortReason("a".repeat(123))).toBe("a".repeat(123));
});

test("a longer one is cut at a character, to at most 123 bytes", () => {
  expect(shortReason(`${"a".repeat(122)}é!`)).toBe("a".repeat(122));
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 100, maxLength: 200 }), (reason) => {
      const short = shortReason(reason);
      expect(Buffer.byteLength(short)).toBeLessThanOrEqual(123);
      expect(reason.startsWith(short)).toBe(true);
      expect(Buffer.byteLength(reason) <= 123 || Buffer.byteLength(short) > 119).toBe(true);
    }),
  );
});
