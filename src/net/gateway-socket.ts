/**
 * The WebSocket of a client. `ws` ends a connection whose frames break RFC 6455 or its limits with
 * a close code alone; this adds the words, so that whoever writes a client need not guess.
 */
import { WebSocket } from "ws";

const REASONS: Readonly<Record<number, string>> = {
  1002: "not a valid WebSocket frame",
  1007: "text that is not UTF-8",
  1008: "a message in too many fragments",
  1009: "the frame is larger than the frameBytesMax of hello",
};

export class GatewaySocket extends WebSocket {
  override close(code?: number, data?: string | Buffer): void {
    super.close(code, data ?? (code === undefined ? undefined : REASONS[code]));
  }
}
