/** The client port with well-behaved clients: requests in, replies out, pages, start and stop. */
import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import {
  ACKNOWLEDGED_MAX,
  ACQUIRE_DEFAULTS,
  type ClientRequest,
  decodeOperation,
  ITEMS_MAX,
  KEY_BYTES_MAX,
  LIMIT_MAX,
  MESSAGE,
  OP,
  type Operation,
  STATUS,
  SUBPROTOCOL,
  TOKEN_MIN,
  VALUE_BYTES_MAX,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import { sentenceIn } from "../../../src/text/safe-text.js";
import { decodeCommand } from "../../protocol/command-bytes.js";
import { BareClient, command, frameOf, NONCE, OPEN, TestGateway } from "./client.js";

const gateways: TestGateway[] = [];
afterEach(async () => {
  await Promise.all(gateways.splice(0).map(({ gateway }) => gateway.close()));
});

async function start(...args: ConstructorParameters<typeof TestGateway>): Promise<TestGateway> {
  const gateway = new TestGateway(...args);
  gateways.push(gateway);
  return gateway.start();
}

describe("a client's connection", () => {
  test("is greeted, attached and answered", async () => {
    const gateway = await start();
    const client = await BareClient.attached(gateway);
    client.say(command(1), command(2));
    await client.reply(2);
    const kinds = client.messages.all.map((message) => message.kind);
    expect(kinds).toEqual([MESSAGE.hello, MESSAGE.attached, MESSAGE.reply, MESSAGE.reply]);
  });

  test("is closed at once until somebody serves clients, who hears nothing of it", async () => {
    const gateway = new TestGateway();
    gateways.push(gateway);
    await gateway.listen();
    const early = await BareClient.connect(gateway);
    early.say(OPEN);
    expect(await early.closed).toEqual({ code: 1013, reason: "not yet" });
    expect(early.messages.all).toEqual([]);
    gateway.gateway.serve(gateway);
    const client = await BareClient.attached(gateway);
    client.say(command(1));
    await client.reply(1);
    expect(gateway.record.all.filter((heard) => heard.on === "connection")).toHaveLength(1);
  });

  test("hands the driver each command's own bytes, free of the socket's buffers", async () => {
    const gateway = await start();
    const client = await BareClient.attached(gateway);
    client.say(command(1), command(2), command(300));
    await client.reply(300);
    const commands = gateway.record.all.filter((heard) => heard.on === "command");
    expect(commands.map(({ bytes }) => bytes)).toEqual(
      [1, 2, 300].map((sequence) => frameOf([command(sequence)]).subarray(1)),
    );
    const frameBytes = frameOf([command(1), command(2), command(300)]).length;
    for (const { bytes } of commands) expect(bytes.buffer.byteLength).toBe(frameBytes);
  });

  test("hands the driver every request by what it is", async () => {
    const gateway = await start();
    const client = await BareClient.connect(gateway);
    const head = { sequence: 6, mark: 1, acknowledged: [] };
    const force = { graceMs: 0, now: false, reason: "" };
    client.say({ op: OP.resume, session: 77, nonce: NONCE, attempt: 2 });
    await client.messages.find((message) => message.kind === MESSAGE.attached);
    const commands: ClientRequest[] = [
      { op: OP.downgrade, ...head, target: 5, key: undefined },
      { op: OP.upgrade, ...head, target: 5, key: "k", waitMs: 0, detect: true },
      { op: OP.update, ...head, target: 5, value: "v" },
      { op: OP.revoke, ...head, key: "k", token: 0, ...force },
      { op: OP.endSession, ...head, session: 9, ...force },
      { op: OP.setLimit, ...head, key: "s", limit: 5 },
      { op: OP.handOver, ...head, target: 5, to: NONCE, isBearer: true, ttlMs: 1_000 },
      { op: OP.adopt, ...head, key: "k", secret: NONCE, task: 1 },
      { op: OP.changeSetting, ...head, name: "waitersMax", value: undefined },
    ];
    const queries: ClientRequest[] = [
      { op: OP.explain, id: 2, key: "k", session: 0, sequence: 0 },
      { op: OP.waitGraph, id: 3, limit: 10 },
      { op: OP.verify, id: 4, key: "k", token: 5 },
      { op: OP.settings, id: 5 },
      { op: OP.history, id: 6, key: "k", limit: 10 },
      { op: OP.sessions, id: 7, after: 0, limit: 10 },
      { op: OP.watch, id: 8, key: "k", isPrefix: false, after: undefined },
      { op: OP.unwatch, id: 9, watch: 8 },
    ];
    client.say(...commands, ...queries, { op: OP.members, id: 10 });
    await client.messages.find((message) => message.kind === MESSAGE.answer && message.id === 10);
    const { all } = gateway.record;
    expect(all.filter(({ on }) => on === "attach")).toHaveLength(1);
    const heard = all.flatMap((one) => (one.on === "command" ? [one.command] : []));
    expect(heard).toEqual(commands);
    expect(all.flatMap((one) => (one.on === "query" ? [one.query] : []))).toEqual(queries);
    expect(all.filter(({ on }) => on === "operation")).toHaveLength(1);
  });

  test("may ask for as much at once as is allowed, a frame full of it", async () => {
    const gateway = await start();
    const client = await BareClient.attached(gateway);
    const items = Array.from({ length: ITEMS_MAX }, (_, i) => {
      const key = String.fromCharCode(97 + i).repeat(KEY_BYTES_MAX);
      return { key, mode: "permits" as const, permits: 64, limit: LIMIT_MAX };
    });
    const options = { ...ACQUIRE_DEFAULTS, priority: 60, value: "v".repeat(VALUE_BYTES_MAX) };
    const acknowledged = new Array<number>(ACKNOWLEDGED_MAX).fill(TOKEN_MIN);
    const acquires = Array.from({ length: 50 }, (_, i): ClientRequest => {
      const head = { sequence: i + 1, mark: 1, acknowledged, task: 1, waitMs: WAIT_FOREVER };
      return { op: OP.acquire, ...head, items, options };
    });
    client.say(...acquires);
    await client.reply(50);
    const heard = gateway.record.all.filter((one) => one.on === "command");
    expect(heard.map(({ command }) => command)).toEqual(acquires);
    expect(heard.map(({ bytes }) => decodeCommand(bytes))).toEqual(acquires);
  });

  test("gets everything said in one turn in one frame", async () => {
    const gateway = await start();
    const client = await BareClient.attached(gateway);
    const before = client.frames;
    client.say(...Array.from({ length: 200 }, (_, i) => command(i + 1)));
    await client.reply(200);
    expect(client.frames - before).toBe(1);
  });

  test("gets what is too much for one frame in several, in order", async () => {
    const gateway = await start();
    const client = await BareClient.attached(gateway);
    const before = client.frames;
    const [connection] = gateway.connections.values();
    const payload = "x".repeat(100_000);
    for (let id = 1; id <= 12; id += 1) {
      connection?.send({ kind: MESSAGE.answer, id, status: STATUS.ok, payload });
    }
    gateway.gateway.flush();
    await client.messages.find((message) => message.kind === MESSAGE.answer && message.id === 12);
    const answers = client.messages.all.filter((message) => message.kind === MESSAGE.answer);
    expect(answers.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect(client.frames - before).toBe(4);
  });

  test("may ask without a session", async () => {
    const gateway = await start();
    const client = await BareClient.connect(gateway);
    client.say({ op: OP.inspect, id: 4, key: "orders/1" });
    expect(await client.answer()).toMatchObject({ id: 4, status: STATUS.ok, payload: { op: 64 } });
  });

  test("may operate on the cluster before and after it attached, and learns what went wrong", async () => {
    const gateway = await start();
    const client = await BareClient.connect(gateway);
    const add: Operation = {
      ...{ op: OP.changeMember, id: 5, action: "add", node: 4, address: "n4:7421" },
    };
    const answered = (id: number) =>
      client.messages.find((message) => message.kind === MESSAGE.answer && message.id === id);
    client.say(add);
    expect(await answered(5)).toMatchObject({
      status: ERROR_NUMBERS.BUSY,
      payload: { message: "another change is under way" },
    });
    client.say(OPEN, { op: OP.members, id: 6 });
    await answered(6);
    const heard = gateway.record.all.filter((one) => one.on === "operation");
    expect(heard.map(({ operation }) => operation)).toEqual([add, { op: OP.members, id: 6 }]);
    expect(heard.map(({ bytes }) => decodeOperation(bytes))).toEqual(
      heard.map(({ operation }) => operation),
    );
  });

  test("that only operates on the cluster is not a newcomer that asks for nothing", async () => {
    const gateway = await start({ handshakeTimeoutMs: 50 });
    const silent = await BareClient.connect(gateway);
    const client = await BareClient.connect(gateway);
    client.say({ op: OP.members, id: 1 });
    await client.answer();
    expect(await silent.closed).toMatchObject({ code: 1008 });
    client.say({ op: OP.members, id: 2 });
    await client.messages.find((message) => message.kind === MESSAGE.answer && message.id === 2);
  });

  test("is reported once to the driver when it ends, no matter which side ended it", async () => {
    const gateway = await start();
    const [left, right] = [await BareClient.attached(gateway), await BareClient.attached(gateway)];
    left.socket.close();
    await gateway.record.find((heard) => heard.on === "closed" && heard.id === 1);
    gateway.connections.get(2)?.close(1012, "try another node");
    expect(await right.closed).toEqual({ code: 1012, reason: "try another node" });
    await gateway.record.find((heard) => heard.on === "closed" && heard.id === 2);
    gateway.connections.get(1)?.send({ kind: MESSAGE.move });
    gateway.connections.get(1)?.close(1000, "");
    gateway.gateway.flush();
    expect(gateway.record.all.filter((heard) => heard.on === "closed")).toHaveLength(2);
  });

  test("gets the last words before the close", async () => {
    const gateway = await start();
    const client = await BareClient.attached(gateway);
    const [connection] = gateway.connections.values();
    connection?.send({ kind: MESSAGE.move });
    connection?.close(1012, "draining");
    await client.closed;
    expect(client.messages.all.at(-1)).toEqual({ kind: MESSAGE.move });
  });

  test("that is idle is pinged and stays", async () => {
    const gateway = await start({ pingIntervalMs: 20 });
    const client = await BareClient.attached(gateway);
    for (let pings = 0; pings < 8; pings += 1) await once(client.socket, "ping");
    client.say(command(1));
    await client.reply(1);
  });

  test("whose other end is gone without a word is cut off", async () => {
    const gateway = await start({ pingIntervalMs: 20 });
    const client = await BareClient.connect(gateway, { autoPong: false });
    client.say({ op: OP.inspect, id: 1, key: "a" });
    await gateway.record.find((heard) => heard.on === "closed");
    expect(await client.closed).toMatchObject({ code: 1006 });
  });
});

describe("a client's connection that is not read for a while", () => {
  const CHUNK_BYTES = 64 << 10;

  /** A client that was heard once, and is not read any more. */
  async function startPaused(tuning: ConstructorParameters<typeof TestGateway>[0] = {}) {
    const gateway = await start(tuning);
    const client = await BareClient.attached(gateway);
    const [connection] = gateway.connections.values();
    if (connection === undefined) throw new Error("no connection");
    gateway.pausing = connection.id;
    client.say(command(1));
    await client.reply(1);
    const readOn = (): void => {
      gateway.pausing = 0;
      connection.resume();
    };
    return { gateway, client, connection, readOn };
  }

  const commandsOf = (gateway: TestGateway, of: number): number =>
    gateway.record.all.filter((heard) => heard.on === "command" && heard.id === of).length;

  test("leaves what its client sends to the system, and loses nothing of it", async () => {
    const { gateway, client, connection, readOn } = await startPaused();
    const other = await BareClient.attached(gateway);
    const read = (): number => gateway.record.all.filter(({ on }) => on === "query").length;
    const count = 2_000;
    const key = "k".repeat(500);
    for (let id = 1; id <= count; id += 1) client.say({ op: OP.inspect, id, key });
    // In the meantime another client is answered many times.
    for (let i = 1; i <= 50; i += 1) await other.answerTo(command(i));
    expect(read()).toBe(0);
    const before = gateway.receivedBytes;
    connection.resume();
    await gateway.record.until(() => read() > 0);
    for (let i = 51; i <= 100; i += 1) await other.answerTo(command(i));
    expect(gateway.receivedBytes - before).toBeLessThan(2 * CHUNK_BYTES);
    readOn();
    await client.messages.find(
      (message) => message.kind === MESSAGE.answer && message.id === count,
    );
    expect(read()).toBe(count);
  });

  test("is sent what is for it, and is not taken for dead", async () => {
    const { gateway, client, connection, readOn } = await startPaused({
      ...{ pingIntervalMs: 20, idleTimeoutMs: 20 },
    });
    connection.session = 0;
    client.say(command(2));
    // The second one is pinged as often as a silent one is before it is cut off, and more.
    const other = await BareClient.attached(gateway);
    for (let pings = 0; pings < 12; pings += 1) await once(other.socket, "ping");
    connection.send({ kind: MESSAGE.move });
    gateway.gateway.flush();
    await client.messages.find(({ kind }) => kind === MESSAGE.move);
    expect(commandsOf(gateway, connection.id)).toBe(1);
    readOn();
    await client.reply(2);
  });

  test("ends as any other, from whichever side", async () => {
    const { client, connection } = await startPaused();
    for (let i = 2; i <= 1_000; i += 1) client.say(command(i));
    connection.close(1013, "too much");
    expect(await client.closed).toEqual({ code: 1013, reason: "too much" });
    const second = await startPaused();
    second.client.socket.close();
    second.readOn();
    await second.gateway.record.find(({ on }) => on === "closed");
  });
});

test("what never becomes a request is reported as if it were one of some length", async () => {
  const gateway = await start();
  const client = await BareClient.attached(gateway);
  const before = gateway.receivedBytes;
  for (let i = 0; i < 100; i += 1) client.socket.send(Buffer.from([0x90]));
  await client.answerTo(command(1));
  expect(gateway.receivedBytes - before).toBeGreaterThan(100 * 256);
});

test("a piece of a message is reported as if it were longer, and a whole one as it is", async () => {
  const gateway = await start();
  const client = await BareClient.attached(gateway);
  const received = async (data: Uint8Array, fin: boolean): Promise<number> => {
    const before = gateway.receivedBytes;
    client.socket.send(data, { fin });
    await vi.waitFor(() => expect(gateway.receivedBytes).toBeGreaterThan(before), { interval: 1 });
    return gateway.receivedBytes - before;
  };
  const frame = frameOf([command(1)]);
  const headBytes = 6;
  for (const byte of frame.subarray(0, -1))
    expect(await received(Uint8Array.of(byte), false)).toBe(256 + headBytes + 1);
  expect(await received(frame.subarray(-1), true)).toBe(headBytes + 1);
  await client.reply(1);
  expect(await received(frameOf([command(2)]), true)).toBe(headBytes + frame.length);
});

describe("the client port", () => {
  test("serves pages by path to GET and HEAD, and nothing to the rest", async () => {
    const gateway = await start();
    const page = await fetch(`http://${gateway.url}/livez?verbose=1`);
    expect([page.status, await page.text()]).toEqual([200, "page /livez\n"]);
    const head = await fetch(`http://${gateway.url}/livez`, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, "12"]);
    expect(await head.text()).toBe("");
    expect((await fetch(`http://${gateway.url}/nowhere`)).status).toBe(404);
    const post = await fetch(`http://${gateway.url}/livez`, { method: "POST", body: "x" });
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    const plain = await fetch(`http://${gateway.url}/v1`);
    expect([plain.status, sentenceIn(await plain.text())]).toEqual([
      426,
      "/v1 speaks WebSocket, holdfast",
    ]);
  });

  test("refuses more header than a page needs", async () => {
    const gateway = await start();
    const response = await fetch(`http://${gateway.url}/livez`, {
      headers: { "x-large": "x".repeat(20_000) },
    });
    expect(response.status).toBe(431);
  });

  /** Status and text of a page asked for with these very lines of a request. */
  async function pageFor(gateway: TestGateway, lines: readonly string[]): Promise<string> {
    const socket = connect({ port: gateway.gateway.port, host: "127.0.0.1" });
    socket.end(`${lines.join("\r\n")}\r\nConnection: close\r\n\r\n`);
    const parts: Buffer[] = [];
    for await (const part of socket) parts.push(part);
    const [head = "", body = ""] = Buffer.concat(parts).toString().split("\r\n\r\n");
    return `${head.split(" ")[1]} ${sentenceIn(body)}`;
  }

  test("answers to addresses, to localhost and to its own names, and to no other", async () => {
    const gateway = await start({ allowedHosts: ["n1.example", "holdfast.svc"] });
    const known = [
      "127.0.0.1",
      "10.1.2.3:7411",
      "[::1]:7411",
      "[fe80::1]",
      "localhost:1",
      "LocalHost",
    ];
    const named = ["a.localhost", "n1.example", "N1.Example:7411", "holdfast.svc.", ""];
    for (const host of [...known, ...named]) {
      expect(await pageFor(gateway, ["GET /status HTTP/1.1", `Host: ${host}`])).toBe(
        "404 page /status",
      );
    }
    // A request of HTTP/1.0, as some health checks speak it: no browser leaves it out.
    expect(await pageFor(gateway, ["GET /status HTTP/1.0"])).toMatch(/^404 /);
    const strange = [
      "evil.example",
      "localhost.evil.example",
      "n2.example",
      "127.0.0.1.evil.example",
    ];
    for (const host of [...strange, "1.2.3", "[::1", "2130706433", "0x7f.1", ":7411"]) {
      expect(await pageFor(gateway, ["GET /status HTTP/1.1", `Host: ${host}:7411`])).toMatch(
        /^421 /,
      );
    }
    // Probes come by any name, and the answer is of no use to a page.
    expect(await pageFor(gateway, ["GET /livez HTTP/1.1", "Host: evil.example"])).toMatch(/^200 /);
  });

  test("names to a client that asks by a strange name what would let it in, and the log once", async () => {
    const gateway = await start();
    const text = 'this node does not answer to "evil.example": allow it with --allow-host';
    const lines = ["GET /status HTTP/1.1", "Host: evil.example:7411"];
    expect(await pageFor(gateway, lines)).toBe(`421 ${text}`);
    expect(await pageFor(gateway, lines)).toBe(`421 ${text}`);
    expect(gateway.record.all).toEqual([{ on: "refused", reason: text }]);
  });

  test("lets clients in by whatever name they know it, and pages by their origin alone", async () => {
    const gateway = await start();
    const headers = { host: "locks.example:7411" };
    await BareClient.connect(gateway, { headers });
    expect(gateway.record.all).toMatchObject([{ on: "connection" }]);
    expect(
      await refusal(gateway, "/v1", [SUBPROTOCOL], {
        headers,
        origin: "http://locks.example:7411",
      }),
    ).toMatchObject({ status: 403 });
  });

  test("shows what a stranger sends without a character that a terminal obeys", async () => {
    const gateway = await start();
    const hostile = "http://a\u009b31m\u0085";
    const { text } = await refusal(gateway, "/v1", [SUBPROTOCOL], { origin: hostile });
    expect(text).toBe(
      'pages of "http://a\\u{9b}31m\\u{85}" may not connect: allow them with --allow-origin',
    );
    const [refused] = gateway.record.all;
    expect(refused).toEqual({ on: "refused", reason: text.trimEnd() });
  });

  /** Status and text of a refused upgrade. */
  async function refusal(
    gateway: TestGateway,
    path: string,
    protocols: string[],
    options: object = {},
  ): Promise<{ status: number | undefined; text: string }> {
    const socket = new WebSocket(`ws://${gateway.url}${path}`, protocols, options);
    socket.on("error", () => undefined);
    const [, response] = await once(socket, "unexpected-response");
    const parts: Buffer[] = [];
    for await (const part of response) parts.push(part);
    return { status: response.statusCode, text: sentenceIn(Buffer.concat(parts).toString()) };
  }

  test("refuses upgrades elsewhere, without the subprotocol, and from unlisted pages", async () => {
    const gateway = await start({ allowedOrigins: ["https://ops.example"] });
    expect(await refusal(gateway, "/v2", [SUBPROTOCOL])).toEqual({
      status: 404,
      text: "WebSocket clients connect to /v1",
    });
    expect(await refusal(gateway, "/v1", [])).toMatchObject({ status: 400 });
    expect(await refusal(gateway, "/v1", ["holdfast.v9"])).toEqual({
      status: 400,
      text: "the subprotocol holdfast is required",
    });
    const evil = { origin: "http://localhost:3000" };
    expect(await refusal(gateway, "/v1", [SUBPROTOCOL], evil)).toMatchObject({ status: 403 });
    const listed = await BareClient.connect(gateway, { origin: "https://ops.example" });
    expect(listed.socket.protocol).toBe(SUBPROTOCOL);
  });

  test("reports pages that it refuses, once for each origin and up to a limit", async () => {
    const gateway = await start({ allowedOrigins: ["http://localhost:3000"] });
    const refusedAs = async (origin: string) => {
      const { status, text } = await refusal(gateway, "/v1", [SUBPROTOCOL], { origin });
      return `${status} ${text}`;
    };
    const told = () =>
      gateway.record.all.flatMap((heard) => (heard.on === "refused" ? [heard.reason] : []));
    const near = ["http://localhost:3001", "https://localhost:3000", "http://localhost", "null"];
    for (const origin of [...near, ...near]) {
      expect(await refusedAs(origin)).toBe(
        `403 pages of "${origin}" may not connect: allow them with --allow-origin`,
      );
    }
    expect(told().length).toBe(near.length);
    expect(told()[0]).toBe(
      'pages of "http://localhost:3001" may not connect: allow them with --allow-origin',
    );
    const long = await refusedAs(`http://${"a".repeat(5_000)}`);
    expect(long.length).toBeLessThan(400);
    for (let number = 0; number < 100; number += 1) await refusedAs(`http://host-${number}`);
    expect(told().length).toBe(16);
    await BareClient.connect(gateway);
    await BareClient.connect(gateway, { origin: "http://localhost:3000" });
  });

  test("chooses its subprotocol among several", async () => {
    const gateway = await start();
    const socket = new WebSocket(`ws://${gateway.url}/v1`, ["other", SUBPROTOCOL]);
    await once(socket, "open");
    expect(socket.protocol).toBe(SUBPROTOCOL);
    socket.terminate();
  });

  test("answers one client too many with 503, and takes it when another has left", async () => {
    const gateway = await start({ connectionsMax: 2 });
    const first = await BareClient.attached(gateway);
    const second = await BareClient.attached(gateway);
    expect(await refusal(gateway, "/v1", [SUBPROTOCOL])).toEqual({
      status: 503,
      text: "connectionsMax (2) is reached",
    });
    expect((await fetch(`http://${gateway.url}/livez`)).status).toBe(200);
    first.socket.close();
    await gateway.record.find((heard) => heard.on === "closed");
    await BareClient.attached(gateway);
    second.say(command(1));
    await second.reply(1);
  });

  test("that drains takes no client any more, keeps those it has, and serves its pages", async () => {
    const gateway = await start();
    const client = await BareClient.attached(gateway);
    gateway.gateway.drain();
    gateway.gateway.drain();
    expect(await refusal(gateway, "/v1", [SUBPROTOCOL])).toEqual({
      status: 503,
      text: "this node is stopping",
    });
    expect((await fetch(`http://${gateway.url}/livez`)).status).toBe(200);
    client.say(command(1));
    await client.reply(1);
    expect(gateway.record.all.filter((heard) => heard.on === "connection")).toHaveLength(1);
    await gateway.gateway.close();
    expect(await client.closed).toMatchObject({ code: 1001 });
  });

  test("that is taken is one line naming address and port", async () => {
    const gateway = await start();
    const { port } = gateway.gateway;
    const second = new TestGateway({}, port);
    await expect(second.start()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: `cannot listen on 127.0.0.1:${port}: the port is taken (EADDRINUSE)`,
    });
    await second.gateway.close();
  });

  test("says goodbye when it closes, and is free again", async () => {
    const gateway = await start();
    const { port } = gateway.gateway;
    const client = await BareClient.attached(gateway);
    const deaf = await BareClient.attached(gateway);
    deaf.socket.pause();
    await gateway.gateway.close();
    expect(await client.closed).toEqual({ code: 1001, reason: "this node is stopping" });
    expect(gateway.record.all.filter((heard) => heard.on === "closed")).toHaveLength(2);
    deaf.socket.terminate();
    await start({}, port);
  });

  test("closes without ever having been opened", async () => {
    await new TestGateway().gateway.close();
  });

  test("keeps the nonce and all else of an open as it came", async () => {
    const gateway = await start();
    await BareClient.attached(gateway);
    const attach = await gateway.record.find((heard) => heard.on === "attach");
    const bytes = attach.on === "attach" ? Buffer.from(attach.bytes).toString("hex") : "";
    expect(bytes).toBe(`9601c410${NONCE}01cd3a98a0a0`);
  });
});
