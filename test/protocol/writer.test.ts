/** The writer's bytes against the specification's table, and against an independent reader. */
import fc from "fast-check";
import { Unpackr } from "msgpackr";
import { describe, expect, test } from "vitest";
import { InvariantError } from "../../src/errors/index.js";
import { Reader, Writer } from "../../src/protocol/index.js";
import { anyNumber } from "./arbitraries.js";
import { bytes, hex } from "./frames.js";

const unpackr = new Unpackr({ useRecords: false, int64AsType: "number", mapsAsObjects: false });
const written = (write: (writer: Writer) => void): Uint8Array => {
  const writer = new Writer(1);
  write(writer);
  return writer.take();
};

type Plain = number | string | boolean | null | Uint8Array | Plain[] | Map<number, Plain>;

/** Writes any value of the canonical subset. */
function write(writer: Writer, value: Plain): void {
  if (value === null) writer.nil();
  else if (typeof value === "number") writer.uint(value);
  else if (typeof value === "string") writer.string(value);
  else if (typeof value === "boolean") writer.bool(value);
  else if (value instanceof Uint8Array) writer.binary(value);
  else if (value instanceof Map) {
    writer.mapHeader(value.size);
    for (const [key, entry] of value) {
      writer.uint(key);
      write(writer, entry);
    }
  } else {
    writer.arrayHeader(value.length);
    for (const entry of value) write(writer, entry);
  }
}

const { value: anyPlain } = fc.letrec<{ value: Plain; leaf: Plain }>((tie) => ({
  leaf: fc.oneof(
    anyNumber(),
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.boolean(),
    fc.constant(null),
    fc.uint8Array({ maxLength: 300 }),
  ),
  value: fc.oneof(
    { maxDepth: 4 },
    tie("leaf"),
    fc.array(tie("value"), { maxLength: 20 }),
    fc
      .uniqueArray(fc.tuple(anyNumber(), tie("value")), { selector: ([key]) => key, maxLength: 20 })
      .map((entries) => new Map(entries.sort(([a], [b]) => a - b))),
  ),
}));

/** Integers change their width exactly here. */
const UINTS: readonly (readonly [number, string])[] = [
  [0, "00"],
  [127, "7f"],
  [128, "cc80"],
  [255, "ccff"],
  [256, "cd0100"],
  [65_535, "cdffff"],
  [65_536, "ce00010000"],
  [2 ** 31, "ce80000000"],
  [2 ** 32 - 1, "ceffffffff"],
  [2 ** 32, "cf0000000100000000"],
  [2 ** 53 - 1, "cf001fffffffffffff"],
];

describe("the writer", () => {
  test.each(UINTS)("writes %d in its shortest form", (value, digits) => {
    expect(hex(written((writer) => writer.uint(value)))).toBe(digits);
    const reader = new Reader(bytes(digits));
    expect([reader.uint(), reader.isAtEnd]).toEqual([value, true]);
  });

  test.each([
    [31, "bf"],
    [32, "d920"],
    [255, "d9ff"],
    [256, "da0100"],
    [65_535, "daffff"],
    [65_536, "db00010000"],
  ])("writes the header of a text of %d bytes in its shortest form", (length, header) => {
    const ascii = "x".repeat(length);
    const wide = `é${"x".repeat(length - 2)}`;
    for (const text of [ascii, wide]) {
      const expected = header + Buffer.from(text).toString("hex");
      expect(hex(written((writer) => writer.string(text)))).toBe(expected);
    }
  });

  test.each([
    [0, "c400"],
    [255, "c4ff"],
    [256, "c50100"],
    [65_535, "c5ffff"],
    [65_536, "c600010000"],
  ])("writes the header of a binary of %d bytes in its shortest form", (length, header) => {
    const content = new Uint8Array(length).fill(7);
    expect(hex(written((writer) => writer.binary(content)))).toBe(header + hex(content));
  });

  test.each([
    [0, "90", "80"],
    [15, "9f", "8f"],
    [16, "dc0010", "de0010"],
    [65_535, "dcffff", "deffff"],
    [65_536, "dd00010000", "df00010000"],
  ])("writes headers for %d values in their shortest form", (count, array, map) => {
    expect(hex(written((writer) => writer.arrayHeader(count)))).toBe(array);
    expect(hex(written((writer) => writer.mapHeader(count)))).toBe(map);
    expect(new Reader(bytes(array)).arrayHeader()).toBe(count);
    expect(new Reader(bytes(map)).mapHeader()).toBe(count);
  });

  test("writes what msgpackr reads, and what the strict reader passes over", () => {
    fc.assert(
      fc.property(anyPlain, (value) => {
        const encoded = written((writer) => write(writer, value));
        expect(toPlain(unpackr.unpack(encoded))).toEqual(value);
        const reader = new Reader(encoded);
        reader.skip(0);
        expect(reader.isAtEnd).toBe(true);
      }),
      { numRuns: 400 },
    );
  });

  test.each([-1, 0.5, 127.5, 300.5, 2 ** 53, -(2 ** 40), Number.NaN, Number.POSITIVE_INFINITY])(
    "refuses %d as a number",
    (value) => expect(() => written((writer) => writer.uint(value))).toThrowError(InvariantError),
  );

  test.each(["\ud800", "a\udfff", "\ud800é", "\udc00\ud800"])(
    "refuses the lone surrogate in %j",
    (text) => expect(() => written((writer) => writer.string(text))).toThrowError(InvariantError),
  );

  test("puts the header of a frame in front of it when its count is known", () => {
    const writer = new Writer(1);
    for (const [count, header] of [
      [0, "90"],
      [15, "9f"],
      [16, "dc0010"],
      [65_536, "dd00010000"],
    ] as const) {
      writer.beginFrame();
      for (let i = 0; i < count; i++) writer.uint(5);
      writer.endFrame(count);
      expect(hex(writer.view())).toBe(header + "05".repeat(count));
      expect(writer.length).toBe(writer.view().length);
    }
  });

  test("refuses to end a frame that was not begun", () => {
    const writer = new Writer();
    expect(() => writer.endFrame(1)).toThrowError(InvariantError);
    writer.beginFrame();
    writer.endFrame(0);
    expect(() => writer.endFrame(0)).toThrowError(InvariantError);
    writer.beginFrame();
    writer.string("long enough");
    writer.endFrame(1);
    expect(() => writer.endFrame(1)).toThrowError(InvariantError);
    writer.reset();
    writer.string("long enough");
    expect(() => writer.endFrame(1)).toThrowError(InvariantError);
  });

  test("keeps room in front of a frame, however far it grows and whatever it was before", () => {
    const writer = new Writer(1);
    for (const length of [0, 3, 600, 70_000, 2 << 20, 5]) {
      writer.beginFrame(14);
      expect(writer.length).toBe(5);
      for (let i = 0; i < length; i++) writer.uint(i & 0x7f);
      writer.endFrame(length);
      const frame = writer.view();
      expect(frame.byteOffset).toBeGreaterThanOrEqual(14);
      const header = length < 16 ? 1 : length < 0x10000 ? 3 : 5;
      expect(frame.length).toBe(header + length);
      expect(frame.subarray(header).every((byte, i) => byte === (i & 0x7f))).toBe(true);
    }
  });

  test("keeps nothing after a reset, and gives copies that stay", () => {
    const writer = new Writer(4);
    writer.raw(new Uint8Array(3 << 20));
    expect(writer.length).toBe(3 << 20);
    writer.reset();
    expect(writer.length).toBe(0);
    writer.string("first");
    const first = writer.take();
    writer.reset();
    writer.string("other");
    expect([hex(first), hex(writer.view())]).toEqual(["a56669727374", "a56f74686572"]);
  });
});

/** What msgpackr made of it, with its Buffers as plain bytes. */
function toPlain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  if (Array.isArray(value)) return value.map(toPlain);
  if (value instanceof Map) return new Map([...value].map(([k, v]) => [k, toPlain(v)]));
  return value;
}
