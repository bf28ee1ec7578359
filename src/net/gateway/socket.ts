/**
 * The WebSocket of a client. `ws` ends a connection whose frames break RFC 6455 or its limits with
 * a close code alone; this adds the words, so that whoever writes a client need not guess. And it
 * sends a whole message in one write.
 */
import type { Writable } from "node:stream";
import { WebSocket } from "ws";
import { assert } from "../../assert.js";
import { sendWhole } from "../whole-frame.js";

const REASONS: Readonly<Record<number, string>> = {
  1002: "not a valid WebSocket frame",
  1007: "text that is not UTF-8",
  1008: "a message in too many fragments",
  1009: "the frame is larger than the frameBytesMax of hello",
};

/** What this reads of `ws` that is no part of its interface; a test of the port would miss it. */
interface Receiving {
  readonly _receiver: {
    /** 0: the next byte begins a frame. */
    readonly _state: number;
    /** Not taken from what came yet. */
    readonly _bufferedBytes: number;
    /** Not 0 between the fragments of a message. */
    readonly _fragmented: number;
  };
}

export class GatewaySocket extends WebSocket {
  /** What it was made of; set before anything is sent. */
  stream: Writable | undefined;

  /** As `sendWhole` in `whole-frame.ts`. */
  sendWhole(payload: Uint8Array, done: () => void): void {
    assert(this.stream !== undefined, () => "a socket without a stream");
    sendWhole(this, this.stream, "server", payload, done);
  }

  /** Whether nothing is kept of a message that has begun and not ended. */
  get isBetweenMessages(): boolean {
    const { _state, _bufferedBytes, _fragmented } = (this as unknown as Receiving)._receiver;
    return _state === 0 && _bufferedBytes === 0 && _fragmented === 0;
  }

  override close(code?: number, data?: string | Buffer): void {
    super.close(code, data ?? (code === undefined ? undefined : REASONS[code]));
  }
}
