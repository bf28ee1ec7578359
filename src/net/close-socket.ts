/**
 * Closes a WebSocket with a reason, within a limited time. The close handshake needs the other side
 * to read and to answer, so it gets a short time, after which the socket is destroyed.
 */
import { WebSocket } from "ws";
import { cutText } from "./cut-text.js";

/** WebSocket close code "try again later": the client goes to another node. */
export const CLOSE_TRY_AGAIN = 1013;
/** The most bytes of reason that a close frame can carry. */
const CLOSE_REASON_BYTES_MAX = 123;

/** What of a socket is needed to close it. */
export interface ClosableSocket {
  readonly readyState: number;
  close(code: number, reason: string): void;
  terminate(): void;
  once(event: "close", listener: () => void): unknown;
}

/** Sends a close frame; destroys the socket unless it is closed within `graceMs`. */
export function closeSocket(
  socket: ClosableSocket,
  code: number,
  reason: string,
  graceMs: number,
): void {
  if (socket.readyState === WebSocket.OPEN)
    socket.close(code, cutText(reason, CLOSE_REASON_BYTES_MAX));
  limitClosing(socket, graceMs);
}

/** Destroys a socket that is closing unless it is closed within `graceMs`. */
export function limitClosing(socket: ClosableSocket, graceMs: number): void {
  if (socket.readyState === WebSocket.CLOSED) return;
  if (socket.readyState === WebSocket.CONNECTING) {
    socket.terminate();
    return;
  }
  const timer = setTimeout(() => socket.terminate(), graceMs);
  socket.once("close", () => clearTimeout(timer));
}
