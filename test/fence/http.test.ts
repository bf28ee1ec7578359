import { EventEmitter, once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import {
  answerTo,
  claimOfRequest,
  FENCE_HEADER,
  fenceRequests,
  formatClaim,
  Gate,
} from "../../src/fence/index.js";

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }
});

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A service that reads without a claim and writes under one. */
async function serve(gate: Gate, handler: Handler, onError?: (error: unknown) => void) {
  const fence = fenceRequests<IncomingMessage>({
    gateOf: ({ method }) => (method === "GET" ? undefined : gate),
  });
  const server = createServer((request, response) => {
    fence(request, response, (error) => {
      if (error === undefined) {
        handler(request, response);
        return;
      }
      onError?.(error);
      response.writeHead(500).end();
    });
  });
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

async function put(url: string, claim?: string): Promise<{ status: number; body: unknown }> {
  const headers: Record<string, string> = claim === undefined ? {} : { [FENCE_HEADER]: claim };
  const response = await fetch(url, { method: "PUT", headers });
  const text = await response.text();
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
}

test("a write needs a claim that is not too old; a read needs none", async () => {
  let written = 0;
  const url = await serve(new Gate({ name: "stock" }), ({ method }, response) => {
    if (method === "PUT") written += 1;
    response.end();
  });
  expect(await put(url)).toMatchObject({ status: 428, body: { code: "INVALID_ARGUMENT" } });
  expect(await put(url, "42")).toMatchObject({ status: 400, body: { code: "INVALID_ARGUMENT" } });
  expect(await put(url, "exclusive 42, exclusive 43")).toMatchObject({ status: 400 });
  expect(written).toBe(0);
  expect(await put(url, formatClaim({ token: 42, mode: "exclusive" }))).toEqual({
    status: 200,
    body: undefined,
  });
  expect(await put(url, "exclusive 43")).toMatchObject({ status: 200 });
  expect(await put(url, "exclusive 42")).toEqual({
    status: 412,
    body: {
      code: "STALE_TOKEN",
      message:
        'exclusive token 42 came to "stock" after token 43: its lock was lost and granted to another',
    },
  });
  expect((await fetch(url)).status).toBe(200);
  expect(written).toBe(2);
});

/** A service whose test answers each write when it wants to. */
async function serveByHand() {
  const begun: ServerResponse[] = [];
  const signs = new EventEmitter();
  const url = await serve(new Gate(), (_, response) => {
    begun.push(response);
    signs.emit("begun");
  });
  const server = servers.at(-1);
  if (server === undefined) throw new Error("it was started above");
  /** Resolves with the nth response that the service was let through to. */
  const nth = async (count: number): Promise<ServerResponse> => {
    while (begun.length < count) await once(signs, "begun");
    return begun[count - 1] as ServerResponse;
  };
  /** Sends a write, and resolves once the service has looked at it. */
  const arrive = async (claim: string) => {
    const seen = once(server, "request") as Promise<[IncomingMessage, ServerResponse]>;
    const sent = request(url, { method: "PUT", headers: { [FENCE_HEADER]: claim } }).end();
    sent.on("error", () => undefined);
    const status = new Promise<number>((resolve) => {
      sent.on("response", (response) => resolve(response.resume().statusCode ?? 0));
    });
    const [, response] = await seen;
    await settled();
    return { sent, status, gone: once(response, "close") };
  };
  return { begun, nth, arrive };
}

/** Long enough for everything that does not wait for anything else. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a newer writer waits until the older one is answered", async () => {
  const { begun, nth, arrive } = await serveByHand();
  const first = await arrive("exclusive 5");
  const second = await arrive("exclusive 9");
  expect(begun.length).toBe(1);
  (await nth(1)).end();
  expect(await first.status).toBe(200);
  (await nth(2)).end();
  expect(await second.status).toBe(200);
});

test("who leaves while waiting is not served, and keeps nobody waiting", async () => {
  const { begun, nth, arrive } = await serveByHand();
  const first = await arrive("exclusive 5");
  const impatient = await arrive("exclusive 7");
  impatient.sent.destroy();
  await impatient.gone;
  const last = await arrive("exclusive 9");
  (await nth(1)).end();
  expect(await first.status).toBe(200);
  (await nth(2)).end();
  expect(await last.status).toBe(200);
  expect(begun.length).toBe(2);
});

test("what the service itself throws is the service's, even if it looks like ours", async () => {
  const errors: unknown[] = [];
  const inner = new Gate({ name: "another" });
  inner.admit({ token: 99, mode: "exclusive" });
  const url = await serve(
    new Gate(),
    () => inner.admit({ token: 5, mode: "exclusive" }),
    (error) => errors.push(error),
  );
  expect(await put(url, "exclusive 5")).toMatchObject({ status: 500 });
  expect(errors).toEqual([expect.objectContaining({ code: "STALE_TOKEN" })]);
  expect((await put(url, "exclusive 6")).status).toBe(500);
});

test("other servers read the claim and make the answer themselves", () => {
  expect(claimOfRequest({ headers: { [FENCE_HEADER]: "shared 5" } })).toEqual({
    token: 5,
    mode: "shared",
  });
  expect(() => claimOfRequest({ headers: { [FENCE_HEADER]: ["shared 5", "shared 6"] } })).toThrow();
  expect(answerTo(new Error("unrelated"))).toBeUndefined();
});
