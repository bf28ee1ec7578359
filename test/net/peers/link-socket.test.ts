/** One end of a link, whose other end is a bare socket that sends without reading. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import {
  FRAME,
  FROM_DIALER,
  frameOfKind,
  LINK_PREFACE,
} from "../../../src/net/peers/link-frame.js";
import { LinkSocket } from "../../../src/net/peers/link-socket.js";

const PINGS = 1_000_000;
const PINGS_A_TURN = 10_000;
const cleanups: (() => unknown)[] = [];

afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

test("a node that pings on and reads nothing makes the other one keep no pongs", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => server.close());
  const accepted = once(server, "connection");
  const dialer = connect((server.address() as AddressInfo).port, "127.0.0.1");
  cleanups.push(() => dialer.destroy());
  dialer.pause();
  const [stream] = (await accepted) as [Socket];
  cleanups.push(() => stream.destroy());
  let pings = 0;
  const link = new LinkSocket(stream, {
    onFrame: () => {
      pings += 1;
      link.pong();
    },
    onForeign: () => undefined,
    onBad: () => undefined,
    onEnd: () => undefined,
  });
  link.accept(FROM_DIALER);

  const turn = Buffer.concat(new Array<Buffer>(PINGS_A_TURN).fill(frameOfKind(FRAME.ping)));
  dialer.write(LINK_PREFACE);
  for (let sent = 0; sent < PINGS; sent += PINGS_A_TURN) dialer.write(turn);
  await vi.waitFor(() => expect(pings).toBe(PINGS), { timeout: 20_000 });
  expect(link.bufferedBytes).toBeLessThan(64 << 10);
});
