/** The bytes of an entry, and of the records that travel between nodes. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvariantError } from "../../src/errors/index.js";
import {
  BATCH_HEADER_BYTES,
  checkBatch,
  countRecords,
  decodeBatchHeader,
  decodeCommands,
  isAttachCommand,
  OP,
  RECORD_HEADER_BYTES,
  selectRecords,
  withOrigin,
  writeBatchHeader,
  writeRecord,
} from "../../src/protocol/index.js";
import { MODEL_VERSION } from "../../src/protocol/model-version.js";
import { anyCommand, anyNumber } from "./arbitraries.js";
import { decodeCommand, encodeBatch, encodeCommand } from "./command-bytes.js";
import { bytes, type CommandRecord, hex, recordsOf } from "./frames.js";

const ORIGIN = { node: 3, address: "10.0.0.7" } as const;

const anyRecord = fc.record({
  session: anyNumber(),
  epoch: anyNumber(0, 2 ** 32 - 1),
  bytes: fc.uint8Array({ maxLength: 50 }),
});

/** The records one behind the other, as a node collects them. */
function chunkOf(records: readonly CommandRecord[]): Uint8Array {
  const size = records.reduce((sum, record) => sum + RECORD_HEADER_BYTES + record.bytes.length, 0);
  const chunk = new Uint8Array(size);
  const view = new DataView(chunk.buffer);
  let end = 0;
  for (const { session, epoch, bytes: command } of records) {
    end = writeRecord(chunk, view, end, session, epoch, command);
  }
  expect(end).toBe(size);
  return chunk;
}

describe("a batch", () => {
  test("has these bytes, which are in logs", () => {
    const version = MODEL_VERSION.toString(16).padStart(2, "0");
    const chunk = chunkOf([{ session: 2 ** 32 + 7, epoch: 3, bytes: bytes("94 08 06 06 90") }]);
    expect(hex(encodeBatch(2 ** 33 + 1, 1_800_000_000_000, 1, [chunk]))).toBe(
      `${version} 0000000200000001 000001a3185c5000 00000001`.replaceAll(" ", "") +
        "0000000100000007 00000003 00000005 9408060690".replaceAll(" ", ""),
    );
  });

  test("is read as it was written, whatever nodes its chunks came from", () => {
    const chunks = fc.array(fc.array(anyRecord, { maxLength: 4 }), { maxLength: 4 });
    fc.assert(
      fc.property(anyNumber(), anyNumber(), chunks, fc.nat(9), (stamp, wallMs, lists, offset) => {
        const records = lists.flat();
        const entry = encodeBatch(stamp, wallMs, records.length, lists.map(chunkOf));
        const around = new Uint8Array(offset + entry.length);
        around.set(entry, offset);
        const view = around.subarray(offset);
        expect(decodeBatchHeader(view)).toEqual({ stamp, wallMs, count: records.length });
        expect(recordsOf(view, BATCH_HEADER_BYTES)).toEqual(records);
      }),
      { numRuns: 200 },
    );
  });

  test("without records carries the time alone", () => {
    const entry = encodeBatch(1, 2, 0, []);
    expect(entry).toHaveLength(BATCH_HEADER_BYTES);
    expect(recordsOf(entry, BATCH_HEADER_BYTES)).toEqual([]);
  });

  test("may be laid out in place with the same bytes", () => {
    const entry = new Uint8Array(BATCH_HEADER_BYTES);
    writeBatchHeader(new DataView(entry.buffer), 2 ** 40, 2 ** 41, 9);
    expect(hex(entry)).toBe(hex(encodeBatch(2 ** 40, 2 ** 41, 9, [])));
  });

  test("that is cut off or of another version is a broken invariant", () => {
    const entry = encodeBatch(1, 2, 1, [chunkOf([{ session: 1, epoch: 1, bytes: bytes("c0") }])]);
    for (let length = 0; length < BATCH_HEADER_BYTES; length++) {
      expect(() => decodeBatchHeader(entry.subarray(0, length))).toThrowError(InvariantError);
    }
    for (let length = BATCH_HEADER_BYTES + 1; length < entry.length; length++) {
      const cut = entry.subarray(0, length);
      expect(() => recordsOf(cut, BATCH_HEADER_BYTES)).toThrowError(InvariantError);
    }
    entry[0] = MODEL_VERSION - 1;
    const message = `an entry of model ${MODEL_VERSION - 1}, not ${MODEL_VERSION}`;
    expect(() => decodeBatchHeader(entry)).toThrowError(message);
  });
});

test("records from another node are whole, or are seen not to be", () => {
  fc.assert(
    fc.property(fc.array(anyRecord, { minLength: 1, maxLength: 4 }), (records) => {
      const chunk = chunkOf(records);
      expect(countRecords(chunk, 0)).toBe(records.length);
      expect(checkBatch(encodeBatch(1, 2, records.length, [chunk]))).toBeDefined();
      const lastStart = chunkOf(records.slice(0, -1)).length;
      for (let length = lastStart + 1; length < chunk.length; length++) {
        const cut = chunk.subarray(0, length);
        expect(countRecords(cut, 0)).toBe(-1);
        expect(checkBatch(encodeBatch(1, 2, records.length, [cut]))).toBeUndefined();
      }
    }),
    { numRuns: 100 },
  );
  expect(countRecords(new Uint8Array(0), 0)).toBe(0);
});

test("an entry from another node has a header that can be, and as many records as it says", () => {
  const record = chunkOf([{ session: 1, epoch: 1, bytes: bytes("c0") }]);
  expect(checkBatch(encodeBatch(5, 6, 1, [record]))).toEqual({ stamp: 5, wallMs: 6, count: 1 });
  const strange = chunkOf([{ session: 2 ** 53, epoch: 1, bytes: bytes("c0") }]);
  const refused = [
    Uint8Array.of(MODEL_VERSION),
    encodeBatch(5, 6, 0, []).subarray(1),
    Uint8Array.from(encodeBatch(5, 6, 0, [])).fill(MODEL_VERSION - 1, 0, 1),
    encodeBatch(0, 6, 1, [record]),
    encodeBatch(2 ** 53, 6, 1, [record]),
    encodeBatch(5, 2 ** 53 - 1, 1, [record]),
    encodeBatch(5, 6, 0, [record]),
    encodeBatch(5, 6, 2, [record]),
    encodeBatch(5, 6, 1, [strange]),
  ];
  for (const entry of refused) expect(checkBatch(entry)).toBeUndefined();
});

test("whatever passes for an entry can be read to its end", () => {
  const likely = fc
    .tuple(fc.nat(3), fc.nat(3), fc.nat(2), fc.uint8Array({ maxLength: 60 }))
    .map(([stamp, wallMs, count, tail]) => encodeBatch(stamp, wallMs, count, [tail]));
  fc.assert(
    fc.property(fc.oneof(likely, fc.uint8Array({ maxLength: 90 })), (entry) => {
      const header = checkBatch(entry);
      if (header === undefined) return;
      expect(decodeBatchHeader(entry)).toEqual(header);
      expect(decodeCommands(entry, 21)).toHaveLength(header.count);
    }),
    { numRuns: 1_000 },
  );
});

test("records are selected by their number, each as it was", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyRecord, fc.boolean()), { maxLength: 5 }), (list) => {
      const all = chunkOf(list.map(([record]) => record));
      const kept = list.filter(([, isKept]) => isKept).map(([record]) => record);
      const selected = selectRecords(all, (number) => list[number]?.[1] === true);
      expect(hex(selected)).toBe(hex(chunkOf(kept)));
    }),
  );
});

describe("the commands of a batch", () => {
  /** Encoded, and now and then cut, lengthened or with one byte changed: what no node made. */
  const anyBytes = fc
    .tuple(anyCommand, fc.constantFrom("whole", "whole", "cut", "longer", "changed"), fc.nat(255))
    .map(([command, kind, number]) => {
      const whole = encodeCommand(command);
      if (kind === "cut") return whole.slice(0, number % whole.length);
      if (kind === "longer") return Uint8Array.of(...whole, number);
      if (kind === "changed") return whole.with(number % whole.length, number);
      return whole;
    });
  const anyRecords = fc.array(
    fc.record({ session: anyNumber(), epoch: anyNumber(0, 2 ** 32 - 1), bytes: anyBytes }),
    { maxLength: 6 },
  );

  test("are read as each would be alone, whatever stands before and behind it", () => {
    fc.assert(
      fc.property(anyRecords, (records) => {
        const isAttach = (bytes: Uint8Array) => {
          const command = decodeCommand(bytes);
          return command !== undefined && isAttachCommand(command);
        };
        const written = records.map((record) => {
          const { bytes } = record;
          return isAttach(bytes) ? { ...record, bytes: withOrigin(bytes, ORIGIN) } : record;
        });
        const expected = records.map(({ session, epoch, bytes: one }) => {
          const origin = isAttach(one) ? ORIGIN : undefined;
          return { session, epoch, command: decodeCommand(one), origin };
        });
        expect(decodeCommands(chunkOf(written), 0)).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  test("of commands that attach have an origin, and are none without it", () => {
    const open = { op: OP.open, nonce: "ab".repeat(16), attempt: 1, ttlMs: 5_000 } as const;
    const bytes = encodeCommand({ ...open, name: "n", metadata: "" });
    const read = (one: Uint8Array) =>
      decodeCommands(chunkOf([{ session: 0, epoch: 0, bytes: one }]), 0);
    for (const address of ["", "10.0.0.1", "fe80:0:0:0::/64", "a".repeat(64)]) {
      const origin = { node: 2 ** 32 - 1, address };
      expect(read(withOrigin(bytes, origin))).toMatchObject([{ command: open, origin }]);
    }
    const whole = withOrigin(bytes, ORIGIN);
    const bad = [bytes, whole.subarray(0, whole.length - 1), Uint8Array.of(...whole, 0)];
    bad.push(withOrigin(bytes, { node: 0, address: "" }));
    for (const one of bad) expect(read(one)).toMatchObject([{ command: undefined }]);
    expect(() => withOrigin(bytes, { node: 1, address: "a".repeat(80) })).toThrow("address");
  });
});
