/**
 * Ports of the nodes: free ones of the loopback interface, or a stretch that was asked for. They
 * lie below the range from which systems take the near ends of outgoing connections: one of those
 * could take a port while its node is down.
 */
import { createServer } from "node:net";
import { RefusedError } from "../refused-error.js";

const HOST = "127.0.0.1";
const FIRST_PORT = 20_000;
const PORTS = 10_000;

/** `basePort` 0: any. Rejects with a `RefusedError` when a port that was asked for is in use. */
export async function findPorts(count: number, basePort: number): Promise<number[]> {
  if (basePort === 0) return freePorts(count);
  const ports = Array.from({ length: count }, (_, index) => basePort + index);
  for (const port of ports) {
    if (await isFree(port)) continue;
    throw new RefusedError(
      `port ${port} is in use: --port ${basePort} needs ${count} free ports from there on`,
    );
  }
  return ports;
}

/** Begins at a place of this process's own, so that two runs do not look at the same ones. */
async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  const start = (process.pid * 131) % PORTS;
  for (let tries = 0; tries < PORTS; tries += 1) {
    const port = FIRST_PORT + ((start + tries) % PORTS);
    if (await isFree(port)) ports.push(port);
    if (ports.length === count) return ports;
  }
  throw new RefusedError(`no ${count} ports from ${FIRST_PORT} on are free`);
}

async function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ host: HOST, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
