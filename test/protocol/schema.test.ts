/**
 * The schema against what is written by hand for speed: both read and write the same bytes, refuse the
 * same ones, and for the same reason at the same place.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readOp, readRequest } from "../../src/protocol/codec/decode-request.js";
import { RequestReader } from "../../src/protocol/codec/request-reader.js";
import { REQUEST_SCHEMAS, type RequestSchema } from "../../src/protocol/codec/schema.js";
import { readFields, schemaOf, writeFields } from "../../src/protocol/codec/schema-codec.js";
import {
  type ClientRequest,
  OP,
  ProtocolError,
  Writer,
  writeRequest,
} from "../../src/protocol/index.js";
import { runsOf } from "../runs.js";
import { ACQUIRE_BY_SCHEMA } from "./acquire-by-schema.js";
import { requestsOf } from "./arbitraries.js";
import { bytes, hex } from "./frames.js";
import { REFUSED_COMMANDS } from "./refused-commands.js";

/** What is written by hand, as it is declared. */
const BY_HAND: readonly RequestSchema[] = [
  ACQUIRE_BY_SCHEMA,
  schemaOf(OP.end),
  schemaOf(OP.keepalive),
];
const declarationOf = (op: number): RequestSchema =>
  BY_HAND.find((operation) => operation.op === op) ?? schemaOf(op);

const readBySchema = (reader: RequestReader): ClientRequest =>
  readFields(reader, declarationOf(readOp(reader)));

function written(write: (writer: Writer) => void): Uint8Array {
  const writer = new Writer();
  write(writer);
  return writer.take();
}
const writtenByHand = (request: ClientRequest): Uint8Array =>
  written((writer) => writeRequest(writer, request));
const writtenBySchema = (request: ClientRequest): Uint8Array =>
  written((writer) => writeFields(writer, declarationOf(request.op), request));

/** What came of reading: the request or the reason why it is not allowed, or what broke it off. */
function outcome(encoded: Uint8Array, read: (reader: RequestReader) => ClientRequest): unknown {
  const reader = new RequestReader(encoded);
  try {
    const request = read(reader);
    const { problem, at } = reader;
    return problem === undefined ? { request, at } : { problem, at, op: request.op };
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolError);
    return (error as Error).message;
  }
}

function expectAgreement(encoded: Uint8Array): unknown {
  const byHand = outcome(encoded, readRequest);
  expect(byHand, hex(encoded)).toEqual(outcome(encoded, readBySchema));
  return byHand;
}

describe.each(BY_HAND)("what is written by hand of $name", (operation) => {
  test("are the bytes that the schema says, and is read from them", () => {
    fc.assert(
      fc.property(requestsOf(operation), (request) => {
        const encoded = writtenBySchema(request);
        expect(hex(writtenByHand(request))).toBe(hex(encoded));
        expect(expectAgreement(encoded)).toEqual({ request, at: encoded.length });
      }),
      { numRuns: 500 },
    );
  });

  test("is refused for the reason that the schema says, whatever its values are", () => {
    fc.assert(
      fc.property(requestsOf(operation, "any"), (request) => {
        const encoded = writtenBySchema(request);
        expect(hex(writtenByHand(request))).toBe(hex(encoded));
        expectAgreement(encoded);
      }),
      { numRuns: runsOf(200) },
    );
  });

  test("breaks off where the schema says, with any bytes changed or cut off", () => {
    const likely = fc.constantFrom(
      0x00,
      0x01,
      0x02,
      0x80,
      0x81,
      0x90,
      0x91,
      0xc0,
      0xc2,
      0xcc,
      0xa1,
    );
    const changes = fc.array(fc.tuple(fc.nat(), fc.oneof(likely, fc.nat(255))), { maxLength: 3 });
    fc.assert(
      fc.property(requestsOf(operation), changes, fc.nat(), (request, all, cut) => {
        const changed = writtenByHand(request);
        // The first two bytes are how many values there are, and which operation it is.
        for (const [at, value] of all) changed[2 + (at % (changed.length - 2))] = value;
        expectAgreement(changed);
        expectAgreement(changed.subarray(0, cut % changed.length));
      }),
      { numRuns: runsOf(300) },
    );
  });

  test("has as many values as the schema says, and no other number", () => {
    const request = fc.sample(requestsOf(operation), 1)[0] as ClientRequest;
    const encoded = writtenByHand(request);
    expect(encoded[0]).toBe(0x90 | operation.arity);
    for (let arity = 0; arity < 16; arity++) {
      const changed = Uint8Array.of(0x90 | arity, ...encoded.subarray(1));
      const expected = arity === 0 ? "an empty request" : `operation ${operation.op} with ${arity}`;
      const told = expectAgreement(changed);
      if (arity === operation.arity) expect(told).toEqual({ request, at: encoded.length });
      else expect(told).toContain(expected);
    }
  });
});

test.each(REFUSED_COMMANDS)("%#: both refuse: $1", (refused, problem) => {
  const encoded = writtenBySchema(refused);
  expect(expectAgreement(encoded)).toEqual({ problem, at: encoded.length, op: refused.op });
});

test.each([
  ["a default that is said", "810100"],
  ["a time that is its default", "810200"],
  ["a flag that is its default", "8106c2"],
  ["an unknown option", "8108c3"],
  ["an unknown option of lists", "82088101c0099102"],
  ["options that descend", "82 06c3 0101"],
  ["an option twice", "82 0101 0102"],
  ["a text that is not UTF-8", "8105a1ff"],
  ["nothing in a map", "80"],
  ["a wide header", "de000180"],
])("both read options alike: %s", (_name, digits) => {
  expectAgreement(bytes(`98 04 05 03 90 01 91 92a16b00 00 ${digits}`));
});

test.each([
  ["a lock of mode 2", "91 92a16b02"],
  ["a lock of mode 3", "91 92a16b03"],
  ["permits of mode 1", "91 94a16b0101c0"],
  ["permits of mode 3", "91 94a16b0301c0"],
  ["permits above their limit", "91 94a16b020302"],
  ["three values", "91 93a16b0201"],
  ["a key twice", "92 92a16b00 94a16b0201c0"],
  ["no items", "90"],
  ["seventeen", `dc0011 ${"92a16b00".repeat(17)}`],
])("both read items alike: %s", (_name, digits) => {
  expectAgreement(bytes(`98 04 05 03 90 01 ${digits} 00 80`));
});

describe("every operation", () => {
  test("is written and read by its declaration as by everything else", () => {
    fc.assert(
      fc.property(fc.oneof(...REQUEST_SCHEMAS.map((one) => requestsOf(one))), (request) => {
        const declared = schemaOf(request.op);
        const encoded = written((writer) => writeFields(writer, declared, request));
        expect(hex(encoded)).toBe(hex(writtenByHand(request)));
        const read = outcome(encoded, (reader) => readFields(reader, schemaOf(readOp(reader))));
        expect(read).toEqual({ request, at: encoded.length });
      }),
      { numRuns: 500 },
    );
  });

  test("is declared once, under its name and its number, in their order", () => {
    expect(REQUEST_SCHEMAS.map(({ name, op }) => [name, op])).toEqual(Object.entries(OP));
  });

  test("is written in as many values as it is declared to have", () => {
    for (const operation of REQUEST_SCHEMAS) {
      const [request] = fc.sample(requestsOf(operation), 1) as [ClientRequest];
      const reader = new RequestReader(writtenByHand(request));
      const count = reader.arrayHeader();
      for (let i = 0; i < count; i++) reader.skip(1);
      expect([reader.isAtEnd, count]).toEqual([true, operation.arity]);
    }
  });
});
