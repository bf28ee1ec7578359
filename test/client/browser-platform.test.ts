import { afterEach, beforeEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import { browserPlatform } from "../../src/client/browser-platform.js";
import { CLIENT_DEFAULTS, connectOn } from "../../src/client/index.js";
import { SocketTable } from "./socket-table.js";

const host = globalThis as { WebSocket?: unknown };
const native = host.WebSocket;
let table: SocketTable;

// The class of `ws` has the browser's interface, and Node 20 has no other.
beforeEach(async () => {
  host.WebSocket = WebSocket;
  table = await SocketTable.listen();
});

afterEach(async () => {
  host.WebSocket = native;
  await table.close();
});

it("speaks through the WebSocket of the page, and says goodbye in a way pages may", async () => {
  const settings = { ...CLIENT_DEFAULTS, endpoints: [table.endpoint] };
  const client = await connectOn(browserPlatform(), settings);
  const locks = await Promise.all(["a", "b", "c"].map((key) => client.acquire(key)));
  expect(new Set(locks.map(({ token }) => token)).size).toBe(3);
  expect(await client.tryAcquire("a")).toBeUndefined();
  expect(await locks[0]?.release()).toEqual({ released: true });
  await client.close();
  expect(table.table.counts().sessions).toBe(0);
});
