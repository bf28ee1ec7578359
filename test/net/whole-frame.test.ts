/** Frames that are written whole, read by `ws`. */
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough, type Writable } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { FRAME_HEADROOM_BYTES, sendWhole, wholeFrame } from "../../src/net/whole-frame.js";

const LENGTHS = [0, 1, 125, 126, 127, 65_535, 65_536, 1 << 20];

interface End {
  readonly socket: WebSocket;
  readonly stream: Writable;
}

/** A connection by `ws`, with the streams beneath it. */
async function connection(): Promise<{ server: End; client: WebSocket }> {
  const http = createServer();
  onTestFinished(() => {
    http.close();
  });
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  const served = new Promise<End>((resolve) => {
    http.on("upgrade", (request, stream, head) => {
      sockets.handleUpgrade(request, stream, head, (socket) => resolve({ socket, stream }));
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false });
  const opened = new Promise<WebSocket>((resolve) => {
    socket.on("open", () => resolve(socket));
  });
  const [server, client] = await Promise.all([served, opened]);
  return { server, client };
}

function payloadOf(length: number): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEADROOM_BYTES + length + 3);
  for (const [at] of bytes.entries()) bytes[at] = (at * 31) % 251;
  return bytes.subarray(FRAME_HEADROOM_BYTES, FRAME_HEADROOM_BYTES + length);
}

function printOf(bytes: Uint8Array): string {
  return `${bytes.length} bytes, ${createHash("sha256").update(bytes).digest("hex")}`;
}

describe("what a server sends whole", () => {
  test("arrives as it was, between what ws itself says, and nothing behind the close", async () => {
    const { server, client: other } = await connection();
    const { socket, stream } = server;
    const heard: string[] = [];
    other.on("message", (data, isBinary) => {
      heard.push(isBinary ? printOf(data as Buffer) : "text");
    });
    other.on("ping", () => heard.push("ping"));
    const closed = new Promise<void>((resolve) => {
      other.on("close", (code, reason) => {
        heard.push(`${code} ${reason.toString()}`);
        resolve();
      });
    });
    const payloads = LENGTHS.map(payloadOf);
    const before = payloads.map(printOf);
    let taken = 0;
    const done = (): void => {
      taken += 1;
    };
    for (const payload of payloads) {
      sendWhole(socket, stream, payload, done);
      socket.ping();
    }
    socket.close(1000, "enough");
    sendWhole(socket, stream, payloadOf(5), done);
    await closed;
    expect(heard).toEqual([...before.flatMap((print) => [print, "ping"]), "1000 enough"]);
    expect(taken).toBe(payloads.length + 1);
    expect(payloads.map(printOf)).toEqual(before);
  });

  test("needs room in front of it", () => {
    expect(() => wholeFrame(new Uint8Array(10))).toThrow(/no room/);
  });

  test("comes back when its stream is destroyed", async () => {
    const stream = new PassThrough();
    stream.destroy();
    const { socket } = (await connection()).server;
    await new Promise<void>((resolve) => {
      sendWhole(socket, stream, payloadOf(5), resolve);
    });
    socket.terminate();
  });
});
