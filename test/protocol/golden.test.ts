/** Each request as the bytes it has forever: they are in logs and in other languages' clients. */
import { describe, expect, test } from "vitest";
import {
  ACQUIRE_DEFAULTS,
  type ClientRequest,
  decodeOperation,
  isAttachCommand,
  isCommand,
  isOperation,
  isQuery,
  OP,
  WAIT_FOREVER,
} from "../../src/protocol/index.js";
import { decodeCommand } from "./command-bytes.js";
import { bytes, encodeRequest, hex, read, wrap } from "./frames.js";

const nonce = "000102030405060708090a0b0c0d0e0f";
const head = { sequence: 5, mark: 3, acknowledged: [2, 4] };

const GOLDEN: readonly (readonly [string, ClientRequest, string])[] = [
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
    "acquire that waits forever",
    {
      ...{ op: OP.acquire, ...head, task: 1, waitMs: WAIT_FOREVER },
      items: [{ key: "a/b", mode: "exclusive" }],
    },
    "98 04 05 03 920204 01 91 92 a3612f62 00 c0 80",
  ],
  [
    "acquire of two keys within a minute",
    {
      ...{ op: OP.acquire, sequence: 5, mark: 5, acknowledged: [], task: 0, waitMs: 60_000 },
      items: [
        { key: "a", mode: "shared" },
        { key: "ключ", mode: "exclusive" },
      ],
    },
    "98 04 05 05 90 00 92 92a16101 92a8d0bad0bbd18ed18700 cdea60 80",
  ],
  [
    "acquire with every option but steal",
    {
      ...{ op: OP.acquire, ...head, task: 1, waitMs: 0, items: [{ key: "a", mode: "exclusive" }] },
      options: {
        ...{ priority: 60, maxHoldMs: 1_000, minHoldMs: 999 },
        ...{ lockDelayMs: 60_000, value: "é", steal: false, detect: false },
      },
    },
    `98 04 05 03 920204 01 91 92a16100 00
     86 013c 02cd03e8 03cd03e7 04cdea60 05a2c3a9 07c2`,
  ],
  [
    "acquire that steals",
    {
      ...{ op: OP.acquire, ...head, task: 1, waitMs: 0, items: [{ key: "a", mode: "exclusive" }] },
      options: { ...ACQUIRE_DEFAULTS, steal: true },
    },
    "98 04 05 03 920204 01 91 92a16100 00 81 06c3",
  ],
  [
    "acquire of permits of two semaphores and a shared lock",
    {
      ...{ op: OP.acquire, ...head, task: 1, waitMs: 0 },
      items: [
        { key: "s", mode: "permits", permits: 2, limit: 1_000_000 },
        { key: "t", mode: "permits", permits: 1_000, limit: undefined },
        { key: "a", mode: "shared" },
      ],
    },
    "98 04 05 03 920204 01 93 94a1730202ce000f4240 94a17402cd03e8c0 92a16101 00 80",
  ],
  ["end", { op: OP.end, ...head, target: 4 }, "95 05 05 03 920204 04"],
  [
    "recall",
    { op: OP.recall, number: 9, mark: 1, acknowledged: [], sequences: [1, 65_536] },
    "95 07 09 01 90 9201ce00010000",
  ],
  ["close", { op: OP.close, sequence: 6, mark: 6, acknowledged: [] }, "94 08 06 06 90"],
  ["downgrade", { op: OP.downgrade, ...head, target: 4, key: "a" }, "96 09 05 03 920204 04 a161"],
  [
    "downgrade of all keys",
    { op: OP.downgrade, ...head, target: 4, key: undefined },
    "96 09 05 03 920204 04 c0",
  ],
  [
    "upgrade that waits forever",
    { op: OP.upgrade, ...head, target: 4, key: "a", waitMs: WAIT_FOREVER, detect: true },
    "98 0a 05 03 920204 04 a161 c0 c3",
  ],
  [
    "upgrade that looks for no circle",
    { op: OP.upgrade, ...head, target: 4, key: "a", waitMs: 0, detect: false },
    "98 0a 05 03 920204 04 a161 00 c2",
  ],
  ["update", { op: OP.update, ...head, target: 4, value: "é" }, "96 0b 05 03 920204 04 a2c3a9"],
  [
    "revoke of a key",
    { op: OP.revoke, ...head, key: "a", token: 0, graceMs: 60_000, now: false, reason: "bye" },
    "99 0c 05 03 920204 a161 00 cdea60 c2 a3627965",
  ],
  [
    "revoke of a token at once",
    { op: OP.revoke, ...head, key: undefined, token: 2 ** 41, graceMs: 0, now: true, reason: "" },
    "99 0c 05 03 920204 c0 cf0000020000000000 00 c3 a0",
  ],
  [
    "the end of a session",
    { op: OP.endSession, ...head, session: 9, graceMs: 3_600_000, now: false, reason: "x" },
    "98 0d 05 03 920204 09 ce0036ee80 c2 a178",
  ],
  ["a limit", { op: OP.setLimit, ...head, key: "s", limit: 10 }, "96 0e 05 03 920204 a173 0a"],
  [
    "a limit to be forgotten",
    { op: OP.setLimit, ...head, key: "s", limit: undefined },
    "96 0e 05 03 920204 a173 c0",
  ],
  [
    "a hand-over to a bearer",
    { op: OP.handOver, ...head, target: 4, to: nonce, isBearer: true, ttlMs: 30_000 },
    `98 0f 05 03 920204 04 c410${nonce} c3 cd7530`,
  ],
  [
    "a hand-over to an owner",
    { op: OP.handOver, ...head, target: 4, to: nonce, isBearer: false, ttlMs: 0 },
    `98 0f 05 03 920204 04 c410${nonce} c2 00`,
  ],
  [
    "adopt",
    { op: OP.adopt, ...head, key: "k", secret: nonce, task: 2 },
    `97 10 05 03 920204 a16b c410${nonce} 02`,
  ],
  [
    "a setting",
    { op: OP.changeSetting, ...head, name: "waitersMax", value: 1_000 },
    "96 11 05 03 920204 aa776169746572734d6178 cd03e8",
  ],
  [
    "a setting's default",
    { op: OP.changeSetting, ...head, name: "waitersMax", value: undefined },
    "96 11 05 03 920204 aa776169746572734d6178 c0",
  ],
  ["inspect", { op: OP.inspect, id: 7, key: "a", owner: undefined }, "94 40 07 a161 c0"],
  [
    "inspect with an owner",
    { op: OP.inspect, id: 7, key: "a", owner: nonce },
    `94 40 07 a161 c410${nonce}`,
  ],
  [
    "query from the beginning",
    { op: OP.query, id: 8, prefix: "", after: undefined, limit: 200 },
    "95 41 08 a0 c0 ccc8",
  ],
  [
    "query of the next page",
    { op: OP.query, id: 8, prefix: "a", after: "a/9", limit: 1 },
    "95 41 08 a161 a3612f39 01",
  ],
  [
    "explain of a request",
    { op: OP.explain, id: 7, key: "a", session: 9, sequence: 5 },
    "95 42 07 a161 09 05",
  ],
  [
    "explain to a newcomer",
    { op: OP.explain, id: 7, key: "a", session: 0, sequence: 0 },
    "95 42 07 a161 00 00",
  ],
  ["the graph of waits", { op: OP.waitGraph, id: 7, limit: 2_000 }, "93 43 07 cd07d0"],
  ["verify", { op: OP.verify, id: 7, key: "a", token: 9 }, "94 44 07 a161 09"],
  ["settings", { op: OP.settings, id: 7 }, "92 45 07"],
  ["history", { op: OP.history, id: 7, key: "a", limit: 1_000 }, "94 50 07 a161 cd03e8"],
  ["sessions", { op: OP.sessions, id: 7, after: 9, limit: 100 }, "94 51 07 09 64"],
  [
    "watch from now on",
    { op: OP.watch, id: 7, key: "a", isPrefix: false, after: undefined },
    "96 52 07 a161 c2 00 00",
  ],
  [
    "watch of everything behind a revision",
    { op: OP.watch, id: 7, key: "", isPrefix: true, after: { index: 256, number: 2 } },
    "96 52 07 a0 c3 cd0100 02",
  ],
  ["unwatch", { op: OP.unwatch, id: 8, watch: 7 }, "93 53 08 07"],
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
  ["a snapshot", { op: OP.saveSnapshot, id: 7, isStale: false }, "93 49 07 c2"],
  ["a snapshot of one node's", { op: OP.saveSnapshot, id: 7, isStale: true }, "93 49 07 c3"],
  [
    "the log level of whichever node",
    { op: OP.logLevel, id: 7, node: 0, level: undefined, forMs: 0 },
    "95 4b 07 00 c0 00",
  ],
  [
    "another log level for a second",
    { op: OP.logLevel, id: 7, node: 2, level: "error", forMs: 1_000 },
    "95 4b 07 02 03 cd 03 e8",
  ],
  [
    "a part of a snapshot",
    { op: OP.readSnapshot, id: 8, checksum: "0123456789abcdef".repeat(4), chunk: 256 },
    `94 4a 08 c420${"0123456789abcdef".repeat(4)} cd0100`,
  ],
  ["an identity", { op: OP.putIdentity, ...head, name: "ci@x" }, "95 12 05 03 920204 a463694078"],
  [
    "the end of an identity",
    { op: OP.removeIdentity, ...head, name: "ci" },
    "95 13 05 03 920204 a26369",
  ],
  [
    "a token that expires",
    {
      ...{ op: OP.putCredential, ...head, name: "ci", label: "é", kind: "token" },
      ...{ digest: "0123456789abcdef".repeat(4), expiresWallMs: 8.64e15 },
    },
    `99 14 05 03 920204 a26369 a2c3a9 00 c420${"0123456789abcdef".repeat(4)} cf001eb208c2dc0000`,
  ],
  [
    "a certificate",
    {
      ...{ op: OP.putCredential, ...head, name: "ci", label: "a", kind: "certificate" },
      ...{ digest: undefined, expiresWallMs: 0 },
    },
    "99 14 05 03 920204 a26369 a161 01 c0 00",
  ],
  [
    "the end of a credential",
    { op: OP.removeCredential, ...head, name: "ci", label: "a" },
    "96 15 05 03 920204 a26369 a161",
  ],
  [
    "a grant of all keys",
    { op: OP.setGrant, ...head, name: "ci", key: "", isPrefix: true, level: "admin" },
    "98 16 05 03 920204 a26369 a0 c3 04",
  ],
  [
    "a grant taken away",
    { op: OP.setGrant, ...head, name: "ci", key: "a", isPrefix: false, level: "none" },
    "98 16 05 03 920204 a26369 a161 c2 00",
  ],
  [
    "take of a lease that waits forever",
    {
      ...{ op: OP.take, ...head, owner: nonce, request: "f".repeat(32), name: "büro" },
      ...{ ttlMs: 30_000, isSplit: false, waitMs: WAIT_FOREVER },
      items: [{ key: "a/b", mode: "exclusive" }],
    },
    `9c 17 05 03 920204 c410${nonce} c410${"ff".repeat(16)} a562c3bc726f cd7530 c2
     91 92 a3612f62 00 c0 80`,
  ],
  [
    "take of two leases without end",
    {
      ...{ op: OP.take, ...head, owner: nonce, request: nonce, name: "" },
      ...{ ttlMs: 0, isSplit: true, waitMs: 0, options: { ...ACQUIRE_DEFAULTS, value: "v" } },
      items: [
        { key: "a", mode: "shared" },
        { key: "s", mode: "permits", permits: 2, limit: 3 },
      ],
    },
    `9c 17 05 03 920204 c410${nonce} c410${nonce} a0 00 c3
     92 92a16101 94a173020203 00 8105a176`,
  ],
  [
    "extension by a time",
    { op: OP.extend, ...head, owner: nonce, keys: ["a", "b"], ttlMs: 1, mode: "add" },
    `98 18 05 03 920204 c410${nonce} 92a161a162 01 02`,
  ],
  [
    "extension to a time",
    { op: OP.extend, ...head, owner: nonce, keys: ["a"], ttlMs: 30_000, mode: "exactly" },
    `98 18 05 03 920204 c410${nonce} 91a161 cd7530 01`,
  ],
  [
    "return of whatever an owner has",
    { op: OP.giveBack, ...head, owner: nonce, keys: ["a"], taken: 0 },
    `97 19 05 03 920204 c410${nonce} 91a161 00`,
  ],
  [
    "return of what one take got",
    { op: OP.giveBack, ...head, owner: nonce, keys: ["a", "b"], taken: 4 },
    `97 19 05 03 920204 c410${nonce} 92a161a162 04`,
  ],
  [
    "act that takes, extends and ends",
    {
      ...{ op: OP.act, ...head },
      steps: [
        { owner: nonce, key: "a", before: undefined, after: "v", ttlMs: 1 },
        { owner: nonce, key: "b", before: "v", after: "v", ttlMs: 0 },
        { owner: nonce, key: "c", before: "", after: undefined, ttlMs: undefined },
      ],
    },
    `95 1a 05 03 920204 93 95c410${nonce}a161c0a17601 95c410${nonce}a162a176a17600 95c410${nonce}a163a0c0c0`,
  ],
  ["identities", { op: OP.access, id: 1, after: undefined, limit: 200 }, "94 54 01 c0 ccc8"],
  ["identities after one", { op: OP.access, id: 1, after: "ci", limit: 1 }, "94 54 01 a26369 01"],
  [
    "a question for a right",
    { op: OP.checkAccess, id: 1, name: "ci", level: "acquire", key: "a", isPrefix: true },
    "96 55 01 a26369 02 a161 c3",
  ],
  ["a question for oneself", { op: OP.whoAmI, id: 1 }, "92 56 01"],
  ["a token of access", { op: OP.signIn, id: 1, token: "t~!" }, "93 57 01 a3747e21"],
  [
    "how a node is",
    { op: OP.vitals, id: 1, node: 2, after: 1_800_000_000_000 },
    "94 58 01 02 cf000001a3185c5000",
  ],
  ["a wish only to read", { op: OP.readOnly, id: 2 }, "92 59 02"],
  ["a question whether anybody is there", { op: OP.ping, id: 3 }, "92 5b 03"],
  [
    "the audit of a node",
    {
      ...{ op: OP.audit, id: 1, block: 7, at: 2, limit: 50, key: "a", isPrefix: true },
      ...{ identity: "ci", kind: "access", since: 0, until: 1_800_000_000_000 },
    },
    "9b 5a 01 07 02 32 a161 c3 a26369 02 00 cf000001a3185c5000",
  ],
];

/** Operators' requests; everything below them enters the log, or is read. */
const OPERATIONS: readonly number[] = [70, 71, 72, 73, 74, 75];

describe.each(GOLDEN)("%s", (_name, request, digits) => {
  const golden = bytes(digits);
  const entersLog = request.op < 64;
  const isForLeader = OPERATIONS.includes(request.op);

  test("is written as these bytes", () => {
    expect(hex(encodeRequest(request))).toBe(hex(golden));
  });

  test("is read from them", () => {
    expect(read(wrap(golden))).toEqual([{ request, bytes: golden }]);
  });

  test(`is ${entersLog ? "" : "not "}a command that can be replicated`, () => {
    expect(decodeCommand(golden)).toEqual(entersLog ? request : undefined);
  });

  test(`is ${isForLeader ? "" : "not "}an operation that a node may pass on`, () => {
    expect(decodeOperation(golden)).toEqual(isForLeader ? request : undefined);
  });

  test("is of one sort", () => {
    const sorts = [isCommand(request), isQuery(request), isOperation(request)];
    expect(sorts).toEqual([entersLog, !entersLog && !isForLeader, isForLeader]);
    expect(isAttachCommand(request)).toBe([1, 2].includes(request.op));
  });
});

test("every operation has its bytes here", () => {
  const ops = new Set<number>(GOLDEN.map(([, { op }]) => op));
  expect([...ops].sort((a, b) => a - b)).toEqual(Object.values(OP).sort((a, b) => a - b));
});

test("an acquire whose options are the defaults, every one, says none", () => {
  const items = [{ key: "a", mode: "exclusive" as const }];
  const plain = { op: OP.acquire, ...head, task: 1, waitMs: 0, items };
  const spelled = encodeRequest({ ...plain, options: { ...ACQUIRE_DEFAULTS } });
  expect(hex(spelled)).toBe(hex(encodeRequest(plain)));
  const decoded = decodeCommand(spelled);
  expect(decoded).toHaveProperty("options", undefined);
});
