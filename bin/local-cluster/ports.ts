/**
 * Ports of this machine: checks whether one is free, and finds free ones. A free port can be taken
 * a moment later; a node that loses such a race reports it itself. The check only gives the common
 * mistake, a second start, a clear message before anything runs.
 */
import { createServer, type Server } from "node:net";
import { systemCodeOf } from "../exit/failure.js";

/**
 * Resolves to whether `port` can be listened on; rejects for any reason other than a taken port.
 */
export async function isPortFree(host: string, port: number): Promise<boolean> {
  const server = createServer();
  try {
    await listen(server, host, port);
  } catch (error) {
    if (systemCodeOf(error) === "EADDRINUSE") return false;
    throw error;
  }
  await close(server);
  return true;
}

/** `count` different ports that are free now. */
export async function findFreePorts(host: string, count: number): Promise<number[]> {
  // All at once: a port given back could be handed out again.
  const servers = Array.from({ length: count }, () => createServer());
  await Promise.all(servers.map((server) => listen(server, host, 0)));
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  });
  await Promise.all(servers.map(close));
  return ports;
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, exclusive: true }, () => resolve());
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
