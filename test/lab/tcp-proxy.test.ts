import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TcpProxy } from "../../lab/tcp-proxy.js";

let echo: Server;
let proxy: TcpProxy;

beforeEach(async () => {
  echo = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(echo, "listening");
  proxy = await TcpProxy.to((echo.address() as AddressInfo).port);
});

afterEach(async () => {
  await proxy.close();
  echo.close();
  await once(echo, "close");
});

async function dial(): Promise<Socket> {
  const socket = connect(proxy.port, "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

async function exchange(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  const [answer] = await once(socket, "data");
  return String(answer);
}

test("a link passes bytes on, is silent while cut, and passes new connections on when healed", async () => {
  const old = await dial();
  expect(await exchange(old, "one")).toBe("one");

  proxy.cut();
  const reached = once(echo, "connection");
  const late = await dial();
  await reached;
  const heard: unknown[] = [];
  const closed = [old, late].map((socket) => {
    socket.on("data", (bytes) => heard.push(bytes));
    socket.write("two");
    return new Promise((resolve) => socket.once("close", resolve));
  });
  proxy.heal();
  await Promise.all(closed);
  expect(heard).toEqual([]);

  const fresh = await dial();
  expect(await exchange(fresh, "three")).toBe("three");
  fresh.destroy();
});
