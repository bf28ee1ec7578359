/**
 * Meters the connections of an HTTP server: what they send, and the memory of requests that have begun
 * and not ended. An upgrade takes its connection over.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { hasBody } from "../http/request-turns.js";
import type { HttpServer } from "../listen.js";
import type { MeteredInput } from "./metered-input.js";

export class HttpInputs {
  readonly #inputs = new WeakMap<Duplex, MeteredInput>();
  readonly #onData = new WeakMap<Duplex, (chunk: Buffer) => void>();

  /**
   * Meters whatever connects to that server from now on. To be called before it gets other listeners
   * for its requests. `event`: after which its sockets can be read. `inputOf` makes the input of one.
   */
  meter(
    server: HttpServer,
    event: "connection" | "secureConnection",
    inputOf: (socket: Socket) => MeteredInput,
  ): void {
    // After the listener of Node.js, whose parser would read from the system by itself: it stops that
    // when somebody else listens for data.
    server.on(event, (socket: Socket) => {
      const input = inputOf(socket);
      const onData = (chunk: Buffer): void => input.keepsPiece(chunk.length);
      this.#inputs.set(socket, input);
      this.#onData.set(socket, onData);
      socket.prependListener("data", onData);
    });
    const onRequest = (request: IncomingMessage): void => this.#began(request);
    server.on("request", onRequest);
    server.on("checkExpectation", onRequest);
  }

  of(socket: Duplex): MeteredInput | undefined {
    return this.#inputs.get(socket);
  }

  /** What comes now is not of HTTP any more. */
  takeOver(socket: Duplex): MeteredInput | undefined {
    const input = this.#inputs.get(socket);
    const onData = this.#onData.get(socket);
    if (onData !== undefined) socket.off("data", onData);
    input?.keeps(0);
    return input;
  }

  #began(request: IncomingMessage): void {
    const input = this.#inputs.get(request.socket);
    if (input === undefined) return;
    if (request.complete || !hasBody(request)) input.keeps(0);
    else request.once("close", () => input.keeps(0));
  }
}
