/** Callers that do not read their events: what waits for them is bounded, and those that read stay. */
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { EventStream, WaitingEvents } from "../../../src/doors/http/event-stream.js";

const EVENT = `data: ${"x".repeat(2_000)}\n\n`;

describe("the events that wait to be sent", () => {
  let server: Server;
  let sockets: Socket[];

  beforeEach(async () => {
    sockets = [];
    server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
  });

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  /** A stream, and the response under it. */
  async function open(all: WaitingEvents, isRead: boolean): Promise<[EventStream, ServerResponse]> {
    const { port } = server.address() as AddressInfo;
    const socket = connect({ port, host: "127.0.0.1" });
    sockets.push(socket);
    if (isRead) socket.resume();
    else socket.pause();
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const [, response] = (await once(server, "request")) as [unknown, ServerResponse];
    response.writeHead(200);
    response.flushHeaders();
    return [new EventStream(response, all), response];
  }

  test("of one caller are a megabyte at most: then it is cut off", async () => {
    const all = new WaitingEvents();
    const [stream, response] = await open(all, false);
    let most = 0;
    while (!response.destroyed) {
      stream.send(EVENT);
      most = Math.max(most, all.bytes);
      await new Promise(setImmediate);
    }
    expect(most).toBeGreaterThan(1 << 20);
    expect(most).toBeLessThan((1 << 20) + 2 * EVENT.length);
    await vi.waitFor(() => expect(all.bytes).toBe(0));
  });

  test("of all callers are bounded: those that do not read are cut off, and no other", async () => {
    const all = new WaitingEvents(400_000);
    const [reading, read] = await open(all, true);
    const slow = [await open(all, false), await open(all, false), await open(all, false)];
    const unread = () => slow.filter(([, response]) => !response.destroyed);
    let most = 0;
    while (unread().length > 2) {
      for (const [stream] of [[reading] as const, ...unread()]) stream.send(EVENT);
      most = Math.max(most, all.bytes);
      await new Promise(setImmediate);
    }
    expect(most).toBeLessThan(400_000 + 8 * EVENT.length);
    expect(read.destroyed).toBe(false);
    for (const [, response] of slow) response.destroy();
    await vi.waitFor(() => expect(all.bytes).toBe(0));
    reading.end();
  });

  test("of a caller that has read nothing between two keepalives are given up with it", async () => {
    const all = new WaitingEvents();
    const [stream, response] = await open(all, false);
    while (all.bytes < 100_000) {
      stream.send(EVENT);
      await new Promise(setImmediate);
    }
    stream.keepalive(": keepalive\n\n");
    expect(response.destroyed).toBe(false);
    stream.keepalive(": keepalive\n\n");
    expect(response.destroyed).toBe(true);
    await vi.waitFor(() => expect(all.bytes).toBe(0));
  });
});
