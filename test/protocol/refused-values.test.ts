/** Well-formed requests with values that are not allowed are answered, and the frame goes on. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ACKNOWLEDGED_MAX,
  ATTEMPT_MAX,
  type Command,
  decodeCommand,
  decodeOperation,
  ITEMS_MAX,
  NODE_ID_MAX,
  OP,
  RECALL_MAX,
  type Request,
  WAIT_MS_MAX,
} from "../../src/protocol/index.js";
import { anyQuery } from "./arbitraries.js";
import { bytes, encodeRequest, read, wrap } from "./frames.js";

const nonce = "f0".repeat(16);
const head = { sequence: 5, mark: 3, acknowledged: [] };
const open = { op: OP.open, nonce, attempt: 7, ttlMs: 15_000, name: "n", metadata: "m" };
const resume = { op: OP.resume, session: 1, nonce, attempt: 7 };
const acquire = {
  ...{ op: OP.acquire, ...head, owner: 1, waitMs: 0 },
  items: [{ key: "k", mode: "exclusive" as const }],
};
const query = { op: OP.query, id: 5, prefix: "", after: undefined, limit: 1 };
const add = {
  ...{ op: OP.changeMember, id: 5, action: "add" as const, node: 4, address: "n4:7421" },
};
const remove = { ...add, action: "remove" as const, address: undefined };
const addAt = (address: string) => ({ ...add, address });
const NEEDS_HOST = "address needs a host name, an IPv4 address or an IPv6 address in brackets";
const NEEDS_PORT = "address needs a port 1..65535";
const withKey = (key: string) => ({ ...acquire, items: [{ key, mode: "shared" as const }] });
const keys = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ key: `k${i}`, mode: "shared" as const }));

/** What is refused, and the very same just inside the limit. */
const REFUSED: readonly (readonly [Request, string, Request])[] = [
  [{ ...open, attempt: 0 }, "attempt 0 not in 1..4294967295", { ...open, attempt: 1 }],
  [
    { ...open, attempt: ATTEMPT_MAX + 1 },
    "attempt 4294967296 not in 1..4294967295",
    { ...open, attempt: ATTEMPT_MAX },
  ],
  [{ ...open, ttlMs: 999 }, "ttlMs 999 not in 1000..600000", { ...open, ttlMs: 1_000 }],
  [{ ...open, ttlMs: 600_001 }, "ttlMs 600001 not in 1000..600000", { ...open, ttlMs: 600_000 }],
  [
    { ...open, name: "é".repeat(129) },
    "name exceeds 256 bytes",
    { ...open, name: "é".repeat(128) },
  ],
  [
    { ...open, name: "\u001b[31m" },
    "name holds a control character",
    { ...open, metadata: "\u001b[31m\n" },
  ],
  [
    { ...open, metadata: "x".repeat(1_025) },
    "metadata exceeds 1024 bytes",
    { ...open, metadata: "x".repeat(1_024) },
  ],
  [{ ...resume, session: 0 }, "session 0", resume],
  [{ ...resume, attempt: 0 }, "attempt 0 not in 1..4294967295", resume],
  [{ ...acquire, sequence: 0, mark: 0 }, "sequence 0", { ...acquire, sequence: 1, mark: 0 }],
  [{ ...acquire, mark: 6 }, "mark 6 above sequence 5", { ...acquire, mark: 5 }],
  [
    { ...acquire, acknowledged: new Array(ACKNOWLEDGED_MAX + 1).fill(1) },
    "1025 acknowledged, at most 1024",
    { ...acquire, acknowledged: new Array(ACKNOWLEDGED_MAX).fill(1) },
  ],
  [
    { ...acquire, waitMs: WAIT_MS_MAX + 1 },
    "waitMs 4294967296 not in 0..4294967295",
    { ...acquire, waitMs: WAIT_MS_MAX },
  ],
  [{ ...acquire, items: [] }, "no items", acquire],
  [
    { ...acquire, items: keys(ITEMS_MAX + 1) },
    "17 items, at most 16",
    { ...acquire, items: keys(ITEMS_MAX) },
  ],
  [{ ...acquire, items: [...keys(3), ...keys(1)] }, "a key stands twice", acquire],
  [withKey(""), "key is empty", withKey(" ")],
  [withKey("k".repeat(513)), "key exceeds 512 bytes", withKey("k".repeat(512))],
  [withKey("Ж".repeat(257)), "key exceeds 512 bytes", withKey("Ж".repeat(256))],
  [withKey("a\u0000b"), "key holds a control character", withKey("a b")],
  [withKey("a\nb"), "key holds a control character", withKey("a/b")],
  [withKey("\u007f"), "key holds a control character", withKey("\u00a0")],
  [withKey("é\u0085"), "key holds a control character", withKey("é\u00ad")],
  [withKey("~a"), "keys under ~ are reserved", withKey("a~")],
  [withKey("~é"), "keys under ~ are reserved", withKey("é~")],
  [
    { op: OP.release, ...head, sequence: 0, mark: 0, token: 1 },
    "sequence 0",
    { op: OP.release, ...head, token: 0 },
  ],
  [
    { op: OP.cancel, ...head, target: 0 },
    "target 0 not below sequence",
    { op: OP.cancel, ...head, target: 1 },
  ],
  [
    { op: OP.cancel, ...head, target: 5 },
    "target 5 not below sequence",
    { op: OP.cancel, ...head, target: 4 },
  ],
  [{ op: OP.close, ...head, mark: 6 }, "mark 6 above sequence 5", { op: OP.close, ...head }],
  [{ op: OP.inspect, id: 5, key: "" }, "key is empty", { op: OP.inspect, id: 5, key: "k" }],
  [{ ...query, limit: 0 }, "limit 0 not in 1..1000", query],
  [{ ...query, limit: 1_001 }, "limit 1001 not in 1..1000", { ...query, limit: 1_000 }],
  [{ ...query, prefix: "\t" }, "prefix holds a control character", { ...query, prefix: "~" }],
  [
    { ...query, after: "k".repeat(513) },
    "after exceeds 512 bytes",
    { ...query, after: "k".repeat(512) },
  ],
  [{ ...add, node: 0 }, "node 0 not in 1..4294967295", { ...add, node: 1 }],
  [
    { ...add, node: NODE_ID_MAX + 1 },
    "node 4294967296 not in 1..4294967295",
    { ...add, node: NODE_ID_MAX },
  ],
  [{ ...add, address: undefined }, "add without an address", add],
  [{ ...remove, address: "n4:7421" }, "remove with an address", remove],
  [
    { ...remove, action: "promote", address: "n4:7421" },
    "promote with an address",
    { ...remove, action: "promote" },
  ],
  [
    { ...remove, action: "demote", address: "n4:7421" },
    "demote with an address",
    { ...remove, action: "demote" },
  ],
  [addAt(""), "address is not host:port", addAt("a:1")],
  [addAt("n4"), "address is not host:port", addAt("n4:1")],
  [addAt(`${"h".repeat(251)}:7421`), "address exceeds 255 bytes", addAt(`${"h".repeat(250)}:7421`)],
  [addAt(":7421"), NEEDS_HOST, addAt("0:7421")],
  [addAt("n 4:7421"), NEEDS_HOST, addAt("n_4:7421")],
  [addAt("n4/peer:7421"), NEEDS_HOST, addAt("n4.peer:7421")],
  [addAt("a@n4:7421"), NEEDS_HOST, addAt("a-n4:7421")],
  [addAt("n4\n:7421"), NEEDS_HOST, addAt("n4:7421")],
  [addAt("büro:7421"), NEEDS_HOST, addAt("buero:7421")],
  [addAt("::1:7421"), NEEDS_HOST, addAt("[::1]:7421")],
  [addAt("[]:7421"), NEEDS_HOST, addAt("[::]:7421")],
  [addAt("[10.0.0.4]:7421"), NEEDS_HOST, addAt("[::ffff:10.0.0.4]:7421")],
  [addAt("[fe80::1%eth0]:7421"), NEEDS_HOST, addAt("[fe80::1]:7421")],
  [addAt("n4:0"), NEEDS_PORT, addAt("n4:1")],
  [addAt("n4:65536"), NEEDS_PORT, addAt("n4:65535")],
  [addAt("n4:"), NEEDS_PORT, addAt("n4:9")],
  [addAt("n4:080"), NEEDS_PORT, addAt("n4:80")],
  [addAt("n4:1e3"), NEEDS_PORT, addAt("n4:1000")],
  [
    { op: OP.transfer, id: 5, node: NODE_ID_MAX + 1 },
    "node 4294967296 not in 0..4294967295",
    { op: OP.transfer, id: 5, node: 0 },
  ],
];

/** Refused requests that no writer of ours would make, in bytes. */
const REFUSED_BYTES: readonly (readonly [string, number, number, string])[] = [
  ["94 02 01 c40100 07", OP.resume, 7, "nonce of 1 bytes"],
  ["98 04 05 03 90 01 91 92a16b02 00 80", OP.acquire, 5, "unknown mode 2"],
  ["98 04 05 03 90 01 91 92a16b00 00 8101c3", OP.acquire, 5, "unknown option 1"],
  ["98 04 05 03 90 01 91 92a16b00 00 82018101c0029102", OP.acquire, 5, "unknown option 1"],
  ["98 04 05 03 90 01 91 92a1ff00 00 80", OP.acquire, 5, "key is not UTF-8"],
  ["98 04 05 03 90 01 91 92a2c08000 00 80", OP.acquire, 5, "key is not UTF-8"],
  ["98 04 05 03 90 01 91 92a3eda08000 00 80", OP.acquire, 5, "key is not UTF-8"],
  ["98 04 05 03 90 01 91 92a4f490808000 00 80", OP.acquire, 5, "key is not UTF-8"],
  ["98 04 05 03 90 01 91 92a2c3a900 00 8101c3", OP.acquire, 5, "unknown option 1"],
  ["95 47 05 04 04 c0", OP.changeMember, 5, "action 4 not in 0..3"],
  ["95 47 05 00 04 a5613a31ff30", OP.changeMember, 5, "address is not UTF-8"],
];

const idOf = (request: Request): number => {
  if (request.op === OP.open || request.op === OP.resume) return request.attempt;
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
    const half = new Array<number>(RECALL_MAX / 2).fill(1);
    const recall = { op: OP.recall, ...number, acknowledged: [], sequences: half, tokens: half };
    const broken: Command[] = [
      { op: OP.keepalive, ...number, acknowledged: tooMany },
      { ...recall, tokens: [...half, 1] },
      { ...recall, sequences: new Array<number>(RECALL_MAX + 1).fill(1), tokens: [] },
    ];
    for (const command of broken) {
      expect(() => read(wrap(encodeRequest(command)))).toThrowError(/, at most \d+ at offset 1$/);
      expect(decodeCommand(encodeRequest(command))).toBeUndefined();
    }
    expect(read(wrap(encodeRequest(recall)))).toHaveLength(1);
  });
});
