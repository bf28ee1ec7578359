/** The bytes between nodes: fixed layout, nothing lost, nothing bad believed. */
import { isDeepStrictEqual } from "node:util";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodePeerFrame } from "../../../src/net/peers/decoder.js";
import { encodePeerMessage } from "../../../src/net/peers/encoder.js";
import { PeerFrame } from "../../../src/net/peers/frame.js";
import { PeerFrameError } from "../../../src/net/peers/frame-cursor.js";
import { decodeHello, encodeHello, PEER_CLOSE } from "../../../src/net/peers/hello.js";
import type { PeerMessage } from "../../../src/net/types.js";
import { MODEL_VERSION } from "../../../src/protocol/model-version.js";
import { addressed, CHECKSUM, FROM, frameOf, SAMPLES, sealed, TO } from "./messages.js";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const u64 = (value: number): string => value.toString(16).padStart(16, "0");
const utf8 = (text: string): string => hex(Buffer.from(text));
const RAFT_PREFIX = u64(5) + u64(6);
const HEADER = (kind: string, length: number): string =>
  `${kind}${["06", "19"].includes(kind) ? "02" : "01"}00000009${length.toString(16).padStart(8, "0")}`;

const GOLDEN: readonly string[] = [
  `${HEADER("01", 33) + RAFT_PREFIX + u64(7) + u64(4)}00`,
  `${HEADER("02", 33) + RAFT_PREFIX + u64(7) + u64(4)}01`,
  `${HEADER("03", 17) + RAFT_PREFIX}01`,
  `${HEADER("04", 17) + RAFT_PREFIX}01`,
  `${HEADER("05", 86) + RAFT_PREFIX + u64(7) + u64(4) + u64(3)}00000003` +
    `00${u64(5)}00000000` +
    `01${u64(5)}00000002aabb` +
    `02${u64(5)}00000001cc`,
  `${HEADER("06", 50) + RAFT_PREFIX}0000${u64(0)}${u64(9)}${u64(8)}${u64(4)}`,
  HEADER("07", 32) + RAFT_PREFIX + u64(3) + u64(12),
  HEADER("08", 24) + RAFT_PREFIX + u64(12),
  `${HEADER("10", 19) + u64(1) + u64(5)}010203`,
  `${HEADER("11", 9) + u64(1)}01`,
  HEADER("12", 16) + u64(2) + u64(5),
  `${HEADER("13", 16) + u64(2)}0000000100000001`,
  `${HEADER("14", 1)}00`,
  HEADER("09", 32) + RAFT_PREFIX + u64(7) + u64(4),
  `${HEADER("15", 78) + RAFT_PREFIX + u64(7) + u64(4) + CHECKSUM}00000003${u64(2 ** 21 + 1)}ddee`,
  `${HEADER("16", 39) + CHECKSUM}00000002010203`,
  `${HEADER("17", 36) + CHECKSUM}00000003`,
  `${HEADER("18", 42) + CHECKSUM + utf8("plötzlich")}`,
  `${HEADER("19", 23) + u64(1) + u64(5)}00000007924601`,
  `${HEADER("1a", 31) + u64(1)}001c${utf8('{"message":"später"}')}`,
  `${HEADER("1b", 10) + u64(9)}ddee`,
  `${HEADER("1c", 1)}02`,
  `${HEADER("1d", 16) + u64(1) + u64(9)}`,
  `${HEADER("1e", 18) + u64(1) + utf8('{"node":2}')}`,
];

const zeros = (count: number): Uint8Array => new Uint8Array(count);

/** Decodes, or throws the one error that a link expects; anything else fails the test. */
function decodesOrIsRefused(frame: Uint8Array): boolean {
  try {
    decodePeerFrame(frame, FROM, TO);
    return true;
  } catch (error) {
    if (error instanceof PeerFrameError) return false;
    throw error;
  }
}

describe("peer frames", () => {
  test.each(SAMPLES.map((message, i) => [i, message] as const))(
    "sample %i has exactly the documented bytes",
    (i, message) => {
      const frame = frameOf([{ group: 9, message }]);
      expect(hex(frame.subarray(4))).toBe(GOLDEN[i]);
      expect(hex(frame.subarray(0, 4))).toBe(
        crc32(frame.subarray(4)).toString(16).padStart(8, "0"),
      );
      expect(decodePeerFrame(frame, FROM, TO)).toEqual([{ group: 9, message }]);
    },
  );

  test("any messages come back as they were, in order", () => {
    fc.assert(
      fc.property(fc.array(addressed, { minLength: 1, maxLength: 6 }), (messages) => {
        expect(decodePeerFrame(frameOf(messages), FROM, TO)).toEqual(messages);
      }),
    );
  });

  test("a frame cut anywhere but between messages is refused as a whole", () => {
    const messages = SAMPLES.map((message) => ({ group: 1, message }));
    const whole = frameOf(messages);
    const boundaries = new Set(messages.map((_, i) => frameOf(messages.slice(0, i + 1)).length));
    for (let length = 4; length < whole.length; length += 1) {
      expect(decodesOrIsRefused(whole.slice(0, length))).toBe(false);
      const cut = sealed(whole.subarray(4, length));
      expect(decodesOrIsRefused(cut)).toBe(boundaries.has(length));
    }
  });

  test("every flipped bit is found, and none of them makes the decoder fail in another way", () => {
    const whole = frameOf(SAMPLES.map((message) => ({ group: 1, message })));
    for (let bit = 0; bit < whole.length * 8; bit += 1) {
      const damaged = whole.slice();
      damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(() => decodePeerFrame(damaged, FROM, TO)).toThrow(/checksum of a frame is wrong/);
      decodesOrIsRefused(sealed(damaged.subarray(4)));
    }
  });

  test("no bytes whatever make the decoder fail in another way", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (frame) => {
        expect(decodesOrIsRefused(frame)).toBe(false);
        decodesOrIsRefused(sealed(frame));
      }),
    );
  });

  const head = (kind: string, body: string): Uint8Array =>
    Buffer.from(HEADER(kind, body.length / 2) + body, "hex");
  /** An offer as the sample's, but for these. */
  const offer = (change: {
    readonly index?: number;
    readonly term?: number;
    readonly byteLength?: number;
    readonly configurationBytes?: number;
  }): Uint8Array => {
    const { index = 7, term = 4, byteLength = 5, configurationBytes = 0 } = change;
    const point = RAFT_PREFIX + u64(index) + u64(term) + CHECKSUM;
    return head("15", `${point}00000003${u64(byteLength)}${"00".repeat(configurationBytes)}`);
  };
  test.each([
    ["an empty frame", new Uint8Array(0), /empty frame/],
    ["an unknown kind", head("63", ""), /unknown message kind 99/],
    ["an unknown kind of the core", head("0a", RAFT_PREFIX), /unknown message kind 10/],
    ["kind 0", head("00", RAFT_PREFIX), /unknown message kind 0/],
    ["another version", Buffer.from(`0102${"00".repeat(8)}`, "hex"), /kind 1 of version 2/],
    ["a body with bytes too many", head("08", `${RAFT_PREFIX + u64(1)}00`), /1 bytes too many/],
    ["a boolean of 2", head("04", `${RAFT_PREFIX}02`), /2 instead of a boolean/],
    [
      "a success that needs a snapshot",
      head("06", `${RAFT_PREFIX}0101${u64(1) + u64(0) + u64(0) + u64(0)}`),
      /a success that needs a snapshot/,
    ],
    ["a number of 2^53", head("12", u64(1) + u64(2 ** 53)), /beyond 2\^53/],
    ["an unknown refusal", head("11", `${u64(1)}07`), /7 is none of notLeader, busy, diskFull/],
    [
      "a vote request without its transfer flag",
      head("02", RAFT_PREFIX + u64(7) + u64(4)),
      /cut short/,
    ],
    [
      "a transfer flag of 9",
      head("02", `${RAFT_PREFIX + u64(7) + u64(4)}09`),
      /9 instead of a boolean/,
    ],
    ["a checksum cut short", head("17", CHECKSUM), /cut short/],
    ["a snapshot of index 0", offer({ index: 0 }), /a snapshot of index 0, term 4/],
    ["a snapshot of term 0", offer({ term: 0 }), /a snapshot of index 7, term 0/],
    ["a snapshot of an index beyond 2^53", offer({ index: 2 ** 53 }), /beyond 2\^53/],
    [
      "a snapshot larger than its chunks can be",
      offer({ byteLength: 3 * (1 << 20) + 1 }),
      /a snapshot of 3145729 bytes in 3 chunks/,
    ],
    [
      "a configuration of more than 16 KiB",
      offer({ configurationBytes: (16 << 10) + 1 }),
      /16385 bytes, at most 16384/,
    ],
    [
      "a chunk of more than a megabyte",
      head("16", `${CHECKSUM}00000000${"00".repeat((1 << 20) + 1)}`),
      /1048577 bytes, at most 1048576/,
    ],
    [
      "a reason longer than a log line",
      head("18", CHECKSUM + "61".repeat(1_025)),
      /1025 bytes, at most 1024/,
    ],
    ["a reason that is not UTF-8", head("18", `${CHECKSUM}61c3`), /not UTF-8/],
    [
      "an operation longer than any",
      head("19", `${u64(1) + u64(5)}00000007${"00".repeat(513)}`),
      /513 bytes, at most 512/,
    ],
    ["a status of commands alone", head("1a", `${u64(1)}0001`), /status 1 of an operation/],
    [
      "an answer longer than any",
      head("1a", `${u64(1)}0000${"20".repeat((64 << 10) + 1)}`),
      /65537 bytes, at most 65536/,
    ],
    ["an answer that is not UTF-8", head("1a", `${u64(1)}0000eda080`), /not UTF-8/],
    [
      "four billion entries in no bytes",
      head("05", `${RAFT_PREFIX + u64(7) + u64(4) + u64(3)}ffffffff`),
      /cut short/,
    ],
    [
      "entries beyond the last index",
      head("05", `${RAFT_PREFIX}001fffffffffffff${u64(4) + u64(3)}0000000100${u64(1)}00000000`),
      /entries after/,
    ],
    [
      "an entry of an unknown kind",
      head("05", `${RAFT_PREFIX + u64(7) + u64(4) + u64(3)}0000000103${u64(1)}00000000`),
      /3 is none of noop, command, configuration/,
    ],
    [
      "an entry longer than its message",
      head("05", `${RAFT_PREFIX + u64(7) + u64(4) + u64(3)}0000000100${u64(1)}000000ff`),
      /cut short/,
    ],
  ])("%s is refused by name", (_, frame, reason) => {
    expect(() => decodePeerFrame(sealed(frame), FROM, TO)).toThrow(reason);
  });

  test("what does not fit the format never leaves: a gap between entries", () => {
    const frame = new PeerFrame();
    const entry = { index: 9, term: 5, kind: "noop", data: new Uint8Array(0) } as const;
    const message = SAMPLES[4];
    if (message?.type !== "raft" || message.message.type !== "append") throw new Error("sample");
    const gap = { type: "raft", message: { ...message.message, entries: [entry] } } as const;
    expect(() => encodePeerMessage(frame, 0, gap)).toThrow(/9 sent instead of 8/);
  });
});

describe("what is at its limit", () => {
  const largest: readonly PeerMessage[] = [
    { type: "snapshotChunk", checksum: CHECKSUM, number: 2 ** 32 - 1, bytes: zeros(1 << 20) },
    {
      ...{ type: "snapshotOffer", term: 1, epoch: 1 },
      snapshot: {
        ...{ index: 1, term: 1, checksum: CHECKSUM, chunkCount: 3, byteLength: 3 << 20 },
        configuration: zeros(16 << 10),
      },
    },
    { type: "snapshotRefused", checksum: CHECKSUM, reason: "é".repeat(512) },
    { type: "operation", id: 1, term: 1, credential: 1, request: zeros(512) },
    { type: "operationReply", id: 1, status: 0, text: "é".repeat(32 << 10) },
  ];
  test.each(largest.map((message) => [message.type, message] as const))(
    "%s comes back as it was",
    (_, message) => {
      const delivery = { group: 9, message };
      const decoded = decodePeerFrame(frameOf([delivery]), FROM, TO);
      expect(isDeepStrictEqual(decoded, [delivery])).toBe(true);
    },
  );

  test("what is a small part of a large frame does not keep the frame, and comes back as it was", () => {
    const chunk: PeerMessage = {
      ...{ type: "snapshotChunk", checksum: CHECKSUM, number: 1 },
      bytes: zeros(1 << 20),
    };
    const [sample, forward] = [SAMPLES[4], SAMPLES[8]];
    if (sample === undefined || forward === undefined) throw new Error("samples");
    const messages = [sample, chunk, forward].map((message) => ({ group: 1, message }));
    const decoded = decodePeerFrame(frameOf(messages), FROM, TO);
    expect(isDeepStrictEqual(decoded, messages)).toBe(true);
    const kept: Uint8Array[] = [];
    for (const { message } of decoded) {
      if (message.type === "forward") kept.push(message.records);
      if (message.type !== "raft" || message.message.type !== "append") continue;
      for (const { data } of message.message.entries) kept.push(data);
    }
    expect(kept).toHaveLength(4);
    for (const { buffer } of kept) expect(buffer.byteLength).toBeLessThan(128);
  });

  const tooLarge: readonly (readonly [PeerMessage, RegExp])[] = [
    [
      { type: "snapshotChunk", checksum: CHECKSUM, number: 0, bytes: zeros((1 << 20) + 1) },
      /1048577 bytes, at most 1048576/,
    ],
    [
      { type: "operation", id: 1, term: 1, credential: 1, request: zeros(513) },
      /513 bytes, at most 512/,
    ],
    [
      { type: "operationReply", id: 1, status: 0, text: "é".repeat((32 << 10) + 1) },
      /65538 bytes, at most 65536/,
    ],
    [
      { type: "snapshotProgress", checksum: CHECKSUM.toUpperCase(), next: 1 },
      /not 32 bytes in hex digits: 00FF/,
    ],
    [
      { type: "snapshotProgress", checksum: CHECKSUM.slice(2), next: 1 },
      /not 32 bytes in hex digits: ff00/,
    ],
  ];
  test.each(tooLarge)("and beyond it never leaves: %#", (message, reason) => {
    expect(() => frameOf([{ group: 0, message }])).toThrow(reason);
  });

  test("but a reason is cut, at a character, so that words never end a node", () => {
    const message: PeerMessage = {
      ...{ type: "snapshotRefused", checksum: CHECKSUM },
      reason: `${"r".repeat(1_023)}é and more`,
    };
    const [delivery] = decodePeerFrame(frameOf([{ group: 0, message }]), FROM, TO);
    expect(delivery?.message).toEqual({ ...message, reason: "r".repeat(1_023) });
  });
});

describe("peer hello", () => {
  const identity = {
    nodeId: 2,
    clusterId: "00112233445566778899aabbccddeeff",
    birth: "0123456789abcdef",
    origin: "initial" as const,
    incarnation: 7,
    advertise: "ws://a:1",
  };

  const version = MODEL_VERSION.toString(16).padStart(4, "0");
  const prefix = version;
  /** A hello of these bytes after its checksum. */
  const summed = (digits: string): Uint8Array =>
    Buffer.concat([Buffer.from(prefix, "hex"), sealed(Buffer.from(digits, "hex"))]);
  /** The hello with a byte changed by somebody who knows how to count. */
  const changed = (at: number, value: number): Uint8Array => {
    const bytes = Buffer.from(encodeHello(identity, 3));
    bytes[at] = value;
    return summed(hex(bytes.subarray(6)));
  };

  test("has exactly the documented bytes and comes back as it was", () => {
    const hello = (origin: string, redis: string): string => {
      const directory = `00000002${identity.clusterId}0123456789abcdef${origin}${u64(7)}`;
      return hex(summed(`${directory}000877733a2f2f613a31${redis}00000003`));
    };
    const bytes = encodeHello(identity, 3);
    expect(hex(bytes)).toBe(hello("00", "0000"));
    expect(decodeHello(bytes)).toEqual({ identity, expectedId: 3 });
    const joined = { ...identity, origin: "joined" as const };
    expect(hex(encodeHello(joined, 3))).toBe(hello("01", "0000"));
    expect(decodeHello(encodeHello(joined, 3))).toEqual({ identity: joined, expectedId: 3 });
    const withRedis = { ...identity, redisAddress: "a:2" };
    expect(hex(encodeHello(withRedis, 3))).toBe(hello("00", "0003613a32"));
    expect(decodeHello(encodeHello(withRedis, 3))).toEqual({ identity: withRedis, expectedId: 3 });
  });

  test("is refused when cut or prolonged at any place", () => {
    const whole = encodeHello(identity, 3);
    for (let length = 0; length < whole.length; length += 1) {
      expect(decodeHello(whole.slice(0, length))).toHaveProperty("code");
      const cut = summed(hex(whole.subarray(6, length)));
      expect(decodeHello(cut)).toHaveProperty("code", PEER_CLOSE.badFrame);
    }
    const longer = summed(`${hex(whole.subarray(6))}00`);
    expect(decodeHello(longer)).toHaveProperty("code", PEER_CLOSE.badFrame);
  });

  test("with a flipped bit is refused, wherever it is", () => {
    const whole = encodeHello(identity, 3);
    for (let bit = 0; bit < whole.length * 8; bit += 1) {
      const damaged = whole.slice();
      damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(decodeHello(damaged)).toHaveProperty("code");
    }
  });

  test("of another version is refused with both versions named", () => {
    const bytes = encodeHello(identity, 3);
    bytes[1] = MODEL_VERSION + 1;
    expect(decodeHello(bytes)).toMatchObject({
      code: PEER_CLOSE.version,
      reason: `the hello has version ${MODEL_VERSION + 1}, this node speaks ${MODEL_VERSION}: run one version of Holdfast on all nodes`,
    });
  });

  test("of an origin that nobody has is refused", () => {
    expect(decodeHello(changed(34, 2))).toMatchObject({
      code: PEER_CLOSE.badFrame,
      reason: "malformed peer hello: 2 is none of initial, joined",
    });
  });

  test("without a whole birth never leaves", () => {
    for (const birth of ["", "0123456789abcd", "0123456789abcdef01", "no hex digits!!!"]) {
      expect(() => encodeHello({ ...identity, birth }, 3)).toThrow(/not 8 bytes/);
    }
  });

  test("brings no control characters into logs", () => {
    const { length } = encodeHello(identity, 3);
    // Before the length of the Redis address and the node that it expects.
    const last = length - 7;
    expect(decodeHello(changed(last, 0x0a))).toHaveProperty(
      "reason",
      expect.stringMatching(/unprintable/),
    );
  });

  test("of any bytes is answered, never thrown at", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (tail) => {
        const unsealed = Buffer.from(prefix + hex(tail), "hex");
        expect(typeof decodeHello(unsealed)).toBe("object");
        expect(typeof decodeHello(summed(hex(tail)))).toBe("object");
      }),
    );
  });
});
