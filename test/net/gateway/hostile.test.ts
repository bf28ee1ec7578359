/** Bad input at the client port: coded answers or a close with a reason, and nobody else notices. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import {
  type ClientRequest,
  MESSAGE,
  OP,
  STATUS,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import { BareClient, command, frameOf, NONCE, OPEN, TestGateway } from "./client.js";

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
  bystander.say(command(said));
  expect(await bystander.reply(said)).toMatchObject({ result: { status: STATUS.ok } });
});
afterAll(() => gateway.gateway.close());

const bytes = (digits: string): Buffer => Buffer.from(digits.replaceAll(" ", ""), "hex");
/** A frame of one request with one value replaced by bytes that a client's encoder would not write. */
const patched = (request: ClientRequest, from: string, to: string): Buffer => {
  const whole = Buffer.from(frameOf([request])).toString("hex");
  if (!whole.includes(from)) throw new Error(`${from} is not in ${whole}`);
  return bytes(whole.replace(from, to));
};
const text = (value: string): string => Buffer.from(value).toString("hex");
const inspect = (key: string): ClientRequest => ({ op: OP.inspect, id: 6, key });
const add: ClientRequest = {
  ...{ op: OP.changeMember, id: 6, action: "add", node: 4, address: "n4:805" },
};
const acquire = (key: string): ClientRequest => ({
  op: OP.acquire,
  sequence: 3,
  mark: 1,
  acknowledged: [],
  task: 1,
  items: [{ key, mode: "exclusive" }],
  waitMs: WAIT_FOREVER,
});
const resume: ClientRequest = { op: OP.resume, session: 9, nonce: NONCE, attempt: 3 };
const graph: ClientRequest = { op: OP.waitGraph, id: 6, limit: 10 };
const watch: ClientRequest = { op: OP.watch, id: 6, key: "k", isPrefix: false, after: undefined };
const explain: ClientRequest = { op: OP.explain, id: 6, key: "k", session: 9, sequence: 5 };
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
    ["a command of a newer client", bytes("91 92 3f 01"), 1002, /^unknown operation 63/],
    ["a read of a newer client", bytes("91 92 5c 01"), 1002, /^unknown operation 92/],
    ["an operation of a newer client", bytes("91 92 4c 01"), 1002, /^unknown operation 76/],
    ["a type that is wrong", bytes("91 94 40 a161 a161"), 1002, /^expected an unsigned integer/],
    ["a number that is a float", bytes("91 94 40 cb3ff0000000000000 a161"), 1002, /^expected/],
    ["a record definition of msgpackr", bytes("91 d4 72 40 91 a161"), 1002, /^expected an array/],
    ["an array deeper than any request", Buffer.alloc(100_000, 0x91), 1002, /at offset/],
    ["a string longer than the frame", bytes("91 94 40 01 dbffffffff"), 1002, /^cut off/],
    ["four billion requests", bytes("ddffffffff"), 1002, /requests in a frame/],
    ["bytes behind the requests", bytes("90 00"), 1002, /^bytes after the last request/],
    ["a keepalive that is not allowed", keepaliveOutOfBounds(), 1002, /offset/],
    ["more than frameBytesMax", Buffer.alloc((1 << 20) + 1, 0x90), 1009, /frameBytesMax of hello/],
  ];
  test.each(breaches)("%s", async (_, frame, code, reason) => {
    const client = await BareClient.attached(gateway);
    client.socket.send(frame);
    expect(await client.closed).toEqual({ code, reason: expect.stringMatching(reason) });
  });

  test("and the log has a line, for the first sixteen of them in a minute", async () => {
    const flooded = await new TestGateway().start();
    try {
      for (let i = 0; i < 20; i += 1) {
        const client = await BareClient.attached(flooded);
        client.socket.send(bytes("c1"));
        await client.closed;
      }
      const lines = flooded.record.all.filter((heard) => heard.on === "refused");
      expect(lines).toHaveLength(16);
    } finally {
      await flooded.gateway.close();
    }
  });

  function keepaliveOutOfBounds(): Buffer {
    const many = Array.from({ length: 2_000 }, (_, i) => (i % 100).toString(16).padStart(2, "0"));
    return bytes(`91 94 03 01 01 dc07d0 ${many.join("")}`);
  }

  test("and what stands before the breach in its frame counts, what stands behind does not", async () => {
    const from = gateway.record.all.length;
    const client = await BareClient.attached(gateway);
    const good = Buffer.from(frameOf([command(9)])).subarray(1);
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
      "a resume by a nonce too short",
      patched(resume, `c410${NONCE}`, "c40100"),
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
  const commands: readonly (readonly [string, ClientRequest, string, string])[] = [
    ["permits of a lock", acquire("k"), "92a16b00", "94a16b0001c0"],
    ["an option nobody knows", acquire("k"), "00c080", "00c08109c3"],
    ["a revoke of everything", revokeOf(), "a16b00", "c000"],
    ["a limit of 0", { op: OP.setLimit, ...head, key: "k", limit: 7 }, "a16b07", "a16b00"],
    [
      "a secret too short",
      { op: OP.adopt, ...head, key: "k", secret: NONCE, task: 1 },
      `c410${NONCE}`,
      "c40100",
    ],
  ];
  function revokeOf(): ClientRequest {
    return { op: OP.revoke, ...head, key: "k", token: 0, graceMs: 0, now: false, reason: "" };
  }
  test.each(commands)("%s", async (_, request, from, to) => {
    const client = await BareClient.attached(gateway);
    client.socket.send(patched(request, from, to));
    expect(await client.refusal(3)).toMatchObject({ status: INVALID_ARGUMENT });
    client.socket.close();
  });

  test("a lock's name with a control character", async () => {
    const client = await BareClient.attached(gateway);
    client.socket.send(patched(acquire("abc"), text("abc"), "611b62"));
    expect(await client.refusal(3)).toMatchObject({ status: INVALID_ARGUMENT });
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
      reason: "no request arrived in time",
    });
    asking.say(command(1));
    await asking.reply(1);
    await impatient.gateway.close();
  });

  test("by a flood of pings is sent away", async () => {
    const client = await BareClient.attached(gateway);
    for (let i = 0; i < 300; i += 1) client.socket.ping();
    expect(await client.closed).toEqual({ code: 1008, reason: "too many pings or pongs" });
  });

  test("by pinging on and reading nothing makes the node keep no pongs", async () => {
    const patient = await new TestGateway({ controlFramesMax: 1_000_000 }).start();
    const client = await BareClient.attached(patient);
    const [connection] = patient.connections.values();
    client.socket.pause();
    const payload = Buffer.alloc(125);
    for (let round = 0; round < 200; round += 1) {
      for (let i = 0; i < 1_000; i += 1) client.socket.ping(payload);
      await new Promise(setImmediate);
    }
    await vi.waitFor(() => expect(client.socket.bufferedAmount).toBe(0), { timeout: 20_000 });
    expect(connection?.bufferedBytes).toBeLessThan(128 << 10);
    client.socket.resume();
    client.say(command(1));
    await client.reply(1);
    client.socket.terminate();
    await patient.gateway.close();
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
    reader.say(command(1));
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
    const requests = `GET /${"x".repeat(6_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(20);
    const ask = (error?: Error | null): void => {
      if (!error) setImmediate(() => socket.write(requests, ask));
    };
    ask();
    await closed;
    await impatient.gateway.close();
  });

  /** A raw socket that has upgraded. */
  async function rawUpgrade(at = gateway): Promise<Socket> {
    const socket = connect({ port: at.gateway.port, host: "127.0.0.1", allowHalfOpen: true });
    await once(socket, "connect");
    socket.on("error", () => undefined);
    socket.write(
      "GET /v1 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n" +
        "Sec-WebSocket-Protocol: holdfast\r\n\r\n",
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

  test("by frames without a mask, or that are not WebSocket frames, is sent away", async () => {
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

  /** The beginning of a binary frame of 100,000 bytes, with as many of them. */
  function begunFrame(length: number): Buffer {
    return Buffer.concat([bytes("82ff 00000000000186a0 00000000"), Buffer.alloc(length)]);
  }
  const unfinished = (at: TestGateway) => at.gateway.load.unfinishedBytes;
  const closings = (at: TestGateway) =>
    at.record.all.flatMap((heard) => (heard.on === "closed" ? [heard.id] : []));

  test("by leaving frames unfinished is cut off, the oldest first, when it is too much of all", async () => {
    const tight = await new TestGateway({ unfinishedBytesMax: 350_000 }).start();
    const sockets: Socket[] = [];
    for (let count = 1; count <= 6; count += 1) {
      const socket = await rawUpgrade(tight);
      socket.resume();
      sockets.push(socket);
      socket.write(begunFrame(90_000));
      if (count > 3) await tight.record.until(() => closings(tight).length === count - 3);
      expect(unfinished(tight)).toBeLessThanOrEqual(350_000);
    }
    expect(closings(tight)).toEqual([1, 2, 3]);
    expect(tight.record.all).toContainEqual({
      on: "refused",
      reason: expect.stringMatching(
        /^client connection 1 closed \(1013\): this node has too much unfinished/,
      ),
    });
    const client = await BareClient.attached(tight);
    client.say(command(1));
    await client.reply(1);
    // What is cut off, finished or left by its client is not counted any more.
    sockets[3]?.destroy();
    await tight.record.find((heard) => heard.on === "closed" && heard.id === 4);
    sockets[4]?.write(Buffer.alloc(10_000));
    sockets[5]?.write(Buffer.alloc(10_000));
    await tight.record.until(() => closings(tight).length === 6);
    expect(unfinished(tight)).toBe(0);
    await tight.gateway.close();
  });

  test("by sending a message in tiny pieces is charged for each of them", async () => {
    const tight = await new TestGateway({ unfinishedBytesMax: 20_000 }).start();
    const client = await BareClient.attached(tight);
    for (let i = 0; i < 200 && client.socket.readyState === client.socket.OPEN; i += 1) {
      client.socket.send(bytes("90"), { fin: false });
      await new Promise(setImmediate);
    }
    expect(await client.closed).toMatchObject({ reason: expect.stringMatching(/too much|^$/) });
    await tight.gateway.close();
  });

  test("by never finishing what it began is cut off in time, pings or not", async () => {
    const impatient = await new TestGateway({ frameTimeoutMs: 50 }).start();
    const busy = await BareClient.attached(impatient);
    const socket = await rawUpgrade(impatient);
    socket.resume();
    socket.write(begunFrame(10));
    const fragments = await BareClient.attached(impatient);
    fragments.socket.send(bytes("90"), { fin: false });
    const pings = setInterval(() => fragments.socket.ping(), 5);
    await impatient.record.until(() => closings(impatient).length === 2);
    clearInterval(pings);
    expect(closings(impatient).sort()).toEqual([2, 3]);
    busy.say(command(1));
    await busy.reply(1);
    await impatient.gateway.close();
  });

  test("by one cheap read does not stay forever", async () => {
    const impatient = await new TestGateway({ idleTimeoutMs: 60, pingIntervalMs: 20 }).start();
    const [attached, watching] = [
      await BareClient.attached(impatient),
      await BareClient.connect(impatient),
    ];
    watching.say(watch);
    await watching.answer();
    const reader = await BareClient.connect(impatient);
    reader.say(inspect("a"));
    await reader.answer();
    expect(await reader.closed).toEqual({
      code: 1000,
      reason: "idle: no session, no watch and no request",
    });
    // With a session or a watch it stays, and the end of the watch is the end of that.
    attached.say(command(1));
    await attached.reply(1);
    watching.say({ op: OP.unwatch, id: 7, watch: 6 });
    expect(await watching.closed).toMatchObject({ code: 1000 });
    attached.say(command(2));
    await attached.reply(2);
    await impatient.gateway.close();
  });

  /** The HTTP status of an upgrade, of a client that stays. */
  async function upgrade(at: TestGateway, localAddress: string): Promise<number> {
    const socket = new WebSocket(`ws://${at.url}/v1`, "holdfast", { localAddress });
    socket.on("error", () => undefined);
    const refused = once(socket, "unexpected-response");
    const opened = once(socket, "open").then(() => 101);
    return Promise.race([opened, refused.then(([, { statusCode }]) => Number(statusCode))]);
  }

  test("by taking more than its share of connections leaves places to other addresses", async () => {
    const small = await new TestGateway({ connectionsMax: 4 }).start();
    const statuses: number[] = [];
    for (const from of [1, 1, 1, 1, 2, 2]) statuses.push(await upgrade(small, `127.0.0.${from}`));
    expect(statuses).toEqual([101, 101, 101, 503, 101, 503]);
    expect(small.gateway.load).toMatchObject({ addressConnectionsMax: 3, refusedTotal: 2 });
    await small.gateway.close();
  });

  test("by taking more than its share is let in where limits are only observed, while there is room", async () => {
    const noted: unknown[] = [];
    const limits = { isEnforced: false, note: (...what: unknown[]) => noted.push(what) };
    const small = await new TestGateway({ connectionsMax: 4, limits }).start();
    const statuses: number[] = [];
    for (let count = 0; count < 5; count += 1) statuses.push(await upgrade(small, "127.0.0.1"));
    expect(statuses).toEqual([101, 101, 101, 101, 503]);
    expect(noted).toEqual([["address", "connectionsMax", "127.0.0.1", 3]]);
    await small.gateway.close();
  });

  test("by opening sockets and saying nothing gets no more than the descriptors allow", async () => {
    // A quarter for the store and 256 for the rest of the node are not for clients.
    const small = await new TestGateway({ descriptorsMax: 400 }).start();
    const { socketsMax, connectionsMax, addressConnectionsMax } = small.gateway.load;
    expect({ socketsMax, connectionsMax, addressConnectionsMax }).toEqual({
      ...{ socketsMax: 44, connectionsMax: 38, addressConnectionsMax: 29 },
    });
    const addressSocketsMax = addressConnectionsMax + socketsMax - connectionsMax;
    let left = 0;
    const sockets = Array.from({ length: 60 }, () => {
      const socket = connect({ port: small.gateway.port, host: "127.0.0.1" });
      socket.on("error", () => undefined);
      return socket;
    });
    await new Promise<void>((resolve) => {
      for (const socket of sockets) {
        socket.once("close", () => {
          left += 1;
          if (left === sockets.length - addressSocketsMax) resolve();
        });
      }
    });
    expect(small.gateway.load).toMatchObject({ sockets: addressSocketsMax, refusedTotal: left });
    const other = await BareClient.connect(small, { localAddress: "127.0.0.2" });
    other.say(OPEN);
    await other.messages.find((message) => message.kind === MESSAGE.attached);
    const told = small.record.all.filter((heard) => heard.on === "refused");
    expect(told).toEqual([
      { on: "refused", reason: "too many connections from the address 127.0.0.1" },
    ]);
    for (const socket of sockets) socket.destroy();
    await small.gateway.close();
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
