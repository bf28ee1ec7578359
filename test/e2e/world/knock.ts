/** What a node answers to the page of some origin that wants to connect. */
import { once } from "node:events";
import { WebSocket } from "ws";

/** The status of the upgrade: 101 where it was let in. `host`: by what name the page knows the node. */
export async function knock(endpoint: string, origin?: string, host?: string): Promise<number> {
  const socket = new WebSocket(`${endpoint}/v1`, "holdfast", {
    ...(origin === undefined ? {} : { origin }),
    ...(host === undefined ? {} : { headers: { host } }),
  });
  socket.on("error", () => undefined);
  const refused = once(socket, "unexpected-response").then(([, response]) => {
    response.resume();
    return Number(response.statusCode);
  });
  const status = await Promise.race([once(socket, "open").then(() => 101), refused]);
  socket.terminate();
  return status;
}
