import { afterEach, beforeEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import { CLIENT_DEFAULTS, connectOn } from "../../../src/client/index.js";
import { browserPlatform } from "../../../src/client/transport/browser-platform.js";
import { SocketTable } from "../world/socket-table.js";

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

it("takes a URL that the page may not open for a node that cannot be reached", async () => {
  host.WebSocket = class extends WebSocket {
    constructor(url: string, protocol: string) {
      if (!url.startsWith(table.endpoint)) throw new DOMException("insecure", "SecurityError");
      super(url, protocol);
    }
  };
  const settings = { ...CLIENT_DEFAULTS, connectTimeoutMs: 200 };
  const nowhere = connectOn(browserPlatform(), { ...settings, endpoints: ["ws://node-1:7411"] });
  await expect(nowhere).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringContaining("ws://node-1:7411: insecure"),
  });
  const endpoints = ["ws://node-1:7411", "ws://node-2:7411", table.endpoint];
  await using client = await connectOn(browserPlatform(), { ...settings, endpoints });
  expect(client.session).toBeGreaterThan(0);
});
