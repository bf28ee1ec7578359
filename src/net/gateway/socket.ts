/**
 * The WebSocket of a client. When frames break RFC 6455 or the limits, `ws` ends the connection
 * with a close code alone; this class adds a text, so that the author of a client need not guess.
 * It also sends a whole message in one write.
 */
import type { Duplex } from "node:stream";
import { WebSocket } from "ws";
import { assert } from "../../errors/index.js";
import { sendWhole } from "../whole-frame.js";

const REASONS: Readonly<Record<number, string>> = {
  1002: "not a valid WebSocket frame",
  1007: "text that is not UTF-8",
  1008: "a message in too many fragments",
  1009: "the frame is larger than the frameBytesMax of hello",
};

/**
 * Fields of `ws` that are not part of its interface. A test of the port fails if they are missing.
 */
interface Receiving {
  readonly _receiver: {
    /** 0 if the next byte begins a frame. */
    readonly _state: number;
    /** Bytes received and not consumed yet. */
    readonly _bufferedBytes: number;
    /** Not 0 between the fragments of a message. */
    readonly _fragmented: number;
  };
}

export class GatewaySocket extends WebSocket {
  /** The stream underneath; set before anything is sent. */
  stream: Duplex | undefined;
  /** As `ClientConnection` has them; set before anything is sent. */
  certifiedName: string | undefined;
  isEncrypted = false;
  isLocal = false;

  /** Like `sendWhole` in `whole-frame.ts`. */
  sendWhole(payload: Uint8Array, done: () => void): void {
    assert(this.stream !== undefined, () => "a socket without a stream");
    sendWhole(this, this.stream, payload, done);
  }

  /** Whether nothing is buffered of a message that has begun and not ended. */
  get isBetweenMessages(): boolean {
    const { _state, _bufferedBytes, _fragmented } = (this as unknown as Receiving)._receiver;
    return _state === 0 && _bufferedBytes === 0 && _fragmented === 0;
  }

  override close(code?: number, data?: string | Buffer): void {
    super.close(code, data ?? (code === undefined ? undefined : REASONS[code]));
  }
}
