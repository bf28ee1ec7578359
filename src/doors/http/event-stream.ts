/**
 * Sends server-sent events, and cuts off a caller that does not read them. What waits to be sent stays
 * in the memory of the node, so it is limited for each caller and, more strictly, for all together. It
 * must never drop an event and go on: a caller that connects again misses nothing.
 */
import type { AnswerStream } from "./exchange.js";

/** Waiting bytes of one caller. */
const WAITING_BYTES_MAX = 1 << 20;
/**
 * The limit on all callers together; beyond it, callers that lag are cut off when an event is sent
 * to them. In memory it is a few times as much, because each event is a few pieces.
 */
const ALL_WAITING_BYTES_MAX = 64 << 20;
/** A caller that has not taken this much lags; less can be on its way to one that reads. */
const LAG_BYTES = 16 << 10;

/** The bytes that wait for all callers of a door. */
export class WaitingEvents {
  readonly bytesMax: number;
  bytes = 0;

  constructor(bytesMax = ALL_WAITING_BYTES_MAX) {
    this.bytesMax = bytesMax;
  }
}

export class EventStream {
  readonly #response: AnswerStream;
  readonly #all: WaitingEvents;
  /** What `#all` has of this stream. */
  #bytes = 0;
  #isClosed: boolean;
  /** What waited at the last keepalive. */
  #unreadBytes = 0;
  readonly #count = (): void => {
    const bytes = this.#isClosed ? 0 : this.#response.writableLength;
    this.#all.bytes += bytes - this.#bytes;
    this.#bytes = bytes;
  };

  /** @param response its head is written */
  constructor(response: AnswerStream, all: WaitingEvents) {
    this.#response = response;
    this.#all = all;
    this.#isClosed = response.closed;
    response.once("close", () => {
      this.#isClosed = true;
      this.#count();
    });
  }

  send(text: string): void {
    // Counts again when the kernel has taken it.
    this.#response.write(text, this.#count);
    this.#count();
    const isLagging = this.#bytes > LAG_BYTES && this.#all.bytes > this.#all.bytesMax;
    if (isLagging || this.#bytes > WAITING_BYTES_MAX) this.#response.destroy();
  }

  /** Shows that the connection lives. A caller that has read nothing since the last one is cut off. */
  keepalive(text: string): void {
    this.#count();
    if (this.#unreadBytes > 0 && this.#bytes >= this.#unreadBytes) this.#response.destroy();
    this.#unreadBytes = this.#bytes;
    this.send(text);
  }

  end(): void {
    this.#response.end();
  }
}
