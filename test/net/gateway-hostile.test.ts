/** Bad input at the client port: coded answers or a close with a reason, and nobody else notices. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors.js";
import { MESSAGE, OP, type Request, STATUS, WAIT_FOREVER } from "../../src/protocol/index.js";
import { BareClient, frameOf, NONCE, OPEN, release, TestGateway } from "./gateway-client.js";

const { INVALID_ARGUMENT } = ERROR_NUMBERS;

let gateway: TestGateway;
/** A well-behaved client that is there all the time. */
let bystander: BareClient;
let said = 0;
beforeAll(async () => {
  gateway = await new TestGateway({ controlFramesMax: 200 }).start();
  bystander = await BareClient.attached(gateway);
});
afterEach(async () => {
  said += 1;
  bystander.say(release(said));
  expect(await bystander.reply(said)).toMatchObject({ result: { status: STATUS.ok } });
});
afterAll(() => gateway.gateway.close());

const bytes = (digits: string): Buffer => Buffer.from(digits.replaceAll(" ", ""), "hex");
/** A frame of one request with one value replaced by bytes that a client's encoder would not write. */
const patched = (request: Request, from: string, to: string): Buffer => {
  const whole = Buffer.from(frameOf([request])).toString("hex");
  if (!whole.includes(from)) throw new Error(`${from} is not in ${whole}`);
  return bytes(whole.replace(from, to));
};
const text = (value: string): string => Buffer.from(value).toString("hex");
const inspect = (key: string): Request => ({ op: OP.inspect, id: 6, key });
const add: Request = {
  ...{ op: OP.changeMember, id: 6, action: "add", node: 4, address: "n4:805" },
};
const acquire = (key: string): Request => ({
  op: OP.acquire,
  sequence: 3,
  mark: 1,
  acknowledged: [],
  owner: 1,
  items: [{ key, mode: "exclusive" }],
  waitMs: WAIT_FOREVER,
});
const takeOver: Request = { op: OP.takeOver, session: 9, nonce: NONCE, attempt: 3 };
const graph: Request = { op: OP.waitGraph, id: 6, limit: 10 };
const watch: Request = { op: OP.watch, id: 6, key: "k", isPrefix: false, after: undefined };
const explain: Request = { op: OP.explain, id: 6, key: "k", session: 9, sequence: 5 };
/** A string of 16-bit length, as msgpack. */
const str16 = (value: string): string =>
  `da${Buffer.byteLength(value).toString(16).padStart(4, "0")}${text(value)}`;

describe("a frame that breaks the protocol ends its connection with a reason:", () => {
  const breaches: readonly (readonly [string, Buffer | string, number, RegExp])[] = [
    ["text", "[1]", 1003, /^text frame/],
    ["nothing", bytes(""), 1002, /^cut off at offset 0$/],
    ["not msgpack's array", bytes("c1"), 1002, /^expected an array at offset 0$/],
    ["JSON in a binary frame", Buffer.from('{"op":1}'), 1002, /^expected an array/],
    ["an unknown operation", bytes("91 92 63 01"), 1002, /^unknown operation 99/],
    ["a command of a newer client", bytes("91 92 13 01"), 1002, /^unknown operation 19/],
    ["a read of a newer client", bytes("91 92 54 01"), 1002, /^unknown operation 84/],
    ["an operation of a newer client", bytes("91 92 4b 01"), 1002, /^unknown operation 75/],
    ["a type that is wrong", bytes("91 93 40 a161 a161"), 1002, /^expected an unsigned integer/],
    ["a number that is a float", bytes("91 93 40 cb3ff0000000000000 a161"), 1002, /^expected/],
    ["a record definition of msgpackr", bytes("91 d4 72 40 91 a161"), 1002, /^expected an array/],
    ["an array deeper than any request", Buffer.alloc(100_000, 0x91), 1002, /at offset/],
    ["a string longer than the frame", bytes("91 93 40 01 dbffffffff"), 1002, /^cut off/],
    ["four billion requests", bytes("ddffffffff"), 1002, /requests in a frame/],
    ["bytes behind the requests", bytes("90 00"), 1002, /^bytes behind the last request/],
    ["a keepalive that is not allowed", keepaliveOutOfBounds(), 1002, /offset/],
    ["more than frameBytesMax", Buffer.alloc((1 << 20) + 1, 0x90), 1009, /frameBytesMax of hello/],
  ];
  test.each(breaches)("%s", async (_, frame, code, reason) => {
    const from = gateway.record.all.length;
    const client = await BareClient.attached(gateway);
    client.socket.send(frame);
    expect(await client.closed).toEqual({ code, reason: expect.stringMatching(reason) });
    await gateway.record.find((heard) => heard.on === "refused", from);
  });

  function keepaliveOutOfBounds(): Buffer {
    const many = Array.from({ length: 2_000 }, (_, i) => (i % 100).toString(16).padStart(2, "0"));
    return bytes(`91 94 03 01 01 dc07d0 ${many.join("")}`);
  }

  test("commands of a client that is not attached", async () => {
    const client = await BareClient.connect(gateway);
    client.say(release(1), release(2));
    expect(await client.closed).toEqual({ code: 1008, reason: "not attached" });
  });

  test("and what stands before the breach in its frame counts, what stands behind does not", async () => {
    const from = gateway.record.all.length;
    const client = await BareClient.attached(gateway);
    const good = Buffer.from(frameOf([release(9)])).subarray(1);
    client.socket.send(Buffer.concat([bytes("93"), good, bytes("91 63"), good]));
    expect(await client.closed).toMatchObject({ code: 1002 });
    const commands = gateway.record.all.slice(from).filter((heard) => heard.on === "command");
    expect(commands).toHaveLength(1);
    expect(client.messages.all.at(-1)).toMatchObject({ kind: MESSAGE.reply, sequence: 9 });
  });
});

describe("a value that is not allowed is answered with a code and the connection stays:", () => {
  const attached = { kind: MESSAGE.attached, attempt: 1, status: INVALID_ARGUMENT };
  const answer = { kind: MESSAGE.answer, id: 6, status: INVALID_ARGUMENT };
  const refused: readonly (readonly [string, Buffer, object])[] = [
    ["a TTL of a millisecond", patched(OPEN, "01cd3a98", "0101"), attached],
    ["a TTL of a century", patched(OPEN, "cd3a98", "cf000002de3c6e6c00"), attached],
    ["a session name with a line break", patched(OPEN, "a0a0", `a3${text("a\nb")}a0`), attached],
    ["a name too long", patched(OPEN, "a0a0", `${str16("n".repeat(300))}a0`), attached],
    ["a key with a control character", patched(inspect("abc"), text("abc"), "610062"), answer],
    ["an empty key", patched(inspect("a"), "a161", "a0"), answer],
    [
      "a takeover by a nonce too short",
      patched(takeOver, `c410${NONCE}`, "c40100"),
      { ...attached, attempt: 3 },
    ],
    ["a limit of nothing", patched(graph, "9343060a", "93430600"), answer],
    ["a watch of no key", patched(watch, "a16b", "a0"), answer],
    ["a session without a sequence", patched(explain, "a16b0905", "a16b0900"), answer],
    ["a key too long", patched(inspect("a"), "a161", str16("k".repeat(600))), answer],
    [
      "an address without a port",
      patched(add, "a66e343a383035", "a26e34"),
      { ...answer, payload: { message: "address is not host:port" } },
    ],
    [
      "an action that nobody knows",
      patched(add, "47060004", "47060904"),
      { ...answer, payload: { message: "action 9 not in 0..3" } },
    ],
  ];
  test.each(refused)("%s", async (_, frame, expected) => {
    const client = await BareClient.connect(gateway);
    client.socket.send(frame);
    expect(await client.answer()).toMatchObject(expected);
    client.say(OPEN);
    await client.messages.find(
      (message) => message.kind === MESSAGE.attached && message.status === STATUS.ok,
    );
    client.socket.close();
  });

  const head = { sequence: 3, mark: 1, acknowledged: [] };
  const commands: readonly (readonly [string, Request, string, string])[] = [
    ["permits of a lock", acquire("k"), "92a16b00", "94a16b0001c0"],
    ["an option nobody knows", acquire("k"), "00c080", "00c08109c3"],
    ["a revoke of everything", revokeOf(), "a16b00", "c000"],
    ["a limit of 0", { op: OP.setLimit, ...head, key: "k", limit: 7 }, "a16b07", "a16b00"],
    [
      "a secret too short",
      { op: OP.claim, ...head, token: 1, secret: NONCE, owner: 1 },
      `c410${NONCE}`,
      "c40100",
    ],
  ];
  function revokeOf(): Request {
    return { op: OP.revoke, ...head, key: "k", token: 0, graceMs: 0, now: false, reason: "" };
  }
  test.each(commands)("%s", async (_, request, from, to) => {
    const client = await BareClient.attached(gateway);
    client.socket.send(patched(request, from, to));
    expect(await client.reply(3)).toMatchObject({ stamp: 0, result: { status: INVALID_ARGUMENT } });
    client.socket.close();
  });

  test("a lock's name with a control character", async () => {
    const client = await BareClient.attached(gateway);
    client.socket.send(patched(acquire("abc"), text("abc"), "611b62"));
    expect(await client.reply(3)).toMatchObject({ stamp: 0, result: { status: INVALID_ARGUMENT } });
    client.socket.close();
  });
});

describe("a client that misbehaves below the protocol", () => {
  test("by asking for nothing is sent away", async () => {
    const impatient = await new TestGateway({ handshakeTimeoutMs: 50 }).start();
    const silent = await BareClient.connect(impatient);
    const asking = await BareClient.attached(impatient);
    expect(await silent.closed).toEqual({
      code: 1008,
      reason: "nothing was asked for in time",
    });
    asking.say(release(1));
    await asking.reply(1);
    await impatient.gateway.close();
  });

  test("by a flood of pings is sent away", async () => {
    const client = await BareClient.attached(gateway);
    for (let i = 0; i < 300; i += 1) client.socket.ping();
    expect(await client.closed).toEqual({ code: 1008, reason: "too many pings or pongs" });
  });

  test("by not reading what it asked for is cut off, with nothing kept", async () => {
    const tight = await new TestGateway({ bufferedBytesMax: 1 << 20 }).start();
    const client = await BareClient.attached(tight);
    client.socket.pause();
    const [connection] = tight.connections.values();
    const payload = "x".repeat(200_000);
    let isClosed = false;
    void tight.record
      .find((heard) => heard.on === "closed")
      .then(() => {
        isClosed = true;
      });
    for (let id = 1; !isClosed; id += 1) {
      connection?.send({ kind: MESSAGE.answer, id, status: STATUS.ok, payload });
      tight.gateway.flush();
      await new Promise(setImmediate);
    }
    client.socket.terminate();
    await tight.gateway.close();
  });

  test("by not reading is cut off sooner when too much waits for all of them together", async () => {
    const tight = await new TestGateway({
      ...{ totalBufferedBytesMax: 4 << 20, bufferedBytesMax: 1 << 30 },
    }).start();
    const clients = [await BareClient.attached(tight), await BareClient.attached(tight)];
    const reader = await BareClient.attached(tight);
    for (const client of clients) client.socket.pause();
    const payload = "x".repeat(200_000);
    const closed = () => tight.record.all.filter((heard) => heard.on === "closed").length;
    for (let id = 1; closed() < 2; id += 1) {
      for (const connection of tight.connections.values()) {
        connection.send({ kind: MESSAGE.answer, id, status: STATUS.ok, payload });
      }
      tight.gateway.flush();
      await reader.messages.find((message) => message.kind === MESSAGE.answer && message.id === id);
    }
    // What waited for those is not counted any more: the one that reads is served on.
    reader.say(release(1));
    await reader.reply(1);
    for (const client of clients) client.socket.terminate();
    await tight.gateway.close();
  });

  test("by asking for pages and never reading them is cut off", async () => {
    const impatient = await new TestGateway({ handshakeTimeoutMs: 50 }).start();
    const socket = connect({ port: impatient.gateway.port, host: "127.0.0.1" });
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => undefined);
    socket.pause();
    // The page repeats its path, so that answers fill the way back as fast as requests come.
    const requests = `GET /${"x".repeat(6_000)} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(20);
    const ask = (error?: Error | null): void => {
      if (!error) setImmediate(() => socket.write(requests, ask));
    };
    ask();
    await closed;
    await impatient.gateway.close();
  });

  /** A raw socket that has upgraded. */
  async function rawUpgrade(): Promise<Socket> {
    const socket = connect({ port: gateway.gateway.port, host: "127.0.0.1", allowHalfOpen: true });
    await once(socket, "connect");
    socket.on("error", () => undefined);
    socket.write(
      "GET /v1 HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n" +
        "Sec-WebSocket-Protocol: holdfast.v1\r\n\r\n",
    );
    await once(socket, "data");
    return socket;
  }

  test("by closing its half of the connection is let go", async () => {
    const from = gateway.record.all.length;
    const socket = await rawUpgrade();
    socket.resume();
    socket.end();
    await gateway.record.find((heard) => heard.on === "closed", from);
    await once(socket, "close");
  });

  test("by frames without a mask, or that are no WebSocket frames, is sent away", async () => {
    for (const frame of ["820190", "ffffffffffff"]) {
      const from = gateway.record.all.length;
      const socket = await rawUpgrade();
      socket.resume();
      socket.write(bytes(frame));
      await gateway.record.find((heard) => heard.on === "closed", from);
      socket.destroy();
    }
  });

  test("by a message in thousands of fragments is sent away", async () => {
    const client = await BareClient.attached(gateway);
    for (let i = 0; i < 2_000; i += 1) client.socket.send(bytes("90"), { fin: false });
    expect(await client.closed).toMatchObject({ code: 1008 });
  });

  test("by no HTTP at all is answered and dropped", async () => {
    const socket = connect({ port: gateway.gateway.port, host: "127.0.0.1" });
    socket.write("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 not http\r\n\r\n");
    const [data] = (await once(socket, "data")) as [Buffer];
    expect(data.toString()).toMatch(/^HTTP\/1\.1 400/);
    await once(socket, "close");
  });

  test("by any bytes at all gets a close code or an answer", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 60 }), async (frame) => {
        const client = await BareClient.attached(gateway);
        client.socket.send(frame);
        // Whatever became of the frame, the connection ends in order.
        client.socket.close(1000);
        const { code } = await client.closed;
        expect([1000, 1002, 1008]).toContain(code);
      }),
      { numRuns: 60 },
    );
  });
});

test("an exception of the driver itself is not swallowed", async () => {
  const broken = new TestGateway();
  broken.onQuery = () => {
    throw new Error("the driver is broken");
  };
  await broken.start();
  const listeners = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  const uncaught = once(process, "uncaughtException");
  const client = await BareClient.connect(broken);
  client.say({ op: OP.inspect, id: 1, key: "a" });
  const [error] = (await uncaught) as [Error];
  for (const listener of listeners) process.on("uncaughtException", listener);
  expect(error.message).toBe("the driver is broken");
  client.socket.terminate();
  await broken.gateway.close();
});
