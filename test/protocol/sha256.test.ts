/** The digest that the table stores instead of a secret, compared with the one of `node:crypto`. */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";

import { digestOf } from "../../src/protocol/sha256.js";

test("the digest of a secret is the first half of its SHA-256, whatever its length", () => {
  const ascii = fc.string({ unit: "binary-ascii", maxLength: 200 });
  fc.assert(
    fc.property(ascii, (secret) => {
      const whole = createHash("sha256").update(secret, "latin1").digest("hex");
      expect(digestOf(secret)).toBe(whole.slice(0, 32));
    }),
    { examples: [55, 56, 63, 64, 119, 120].map((length) => ["x".repeat(length)] as [string]) },
  );
});
