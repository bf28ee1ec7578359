/**
 * Free ports of the loopback interface for servers that are started a moment later, and perhaps
 * stopped and started again. No other process may take such a port in between:
 *
 * - They are below the range from which systems choose the local ports of outgoing connections
 *   (from 32,768 on with Linux, from 49,152 elsewhere).
 * - The process that found them keeps a UDP socket on each of them for as long as it lives. Other
 *   processes that look for ports with this code fail to get a socket there, and the system closes
 *   it when the process ends.
 */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

const HOST = "127.0.0.1";
const FIRST_PORT = 20_000;
const PORTS = 12_000;

let offset = Math.floor(Math.random() * PORTS);

/**
 * Finds ports on which nothing listens. No port is returned twice in the life of a process.
 *
 * @param from the port to begin with; by default where the last search ended, at first a random one
 * @returns `count` ports
 */
export async function freePorts(count: number, from?: number): Promise<number[]> {
  if (from !== undefined) offset = from - FIRST_PORT;
  const ports: number[] = [];
  for (let tries = 0; ports.length < count; tries += 1) {
    if (tries === PORTS) throw new Error(`no ${count} ports from ${FIRST_PORT} on are free`);
    const port = FIRST_PORT + offset;
    offset = (offset + 1) % PORTS;
    if ((await isFree(port)) && (await keep(port))) ports.push(port);
  }
  return ports;
}

/** Whether a server could listen on `port` of the loopback interface now. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen({ host: HOST, port, exclusive: true });
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

/** Reserves `port` for this process; returns whether that succeeded. */
async function keep(port: number): Promise<boolean> {
  const socket = createSocket("udp4").unref();
  socket.bind({ address: HOST, port, exclusive: true });
  try {
    await once(socket, "listening");
    return true;
  } catch {
    return false;
  }
}
