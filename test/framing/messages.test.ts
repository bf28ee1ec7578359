/** Each message of a node as its bytes, and back; any message through writer and reader. */
import fc from "fast-check";
import { unpack } from "msgpackr";
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors/index.js";
import { decodeServerFrame, writePayload } from "../../src/net/framing/index.js";
import {
  MESSAGE,
  type ServerMessage,
  STATUS,
  Writer,
  writeServerMessage,
} from "../../src/protocol/index.js";
import { anyMessage } from "./arbitraries.js";

const bytes = (digits: string) => Uint8Array.from(Buffer.from(digits.replaceAll(/\s/g, ""), "hex"));

function frameOf(messages: readonly ServerMessage[]): Uint8Array {
  const writer = new Writer();
  writer.beginFrame();
  for (const message of messages) writeMessage(writer, message);
  writer.endFrame(messages.length);
  return writer.take();
}

const writeMessage = (writer: Writer, message: ServerMessage) => {
  writeServerMessage(writer, message, writePayload);
};

const reply = { kind: MESSAGE.reply, sequence: 5, stamp: 1_000 };
const blockers = [
  {
    ...{ sessionName: "ci", key: "a", mode: "shared" as const, token: 2 ** 52, identity: "b" },
    ...{ session: 0, holder: "bearer" as const },
  },
];
const attached = { kind: MESSAGE.attached, key: "", attempt: 2 };
const notAttached = {
  ...{ ...attached, session: 0, epoch: 0, highestSequence: 0 },
  ...{ stamp: 0, ttlMs: 0, index: 0 },
};

const GOLDEN: readonly (readonly [string, ServerMessage, string])[] = [
  [
    "hello",
    {
      ...{ kind: MESSAGE.hello, version: 3, clusterId: "0a", nodeId: 1, leaderId: 0 },
      ...{ endpoints: [{ id: 1, endpoint: "ws://a" }], frameBytesMax: 1 << 20 },
      voters: [1, 3],
    },
    "98 01 03 a23061 01 00 91 9201a677733a2f2f61 ce00100000 92 01 03",
  ],
  [
    "attached",
    {
      ...{ ...attached, status: STATUS.ok, session: 9, epoch: 2 },
      ...{ highestSequence: 4, stamp: 300, ttlMs: 15_000, index: 65_536 },
    },
    "99 02 02 00 09 02 04 cd012c cd3a98 ce00010000",
  ],
  ["a refusal to attach", { ...notAttached, status: ERROR_NUMBERS.SESSION_EXPIRED }, "93 02 02 19"],
  ["done", { ...reply, result: { status: STATUS.ok } }, "94 03 05 cd03e8 00"],
  [
    "granted",
    { ...reply, result: { status: STATUS.granted, token: 2 ** 52 + 1 } },
    "95 03 05 cd03e8 01 cf0010000000000001",
  ],
  [
    "granted with slots in two semaphores",
    {
      ...reply,
      result: { status: STATUS.granted, token: 7, slots: [[0, 300], [2]] },
    },
    "96 03 05 cd03e8 01 07 92 9200cd012c 9102",
  ],
  [
    "upgraded",
    { ...reply, kind: MESSAGE.outcome, result: { status: STATUS.upgraded, token: 7 } },
    "95 04 05 cd03e8 05 07",
  ],
  [
    "revoked, and some are left",
    {
      ...reply,
      result: {
        ...{ status: STATUS.revoked, count: 4_096, remaining: 3, opened: 2 },
        ...{ endsInMs: 15_000, leasesLeft: 1 },
      },
    },
    "99 03 05 cd03e8 06 cd1000 03 02 cd3a98 01",
  ],
  [
    "adopted",
    {
      ...reply,
      result: {
        ...{ status: STATUS.adopted, token: 7, value: "v", grantedAt: 900, endsAt: 0 },
        items: [
          { key: "a", mode: "shared", permits: 0, slots: [] },
          { key: "s", mode: "permits", permits: 2, slots: [0, 4] },
        ],
      },
    },
    "99 03 05 cd03e8 07 07 92 94a161010090 94a1730202920004 a176 cd0384 00",
  ],
  [
    "leased, after a wait",
    {
      ...{ ...reply, kind: MESSAGE.outcome },
      result: { status: STATUS.leased, tokens: [7], endsAt: 300, slots: [[0, 4]] },
    },
    "97 04 05 cd03e8 08 9107 cd012c 91 920004",
  ],
  [
    "leased one by one, without end",
    { ...reply, result: { status: STATUS.leased, tokens: [7, 300], endsAt: 0, slots: [] } },
    "97 03 05 cd03e8 08 9207cd012c 00 90",
  ],
  [
    "extended",
    {
      ...reply,
      result: {
        status: STATUS.extended,
        leases: [
          { token: 7, endsAt: 300 },
          { token: 8, endsAt: 0 },
        ],
      },
    },
    "95 03 05 cd03e8 09 92 9207cd012c 920800",
  ],
  [
    "given back",
    { ...reply, result: { status: STATUS.givenBack, count: 2, waits: 1, reason: 6 } },
    "97 03 05 cd03e8 0a 02 01 06",
  ],
  [
    "acted",
    { ...reply, result: { status: STATUS.acted, tokens: [7, 0] } },
    "95 03 05 cd03e8 0b 920700",
  ],
  [
    "held by the same owner",
    { ...reply, result: { status: ERROR_NUMBERS.LOCK_HELD, isSameOwner: true } },
    "95 03 05 cd03e8 10 c3",
  ],
  [
    "not held, with the reason",
    { ...reply, result: { status: ERROR_NUMBERS.NOT_HELD, reason: 2 } },
    `95 03 05 cd03e8 ${ERROR_NUMBERS.NOT_HELD.toString(16)} 02`,
  ],
  [
    "a circle of two",
    {
      ...reply,
      result: {
        status: ERROR_NUMBERS.DEADLOCK,
        cycle: [
          {
            ...{ session: 9, sessionName: "ci", task: 1 },
            ...{ key: "a", mode: "exclusive", identity: "b" },
          },
          {
            ...{ session: 300, sessionName: "", task: 0 },
            ...{ key: "s", mode: "permits", identity: "" },
          },
        ],
      },
    },
    "95 03 05 cd03e8 13 92 9609a2636901a16100a162 96cd012ca000a17302a0",
  ],
  [
    "a circle that is not told",
    { ...reply, result: { status: ERROR_NUMBERS.DEADLOCK } },
    "94 03 05 cd03e8 13",
  ],
  [
    "another limit",
    { ...reply, result: { status: ERROR_NUMBERS.LIMIT_MISMATCH, limit: 10 } },
    "95 03 05 cd03e8 16 0a",
  ],
  [
    "an order with another count than the table's",
    { ...reply, result: { status: ERROR_NUMBERS.OUTDATED_ORDER, orderCount: 300 } },
    "95 03 05 cd03e8 2a cd012c",
  ],
  [
    "another limit, which is not told",
    { ...reply, result: { status: ERROR_NUMBERS.LIMIT_MISMATCH } },
    "94 03 05 cd03e8 16",
  ],
  ["queued", { ...reply, result: { status: STATUS.queued } }, "94 03 05 cd03e8 02"],
  ["released", { ...reply, result: { status: STATUS.released } }, "94 03 05 cd03e8 03"],
  [
    "not released",
    { ...reply, result: { status: STATUS.notReleased, reason: 2 } },
    "95 03 05 cd03e8 04 02",
  ],
  [
    "held by another",
    { ...reply, result: { status: ERROR_NUMBERS.LOCK_HELD, blockedBy: 0, blockers } },
    "96 03 05 cd03e8 10 00 91 97a26369a16101cf0010000000000000a1620003",
  ],
  [
    "held, without more",
    { ...reply, result: { status: ERROR_NUMBERS.LOCK_HELD } },
    "94 03 05 cd03e8 10",
  ],
  [
    "an outcome that is an error",
    { ...reply, kind: MESSAGE.outcome, result: { status: ERROR_NUMBERS.LOCK_TIMEOUT } },
    "94 04 05 cd03e8 11",
  ],
  ["a renewal", { kind: MESSAGE.renewed, number: 7, stamp: 8 }, "93 05 07 08"],
  [
    "what is recalled",
    {
      ...{ kind: MESSAGE.recalled, number: 1, stamp: 2 },
      sequences: [
        { sequence: 3, state: 0 },
        { sequence: 4, state: 1 },
        {
          ...{ sequence: 5, state: 2, token: 300, value: "v", grantedAt: 9, endsAt: 300 },
          ...{ isRevoked: true, isContended: false },
          items: [
            { key: "a", mode: "shared", permits: 0, slots: [] },
            { key: "s", mode: "permits", permits: 2, slots: [0, 4] },
          ],
        },
        { sequence: 6, state: 3, token: 7, reason: 2 },
        { sequence: 7, state: 4, stamp: 6, result: { status: STATUS.notReleased, reason: 7 } },
        { sequence: 8, state: 5 },
      ],
    },
    `94 06 01 02 96 920300 920401
     99 05 02 cd012c 92 94a161010090 94a1730202920004 a176 09 cd012c c3 c2
     94 06 03 07 02 95 07 04 06 04 07 920805`,
  ],
  ["the end of a session", { kind: MESSAGE.ended, session: 9, reason: 2 }, "93 07 09 02"],
  [
    "that a command was not admitted",
    { kind: MESSAGE.refused, sequence: 300, status: ERROR_NUMBERS.BUSY },
    `93 0f cd012c ${ERROR_NUMBERS.BUSY.toString(16)}`,
  ],
  [
    "an answer",
    { kind: MESSAGE.answer, id: 1, status: STATUS.ok, payload: { token: 2 ** 52 } },
    "94 08 01 00 81a5746f6b656ecf0010000000000000",
  ],
  [
    "an answer that is an error",
    { kind: MESSAGE.answer, id: 1, status: ERROR_NUMBERS.UNAVAILABLE, payload: null },
    "94 08 01 1d c0",
  ],
  [
    "an answer that is an error with details",
    { kind: MESSAGE.answer, id: 1, status: ERROR_NUMBERS.UNAVAILABLE, payload: { late: true } },
    "94 08 01 1d 81a46c617465c3",
  ],
  ["a new leader", { kind: MESSAGE.leader, leaderId: 2, endpoints: [] }, "93 09 02 90"],
  ["the request to move", { kind: MESSAGE.move }, "91 0a"],
  ["that somebody waits", { kind: MESSAGE.contended, sequence: 300 }, "92 0b cd012c"],
  [
    "that a hold will be ended",
    { kind: MESSAGE.revoking, sequence: 7, stamp: 300, endsAt: 60_000, reason: "drain" },
    "95 0c 07 cd012c cdea60 a5647261696e",
  ],
  [
    "that the session will be ended",
    { kind: MESSAGE.revoking, sequence: 0, stamp: 300, endsAt: 60_000, reason: "" },
    "95 0c 00 cd012c cdea60 a0",
  ],
  [
    "that a hold was lost",
    { kind: MESSAGE.lost, sequence: 4, token: 7, stamp: 300, reason: 7 },
    "95 0d 04 07 cd012c 07",
  ],
  [
    "what a watch saw",
    { kind: MESSAGE.changes, id: 7, status: STATUS.ok, payload: { changes: [] } },
    "94 0e 07 00 81a76368616e67657390",
  ],
  [
    "that a watch is over",
    { kind: MESSAGE.changes, id: 7, status: ERROR_NUMBERS.COMPACTED, payload: null },
    "94 0e 07 23 c0",
  ],
];

describe.each(GOLDEN)("%s", (_name, message, digits) => {
  test("is written as these bytes", () => {
    const writer = new Writer();
    writeMessage(writer, message);
    expect(Buffer.from(writer.view()).toString("hex")).toBe(digits.replaceAll(/\s/g, ""));
  });

  test("is read from them", () => {
    expect(decodeServerFrame(bytes(`91 ${digits}`))).toEqual([message]);
  });

  test("cut off anywhere is refused", () => {
    const frame = bytes(`91 ${digits}`);
    for (let length = 0; length < frame.length; length++) {
      expect(() => decodeServerFrame(frame.subarray(0, length))).toThrowError(/ at offset \d+$/);
    }
  });
});

/** Behind these the next positions are not free: they have values that may be left out. */
const CUT_SHORT: readonly string[] = [
  ...["granted", "held, without more"],
  ...["a circle that is not told", "another limit, which is not told", "held by the same owner"],
];
const EXTENSIBLE = GOLDEN.filter(([name]) => !CUT_SHORT.includes(name));

test("every kind of message and every status has its bytes here", () => {
  const messages = GOLDEN.map(([, message]) => message);
  const kinds = new Set(messages.map(({ kind }) => kind));
  expect([...kinds].sort((a, b) => a - b)).toEqual(Object.values(MESSAGE));
  const results = messages.flatMap((message) => ("result" in message ? [message.result] : []));
  const statuses = new Set<number>(results.map(({ status }) => status));
  for (const status of Object.values(STATUS)) expect(statuses).toContain(status);
});

describe("a frame of a node", () => {
  test("of another version is read to that number, and no further", () => {
    const unknown = { clusterId: "", nodeId: 0, leaderId: 0, endpoints: [], voters: [] };
    const hello = { kind: MESSAGE.hello, version: 4, ...unknown, frameBytesMax: 0 };
    expect(decodeServerFrame(bytes("91 92 01 04"))).toEqual([hello]);
    expect(decodeServerFrame(bytes("92 95 01 04 91a161 c0 c3 92 05 a161"))).toEqual([hello]);
  });

  test("may hold names of any length and script", () => {
    const long = ["x".repeat(100_000), "é🔒鍵".repeat(20_000)];
    const endpoints = long.map((endpoint, id) => ({ id, endpoint }));
    const notice = { kind: MESSAGE.leader, leaderId: 1, endpoints };
    expect(decodeServerFrame(frameOf([notice]))).toEqual([notice]);
  });

  test.each(EXTENSIBLE)(
    "may have positions behind %s that a newer node added",
    (_name, message, digits) => {
      const longer = bytes(digits);
      longer[0] = (longer[0] as number) + 2;
      const extra = bytes("81a16bcb3ff8000000000000 d0ff");
      expect(decodeServerFrame(Uint8Array.of(0x91, ...longer, ...extra))).toEqual([message]);
    },
  );

  test("is read as it was written, whatever it says", () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 20 }), (messages) => {
        expect(decodeServerFrame(frameOf(messages))).toEqual(messages);
      }),
      { numRuns: 300 },
    );
  });

  test("is msgpack to any other reader", () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 20 }), (messages) => {
        const kinds = (unpack(frameOf(messages)) as unknown[][]).map(([kind]) => kind);
        expect(kinds).toEqual(messages.map((message) => message.kind));
      }),
      { numRuns: 100 },
    );
  });

  test("is read on behind a kind of message that is unknown", () => {
    const unknown = "93 cc c8 c402ffff 82a161cafff00000 01c0";
    expect(decodeServerFrame(bytes(`93 ${unknown} 910a ${unknown}`))).toEqual([
      { kind: MESSAGE.move },
    ]);
  });

  test("may have positions behind what stands inside a message, which a newer node added", () => {
    const extra = "c3 82a16bcb3ff8000000000000a0d0ff";
    const hold = `9b 0402 07 91 96a1730202920004 ${extra} a0 0900 c3c2 ${extra}`;
    const frame = bytes(
      `94 94060102 93 9403 00 ${extra} ${hold} 96 0503 0708 ${extra}
       99030502 0707 91 96a1730202920004 ${extra} a176 0900
       95030502 13 91 98 09a2636901a16100a162 ${extra}
       930902 91 94 01a161 ${extra}`,
    );
    const item = { key: "s", mode: "permits", permits: 2, slots: [0, 4] };
    const member = { session: 9, sessionName: "ci", task: 1, key: "a", mode: "exclusive" };
    expect(decodeServerFrame(frame)).toMatchObject([
      { sequences: [{ state: 0 }, { items: [item], isRevoked: true }, { token: 7, reason: 8 }] },
      { result: { items: [item], value: "v", grantedAt: 9, endsAt: 0 } },
      { result: { cycle: [member] } },
      { endpoints: [{ id: 1, endpoint: "a" }] },
    ]);
  });

  test("may give reasons and errors of a newer node", () => {
    const told =
      "96 930709 63 950d040702 63 940e07 ccc8 c0 940305 02 ccc8 930f07 ccc8 930201 cd0400";
    expect(decodeServerFrame(bytes(told))).toEqual([
      { kind: MESSAGE.ended, session: 9, reason: 0 },
      { kind: MESSAGE.lost, sequence: 4, token: 7, stamp: 2, reason: 0 },
      { kind: MESSAGE.changes, id: 7, status: 200, payload: null },
      { kind: MESSAGE.reply, sequence: 5, stamp: 2, result: { status: 200 } },
      { kind: MESSAGE.refused, sequence: 7, status: 200 },
      { ...notAttached, attempt: 1, status: 1_024 },
    ]);
  });
});
