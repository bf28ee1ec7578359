/**
 * The input of a socket: what the meter keeps back comes later, whole and in order, and the end of the
 * stream after it.
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { InputMeter } from "../../../src/net/meter/input-meter.js";
import { MeteredInput } from "../../../src/net/meter/metered-input.js";

const endings: (() => void)[] = [];
afterEach(() => {
  for (const end of endings.splice(0)) end();
});

/** Both ends of a connection whose server end is metered, next to a party that is always there. */
async function metered(
  meter: InputMeter,
  identity?: string,
): Promise<{ client: Socket; socket: Socket }> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const client = connect(port, "127.0.0.1");
  const [socket] = (await once(server, "connection")) as [Socket];
  server.close();
  endings.push(() => {
    client.destroy();
    socket.destroy();
  });
  socket.on("error", () => socket.destroy());
  new MeteredInput(meter, socket, "10.0.0.1", false, identity);
  socket.resume();
  return { client, socket };
}

/** A meter whose clock a test moves; timers are due at once. */
class Clock {
  nowMs = 0;
  readonly meter = new InputMeter({
    isOpen: () => false,
    clock: {
      nowMs: () => this.nowMs,
      busyMs: () => 0,
      afterPromises: (task) => queueMicrotask(() => process.nextTick(task)),
      soon: (task) => setImmediate(task),
      after: (ms, task) => {
        setImmediate(() => {
          this.nowMs += ms;
          task();
        });
      },
    },
  });

  /** Somebody else is active. */
  disturb(): void {
    const other = this.meter.accountOf("10.0.0.2", "other", false);
    this.meter.begin(other);
    this.nowMs += 1;
    this.meter.end();
  }
}

const lengths = fc.array(fc.integer({ min: 1, max: 200_000 }), { minLength: 2, maxLength: 6 });

/** Different at each place, so that a changed order shows. */
function pieceOf(length: number, at: number): Buffer {
  const piece = Buffer.alloc(length);
  for (let i = 0; i + 4 <= length; i += 4) piece.writeUInt32LE(at * 1_000_003 + i, i);
  return piece;
}

test("bytes come whole and in order, and their end last, whatever they cost and whichever side pauses", async () => {
  let heldTotal = 0;
  await fc.assert(
    fc.asyncProperty(lengths, fc.nat(40), fc.boolean(), async (given, costMs, pauses) => {
      const pieces = given.map(pieceOf);
      const clock = new Clock();
      clock.disturb();
      const { client, socket } = await metered(clock.meter);
      const received: Buffer[] = [];
      socket.on("data", (chunk: Buffer) => {
        setImmediate(() => clock.disturb());
        clock.nowMs += costMs;
        received.push(Buffer.from(chunk));
        if (!pauses) return;
        socket.pause();
        setImmediate(() => socket.resume());
      });
      const ended = once(socket, "end");
      for (const piece of pieces) client.write(piece);
      client.end();
      await ended;
      expect(Buffer.concat(received).equals(Buffer.concat(pieces))).toBe(true);
      heldTotal += clock.meter.heldTotal;
      client.destroy();
      socket.destroy();
    }),
    { numRuns: 25 },
  );
  expect(heldTotal).toBeGreaterThan(0);
});

test("a connection that waits for its turn and ends is forgotten", async () => {
  const clock = new Clock();
  clock.disturb();
  const { client, socket } = await metered(clock.meter);
  socket.on("data", () => {
    clock.nowMs += 1_000;
    client.resetAndDestroy();
  });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  client.write("a");
  await closed;
  expect(clock.meter.heldCount).toBe(0);
});

test("the first bytes of a connection are not even read before its party may be heard", async () => {
  const tasks: (() => void)[] = [];
  let nowMs = 0;
  const meter = new InputMeter({
    isOpen: () => false,
    clock: {
      nowMs: () => nowMs,
      busyMs: () => 0,
      afterPromises: (task) => task(),
      soon: (task) => void tasks.push(task),
      after: (ms, task) => {
        tasks.push(() => {
          nowMs += ms;
          task();
        });
      },
    },
  });
  for (const [address, spentMs] of [
    ["10.0.0.1", 50],
    ["10.0.0.2", 1],
  ] as const) {
    meter.begin(meter.accountOf(address, address, false));
    nowMs += spentMs;
    meter.end();
  }
  const { client, socket } = await metered(meter, "10.0.0.1");
  let received = "";
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString();
  });
  await new Promise((resolve) => client.write("a", resolve));
  for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve));
  expect([socket.bytesRead, meter.heldCount]).toEqual([0, 1]);
  const read = once(socket, "data");
  while (received === "") {
    for (const task of tasks.splice(0)) task();
    await Promise.race([read, new Promise((resolve) => setImmediate(resolve))]);
  }
  expect(received).toBe("a");
});
