/** Bodies of requests to the HTTP door: too large, in chunks, empty, cut, dripped, half-closed. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { DoorWorld } from "./door-world.js";
import { RawClient } from "./raw-client.js";

const HOST = "Host: localhost\r\n";
const OWNER = "Holdfast-Owner: o\r\n";
const CHUNKED = "Transfer-Encoding: chunked\r\n";
const JSON_TYPE = "Content-Type: application/json\r\n";
const EMPTY = "0\r\n\r\n";
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const post = (headers: string, body: string) =>
  `POST /v1/locks HTTP/1.1\r\n${HOST}${OWNER}${JSON_TYPE}${headers}\r\n${body}`;
const put = (key: string, headers = "", body = "") =>
  `PUT /v1/lock?key=${key}&ttl=5s HTTP/1.1\r\n${HOST}${OWNER}${headers}\r\n${body}`;
const TOO_LARGE = `{"x":"${"a".repeat(70_000)}"}`;

describe("a request with a body", () => {
  let world: DoorWorld;
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);

  beforeAll(async () => {
    world = await DoorWorld.start();
  });

  afterAll(() => world.stop());

  beforeEach(() => {
    process.on("unhandledRejection", note);
  });

  afterEach(async () => {
    expect((await world.ask("GET", "/v1/lock?key=other")).status).toBe(200);
    process.off("unhandledRejection", note);
    expect(unhandled.splice(0)).toEqual([]);
    expect(world.logged.filter(({ event }) => event === "http request failed")).toEqual([]);
  });

  test.each([
    ["in one chunk", post(CHUNKED, chunk(TOO_LARGE) + EMPTY)],
    ["in small chunks", post(CHUNKED, chunk("a".repeat(100)).repeat(700) + EMPTY)],
    ["of a length that it says", post("Content-Length: 70008\r\n", TOO_LARGE)],
  ])(
    "that is too large, %s, is answered 413, and its connection serves on",
    async (_how, bytes) => {
      const client = await RawClient.connect(world.port());
      client.socket.write(bytes);
      await vi.waitFor(() => expect(client.statuses).toEqual([413]));
      expect(client.text).toContain("application/problem+json");
      client.socket.write("GET /v1/lock?key=after HTTP/1.1\r\nHost: localhost\r\n\r\n");
      await vi.waitFor(() => expect(client.statuses).toEqual([413, 200]));
      client.socket.destroy();
    },
  );

  test.each([
    ["that is too large", post(CHUNKED, chunk(TOO_LARGE))],
    ["that is too large and half a chunk", post(CHUNKED, `fffff\r\n${"a".repeat(80_000)}`)],
    ["that has just begun", post(CHUNKED, "5\r\n{")],
    ["of which nothing came", post("Content-Length: 10\r\n", "")],
    ["that should be empty", put("cut", CHUNKED, "")],
  ])("%s may break off at any time", async (_what, bytes) => {
    for (let turns = 0; turns < 6; turns += 1) {
      const client = await RawClient.connect(world.port());
      client.socket.write(bytes);
      for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
      if (turns % 2 === 0) client.socket.resetAndDestroy();
      else client.socket.end();
      client.socket.destroySoon();
    }
    expect((await world.ask("GET", "/v1/lock?key=cut")).body.holds).toEqual([]);
  });

  test("in chunks that hold nothing has none", async () => {
    const client = await RawClient.connect(world.port());
    client.socket.write(put("empty", CHUNKED, EMPTY));
    await vi.waitFor(() => expect(client.statuses).toEqual([200]));
    client.socket.write(put("full", CHUNKED, chunk("ttl=30s") + EMPTY));
    await vi.waitFor(() => expect(client.statuses).toEqual([200, 400]));
    expect(client.text).toContain("takes no body");
    client.socket.destroy();
  });

  test.each([
    ["a read", "GET /v1/lock?key=half HTTP/1.1\r\nHost: localhost\r\n\r\n", [200]],
    ["a page", "GET /livez HTTP/1.0\r\n\r\n", [200]],
    ["a take", put("half"), [200]],
    ["a body", post(CHUNKED, chunk('{"items":[{"key":"body"}],"ttl":"5s"}') + EMPTY), [200]],
    ["half a body", post(CHUNKED, "5\r\n{"), [400]],
    ["two owners", put("two", OWNER), [400]],
    ["two tokens", put("two", "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"), [400]],
  ])("is answered though nothing comes after it: %s", async (_what, bytes, statuses) => {
    expect((await RawClient.say(world.port(), bytes)).statuses).toEqual(statuses);
  });

  test("that comes byte by byte is read to its end", async () => {
    const client = await RawClient.connect(world.port());
    const body = JSON.stringify({ items: [{ key: "dripped" }], ttl: "30s" });
    client.socket.setNoDelay(true);
    for (const byte of post(CHUNKED, chunk(body) + EMPTY)) {
      client.socket.write(byte);
      await new Promise(setImmediate);
    }
    await vi.waitFor(() => expect(client.statuses).toEqual([200]));
    client.socket.destroy();
  });

  test("that is not well formed is answered 400, and never in place of an earlier request", async () => {
    const broken = await RawClient.say(world.port(), post(CHUNKED, "zz\r\n"));
    expect(broken.statuses).toEqual([400]);
    expect(broken.text).toContain("application/problem+json");
    await world.take("queue", "a");
    const waiting =
      `PUT /v1/lock?key=queue&ttl=5s&wait=40s HTTP/1.1\r\n${HOST}` +
      "Holdfast-Owner: b\r\nIdempotency-Key: b\r\n\r\n";
    const after = await RawClient.connect(world.port());
    after.socket.write(waiting);
    await world.waiting("queue", 1);
    after.socket.write("no request\r\n\r\n");
    await after.closed;
    expect(after.statuses).toEqual([]);
  });
});
