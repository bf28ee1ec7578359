/** What a connection keeps for a client that takes little, and what one connection does to the others. */
import { expect, test } from "vitest";
import type { KeyView } from "../../../src/protocol/index.js";
import { DoorWorld } from "./world/door-world.js";
import { OneConnection, turn } from "./world/one-connection.js";

const KIB = 1 << 10;
const TEXT = "x".repeat(100 * KIB);

test("a client that reads no replies is not read from, and cut off after a while", async () => {
  await using one = await OneConnection.open();
  one.client.pause();
  for (let i = 0; i < 600; i++) one.client.send("ECHO", TEXT);
  await one.tickUntilClosed();
  expect(one.reasons).toEqual(["it does not read its replies"]);
  // 60 MB were sent; the sockets of the system keep some of the replies.
  expect(one.counts.commandsTotal).toBeLessThan(300);
});

test("a client that reads slowly gets every reply, however many ticks pass", async () => {
  await using one = await OneConnection.open();
  const count = 600;
  let [read, ticks] = [0, 0];
  one.client.discard((length) => {
    read += length;
    ticks += 1;
    one.connection.tick();
    one.client.pause();
    setImmediate(() => one.client.resume());
  });
  for (let i = 0; i < count; i++) one.client.send("ECHO", TEXT);
  const all = count * (TEXT.length + "$102400\r\n\r\n".length);
  while (read < all && !one.isClosed) await turn();
  expect([read, one.reasons]).toEqual([all, []]);
  expect(ticks).toBeGreaterThan(120);
});

test("replies that are ready behind a command that runs do not pile up", async () => {
  let end: (() => void) | undefined;
  const running = new Promise<void>((resolve) => {
    end = resolve;
  });
  await using one = await OneConnection.open({
    inspect: async (key) => {
      await running;
      return { key, kind: null, limit: 0, holds: [], waiters: [], cooldowns: [] };
    },
  });
  one.client.send("GET", "k");
  for (let i = 0; i < 100; i++) one.client.send("ECHO", TEXT);
  while (one.counts.commandsTotal < 11) await turn();
  for (let i = 0; i < 1_000; i++) await turn();
  // 1 MiB of commands, and one.
  expect(one.counts.commandsTotal).toBeLessThanOrEqual(12);
  end?.();
  expect(await one.client.reply()).toBe("nil");
  for (let i = 0; i < 100; i++) expect(await one.client.reply()).toHaveLength(TEXT.length);
  expect(one.reasons).toEqual([]);
});

test("a listener that reads no messages is cut off before they pile up", async () => {
  await using one = await OneConnection.open();
  await one.client.call("HELLO", "3");
  await one.client.call("SUBSCRIBE", "channel");
  one.client.pause();
  const message = "m".repeat(4 * KIB);
  let sent = 0;
  while (!one.isClosed && sent < 100_000) {
    one.publisher.announce("channel", message);
    sent += 1;
    await turn();
  }
  expect(one.reasons).toEqual(["it does not read its messages"]);
});

test("messages behind a command that runs are bounded, too", async () => {
  await using one = await OneConnection.open({ inspect: () => new Promise(() => {}) });
  await one.client.call("HELLO", "3");
  await one.client.call("SUBSCRIBE", "channel");
  one.client.send("GET", "k");
  while (one.counts.commandsTotal < 3) await turn();
  let sent = 0;
  while (!one.isClosed && sent < 1_000) {
    one.publisher.announce("channel", "m".repeat(4 * KIB));
    sent += 1;
  }
  expect(one.reasons).toEqual(["it does not read its messages"]);
  expect(sent).toBeLessThan(300);
});

test.each([
  ["a reply that cannot be encoded", Symbol("a token")],
  ["an error that nobody expects", undefined],
])("%s ends its connection and no other", async (_what, token) => {
  const inspect = async (key: string): Promise<KeyView> => {
    if (token === undefined) throw new TypeError("a bug");
    return viewOf(key, token);
  };
  await using one = await OneConnection.open({ inspect });
  one.client.send("HOLDFAST.TOKEN", "k", "v");
  expect(await one.client.reply()).toBe("closed");
  expect(one.broken).toEqual([expect.any(TypeError)]);
});

test("an error within a timer of the door is logged, and the door goes on", async () => {
  await using world = await DoorWorld.open({}, { electionTimeoutMs: 20 });
  const client = await world.connect();
  Object.defineProperty(world.node, "leader", {
    configurable: true,
    get: () => {
      throw new TypeError("a bug in the node");
    },
  });
  const logged = /^error redis door failed .*internal error: a bug in the node/m;
  await expect.poll(() => world.log.join("\n")).toMatch(logged);
  expect(await client.call("PING")).toBe("+PONG");
  Object.defineProperty(world.node, "leader", { value: 1 });
});

test("replies that are ready at once and longer together than any string come one by one", async () => {
  let end: (() => void) | undefined;
  const running = new Promise<void>((resolve) => {
    end = resolve;
  });
  const long = "x".repeat(1_000 * KIB);
  const inspect = async (key: string): Promise<KeyView> => {
    await running;
    return viewOf(key, long);
  };
  await using one = await OneConnection.open({ inspect });
  const count = 600;
  let read = 0;
  one.client.discard((length) => {
    read += length;
  });
  for (let i = 0; i < count; i++) one.client.send("HOLDFAST.TOKEN", "k", "v");
  while (one.counts.commandsTotal < count) await turn();
  end?.();
  const all = count * (long.length + "$1024000\r\n\r\n".length);
  while (read < all && !one.isClosed) await turn();
  expect([read, one.reasons, one.broken]).toEqual([all, [], []]);
});

/** A lock whose token is whatever a test wants to be the reply. */
function viewOf(key: string, token: unknown): KeyView {
  const hold = { value: "v", token, ttlMs: 1, leaseMs: 1, endsInMs: null, identity: "me" };
  const rest = { kind: "lock", limit: 0, waiters: [], cooldowns: [] };
  return { key, ...rest, holds: [hold] } as unknown as KeyView;
}
