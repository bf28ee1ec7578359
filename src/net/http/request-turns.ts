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
import { Server as SecureServer } from "node:https";
import type { Duplex } from "node:stream";
import type { HttpServer } from "../listen.js";
import { PROBLEM_TYPE, problemText } from "../problem.js";

/** Requests of one connection that wait for their turn. A further one ends the connection. */
const WAITING_MAX = 16;

/**
 * Returns a promise of an answer that is not written yet. It should not reject: when it does, the
 * connection ends. What is thrown at once is not caught.
 */
export type RequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
) => Promise<void> | undefined;

/** A field that is not part of the interface of Node.js. A test fails if it is missing. */
interface Answering {
  /** The response whose turn it is, until all of it is written. */
  readonly _httpMessage?: ServerResponse | null;
}

export class RequestTurns {
  /** How many requests wait for their turn; only of connections on which one has waited. */
  readonly #waiting = new WeakMap<Duplex, number>();
  readonly #onFailed: (error: unknown) => void;

  /** `onFailed` hears of each request whose promise rejected. */
  constructor(onFailed: (error: unknown) => void) {
    this.#onFailed = onFailed;
  }

  /**
   * Makes `handle` answer the requests to `server`, whose option `requireHostHeader` must be false:
   * what Node.js refuses by itself, it answers out of turn.
   */
  serve(server: HttpServer, handle: RequestHandler): void {
    const take = (request: IncomingMessage, response: ServerResponse): void => {
      this.#take(request, response, handle);
    };
    // A caller that has ended its side may still read; Node.js would drop its request. TLS ends both.
    if (!(server instanceof SecureServer)) Object.assign(server, { httpAllowHalfOpen: true });
    server.on("request", take);
    server.on("checkExpectation", take);
  }

  /** Whether every request that came by this connection has its answer. */
  isIdle(socket: Duplex): boolean {
    const { _httpMessage: current } = socket as Answering;
    const isAnswered = current === undefined || current === null || current.writableEnded;
    return isAnswered && (this.#waiting.get(socket) ?? 0) === 0;
  }

  #begin(request: IncomingMessage, response: ServerResponse, handle: RequestHandler): void {
    const wrong = wrongHead(request);
    if (wrong !== undefined) {
      refuse(request, response, wrong);
      return;
    }
    takePath(request);
    // The request may have been taken from it by the time of a failure.
    const { socket } = request;
    handle(request, response)?.catch((error: unknown) => {
      socket.destroy();
      this.#onFailed(error);
    });
  }

  #take(request: IncomingMessage, response: ServerResponse, handle: RequestHandler): void {
    const { socket } = request;
    // The rest of what was read before the connection ended.
    if (socket.destroyed) return;
    if (response.socket !== null) {
      this.#begin(request, response, handle);
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
        if (socket.destroyed) return;
        // What has not begun when its caller ends the connection is not carried out.
        if (socket.readableEnded) socket.destroy();
        else this.#begin(request, response, handle);
      });
    });
  }
}

/** A target may be a whole URL; its host counts then, and not the header (RFC 9112, 3.2.2). */
function takePath(request: IncomingMessage): void {
  const [, host, path] = /^https?:\/\/([^/?]+)(.*)$/i.exec(request.url ?? "") ?? [];
  if (host === undefined || path === undefined) return;
  request.url = path.startsWith("/") ? path : `/${path}`;
  request.headers.host = host;
}

/** What HTTP/1.1 says must be refused, and what Node.js would refuse out of turn. */
function wrongHead({ httpVersion, headers, headersDistinct }: IncomingMessage): string | undefined {
  const { host = [] } = headersDistinct;
  if (host.length > 1) return "the request has two headers Host";
  if (httpVersion !== "1.1") return undefined;
  if (host.length === 0) return "the header Host is missing";
  return isExpectationMet(headers.expect) ? undefined : EXPECTS_MORE;
}

const EXPECTS_MORE = "only 100-continue can be expected";

function refuse(request: IncomingMessage, response: ServerResponse, detail: string): void {
  const status = detail === EXPECTS_MORE ? 417 : 400;
  const body = problemText({ status, code: "INVALID_ARGUMENT", detail });
  response.writeHead(status, {
    "Content-Type": PROBLEM_TYPE,
    "Content-Length": Buffer.byteLength(body),
    ...(status === 400 ? { Connection: "close" } : {}),
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

/** Node.js has sent the 100 that this asks for. */
function isExpectationMet(expect: string | undefined): boolean {
  return expect === undefined || /(?:^|\W)100-continue(?:$|\W)/i.test(expect);
}

export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers["content-length"];
  return headers["transfer-encoding"] !== undefined || (length !== undefined && length !== "0");
}
