/** DER is written in its one form, and nothing but that form is read. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  bitString,
  element,
  elementsIn,
  insideOf,
  objectId,
  sequence,
  TAG,
  time,
  unsignedInteger,
} from "../../src/certificates/der.js";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

test("what is written is read again, whatever its length", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 70_000 }),
      fc.uint8Array({ maxLength: 20 }),
      (n, tail) => {
        const content = Buffer.concat([Buffer.alloc(n, 7), tail]);
        const written = element(TAG.octetString, content);
        const [read, next, ...others] =
          elementsIn(Buffer.concat([written, unsignedInteger(tail)])) ?? [];
        expect(read?.tag).toBe(TAG.octetString);
        expect(Buffer.from(read?.content ?? []).equals(content)).toBe(true);
        expect(read?.whole.length).toBe(written.length);
        expect([next?.tag, others.length]).toEqual([TAG.integer, 0]);
      },
    ),
  );
});

test("a length has as many bytes as it needs", () => {
  const lengths = [0, 127, 128, 255, 256, 65_535, 65_536];
  const headers = lengths.map((n) => {
    const written = element(TAG.octetString, new Uint8Array(n));
    return hex(written.subarray(0, written.length - n));
  });
  expect(headers).toEqual([
    ...["0400", "047f", "048180", "0481ff", "04820100", "0482ffff", "0483010000"],
  ]);
});

test.each([
  ["that is cut off", "0403aabb"],
  ["without a length", "04"],
  ["of indefinite length", "30800201000000"],
  ["with a length that could be shorter", `04817f${"00".repeat(127)}`],
  ["with a zero before its length", `0482008f${"00".repeat(143)}`],
  ["with a length of five bytes", "04850000000001aa"],
  ["whose length is cut off", "0482ff"],
  ["with a tag of several bytes", "1f810100"],
  ["after one that is right", "040004"],
])("an element %s is none", (_, bytes) => {
  expect(elementsIn(Buffer.from(bytes, "hex"))).toBeUndefined();
});

test("no bytes make the reader throw", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const read = elementsIn(bytes);
      if (read === undefined) return;
      expect(hex(Buffer.concat(read.map(({ tag, content }) => element(tag, content))))).toBe(
        hex(bytes),
      );
    }),
  );
});

test("what is inside of an element is read only if it is the one that was expected", () => {
  const two = sequence(unsignedInteger(Uint8Array.of(1)), unsignedInteger(Uint8Array.of(2)));
  expect(insideOf(two, TAG.sequence)?.length).toBe(2);
  expect(insideOf(two, TAG.set)).toBeUndefined();
  expect(insideOf(Buffer.concat([two, two]), TAG.sequence)).toBeUndefined();
  expect(insideOf(new Uint8Array(), TAG.sequence)).toBeUndefined();
});

test("numbers are positive and as short as they can be", () => {
  const written = ["00", "0001", "7f", "80", "0080", "00ff00"].map((digits) =>
    hex(unsignedInteger(Buffer.from(digits, "hex"))),
  );
  expect(written).toEqual(["020100", "020101", "02017f", "02020080", "02020080", "020300ff00"]);
});

test("object identifiers and bits are as X.690 has them", () => {
  expect(hex(objectId("2.5.29.17"))).toBe("0603551d11");
  expect(hex(objectId("1.2.840.10045.4.3.2"))).toBe("06082a8648ce3d040302");
  expect(hex(objectId("1.3.6.1.5.5.7.3.1"))).toBe("06082b06010505070301");
  expect(hex(bitString(Uint8Array.of(0x80), 7))).toBe("03020780");
});

test("a time has two digits of the year until 2049, and four from 2050 on", () => {
  const first = Date.UTC(1950, 0, 1);
  const last = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
  fc.assert(
    fc.property(fc.integer({ min: first, max: last }), (atMs) => {
      const at = new Date(atMs);
      const [read] = elementsIn(time(at)) ?? [];
      const text = Buffer.from(read?.content ?? []).toString();
      const isShort = at.getUTCFullYear() < 2050;
      expect(read?.tag).toBe(isShort ? TAG.utcTime : TAG.generalizedTime);
      const [, year, month, day, hour, minute, second] =
        /^(\d{2,4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? [];
      const century = isShort ? (Number(year) >= 50 ? 1900 : 2000) : 0;
      const readMs = Date.UTC(
        ...([century + Number(year), Number(month) - 1, Number(day)] as const),
        ...([Number(hour), Number(minute), Number(second)] as const),
      );
      expect(readMs).toBe(Math.floor(atMs / 1_000) * 1_000);
    }),
  );
  expect(Buffer.from(time(new Date("2049-12-31T23:59:59Z"))).toString()).toContain("491231235959Z");
  expect(Buffer.from(time(new Date("2050-01-01T00:00:00Z"))).toString()).toContain(
    "20500101000000Z",
  );
  expect(() => time(new Date("1949-12-31T23:59:59Z"))).toThrow("in the year 1949");
});
