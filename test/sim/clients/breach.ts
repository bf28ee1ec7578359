/** Whether a node ended a connection because the client broke the protocol. */
import type { SocketEnding } from "../world/network/node-socket.js";

/** The codes with which WebSocket says so. */
const BREACHES: readonly number[] = [1002, 1003, 1007, 1008, 1009];

/** `undefined`: it did not. */
export function breachOf({ code, reason }: SocketEnding): string | undefined {
  return BREACHES.includes(code) ? `sent away with ${code}: ${reason}` : undefined;
}
