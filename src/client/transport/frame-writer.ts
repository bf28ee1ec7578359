/**
 * Collects the requests of one turn into as few frames as the node's limits allow, in one buffer
 * that is reused.
 */
import {
  CLIENT_FRAME_BYTES_MAX,
  CLIENT_FRAME_REQUESTS_MAX,
  type ClientRequest,
  REQUEST_BYTES_MAX,
  Writer,
  writeRequest,
} from "../../protocol/index.js";

export class FrameWriter {
  readonly #writer = new Writer(4_096);
  readonly #send: (frame: Uint8Array) => void;
  #count = 0;
  #softLimitBytes = CLIENT_FRAME_BYTES_MAX - REQUEST_BYTES_MAX;

  constructor(send: (frame: Uint8Array) => void) {
    this.#send = send;
  }

  /** A new connection, with the limit of its node. Unsent requests are dropped. */
  begin(frameBytesMax: number): void {
    this.#count = 0;
    const limit = Math.min(frameBytesMax, CLIENT_FRAME_BYTES_MAX);
    this.#softLimitBytes = Math.max(limit - REQUEST_BYTES_MAX, 0);
  }

  add(request: ClientRequest): void {
    if (this.#count === 0) this.#writer.beginFrame();
    writeRequest(this.#writer, request);
    this.#count += 1;
    const isFull = this.#writer.length >= this.#softLimitBytes;
    if (isFull || this.#count === CLIENT_FRAME_REQUESTS_MAX) this.end();
  }

  /** Sends what was collected. */
  end(): void {
    if (this.#count === 0) return;
    this.#writer.endFrame(this.#count);
    this.#count = 0;
    this.#send(this.#writer.view());
  }
}
