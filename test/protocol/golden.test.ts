/** Each request as the bytes it has for ever: they are in logs and in other languages' clients. */
import { describe, expect, test } from "vitest";
import {
  decodeCommand,
  decodeOperation,
  OP,
  type Request,
  WAIT_FOREVER,
} from "../../src/protocol/index.js";
import { bytes, encodeRequest, hex, read, wrap } from "./frames.js";

const nonce = "000102030405060708090a0b0c0d0e0f";
const head = { sequence: 5, mark: 3, acknowledged: [2, 4] };

const GOLDEN: readonly (readonly [string, Request, string])[] = [
  [
    "open",
    { op: OP.open, nonce, attempt: 1, ttlMs: 15_000, name: "büro", metadata: "" },
    `96 01 c410${nonce} 01 cd3a98 a562c3bc726f a0`,
  ],
  [
    "resume",
    { op: OP.resume, session: 2 ** 32, nonce, attempt: 2 ** 32 - 1 },
    `94 02 cf0000000100000000 c410${nonce} ceffffffff`,
  ],
  [
    "keepalive",
    { op: OP.keepalive, number: 200, mark: 300, acknowledged: [] },
    "94 03 ccc8 cd012c 90",
  ],
  [
    "acquire that waits for ever",
    {
      ...{ op: OP.acquire, ...head, owner: 1, waitMs: WAIT_FOREVER },
      items: [{ key: "a/b", mode: "exclusive" }],
    },
    "98 04 05 03 920204 01 91 92 a3612f62 00 c0 80",
  ],
  [
    "acquire of two keys within a minute",
    {
      ...{ op: OP.acquire, sequence: 5, mark: 5, acknowledged: [], owner: 0, waitMs: 60_000 },
      items: [
        { key: "a", mode: "shared" },
        { key: "ключ", mode: "exclusive" },
      ],
    },
    "98 04 05 05 90 00 92 92a16101 92a8d0bad0bbd18ed18700 cdea60 80",
  ],
  [
    "release",
    { op: OP.release, ...head, token: Number.MAX_SAFE_INTEGER },
    "95 05 05 03 920204 cf001fffffffffffff",
  ],
  ["cancel", { op: OP.cancel, ...head, target: 4 }, "95 06 05 03 920204 04"],
  [
    "recall",
    { op: OP.recall, number: 9, mark: 1, acknowledged: [], sequences: [1, 2], tokens: [65_536] },
    "96 07 09 01 90 920102 91ce00010000",
  ],
  ["close", { op: OP.close, sequence: 6, mark: 6, acknowledged: [] }, "94 08 06 06 90"],
  ["inspect", { op: OP.inspect, id: 7, key: "a" }, "93 40 07 a161"],
  [
    "query from the beginning",
    { op: OP.query, id: 8, prefix: "", after: undefined, limit: 1_000 },
    "95 41 08 a0 c0 cd03e8",
  ],
  [
    "query of the next page",
    { op: OP.query, id: 8, prefix: "a", after: "a/9", limit: 1 },
    "95 41 08 a161 a3612f39 01",
  ],
  ["members", { op: OP.members, id: 300 }, "92 46 cd012c"],
  [
    "adding a member",
    { op: OP.changeMember, id: 9, action: "add", node: 4, address: "n4.example:7421" },
    "95 47 09 00 04 af6e342e6578616d706c653a37343231",
  ],
  [
    "promoting a member",
    { op: OP.changeMember, id: 9, action: "promote", node: 4, address: undefined },
    "95 47 09 01 04 c0",
  ],
  [
    "demoting a member",
    { op: OP.changeMember, id: 9, action: "demote", node: 200, address: undefined },
    "95 47 09 02 ccc8 c0",
  ],
  [
    "removing the member with the highest number",
    { op: OP.changeMember, id: 9, action: "remove", node: 2 ** 32 - 1, address: undefined },
    "95 47 09 03 ceffffffff c0",
  ],
  ["a transfer to anybody", { op: OP.transfer, id: 1, node: 0 }, "93 48 01 00"],
  ["a transfer to a node", { op: OP.transfer, id: 1, node: 3 }, "93 48 01 03"],
];

describe.each(GOLDEN)("%s", (_name, request, digits) => {
  const golden = bytes(digits);

  test("is written as these bytes", () => {
    expect(hex(encodeRequest(request))).toBe(hex(golden));
  });

  test("is read from them", () => {
    expect(read(wrap(golden))).toEqual([{ request, bytes: golden }]);
  });

  test(`is ${request.op < 64 ? "" : "not "}a command that can be replicated`, () => {
    expect(decodeCommand(golden)).toEqual(request.op < 64 ? request : undefined);
  });

  test(`is ${request.op < 70 ? "not " : ""}an operation that a node may pass on`, () => {
    expect(decodeOperation(golden)).toEqual(request.op < 70 ? undefined : request);
  });
});
