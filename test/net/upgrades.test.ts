/**
 * Upgrades that a port does not know: their requests are answered like all others, on every port and
 * path, as clients of the JDK and of Apache expect whose defaults ask for an upgrade.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type NetConnectOpts, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { HttpDoor } from "../../src/net/index.js";
import { HealthPort } from "../../src/net/index.js";
import { TestGateway } from "./gateway/client.js";

const HOST = "Host: localhost\r\n";
const H2C = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n";
const TLS_1_2 = "Upgrade: TLS/1.2\r\nConnection: Upgrade\r\n";
const WEB_SOCKET =
  "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
  "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: holdfast\r\n";
const get = (path: string, more = "") => `GET ${path} HTTP/1.1\r\n${HOST}${more}\r\n`;
const post = (path: string, more: string, body: string) =>
  `POST ${path} HTTP/1.1\r\n${HOST}${more}Content-Length: ${body.length}\r\n\r\n${body}`;

/** Answers with what it was asked for. */
const echo: HttpDoor = {
  async onRequest(request, response) {
    let body = "";
    for await (const piece of request) body += piece;
    const { method, url, headers } = request;
    response.end(`${method} ${url} ${headers.upgrade} ${headers.connection} ${body}\n`);
  },
};

const ends: (() => Promise<unknown> | undefined)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

class Raw {
  text = "";
  readonly socket: Socket;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      this.text += bytes.toString("latin1");
    });
    ends.push(async () => socket.destroy());
  }

  static async connect(where: NetConnectOpts): Promise<Raw> {
    const socket = connect(where);
    await once(socket, "connect");
    return new Raw(socket);
  }

  async answers(statuses: readonly number[]): Promise<void> {
    await vi.waitFor(() => {
      const found = [...this.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)];
      expect(found.map(([, status]) => Number(status))).toEqual(statuses);
    });
  }
}

async function gatewayWith(door: HttpDoor | undefined): Promise<TestGateway> {
  const gateway = await new TestGateway({ door }).start();
  ends.push(() => gateway.gateway.close());
  return gateway;
}

describe("an upgrade that is not known", () => {
  test.each([H2C, TLS_1_2])("is ignored at the client port, on every path: %j", async (upgrade) => {
    const { gateway } = await gatewayWith(echo);
    const client = await Raw.connect({ port: gateway.port, host: "127.0.0.1" });
    client.socket.write(get("/livez", upgrade));
    await client.answers([200]);
    client.socket.write(post("/v1/locks", upgrade, "the body"));
    await client.answers([200, 200]);
    expect(client.text).toContain("POST /v1/locks undefined  the body\n");
    client.socket.write(get("/v1", upgrade));
    await client.answers([200, 200, 426]);
    // And such a connection may still become a WebSocket.
    client.socket.write(get("/v1", WEB_SOCKET));
    await client.answers([200, 200, 426, 101]);
  });

  test("loses nothing that comes after it in the same packet", async () => {
    const { gateway } = await gatewayWith(echo);
    const client = await Raw.connect({ port: gateway.port, host: "127.0.0.1" });
    client.socket.write(get("/v1/1", H2C) + get("/v1/2") + get("/livez"));
    await client.answers([200, 200, 200]);
    expect(client.text).toMatch(/GET \/v1\/1 .*GET \/v1\/2 .*page \/livez/s);
  });

  test("ends a connection that has asked for something else and has no answer yet", async () => {
    const { gateway } = await gatewayWith({ onRequest: () => new Promise(() => undefined) });
    const client = await Raw.connect({ port: gateway.port, host: "127.0.0.1" });
    client.socket.write(get("/v1/parked") + get("/v1/2", H2C));
    await once(client.socket, "close");
    expect(client.text).toBe("");
  });

  test("adds nothing to its connection, however often it comes", async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on("warning", note);
    const gateway = await gatewayWith(echo);
    const client = await Raw.connect({ port: gateway.gateway.port, host: "127.0.0.1" });
    const statuses: number[] = [];
    for (let i = 0; i < 30; i += 1) {
      client.socket.write(get("/livez", i % 2 === 0 ? TLS_1_2 : H2C));
      statuses.push(200);
      await client.answers(statuses);
    }
    expect(gateway.gateway.load.sockets).toBe(1);
    client.socket.destroy();
    await vi.waitFor(() => expect(gateway.gateway.load.sockets).toBe(0));
    process.off("warning", note);
    expect(warnings).toEqual([]);
  });

  test("is ignored by a node that serves no locks", async () => {
    const { gateway } = await gatewayWith(undefined);
    const client = await Raw.connect({ port: gateway.port, host: "127.0.0.1" });
    client.socket.write(get("/livez", TLS_1_2));
    await client.answers([200]);
    client.socket.write(get("/v1/lock?key=k", H2C));
    await client.answers([200, 503]);
    expect(client.text).toContain('"code":"UNAVAILABLE"');
  });

  test("is ignored on the socket in the data directory", async () => {
    const directory = mkdtempSync(join(tmpdir(), "holdfast-upgrades-"));
    ends.push(async () => rmSync(directory, { recursive: true }));
    const { gateway } = await gatewayWith(echo);
    await gateway.listenLocal(directory);
    const client = await Raw.connect({ path: join(directory, "local.sock") });
    client.socket.write(get("/v1/lock", H2C));
    await client.answers([200]);
  });

  test("is ignored at the port for health checks, which takes no WebSocket", async () => {
    const pages = () => ({ status: 200, contentType: "text/plain", body: "ok\n" });
    const port = new HealthPort([], pages, () => undefined);
    await port.start({ host: "127.0.0.1", port: 0 });
    ends.push(() => port.close());
    const client = await Raw.connect({ port: port.port, host: "127.0.0.1" });
    client.socket.write(get("/readyz", TLS_1_2));
    await client.answers([200]);
    client.socket.write(get("/v1", WEB_SOCKET));
    await client.answers([200, 404]);
    expect(client.text).toContain("application/problem+json");
  });
});

test("what is refused of a connection is a problem with a sentence", async () => {
  const { gateway } = await gatewayWith(echo);
  for (const [bytes, status, detail] of [
    [get("/v1/lock", WEB_SOCKET), 404, "WebSocket clients connect to /v1"],
    [get("/v1", WEB_SOCKET + HOST), 400, "two headers Host"],
    [get("/v1/lock", "a:\r\n".repeat(1_000) + HOST), 400, "two headers Host"],
    [get("/v1", WEB_SOCKET.replace("13", "12")), 400, "Sec-WebSocket-Version"],
    [get("/v1", WEB_SOCKET.replace(/A{22}/, "A")), 400, "Sec-WebSocket-Key"],
    [get("/v1", WEB_SOCKET).replace("GET", "POST"), 405, "method"],
    [get("/livez", HOST), 400, "two headers Host"],
    [get("/v1/lock", HOST), 400, "two headers Host"],
    ["GET /v1/lock HTTP/1.1\r\n\r\n", 400, "Host is missing"],
    [get("/v1/lock", "Expect: more\r\n"), 417, "100-continue"],
    ["CONNECT localhost:1 HTTP/1.1\r\nHost: localhost:1\r\n\r\n", 405, "CONNECT"],
    ["no request\r\n\r\n", 400, "not a request of HTTP/1.1"],
    [get("/", `Cookie: ${"c".repeat(9_000)}\r\n`), 431, "8192 bytes"],
    [post("/status", "", "x"), 405, "POST is not served here"],
    [get("/v1"), 426, "speaks WebSocket"],
  ] as const) {
    const client = await Raw.connect({ port: gateway.port, host: "127.0.0.1" });
    client.socket.write(bytes);
    await client.answers([status]);
    const [head = "", body = ""] = client.text.split("\r\n\r\n");
    expect(head).toContain("Content-Type: application/problem+json");
    expect(JSON.parse(body)).toMatchObject({ status, code: expect.any(String) });
    expect(JSON.parse(body).detail).toContain(detail);
    client.socket.destroy();
  }
});
