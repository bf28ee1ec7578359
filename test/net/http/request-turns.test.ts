/** Pipelined requests: each begins in its turn, and what one holds ends with its connection. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { HttpDoor } from "../../../src/net/index.js";
import { TestGateway } from "../gateway/client.js";

const HOST = "Host: localhost\r\n";
const get = (path: string, more = "") => `GET ${path} HTTP/1.1\r\n${HOST}${more}\r\n`;
const post = (path: string, body: string) =>
  `POST ${path} HTTP/1.1\r\n${HOST}Content-Length: ${body.length}\r\n\r\n${body}`;

/** Answers with the path when the test says so, or at once: how the real door parks a wait, or not. */
class ParkingDoor implements HttpDoor {
  readonly begun: string[] = [];
  readonly ended: string[] = [];
  readonly #parked = new Map<string, ServerResponse>();

  onRequest: HttpDoor["onRequest"] = async (request, response) => {
    const { url = "" } = request;
    this.begun.push(url);
    response.once("close", () => this.ended.push(url));
    if (url.startsWith("/v1/parked")) this.#parked.set(url, response);
    else if (url.startsWith("/v1/large")) response.end(Buffer.alloc(8 << 20, "x"));
    else request.resume().once("end", () => response.end(url));
  };

  answer(path: string): void {
    this.#parked.get(path)?.end(path);
  }
}

/** A connection that sends bytes as they are, and keeps what it is sent. */
class RawClient {
  readonly socket: Socket;
  text = "";

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      this.text += bytes.toString("latin1");
    });
  }

  static async connect(port: number): Promise<RawClient> {
    const socket = connect({ port, host: "127.0.0.1" });
    await once(socket, "connect");
    return new RawClient(socket);
  }

  get statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }
}

describe("requests of one connection", () => {
  let door: ParkingDoor;
  let gateway: TestGateway;
  let client: RawClient;

  beforeEach(async () => {
    door = new ParkingDoor();
    gateway = await new TestGateway({ door }).start();
    client = await RawClient.connect(gateway.gateway.port);
  });

  afterEach(async () => {
    client.socket.destroy();
    await gateway.gateway.close();
  });

  /** Resolves when everything is read that was sent to the port before. */
  async function isRead(): Promise<void> {
    const other = await RawClient.connect(gateway.gateway.port);
    for (let i = 0; i < 3; i += 1) {
      other.socket.write(get("/v1/other"));
      await once(other.socket, "data");
    }
    other.socket.destroy();
    door.begun.splice(0, door.begun.length, ...door.begun.filter((url) => url !== "/v1/other"));
    door.ended.splice(0, door.ended.length, ...door.ended.filter((url) => url !== "/v1/other"));
  }

  test("begin one after the other, and are answered in their order", async () => {
    client.socket.write(get("/v1/parked/1") + get("/livez") + get("/v1/parked/2") + get("/v1/3"));
    await vi.waitFor(() => expect(door.begun).toEqual(["/v1/parked/1"]));
    await isRead();
    expect(door.begun).toEqual(["/v1/parked/1"]);
    door.answer("/v1/parked/1");
    await vi.waitFor(() => expect(door.begun).toEqual(["/v1/parked/1", "/v1/parked/2"]));
    expect(door.ended).toEqual(["/v1/parked/1"]);
    door.answer("/v1/parked/2");
    await vi.waitFor(() => expect(client.statuses).toEqual([200, 200, 200, 200]));
    expect(client.text.match(/\/v1\/parked\/1|page \/livez|\/v1\/parked\/2|\/v1\/3/g)).toEqual([
      ...["/v1/parked/1", "page /livez", "/v1/parked/2", "/v1/3"],
    ]);
  });

  test("never begin when the connection ended before their turn", async () => {
    client.socket.write(get("/v1/parked/1") + get("/v1/2").repeat(10));
    await vi.waitFor(() => expect(door.begun).toContain("/v1/parked/1"));
    client.socket.resetAndDestroy();
    await vi.waitFor(() => expect(door.ended).toContain("/v1/parked/1"));
    door.answer("/v1/parked/1");
    await isRead();
    expect([door.begun, door.ended]).toEqual([["/v1/parked/1"], ["/v1/parked/1"]]);
  });

  test("are sixteen at most that wait for their turn: another ends the connection", async () => {
    client.socket.write(get("/v1/parked/1") + get("/v1/2").repeat(16));
    await vi.waitFor(() => expect(door.begun).toContain("/v1/parked/1"));
    await isRead();
    door.answer("/v1/parked/1");
    await vi.waitFor(() => expect(client.statuses).toHaveLength(17));
    client.socket.write(get("/v1/parked/2") + get("/v1/2").repeat(17));
    await once(client.socket, "close");
    await vi.waitFor(() => expect(door.ended).toContain("/v1/parked/2"));
    expect(door.begun.filter((url) => url === "/v1/2")).toHaveLength(16);
  });

  test.each([
    ["pages", get("/livez").repeat(200)],
    ["unknown expectations", get("/v1/2", "Expect: more\r\n").repeat(400)],
    ["requests without a host", "GET /v1/2 HTTP/1.1\r\n\r\n".repeat(400)],
    ["a body", post("/v1/2", "x".repeat(200_000))],
    [
      "an upgrade",
      get(
        "/v1",
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" +
          "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: holdfast\r\n",
      ),
    ],
  ])("end with the connection, though %s came after them", async (_what, followers) => {
    client.socket.write(get("/v1/parked/1") + followers);
    await vi.waitFor(() => expect(door.begun).toContain("/v1/parked/1"));
    await isRead();
    client.socket.destroy();
    await vi.waitFor(() => expect(door.ended).toContain("/v1/parked/1"));
    expect(door.begun).toEqual(["/v1/parked/1"]);
    expect(gateway.connections.size).toBe(0);
  });

  test("whose door fails end with their connection, and are reported", async () => {
    const failures: unknown[] = [];
    const bug = new Error("a bug of the door");
    const failing = await new TestGateway({
      door: {
        async onRequest(request, response) {
          if (request.url === "/v1/fails") throw bug;
          response.end("served");
        },
      },
      onFailed: (error) => failures.push(error),
    }).start();
    const other = await RawClient.connect(failing.gateway.port);
    const broken = await RawClient.connect(failing.gateway.port);
    broken.socket.write(get("/v1/fails") + get("/v1/2"));
    await once(broken.socket, "close");
    expect([broken.text, failures]).toEqual(["", [bug]]);
    other.socket.write(get("/v1/2"));
    await vi.waitFor(() => expect(other.statuses).toEqual([200]));
    other.socket.destroy();
    await failing.gateway.close();
  });

  test("may have a body once the one before is answered, though its answer is not read yet", async () => {
    client.socket.pause();
    client.socket.write(get("/v1/large"));
    await vi.waitFor(() => expect(door.begun).toContain("/v1/large"));
    client.socket.write(post("/v1/2", "x".repeat(100_000)));
    await isRead();
    expect(door.ended).toEqual([]);
    client.socket.resume();
    await vi.waitFor(() => expect(client.statuses).toEqual([200, 200]), 20_000);
  });

  test("may name a whole URL, whose host counts in place of the header", async () => {
    client.socket.write(get("http://localhost:1/v1/1?key=k") + get("HTTP://localhost/livez"));
    await vi.waitFor(() => expect(client.statuses).toEqual([200, 200]));
    expect(door.begun).toEqual(["/v1/1?key=k"]);
    expect(client.text).toContain("page /livez");
    client.socket.write(get("http://evil.example/status"));
    await vi.waitFor(() => expect(client.statuses).toEqual([200, 200, 421]));
    expect(client.text).toMatch(/does not answer to .*evil.example/);
  });

  test("are refused in their turn without a host, or with an unknown expectation", async () => {
    client.socket.write(
      `${get("/v1/parked/1")}${get("/v1/2", "Expect: more\r\n")}GET /v1/3 HTTP/1.1\r\n\r\n`,
    );
    await vi.waitFor(() => expect(door.begun).toContain("/v1/parked/1"));
    door.answer("/v1/parked/1");
    await once(client.socket, "close");
    expect(client.statuses).toEqual([200, 417, 400]);
    const old = await RawClient.connect(gateway.gateway.port);
    old.socket.write("GET /v1/2 HTTP/1.0\r\n\r\n");
    await once(old.socket, "close");
    expect(old.statuses).toEqual([200]);
  });
});
