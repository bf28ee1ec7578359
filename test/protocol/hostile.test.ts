/** Frames that no correct client sends: each is refused at a place, none is believed or costly. */
import { describe, expect, test } from "vitest";
import {
  CLIENT_FRAME_REQUESTS_MAX,
  decodeFrame,
  decodeOperation,
  OP,
  ProtocolError,
  Writer,
} from "../../src/protocol/index.js";
import { decodeCommand } from "./command-bytes.js";
import { bytes, encodeRequest, frameOf, read, wrap } from "./frames.js";

const KEEPALIVE = "94 03 01 01 90";

/** Frames of one request; `KEEPALIVE` with something that must not be there. */
const BROKEN: readonly (readonly [string, string, RegExp])[] = [
  ["nothing at all", "", /^cut off at offset 0$/],
  ["a number instead of an array", "05", /^expected an array at offset 0$/],
  ["text instead of msgpack", "7b226f70223a317d", /^expected an array at offset 0$/],
  ["a map", "81 00 00", /^expected an array at offset 0$/],
  ["a request that is not an array", "91 03", /^expected an array at offset 1$/],
  ["an empty request", "91 90", /^an empty request at offset 1$/],
  ["operation 0", "91 91 00", /^unknown operation 0 at offset 1$/],
  ["operation 27", "91 94 1b 01 01 90", /^unknown operation 27 at offset 1$/],
  ["operation 63", "91 92 3f 01", /^unknown operation 63 at offset 1$/],
  ["operation 76", "91 92 4c 01", /^unknown operation 76 at offset 1$/],
  ["operation 79", "91 92 4f 01", /^unknown operation 79 at offset 1$/],
  ["operation 100", "91 92 64 01", /^unknown operation 100 at offset 1$/],
  ["operation 2^53 - 1", "91 92 cf001fffffffffffff 01", /^unknown operation 9007199254740991/],
  ["members with a value too many", "91 93 46 01 c0", /^operation 70 with 3 values at offset 1$/],
  ["a transfer without a node", "91 92 48 01", /^operation 72 with 2 values at offset 1$/],
  ["a snapshot without a word on age", "91 92 49 01", /^operation 73 with 2 values at offset 1$/],
  ["a part without a number", `91 93 4a 01 c420${"00".repeat(32)}`, /^operation 74 with 3 values/],
  ["a change without an address or nil", "91 94 47 01 01 04", /^operation 71 with 4 values/],
  ["a change of a member by name", "91 95 47 01 01 a16e c0", /^expected an unsigned integer/],
  ["an action by name", "91 95 47 01 a3616464 04 c0", /^expected an unsigned integer/],
  ["an address that is a number", "91 95 47 01 00 04 05", /^expected a string at offset 6$/],
  ["an address that is a list", "91 95 47 01 00 04 90", /^expected a string at offset 6$/],
  ["an address in a str8", "91 95 47 01 00 04 d903613a31", /^not in its shortest form/],
  ["an address longer than the frame", "91 95 47 01 00 04 dbffffffff", /^cut off/],
  ["a member's number in a uint64", "91 93 48 01 cf0000000000000003", /^not in its shortest/],
  ["an operation that is text", "91 91 a161", /^expected an unsigned integer at offset 2$/],
  ["a value too few", "91 93 03 01 01", /^operation 3 with 3 values at offset 1$/],
  ["a value too many", "91 95 03 01 01 90 c0", /^operation 3 with 5 values at offset 1$/],
  ["a value that is cut off", "91 94 03 01 cd01", /^cut off at offset 4$/],
  ["a request that is missing", `92 ${KEEPALIVE}`, /^cut off at offset 6$/],
  ["bytes behind the last request", `91 ${KEEPALIVE} 00`, /^bytes after the last request at/],
  ["a negative number", "91 94 03 ff 01 90", /^expected an unsigned integer at offset 3$/],
  ["an int8", "91 94 03 d001 01 90", /^expected an unsigned integer at offset 3$/],
  ["a float32", "91 94 03 ca3f800000 01 90", /^expected an unsigned integer/],
  ["a float64", "91 94 03 cb3ff0000000000000 01 90", /^expected an unsigned integer/],
  ["127 in a uint8", "91 94 03 cc7f 01 90", /^not in its shortest form/],
  ["255 in a uint16", "91 94 03 cd00ff 01 90", /^not in its shortest form/],
  ["65,535 in a uint32", "91 94 03 ce0000ffff 01 90", /^not in its shortest form/],
  ["2^32 - 1 in a uint64", "91 94 03 cf00000000ffffffff 01 90", /^not in its shortest form/],
  ["2^53", "91 94 03 cf0020000000000000 01 90", /^integer beyond 2\^53 - 1 at offset 3$/],
  ["2^64 - 1", "91 94 03 cfffffffffffffffff 01 90", /^integer beyond 2\^53 - 1 at offset 3$/],
  ["a request in an array16", "91 dc0004 03 01 01 90", /^not in its shortest form/],
  ["a list in an array16", "91 94 03 01 01 dc0001 01", /^not in its shortest form/],
  ["a list in an array32", "91 94 03 01 01 dd00000010", /^not in its shortest form/],
  ["a key in a str8", "91 94 40 01 d90161", /^not in its shortest form/],
  ["a key in a str16", "91 94 40 01 da0020", /^not in its shortest form/],
  ["a key in a str32", "91 94 40 01 db00000100", /^not in its shortest form/],
  ["a key in a bin8", "91 94 40 01 c40161", /^expected a string/],
  ["a nonce as text", "91 94 02 01 a161 01", /^expected a binary/],
  ["a nonce in a bin16", "91 94 02 01 c5000100 01", /^not in its shortest form/],
  ["nil as a key", "91 94 40 01 c0", /^expected a string/],
  ["a key longer than the frame", "91 94 40 01 dbffffffff", /^cut off/],
  ["a list longer than the frame", "91 94 03 01 01 ddffffffff 01", /^cut off/],
  ["a frame of 2^32 - 1 requests", "ddffffffff", /^4294967295 requests in a frame at offset 0$/],
  ["a record definition", "91 d4 72 40 91 a161", /^expected an array at offset 1$/],
  ["a record definition as an option's value", acquireWith("81 08 d4 72 40"), /^type 0xd4/],
  ["an extension as an option's value", acquireWith("81 08 c7 00 01"), /^type 0xc7/],
  ["the unused type as an option's value", acquireWith("81 08 c1"), /^type 0xc1/],
  ["a float as an option's value", acquireWith("81 08 cb3ff0000000000000"), /^type 0xcb/],
  ["a long form in an option's value", acquireWith("81 08 91 cc01"), /^not in its shortest/],
  ["invalid UTF-8 in an option's value", acquireWith("81 08 a1ff"), /^not UTF-8/],
  ["a priority that is text", acquireWith("81 01 a161"), /^expected an unsigned integer/],
  ["a priority in a uint8", acquireWith("81 01 cc01"), /^not in its shortest form/],
  ["a number where a flag belongs", acquireWith("81 06 01"), /^expected a boolean/],
  ["nil where a flag belongs", acquireWith("81 07 c0"), /^expected a boolean/],
  ["nil where a time belongs", acquireWith("81 02 c0"), /^expected an unsigned integer/],
  ["a value that is a number", acquireWith("81 05 01"), /^expected a string/],
  ["a value that is a binary", acquireWith("81 05 c40161"), /^expected a string/],
  ["a value longer than the frame", acquireWith("81 05 dbffffffff"), /^cut off/],
  ["options that descend", acquireWith("82 06c3 0101"), /^map keys must ascend/],
  ["an option twice", acquireWith("82 0101 0101"), /^map keys must ascend/],
  ["an option by name", acquireWith("81 a161 01"), /^expected an unsigned integer/],
  ["an option that is missing", acquireWith("82 0101"), /^cut off/],
  ["more options than bytes", acquireWith("dfffffffff 0101"), /^cut off/],
  ["options in a map16", acquireWith("de0001 01 01"), /^not in its shortest form/],
  ["options as a list", acquireWith("90"), /^expected a map/],
  ["an item of one value", acquireOf("91a161"), /^an item has two or four values at offset 8$/],
  ["an item of three values", acquireOf("93a1610201"), /^an item has two or four values/],
  ["an item of five values", acquireOf("95a161020101c0"), /^an item has two or four values/],
  ["a mode that is text", acquireOf("92a161a178"), /^expected an unsigned/],
  ["permits that are nil", acquireOf("94a16102c0c0"), /^expected an unsigned/],
  ["a limit that is a flag", acquireOf("94a1610201c2"), /^expected an unsigned/],
  ["an upgrade that waits by text", "91 98 0a 01 01 90 07 a161 a0 c3", /^expected an unsigned/],
  ["an upgrade with a number as flag", "91 98 0a 01 01 90 07 a161 00 01", /^expected a boolean/],
  ["an upgrade of nil", "91 98 0a 01 01 90 07 c0 00 c3", /^expected a string/],
  ["a downgrade of a number", "91 96 09 01 01 90 07 00", /^expected a string/],
  ["a revoke of a list", "91 99 0c 01 01 90 90 00 00 c2 a0", /^expected a string/],
  ["a revoke of a nil token", "91 99 0c 01 01 90 c0 c0 00 c2 a0", /^expected an unsigned/],
  ["a revoke without a reason", "91 98 0c 01 01 90 c0 07 00 c2", /^operation 12 with 8 values/],
  ["the end of a session by name", "91 98 0d 01 01 90 a161 00 c2 a0", /^expected an unsigned/],
  ["a limit that is a float", "91 96 0e 01 01 90 a161 ca3f800000", /^expected an unsigned/],
  ["an end of nil", "91 95 05 02 01 90 c0", /^expected an unsigned/],
  ["a secret as text", "91 98 0f 01 01 90 07 a161 c3 01", /^expected a binary/],
  ["a secret longer than the frame", "91 97 10 01 01 90 a16b c6ffffffff", /^cut off/],
  ["a setting without a value", "91 95 11 01 01 90 a161", /^operation 17 with 5 values/],
  ["a resume with a value too many", "91 95 02 01 c400 01 01", /^operation 2 with 5 values/],
  ["a watch of nil", "91 96 52 01 c0 c2 00 00", /^expected a string/],
  ["a watch with a number as flag", "91 96 52 01 a161 00 00 00", /^expected a boolean/],
  ["a watch behind nil", "91 96 52 01 a161 c2 c0 00", /^expected an unsigned/],
  ["explain without a sequence", "91 94 42 01 a161 01", /^operation 66 with 4 values/],
];

/** A frame with one acquire that has these options. */
function acquireWith(options: string): string {
  return `91 98 04 01 01 90 00 91 92a16100 c0 ${options}`;
}

/** A frame with one acquire of this item. */
function acquireOf(item: string): string {
  return `91 98 04 01 01 90 00 91 ${item} c0 80`;
}

describe("a frame breaks off", () => {
  test.each(BROKEN)("for %s", (_name, digits, message) => {
    const frame = bytes(digits);
    expect(() => read(frame)).toThrowError(message);
    expect(() => read(frame)).toThrowError(ProtocolError);
  });

  test("exactly where its only request would be none for the table or the leader either", () => {
    for (const [, digits] of BROKEN) {
      const frame = bytes(digits);
      const isOneRequest = frame[0] === 0x91 && !digits.endsWith(`${KEEPALIVE} 00`);
      if (!isOneRequest) continue;
      expect(decodeCommand(frame.subarray(1)), digits).toBeUndefined();
      expect(decodeOperation(frame.subarray(1)), digits).toBeUndefined();
    }
  });

  test("for every number that is not an operation, and for each operation without its values", () => {
    const known = new Set<number>(Object.values(OP));
    for (let op = 0; op < 0x80; op += 1) {
      const frame = Uint8Array.of(0x91, 0x91, op);
      const reason = known.has(op) ? `operation ${op} with 1 values` : `unknown operation ${op}`;
      expect(() => read(frame)).toThrowError(`${reason} at offset 1`);
      expect(decodeCommand(frame.subarray(1))).toBeUndefined();
    }
  });

  test("at the first broken request, after what stood before it was handed over", () => {
    const told: number[] = [];
    const frame = wrap(bytes(KEEPALIVE), bytes("94 03 02 01 90"), bytes("94 03 cc03 01 90"));
    const sink = { request: () => told.push(0), invalid: () => told.push(1) };
    expect(() => decodeFrame(frame, sink)).toThrowError("not in its shortest form at offset 15");
    expect(told).toEqual([0, 0]);
  });

  test("for one request more than a frame may have", () => {
    const keepalive = { op: OP.keepalive, number: 1, mark: 1, acknowledged: [] };
    const most = new Array(CLIENT_FRAME_REQUESTS_MAX).fill(keepalive);
    expect(read(frameOf(most))).toHaveLength(CLIENT_FRAME_REQUESTS_MAX);
    expect(() => read(frameOf([...most, keepalive]))).toThrowError(/^16385 requests in a frame/);
  });

  test("for a bomb of arrays or maps nested a million deep", () => {
    const arrays = new Uint8Array(1 << 20).fill(0x91);
    expect(() => read(arrays)).toThrowError(ProtocolError);
    const nested = bytes(acquireWith("81 08"));
    for (const byte of [0x91, 0x81]) {
      const bomb = new Uint8Array(1 << 20).fill(byte);
      bomb.set(nested);
      expect(() => read(bomb)).toThrowError(ProtocolError);
      expect(decodeCommand(bomb.subarray(1))).toBeUndefined();
    }
  });

  test("for a value nested one deeper than is allowed", () => {
    const writer = new Writer();
    writer.raw(bytes(acquireWith("81 08")));
    for (let depth = 2; depth < 8; depth++) writer.arrayHeader(1);
    const deepest = Uint8Array.of(...writer.view(), 0x01);
    expect(read(deepest)).toEqual([{ op: OP.acquire, id: 1, reason: "unknown option 8" }]);
    const deeper = Uint8Array.of(...writer.view(), 0x91, 0x01);
    expect(() => read(deeper)).toThrowError(/^nested too deeply/);
  });
});

describe("a frame", () => {
  test("may have a header wider than it needs, since frames are not replicated", () => {
    const request = { op: OP.keepalive, number: 1, mark: 1, acknowledged: [] };
    const told = [{ request, bytes: bytes(KEEPALIVE) }];
    for (const header of ["91", "dc0001", "dd00000001"]) {
      expect(read(bytes(`${header} ${KEEPALIVE}`))).toEqual(told);
    }
  });

  test("may be empty", () => {
    expect(read(bytes("90"))).toEqual([]);
  });

  test("with requests in plenty is delivered in order", () => {
    const many = Array.from({ length: 1_000 }, (_, i) => ({
      ...{ op: OP.end, sequence: i + 2, mark: 1, acknowledged: [], target: i + 1 },
    }));
    expect(read(frameOf(many))).toEqual(
      many.map((request) => ({ request, bytes: encodeRequest(request) })),
    );
  });
});
