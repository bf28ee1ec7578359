import fc from "fast-check";
import { expect, test } from "vitest";
import { type Claim, formatClaim, parseClaim } from "../../src/fence/index.js";

test("a claim is one line, with its mode said", () => {
  expect(formatClaim({ token: 42, mode: "exclusive" })).toBe("exclusive 42");
  expect(formatClaim({ token: 42, mode: "shared", slots: [] })).toBe("shared 42");
  expect(formatClaim({ token: 42, mode: "permits", slots: [7, 0, 7] })).toBe(
    "permits 42 slots=0,7",
  );
});

test("what was written is read back as the same", () => {
  const token = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
  const slots = fc.uniqueArray(fc.integer({ min: 0, max: 999_999 }), { minLength: 1 });
  const claim: fc.Arbitrary<Claim> = fc.oneof(
    fc.record({ token, mode: fc.constantFrom<Claim["mode"]>("exclusive", "shared") }),
    fc.record({ token, mode: fc.constant<Claim["mode"]>("permits"), slots }),
  );
  fc.assert(
    fc.property(claim, (written) => {
      const read = parseClaim(formatClaim(written));
      expect(new Set(read.slots ?? [])).toEqual(new Set(written.slots ?? []));
      expect(read).toMatchObject({ token: written.token, mode: written.mode });
    }),
  );
});

test("anything else is refused, whatever was meant", () => {
  const lines = [
    "",
    "42",
    "exclusive",
    "exclusive 0",
    "exclusive 042",
    "exclusive -1",
    "exclusive 4e3",
    "exclusive 9007199254740993",
    "exclusive 99999999999999999",
    "Exclusive 42",
    " exclusive 42",
    "exclusive 42\n",
    "exclusive 42, exclusive 43",
    "exclusive 42 slots=1",
    "permits 42",
    "permits 42 slots=",
    "permits 42 slots=1,",
    `permits 42 slots=${"1,".repeat(5_000)}1`,
  ];
  for (const line of lines) {
    expect(() => parseClaim(line), line).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  }
});
