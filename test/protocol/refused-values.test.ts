/** Well-formed requests with values that are not allowed are answered, and the frame goes on. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ACKNOWLEDGED_MAX,
  type ClientRequest,
  type Command,
  decodeOperation,
  OP,
  RECALL_MAX,
} from "../../src/protocol/index.js";
import { anyQuery } from "./arbitraries.js";
import { decodeCommand } from "./command-bytes.js";
import { bytes, encodeRequest, read, wrap } from "./frames.js";
import { REFUSED_COMMANDS } from "./refused-commands.js";
import { REFUSED_QUESTIONS } from "./refused-questions.js";

const REFUSED = [...REFUSED_COMMANDS, ...REFUSED_QUESTIONS];

/** Refused requests that no writer of ours would make, in bytes. */
const REFUSED_BYTES: readonly (readonly [string, number, number, string])[] = [
  ["94 02 01 c40100 07", OP.resume, 7, "nonce of 1 bytes"],
  [acquireOf("92a16b02"), OP.acquire, 5, "no permits"],
  [acquireOf("92a16b03"), OP.acquire, 5, "unknown mode 3"],
  [acquireOf("94a16b0001c0"), OP.acquire, 5, "permits of a lock"],
  [acquireOf("94a16b0101c0"), OP.acquire, 5, "permits of a lock"],
  [acquireOf("94a16b0301c0"), OP.acquire, 5, "unknown mode 3"],
  [acquireOf("94a1ff0201c0"), OP.acquire, 5, "key is not UTF-8"],
  [acquireOf("92a1ff00"), OP.acquire, 5, "key is not UTF-8"],
  [acquireOf("92a2c08000"), OP.acquire, 5, "key is not UTF-8"],
  [acquireOf("92a3eda08000"), OP.acquire, 5, "key is not UTF-8"],
  [acquireOf("92a4f490808000"), OP.acquire, 5, "key is not UTF-8"],
  [acquireWith("8100c3"), OP.acquire, 5, "unknown option 0"],
  [acquireWith("8108c3"), OP.acquire, 5, "unknown option 8"],
  [acquireWith("82088101c0099102"), OP.acquire, 5, "unknown option 8"],
  [acquireWith("8201 3d 0801"), OP.acquire, 5, "priority 61 not in 0..60"],
  [acquireWith("810100"), OP.acquire, 5, "priority is given its default"],
  [acquireWith("810200"), OP.acquire, 5, "maxHoldMs 0 not in 1000..4294967295"],
  [acquireWith("810300"), OP.acquire, 5, "minHoldMs is given its default"],
  [acquireWith("810400"), OP.acquire, 5, "lockDelayMs is given its default"],
  [acquireWith("8105a0"), OP.acquire, 5, "value is given its default"],
  [acquireWith("8106c2"), OP.acquire, 5, "steal is given its default"],
  [acquireWith("8107c3"), OP.acquire, 5, "detect is given its default"],
  [acquireWith("8105a1ff"), OP.acquire, 5, "value is not UTF-8"],
  ["96 0b 05 03 90 01 a1ff", OP.update, 5, "value is not UTF-8"],
  ["99 0c 05 03 90 c0 01 00 c2 a1ff", OP.revoke, 5, "reason is not UTF-8"],
  ["98 0f 05 03 90 01 c40100 c3 cd0400", OP.handOver, 5, "to of 1 bytes"],
  ["97 10 05 03 90 a16b c400 01", OP.adopt, 5, "secret of 0 bytes"],
  ["96 11 05 03 90 a2c3a9 01", OP.changeSetting, 5, "a setting's name is made of letters"],
  ["96 52 05 a16b c2 00 01", OP.watch, 5, "a number without an index"],
  ["94 4a 05 c40100 00", OP.readSnapshot, 5, "checksum of 1 bytes"],
  ["95 47 05 04 04 c0", OP.changeMember, 5, "action 4 not in 0..3"],
  ["95 47 05 00 04 a5613a31ff30", OP.changeMember, 5, "address is not UTF-8"],
];

/** An acquire of one exclusive key with these options, and one of this item without any. */
function acquireWith(options: string): string {
  return `98 04 05 03 90 01 91 92a16b00 00 ${options}`;
}
function acquireOf(item: string): string {
  return `98 04 05 03 90 01 91 ${item} 00 80`;
}

const idOf = (request: ClientRequest): number => {
  if ("attempt" in request) return request.attempt;
  if ("id" in request) return request.id;
  return "sequence" in request ? request.sequence : request.number;
};

describe("a value that is not allowed", () => {
  test.each(REFUSED)("%#: $1", (refused, reason, allowed) => {
    const encoded = [refused, allowed].map(encodeRequest);
    const answer = { op: refused.op, id: idOf(refused), reason };
    const told = read(wrap(...encoded));
    expect(told).toEqual([answer, { request: allowed, bytes: encoded[1] }]);
  });

  test.each(REFUSED_BYTES)("in bytes: %s", (digits, op, id, reason) => {
    expect(read(wrap(bytes(digits)))).toEqual([{ op, id, reason }]);
  });

  test("makes a request nothing that the table would apply or a leader carry out", () => {
    const refused = REFUSED.map(([request]) => encodeRequest(request));
    for (const encoded of [...refused, ...REFUSED_BYTES.map(([digits]) => bytes(digits))]) {
      expect(decodeCommand(encoded)).toBeUndefined();
      expect(decodeOperation(encoded)).toBeUndefined();
    }
  });

  test("leaves the requests around it as they are, wherever it stands", () => {
    const refused = REFUSED.map(([request]) => request);
    const mixed = fc.array(fc.oneof(anyQuery, fc.constantFrom(...refused)), { maxLength: 15 });
    fc.assert(
      fc.property(mixed, (requests) => {
        const told = read(wrap(...requests.map(encodeRequest)));
        const expected = requests.map((request) => !refused.includes(request));
        expect(told.map((entry) => "request" in entry)).toEqual(expected);
      }),
      { numRuns: 200 },
    );
  });

  test("in a keepalive or recall breaks the frame: their answers cannot be errors", () => {
    const number = { number: 1, mark: 1 };
    const tooMany = new Array<number>(ACKNOWLEDGED_MAX + 1).fill(1);
    const most = new Array<number>(RECALL_MAX).fill(1);
    const recall = { op: OP.recall, ...number, acknowledged: [], sequences: most };
    const broken: (readonly [Command, string])[] = [
      [
        { op: OP.keepalive, ...number, acknowledged: tooMany },
        "1025 acknowledged, at most 1024 at offset 1",
      ],
      [{ ...recall, sequences: [...most, 1] }, "1001 recalled, at most 1000 at offset 1"],
    ];
    for (const [command, message] of broken) {
      expect(() => read(wrap(encodeRequest(command)))).toThrowError(message);
      expect(decodeCommand(encodeRequest(command))).toBeUndefined();
    }
    expect(read(wrap(encodeRequest(recall)))).toHaveLength(1);
  });
});
