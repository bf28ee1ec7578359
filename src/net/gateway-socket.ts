/**
 * The WebSocket of a client. `ws` ends a connection whose frames break RFC 6455 or its limits with
 * a close code alone; this adds the words, so that whoever writes a client need not guess. And it
 * sends a whole message in one write.
 */
import type { Writable } from "node:stream";
import { WebSocket } from "ws";
import { assert } from "../assert.js";
import { sendWhole } from "./whole-frame.js";

const REASONS: Readonly<Record<number, string>> = {
  1002: "not a valid WebSocket frame",
  1007: "text that is not UTF-8",
  1008: "a message in too many fragments",
  1009: "the frame is larger than the frameBytesMax of hello",
};

export class GatewaySocket extends WebSocket {
  /** What it was made of; set before anything is sent. */
  stream: Writable | undefined;

  /** As `sendWhole` in `whole-frame.ts`. */
  sendWhole(payload: Uint8Array, done: () => void): void {
    assert(this.stream !== undefined, () => "a socket without a stream");
    sendWhole(this, this.stream, "server", payload, done);
  }

  override close(code?: number, data?: string | Buffer): void {
    super.close(code, data ?? (code === undefined ? undefined : REASONS[code]));
  }
}
