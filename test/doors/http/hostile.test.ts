/** Bytes that no honest client sends: the node lives on, and everybody else is served as before. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { DoorWorld } from "./door-world.js";

const HOST = "Host: localhost\r\n";
const GET = `GET /v1/lock?key=k HTTP/1.1\r\n${HOST}\r\n`;
const BEGUN_POST =
  `POST /v1/locks HTTP/1.1\r\n${HOST}` +
  "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{";
const wait = (key: string, owner: string) =>
  `PUT /v1/lock?key=${key}&ttl=60s&wait=40s HTTP/1.1\r\n${HOST}` +
  `Holdfast-Owner: ${owner}\r\nIdempotency-Key: ${owner}\r\n\r\n`;

describe("a connection that breaks", () => {
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
  });

  async function open(bytes: string): Promise<Socket> {
    const socket = connect({ port: world.port(), host: "127.0.0.1" });
    socket.on("error", () => undefined);
    await once(socket, "connect");
    socket.write(bytes);
    return socket;
  }

  test("in the body of a request leaves the node as it is, whatever was asked before", async () => {
    await world.take("body", "a");
    for (const before of ["", GET, GET.repeat(10), wait("body", "b")]) {
      for (let turns = 0; turns < 5; turns += 1) {
        const socket = await open(before + BEGUN_POST);
        for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
        socket.resetAndDestroy();
      }
    }
    await world.waiting("body", 0);
  });

  test("takes every request with it that it has sent, so that none keeps the place of another", async () => {
    await world.take("places", "a");
    const sockets: Socket[] = [];
    for (let i = 0; i < 17; i += 1) {
      sockets.push(await open(wait("places", `b${i}`) + GET.repeat(1_000)));
    }
    // What was sent before is read by now.
    for (let i = 0; i < 3; i += 1) await world.ask("GET", "/v1/openapi.json");
    for (const socket of sockets) socket.destroy();
    await world.waiting("places", 0);
  });

  test("never leaves a request in a queue, to be granted a lock for nobody", async () => {
    await world.take("ghost", "a");
    const socket = await open(wait("ghost", "b") + wait("ghost", "c"));
    // The second one has not begun: only the first one stands in the queue.
    await world.waiting("ghost", 1);
    socket.destroy();
    await world.waiting("ghost", 0);
    await world.giveBack("ghost", "a");
    expect((await world.take("ghost", "d")).status).toBe(200);
  });

  test("ends its wait also where pages were asked for after that", async () => {
    await world.take("pages", "a");
    const socket = await open(wait("pages", "b"));
    await world.waiting("pages", 1);
    socket.write(`GET /livez HTTP/1.1\r\n${HOST}\r\n`.repeat(500));
    await world.ask("GET", "/v1/openapi.json");
    socket.destroy();
    await world.waiting("pages", 0);
  });
});

test("a connection has one watch at a time", async () => {
  const world = await DoorWorld.start();
  const socket = connect({ port: world.port(), host: "127.0.0.1" });
  let text = "";
  socket.on("data", (bytes) => {
    text += bytes.toString("utf8");
  });
  socket.on("error", () => undefined);
  socket.write(`GET /v1/watch HTTP/1.1\r\n${HOST}\r\n`.repeat(10));
  await vi.waitFor(() => expect(text).toContain("event: begun"));
  expect(await watchesOf(world)).toBe(1);
  socket.destroy();
  await vi.waitFor(async () => expect(await watchesOf(world)).toBe(0));
  await world.stop();
});

async function watchesOf(world: DoorWorld): Promise<number> {
  const { text } = await world.ask("GET", "/metrics");
  return Number(/^holdfast_watches(?:\{[^}]*\})? (\d+)/m.exec(text)?.[1]);
}
