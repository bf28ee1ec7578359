/** Free ports of the loopback interface, found by binding port 0 as often, all at once. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () =>
    createServer().listen({ host: "127.0.0.1", port: 0, exclusive: true }),
  );
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(
    servers.map((server) => {
      const closed = once(server, "close");
      server.close();
      return closed;
    }),
  );
  return ports;
}
