/** Frames that no node sends: refused before anything general looks at them. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeServerFrame } from "../../src/net/framing/index.js";
import { ProtocolError, SERVER_FRAME_BYTES_MAX } from "../../src/protocol/index.js";

const bytes = (digits: string) => Uint8Array.from(Buffer.from(digits.replaceAll(" ", ""), "hex"));

/** `94 08 01 00 …` is an answer around a payload; `91 1f …` a message of a kind unknown. */
const BROKEN: readonly (readonly [string, string, RegExp])[] = [
  ["nothing", "", /^cut off at offset 0$/],
  ["text", "7b7d", /^expected an array at offset 0$/],
  ["a message that is not an array", "91 05", /^expected an array at offset 1$/],
  ["an empty message", "91 90", /^an array with too few values/],
  ["a kind that is text", "91 91 a161", /^expected an unsigned integer/],
  ["a renewal without a stamp", "91 92 05 01", /^an array with too few values/],
  ["a grant without a token", "91 94 03 01 01 01", /^an array with too few values/],
  ["an upgrade without a token", "91 94 03 01 01 05", /^an array with too few values/],
  ["a revoke that does not say how many", "91 94 03 01 01 06", /^an array with too few values/],
  ["an adoption cut short", "91 95 03 01 01 07 07", /^an array with too few values/],
  [
    "an adopted item cut short",
    "91 99 03 01 01 07 07 91 93a16b0000 a0 00 00",
    /^an array with too few values/,
  ],
  ["a lease cut short", "91 96 03 01 01 08 9107 00", /^an array with too few values/],
  ["an extended lease cut short", "91 95 03 01 01 09 91 9107", /^an array with too few values/],
  ["a status that is neither error nor known", "91 94 03 01 01 0c", /^unknown status 12/],
  ["the last status that is not an error", "91 94 03 01 01 0f", /^unknown status 15/],
  ["a refusal to attach by no error", "91 93 02 01 01", /^unknown status 1/],
  ["an attachment cut short", "91 94 02 01 00 01", /^an array with too few values/],
  [
    "an attachment without an index",
    "91 98 02 01 00 01 01 00 01 01",
    /^an array with too few values/,
  ],
  ["an attachment to a name", "91 99 02 01 00 a161 01 00 01 01 01", /^expected an unsigned/],
  ["the end of a session without a reason", "91 92 07 09", /^an array with too few values/],
  ["a refusal without a cause", "91 92 0f 07", /^an array with too few values/],
  ["a refusal with a result", "91 93 0f 07 03", /^status 3 is not an error/],
  ["a refusal with success", "91 93 0f 07 00", /^status 0 is not an error/],
  ["an unknown cause of blocking", "91 96 03 01 01 10 03 90", /^blocked by 3/],
  ["an unknown mode", "91 96 03 01 01 10 00 91 97a0a00300a00000", /^unknown mode 3/],
  [
    "a circle of nobody in particular",
    "91 95 03 01 01 13 91 9409a000a0",
    /^an array with too few values/,
  ],
  ["a circle that is a number", "91 95 03 01 01 13 07", /^expected an array/],
  ["a limit that is text", "91 95 03 01 01 16 a0", /^expected an unsigned/],
  ["slots that are not lists", "91 96 03 01 01 01 07 9100", /^expected an array/],
  ["slots longer than the frame", "91 96 03 01 01 01 07 91ddffffffff", /^cut off/],
  ["a contended nothing", "91 91 0b", /^an array with too few values/],
  ["a revoke without a reason", "91 94 0c 07 01 01", /^an array with too few values/],
  ["a loss without a reason", "91 94 0d 07 07 01", /^an array with too few values/],
  ["changes without a payload", "91 93 0e 07 00", /^an array with too few values/],
  ["changes of a status that is not an error", "91 94 0e 07 01 c0", /^unknown status 1/],
  ["an extension in changes", "91 94 0e 07 00 c70001", /^type 0xc7 is not in use/],
  ["what is recalled without its sequences", "91 93 06 01 01", /^an array with too few values/],
  ["an unknown state", "91 94 06 01 01 91 920106", /^unknown state 6/],
  ["a reply without a result", "91 94 06 01 01 91 93010401", /^an array with too few values/],
  ["an end without a reason", "91 94 06 01 01 91 93010307", /^an array with too few values/],
  ["a hold cut short", "91 94 06 01 01 91 9801020790a00000c2", /^an array with too few values/],
  ["a hold neither revoked nor not", "91 94 06 01 01 91 9901020790a0000000c2", /^expected a boo/],
  [
    "a hold whose item is cut short",
    "91 94 06 01 01 91 990102079193a00000",
    /^an array with too few values/,
  ],
  ["a name that is not UTF-8", "91 93 09 01 91 9201a1ff", /^not UTF-8/],
  ["a long form", "91 93 05 cc01 01", /^not in its shortest form/],
  ["a token as a float", "91 95 03 01 01 01 cb4330000000000000", /^expected an unsigned/],
  ["a token beyond 2^53 - 1", "91 95 03 01 01 01 cf0020000000000000", /^integer beyond/],
  ["a record definition as a payload", "91 94 08 01 00 d47240 91a161", /^type 0xd4 is not in use/],
  ["a record definition in a payload", "91 94 08 01 00 91 d47240", /^type 0xd4 is not in use/],
  ["an extension in a payload", "91 94 08 01 00 81a161 c70001", /^type 0xc7 is not in use/],
  ["a timestamp in an unknown message", "91 92 1f d6ff00000000", /^type 0xd6 is not in use/],
  ["the unused type", "91 92 1f c1", /^type 0xc1 is not in use/],
  ["a payload longer than the frame", "91 94 08 01 00 dbffffffff", /^cut off/],
  ["a list longer than the frame", "91 94 08 01 00 ddffffffff", /^cut off/],
  ["a map longer than the frame", "91 94 08 01 00 dfffffffff 00", /^cut off/],
  ["bytes behind the last message", "91 910a c0", /^bytes after the last message at offset 3$/],
  ["a message that is missing", "92 910a", /^cut off at offset 3$/],
];

describe("a client refuses", () => {
  test.each(BROKEN)("%s", (_name, digits, message) => {
    expect(() => decodeServerFrame(bytes(digits))).toThrowError(message);
    expect(() => decodeServerFrame(bytes(digits))).toThrowError(ProtocolError);
  });

  test("every extension type, wherever a value may be of any kind", () => {
    for (const type of [0xc7, 0xc8, 0xc9, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8]) {
      const value = Uint8Array.of(type, ...new Uint8Array(32));
      const places = ["91 94 08 01 00", "91 94 08 01 1d", "91 94 0e 01 00", "91 92 0a", "91 92 1f"];
      for (const around of places) {
        const frame = Uint8Array.of(...bytes(around), ...value);
        expect(() => decodeServerFrame(frame)).toThrowError(/is not in use/);
      }
    }
  });

  test("a bomb of nested arrays or maps", () => {
    for (const fill of [0x91, 0x81]) {
      const bomb = new Uint8Array(1 << 20).fill(fill);
      bomb.set(bytes("91 94 08 01 00"));
      expect(() => decodeServerFrame(bomb)).toThrowError(/^nested too deeply/);
    }
  });

  test("a frame larger than any node sends", () => {
    const frame = new Uint8Array(SERVER_FRAME_BYTES_MAX + 1);
    frame[0] = 0x90;
    expect(() => decodeServerFrame(frame)).toThrowError(/^a frame of 16777217 bytes/);
  });

  test("bytes of any kind with nothing but a ProtocolError", () => {
    const likely = fc.constantFrom(
      ...[0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x98, 0x81, 0xa1, 0xc0, 0xc2, 0xcc, 0xcf, 0xd4, 0xd9],
      ...[0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x10, 0x72, 0xca, 0xdc],
      ...[0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x13, 0x16, 0x27, 0x97, 0x99, 0x9a, 0xc3],
    );
    const anyBytes = fc
      .array(fc.oneof(likely, fc.nat(255)), { maxLength: 40 })
      .map((list) => Uint8Array.of(0x91, ...list));
    fc.assert(
      fc.property(anyBytes, (frame) => {
        try {
          expect(decodeServerFrame(frame).length).toBeLessThanOrEqual(1);
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError);
        }
      }),
      { numRuns: 5_000 },
    );
  });
});
