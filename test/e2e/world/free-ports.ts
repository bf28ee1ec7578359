/**
 * Free ports of the loopback interface for servers that a test starts a moment later. They lie below
 * the range from which the system takes the near ends of outgoing connections, since one of those
 * could take a port between the look and the start; and each worker of the test runner has a stretch
 * of its own, since another worker's test could.
 */
import { once } from "node:events";
import { createServer } from "node:net";

/** The system's own begins at 32,768 (Linux) or 49,152 (elsewhere). */
const FIRST_PORT = 20_000;
const PORTS_PER_WORKER = 1_000;
const WORKERS_MAX = 12;

const worker = Number(process.env["VITEST_POOL_ID"] ?? process.pid) % WORKERS_MAX;
const stretchStart = FIRST_PORT + worker * PORTS_PER_WORKER;
let offset = Math.floor(Math.random() * PORTS_PER_WORKER);

/** Resolves with `count` ports that nobody listens on; no port comes twice within a stretch. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tries = 0; ports.length < count; tries += 1) {
    if (tries === PORTS_PER_WORKER) throw new Error("no free ports are left");
    const port = stretchStart + offset;
    offset = (offset + 1) % PORTS_PER_WORKER;
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen({ host: "127.0.0.1", port, exclusive: true });
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  const closed = once(server, "close");
  server.close();
  await closed;
  return true;
}
