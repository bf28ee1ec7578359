/** The page's reader of plain data, held against the one that the SDK has elsewhere. */
import fc from "fast-check";
import { Packr, Unpackr as Reference } from "msgpackr";
import { expect, test } from "vitest";
import { Unpackr } from "../../dashboard/plain-unpackr.js";
import { packPayload } from "../../src/net/framing/index.js";

const small = new Unpackr();
const reference = new Reference({ useRecords: false, int64AsType: "number" });

const PLAIN = fc.anything({
  key: fc.string({ unit: "binary" }),
  values: [
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.integer(),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true }),
    fc.boolean(),
    fc.constant(null),
  ],
  maxKeys: 40,
});

test("what nodes pack is read as msgpackr reads it", () => {
  fc.assert(
    fc.property(PLAIN, (value) => {
      const bytes = packPayload(value);
      expect(small.unpack(bytes)).toEqual(reference.unpack(bytes));
    }),
  );
});

test("every width of numbers, texts, arrays, objects and bytes is read", () => {
  const packr = new Packr({ useRecords: false, variableMapSize: true });
  const values = [
    ...[0, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, 2 ** 52],
    ...[-1, -32, -33, -128, -129, -32_768, -32_769, -(2 ** 31), BigInt(-(2 ** 40)), 1.5, 1e300],
    ...["", "a".repeat(31), "é".repeat(200), "x".repeat(70_000)],
    ...[[], new Array(15).fill(1), new Array(16).fill(1), new Array(70_000).fill(1)],
    Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`k${at}`, at])),
    Object.fromEntries(Array.from({ length: 70_000 }, (_, at) => [`k${at}`, at])),
  ];
  for (const value of values) {
    const bytes = packr.pack(value);
    expect(small.unpack(bytes)).toEqual(reference.unpack(bytes));
  }
  const floats = Uint8Array.from([0xca, 0x3f, 0xc0, 0, 0]);
  expect(small.unpack(floats)).toBe(1.5);
  const blob = Uint8Array.from([0xc4, 2, 7, 8]);
  expect(small.unpack(blob)).toEqual(Uint8Array.from([7, 8]));
});

test("a field cannot become the prototype of its object", () => {
  const name = new TextEncoder().encode("__proto__");
  const bytes = Uint8Array.from([0x81, 0xa0 + name.length, ...name, 0x81, 0xa1, 0x61, 1]);
  const read = small.unpack(bytes) as object;
  expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
  expect(read).toEqual(reference.unpack(bytes));
});
