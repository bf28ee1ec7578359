/** A server on a port that `fetch` refuses to ask, as a web page must not: nodes may have it. */
import type { Server } from "node:http";

/** Some of them; see "bad port" in the Fetch standard. */
const PORTS = [6667, 6668, 6669, 6666, 10080, 6697, 5061, 4190];

/** Resolves with the port, the first of them that is free. */
export async function listenOnForbiddenPort(server: Server): Promise<number> {
  for (const port of PORTS) {
    const isHad = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    server.removeAllListeners("error");
    if (isHad) return port;
  }
  throw new Error(`none of the ports ${PORTS.join(", ")} is free`);
}
