/** Payloads of answers: plain data, integers as integers. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { packPayload, unpackPayload } from "../../src/net/framing/index.js";
import { ProtocolError } from "../../src/protocol/index.js";

const EDGES = [0, 1, -1, 127, 128, 2 ** 31, -(2 ** 31), -(2 ** 31) - 1, 2 ** 32 - 1, 2 ** 32];

/** The type bytes of floats, which no whole number may become. */
const FLOATS = [0xca, 0xcb];

describe("a payload", () => {
  test.each([...EDGES, 2 ** 53 - 1, -(2 ** 53 - 1)])("keeps %d an integer on the wire", (value) => {
    const packed = packPayload(value);
    expect(unpackPayload(packed)).toBe(value);
    expect(FLOATS).not.toContain(packed[0]);
  });

  test("is read as it was packed", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const right = JSON.parse(JSON.stringify(value), (name, field) => {
          return name === "__proto__" ? undefined : field;
        });
        expect(unpackPayload(packPayload(value))).toEqual(right);
      }),
      { numRuns: 300 },
    );
  });

  test("leaves out fields that are undefined, and leaves its source as it was", () => {
    const source = { holds: [{ token: 2 ** 40, reason: undefined }], next: null };
    const packed = packPayload(source);
    expect(unpackPayload(packed)).toEqual({ holds: [{ token: 2 ** 40 }], next: null });
    expect(source.holds[0]).toEqual({ token: 2 ** 40, reason: undefined });
  });

  test("leaves out a field that would be the prototype of who reads it, and what is in it", () => {
    for (const hidden of ["false", '{"isAdmin": true}']) {
      const source = JSON.parse(`{"__proto__": ${hidden}, "a": {"__proto__": ${hidden}, "b": 1}}`);
      expect(Object.hasOwn(source, "__proto__")).toBe(true);
      expect(packPayload(source)).toEqual(packPayload({ a: { b: 1 } }));
    }
  });

  test.each([[new Date(0)], [new Map()], [() => 0], [{ at: new Date(0) }], [undefined], [1n]])(
    "that is not plain data is refused: %s",
    (value) => expect(() => packPayload(value)).toThrowError(TypeError),
  );

  test("with bytes behind it is refused", () => {
    expect(() => unpackPayload(Uint8Array.of(0x01, 0x02))).toThrowError(ProtocolError);
  });

  test("whose fields are named by lists is refused", () => {
    expect(() => unpackPayload(Uint8Array.of(0x81, 0x91, 0x80, 0x01))).toThrowError(ProtocolError);
  });

  test("cannot replace an object's prototype", () => {
    const packed = packPayload(JSON.parse('{"__proto__": {"isAdmin": true}}'));
    const unpacked = unpackPayload(packed);
    expect(Object.getPrototypeOf(unpacked)).toBe(Object.prototype);
    expect(unpacked).not.toHaveProperty("isAdmin");
  });
});
