/** The form of access tokens, and that a damaged one is found before it is sent. */
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { accessTokenOf, accessTokenProblem } from "../../../src/client/transport/access-token.js";

const secret = fc.uint8Array({ minLength: 32, maxLength: 32 });
const DIGIT = fc.constantFrom(
  ..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
);

describe("an access token", () => {
  it("has a prefix, 256 bits of secret and their checksum", () => {
    fc.assert(
      fc.property(secret, (bytes) => {
        const token = accessTokenOf(bytes);
        expect(token).toMatch(/^hf_[\w-]{48}$/);
        const carried = Buffer.from(token.slice(3), "base64url");
        expect(carried.subarray(0, 32)).toEqual(Buffer.from(bytes));
        expect(carried.readUInt32BE(32)).toBe(crc32(bytes));
        expect(accessTokenProblem(token)).toBeUndefined();
      }),
    );
  });

  it("with one character changed, two swapped, or some missing or added is damaged", () => {
    const at = fc.nat({ max: 47 });
    fc.assert(
      fc.property(secret, at, DIGIT, (bytes, index, digit) => {
        const token = accessTokenOf(bytes);
        const place = index + 3;
        const [here = "", next = ""] = token.slice(place, place + 2);
        const variants = [
          token.slice(0, place) + digit + token.slice(place + 1),
          token.slice(0, place) + next + here + token.slice(place + 2),
          token.slice(0, place),
          token.slice(0, place) + digit + token.slice(place),
          token.toLowerCase(),
        ];
        for (const variant of variants) {
          if (variant === token || variant === "hf_") continue;
          const problem = accessTokenProblem(variant) ?? "";
          expect(problem).toContain("damaged");
          expect(problem).not.toContain(variant);
        }
      }),
    );
  });

  it("of another form is as good", () => {
    for (const token of ["x", "0123456789abcdef", "eyJhbGciOi.J9.x", "~".repeat(512)]) {
      expect(accessTokenProblem(token)).toBeUndefined();
    }
    for (const text of ["", " ", "a b", "tab\t", "\u00e9", "x".repeat(513)]) {
      expect(accessTokenProblem(text)).toMatch(/^no access token: /);
    }
  });
});

it("of fixed bytes is fixed, since scanners look for its form", () => {
  const bytes = Uint8Array.from({ length: 32 }, (_, index) => index);
  expect(accessTokenOf(bytes)).toBe("hf_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh-RJn6K");
});
