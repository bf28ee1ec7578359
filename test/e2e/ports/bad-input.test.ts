/**
 * Bad input at the client port of a real cluster: a coded answer, or a closed connection with a
 * reason; the nodes live on, and a client that works meanwhile notices nothing. The peer port has
 * its own file, `bad-peer-input.test.ts`.
 */
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { connect, HoldfastError } from "../../../src/index.js";
import {
  type AcquireCommand,
  CLIENT_FRAME_BYTES_MAX,
  type ClientRequest,
  MESSAGE,
  OP,
  type OpenCommand,
  STATUS,
} from "../../../src/protocol/index.js";
import { frameOf } from "../../net/gateway/client.js";
import { Bystander } from "../world/bystander.js";
import { type ClusterProcess, startCluster } from "../world/cluster-process.js";
import { RawConnection, refusedUpgrade, sayOverTcp } from "../world/raw-connection.js";

const { INVALID_ARGUMENT } = ERROR_NUMBERS;
const PROBE_ID = 4_000_000_000;

let cluster: ClusterProcess;
let bystander: Bystander;
beforeAll(async () => {
  cluster = await startCluster();
  bystander = await Bystander.start(cluster);
});
afterEach(() => bystander.expectUndisturbed());
afterAll(async () => {
  await bystander?.[Symbol.asyncDispose]();
  await cluster?.stop();
});

const bytes = (digits: string): Buffer => Buffer.from(digits.replaceAll(" ", ""), "hex");
const text = (value: string): string => Buffer.from(value).toString("hex");
const str16 = (value: string): string =>
  `da${Buffer.byteLength(value).toString(16).padStart(4, "0")}${text(value)}`;

const open = (nonce: Uint8Array = randomBytes(16)): OpenCommand => ({
  op: OP.open,
  nonce: Buffer.from(nonce).toString("hex"),
  attempt: 1,
  ttlMs: 1_000,
  name: "",
  metadata: "",
});
const acquire = (key: string): AcquireCommand => ({
  op: OP.acquire,
  sequence: 1,
  mark: 1,
  acknowledged: [],
  task: 1,
  items: [{ key, mode: "exclusive" }],
  waitMs: 0,
});
const inspect = (key: string, id = 6): ClientRequest => ({ op: OP.inspect, id, key });

/** A frame of one request in which some bytes are replaced by what no encoder would write. */
function patched(request: ClientRequest, from: string, to: string): Buffer {
  const whole = Buffer.from(frameOf([request])).toString("hex");
  if (!whole.includes(from)) throw new Error(`${from} is not in ${whole}`);
  return bytes(whole.replace(from, to));
}

/** A connection with a session of its own, to the node of that number. */
async function attached(node = 1): Promise<RawConnection> {
  const connection = await RawConnection.toClientPort(cluster.node(node).endpoint);
  connection.send(frameOf([open()]));
  const answer = await connection.heard(({ kind }) => kind === MESSAGE.attached);
  expect(answer).toMatchObject({ status: STATUS.ok });
  return connection;
}

describe("a frame that breaks the protocol closes the connection with a reason:", () => {
  const breaches: readonly (readonly [string, Buffer | string, number, RegExp])[] = [
    ["text", '["open"]', 1003, /^text frame/],
    ["nothing", bytes(""), 1002, /^cut off at offset 0$/],
    ["not msgpack", bytes("c1"), 1002, /^expected an array at offset 0$/],
    ["msgpack, but no array", bytes("83 01 02 03 04 05 06"), 1002, /^expected an array/],
    ["an unknown operation", bytes("91 92 63 01"), 1002, /^unknown operation 99/],
    ["an unknown read", bytes("91 92 cd03e7 01"), 1002, /^unknown operation 999/],
    ["no operation", bytes("91 90"), 1002, /at offset/],
    ["a text in place of a number", bytes("91 94 40 a161 a161"), 1002, /^expected an unsigned/],
    ["a number in place of a text", bytes("91 94 40 01 07"), 1002, /^expected/],
    ["a float", bytes("91 94 40 cb3ff0000000000000 a161"), 1002, /^expected/],
    ["a negative number", bytes("91 94 40 ff a161"), 1002, /^expected/],
    ["an extension type", bytes("91 d4 72 40 91 a161"), 1002, /^expected an array/],
    ["too few values", bytes("91 92 40 01"), 1002, /offset/],
    ["too many values", bytes("91 95 40 01 a161 c0 01"), 1002, /offset/],
    ["nesting without end", Buffer.alloc(100_000, 0x91), 1002, /offset/],
    ["more than a frame can hold", bytes("91 94 40 01 dbffffffff"), 1002, /^cut off/],
    ["four billion requests", bytes("ddffffffff"), 1002, /requests in a frame/],
    ["bytes left over", bytes("90 00"), 1002, /^bytes after the last request/],
    ["a byte too much", Buffer.alloc(CLIENT_FRAME_BYTES_MAX + 1, 0x90), 1009, /frameBytesMax/],
    ["far too much", Buffer.alloc(8 << 20, 0x90), 1009, /frameBytesMax/],
  ];
  test.each(breaches)("%s", async (_, frame, code, reason) => {
    const connection = await attached();
    connection.send(frame);
    expect(await connection.closed).toEqual({ code, reason: expect.stringMatching(reason) });
  });

  test("a command before there is a session", async () => {
    const connection = await RawConnection.toClientPort(cluster.node(2).endpoint);
    connection.send(frameOf([acquire("early")]));
    expect(await connection.closed).toEqual({ code: 1008, reason: "a command before attaching" });
  });
});

describe("a value that is not allowed is answered with a code, and the connection stays:", () => {
  const session = { kind: MESSAGE.attached, attempt: 1, status: INVALID_ARGUMENT };
  const read = { kind: MESSAGE.answer, id: 6, status: INVALID_ARGUMENT };
  const command = { kind: MESSAGE.refused, sequence: 1, status: INVALID_ARGUMENT };
  const ttl = "01cd03e8a0a0";
  const refused: readonly (readonly [string, () => Buffer, object])[] = [
    ["a TTL of 0", () => patched(open(), ttl, "0100a0a0"), session],
    ["a TTL of a millisecond", () => patched(open(), ttl, "0101a0a0"), session],
    ["a TTL of a century", () => patched(open(), ttl, "01cf000002de3c6e6c00a0a0"), session],
    ["a TTL of 2^53 - 1", () => patched(open(), ttl, "01cf001fffffffffffffa0a0"), session],
    ["a name with a line break", () => patched(open(), "a0a0", `a3${text("a\nb")}a0`), session],
    ["a name too long", () => patched(open(), "a0a0", `${str16("n".repeat(257))}a0`), session],
    ["metadata too long", () => patched(open(), "a0a0", `a0${str16("m".repeat(1_025))}`), session],
    ["a key to read with NUL", () => patched(inspect("abc"), text("abc"), "610062"), read],
    ["an empty key to read", () => patched(inspect("a"), "a161", "a0"), read],
    ["a key to read too long", () => patched(inspect("a"), "a161", str16("k".repeat(513))), read],
    ["a key with ESC", () => patched(acquire("abc"), text("abc"), "611b62"), command],
    ["an empty key", () => patched(acquire("a"), "a161", "a0"), command],
    ["a key too long", () => patched(acquire("a"), "a161", str16("k".repeat(513))), command],
    ["a reserved key", () => patched(acquire("abc"), text("abc"), text("~bc")), command],
    ["a key that is not UTF-8", () => patched(acquire("abc"), text("abc"), "61ff62"), command],
    [
      "an unknown mode",
      () => patched(acquire("abc"), `${text("abc")}00`, `${text("abc")}07`),
      command,
    ],
  ];
  test.each(refused)("%s", async (_, frame, expected) => {
    const { kind } = expected as { kind: number };
    const connection =
      kind === MESSAGE.refused
        ? await attached(3)
        : await RawConnection.toClientPort(cluster.node(3).endpoint);
    connection.send(frame());
    expect(await connection.heard((message) => message.kind === kind)).toMatchObject(expected);
    connection.send(frameOf([inspect("a", PROBE_ID)]));
    const answer = await connection.heard((m) => m.kind === MESSAGE.answer && m.id === PROBE_ID);
    expect(answer).toMatchObject({ status: STATUS.ok });
    connection.close();
  });

  test("and the SDK refuses them before they are sent", async () => {
    const connecting = connect({ endpoints: cluster.endpoints, ttlMs: 1 });
    await expect(connecting).rejects.toThrow(/ttlMs/);
    await using client = await connect({ endpoints: cluster.endpoints });
    for (const key of ["", "a\u0000", "~a", "k".repeat(513)]) {
      const error = await client.acquire(key).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(HoldfastError);
      expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
  });
});

describe("a caller that does not even speak the protocol is turned away:", () => {
  test("another version, path or subprotocol", async () => {
    const { endpoint } = cluster.node(1);
    const required = "400 the subprotocol holdfast is required";
    expect(await refusedUpgrade(`${endpoint}/v1`, ["holdfast.v2"])).toBe(required);
    expect(await refusedUpgrade(`${endpoint}/v1`, [])).toBe(required);
    expect(await refusedUpgrade(`${endpoint}/v2`, ["holdfast"])).toMatch(/^404 .*\/v1$/);
    expect(await refusedUpgrade(`${endpoint}/peer`, ["holdfast"])).toMatch(/^404 /);
  });

  test("HTTP that is none, is too long, or asks for the wrong thing", async () => {
    const port = Number(new URL(cluster.node(1).endpoint).port);
    expect(await sayOverTcp(port, "\x16\x03\x01\x02\x00 TLS?\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 /);
    const long = `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(100_000)}\r\n\r\n`;
    expect(await sayOverTcp(port, long)).toMatch(/^HTTP\/1\.1 431 /);
    const post = "POST /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    expect(await sayOverTcp(port, post)).toMatch(/^HTTP\/1\.1 405 /);
    for (const size of [1, 100, 10_000, 1_000_000]) {
      expect(await sayOverTcp(port, randomBytes(size))).toMatch(/^(HTTP\/1\.1 4|$)/);
    }
  });
});

describe("garbage", () => {
  test("of any size at any node ends its own connection, with a reason", async () => {
    const sizes = [1, 2, 3, 16, 125, 126, 1_000, 65_535, 65_536, 500_000, 1 << 20, 3 << 20];
    for (const [index, size] of sizes.entries()) {
      const connection = await attached((index % cluster.nodes.length) + 1);
      const frame = randomBytes(size);
      // An array of requests, so that more than the first byte is looked at.
      frame[0] = 0xdc;
      connection.send(frame);
      const { code, reason } = await connection.closed;
      expect([size, code]).toEqual([size, size > CLIENT_FRAME_BYTES_MAX ? 1009 : 1002]);
      expect(reason).not.toBe("");
    }
  });

  test("in the middle of good requests gets a coded answer or a close with a reason", async () => {
    const edit = fc.record({
      at: fc.nat({ max: 400 }),
      removed: fc.nat({ max: 3 }),
      put: fc.uint8Array({ maxLength: 4 }),
    });
    const edits = fc.array(edit, { minLength: 1, maxLength: 3 });
    const nonce = fc.uint8Array({ minLength: 16, maxLength: 16 });
    await fc.assert(
      fc.asyncProperty(edits, nonce, async (changes, secret) => {
        const connection = await RawConnection.toClientPort(cluster.node(1).endpoint);
        const requests = [open(secret), acquire("a"), inspect("b"), end(), close()];
        connection.send(changes.reduce(edited, Buffer.from(frameOf(requests))));
        // Answered only if the connection has survived.
        connection.send(frameOf([inspect("fuzz/c", PROBE_ID)]));
        const isProbe = (m: { kind: number; id?: number }): boolean => m.id === PROBE_ID;
        if ((await connection.heard(isProbe)) === undefined) {
          const { code, reason } = await connection.closed;
          expect([1002, 1008]).toContain(code);
          expect(reason).not.toBe("");
        }
        connection.close();
      }),
      { numRuns: 150 },
    );
  });
});

const end = (): ClientRequest => ({
  op: OP.end,
  sequence: 2,
  mark: 1,
  acknowledged: [1],
  target: 1,
});
const close = (): ClientRequest => ({ op: OP.close, sequence: 3, mark: 3, acknowledged: [] });

function edited(
  frame: Buffer,
  { at, removed, put }: { at: number; removed: number; put: Uint8Array },
): Buffer {
  const start = at % (frame.length + 1);
  return Buffer.concat([frame.subarray(0, start), put, frame.subarray(start + removed)]);
}
