/** The port for health checks, to which any machine may connect that can reach it. */
import { once } from "node:events";
import { get } from "node:http";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { HealthPort } from "../../src/net/health-port.js";

const LOOPBACK = { host: "127.0.0.1", port: 0 };

async function idleSocket(port: number): Promise<Socket> {
  const socket = connect({ ...LOOPBACK, port });
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write("GET /livez HTTP/1.1\r\n");
  return socket;
}

test("connections that ask for nothing keep no probe out", async () => {
  const pages = () => ({ status: 200, contentType: "text/plain", body: "ok\n" });
  const port = new HealthPort([], pages, () => undefined);
  await port.start(LOOPBACK);
  const idle: Socket[] = [];
  for (let at = 0; at < 200; at += 1) idle.push(await idleSocket(port.port));
  const [response] = await once(get({ port: port.port, path: "/livez", agent: false }), "response");
  expect(response.statusCode).toBe(200);
  response.resume();
  await once(response, "end");
  for (const socket of idle) socket.destroy();
  await port.close();
}, 10_000);
