/** Ports for servers that start later: nobody else who looks may get the same ones meanwhile. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { freePorts, isFree } from "../../lab/free-ports.js";

const LOOKER = fileURLToPath(new URL("port-looker.ts", import.meta.url));

test("no port comes twice, and a server can listen on each", async () => {
  const ports = [...(await freePorts(20)), ...(await freePorts(20))];
  expect(new Set(ports).size).toBe(40);
  for (const port of ports) expect(await isFree(port)).toBe(true);
});

test("a port with a server is not free", async () => {
  const [port = 0] = await freePorts(1);
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  expect(await isFree(port)).toBe(false);
  server.close();
});

test("another process gets none of them while this one lives, and may have them afterwards", async () => {
  const [port = 0] = await freePorts(1);
  const first = await look(port);
  expect(first.found).not.toBe(port);
  const second = await look(first.found);
  expect(second.found).not.toBe(first.found);
  first.child.kill();
  await once(first.child, "exit");
  const third = await look(first.found);
  expect(third.found).toBe(first.found);
  for (const { child } of [second, third]) child.kill();
});

/** A process that looks for one port, from `from` on, and lives until it is ended. */
async function look(from: number) {
  const child = fork(LOOKER, [String(from)], { execArgv: ["--import", "tsx"] });
  const [found] = (await once(child, "message")) as [number];
  return { child, found };
}
