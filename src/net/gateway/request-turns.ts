/**
 * Handles the requests of one connection one after the other: the next one begins when the answer to
 * the one before it is written. Answers go out in the order of the requests anyway, so a client loses
 * nothing by that, and a connection never holds more than one place in a queue, watch or page.
 *
 * Only the request whose turn it is may hold anything, because Node.js reports the end of a connection
 * to no other response. And nothing that a client sends meanwhile may stop the connection from being
 * read: its end would not be noticed, and a lock could be granted to nobody. So what waits for its
 * turn has no body and no answer yet, and there is little of it.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { HttpServer } from "../listen.js";

/** Requests of one connection that wait for their turn. A further one ends the connection. */
const WAITING_MAX = 16;

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** A field that is not part of the interface of Node.js. A test fails if it is missing. */
interface Answering {
  /** The response whose turn it is, until all of it is written. */
  readonly _httpMessage?: ServerResponse | null;
}

export class RequestTurns {
  /** How many requests wait for their turn; only of connections on which one has waited. */
  readonly #waiting = new WeakMap<Duplex, number>();

  /**
   * Makes `handle` answer the requests to `server`, whose option `requireHostHeader` must be false:
   * what Node.js refuses by itself, it answers out of turn.
   */
  serve(server: HttpServer, handle: RequestHandler): void {
    const take: RequestHandler = (request, response) => this.#take(request, response, handle);
    server.on("request", take);
    server.on("checkExpectation", take);
  }

  /** Whether every request that came by this connection has its answer. */
  isIdle(socket: Duplex): boolean {
    const { _httpMessage: current } = socket as Answering;
    const isAnswered = current === undefined || current === null || current.writableEnded;
    return isAnswered && (this.#waiting.get(socket) ?? 0) === 0;
  }

  #take(request: IncomingMessage, response: ServerResponse, handle: RequestHandler): void {
    const { socket } = request;
    // The rest of what was read before the connection ended.
    if (socket.destroyed) return;
    if (response.socket !== null) {
      begin(request, response, handle);
      return;
    }
    const waiting = this.#waiting.get(socket) ?? 0;
    if (waiting >= WAITING_MAX || (hasBody(request) && !this.isIdle(socket))) {
      socket.destroy();
      return;
    }
    this.#waiting.set(socket, waiting + 1);
    response.once("socket", () => {
      this.#waiting.set(socket, (this.#waiting.get(socket) ?? 1) - 1);
      // Node.js is still handing the connection over.
      process.nextTick(() => {
        if (!socket.destroyed) begin(request, response, handle);
      });
    });
  }
}

/** As Node.js does, but in turn: refuses what HTTP/1.1 says must be refused. */
function begin(request: IncomingMessage, response: ServerResponse, handle: RequestHandler): void {
  const { httpVersion, headers } = request;
  if (httpVersion === "1.1" && headers.host === undefined) {
    response.writeHead(400, { Connection: "close" }).end();
  } else if (httpVersion === "1.1" && !isExpectationMet(headers.expect)) {
    response.writeHead(417).end();
  } else {
    handle(request, response);
  }
}

/** Node.js has sent the 100 that this asks for. */
function isExpectationMet(expect: string | undefined): boolean {
  return expect === undefined || /(?:^|\W)100-continue(?:$|\W)/i.test(expect);
}

function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers["content-length"];
  return headers["transfer-encoding"] !== undefined || (length !== undefined && length !== "0");
}
