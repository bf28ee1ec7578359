/**
 * A request over a connection of HTTP. Knows when the caller has left, and writes each answer with the
 * headers that all of them have.
 *
 * It is the only one of its connection (`net` hands them over one after the other), so the end of the
 * connection is the end of its response.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type HttpCaller, PROBLEM_TYPE } from "../../net/index.js";
import type { AnswerStream, Exchange } from "./exchange.js";
import { badRequest, Problem } from "./problems.js";

/** How long a connection may be idle between two requests. */
const KEEP_ALIVE_MS = 65_000;
/** How long it may be silent during one: longer than any poll. */
const SILENCE_MS = 60_000;
const BODY_BYTES_MAX = 64 << 10;

const NO_SNIFFING: readonly string[] = ["X-Content-Type-Options", "nosniff"];
const COMMON: readonly string[] = [
  ...NO_SNIFFING,
  ...["Cache-Control", "no-store"],
  ...["Keep-Alive", `timeout=${KEEP_ALIVE_MS / 1_000}`],
];
const JSON_HEADERS: readonly string[] = [...COMMON, "Content-Type", "application/json"];
const PROBLEM_HEADERS: readonly string[] = [...COMMON, "Content-Type", PROBLEM_TYPE];

export class HttpExchange implements Exchange {
  readonly caller: HttpCaller;
  readonly path: string;
  readonly query: string;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  /** For a page of a listed origin, which may read the answer. */
  readonly #origin: readonly string[];
  /** Its own, because Node.js takes the socket from a request that has ended. */
  readonly #socket: Socket;
  #leaving: AbortController | undefined;
  #ended: AbortController | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, caller: HttpCaller) {
    this.#request = request;
    this.#response = response;
    this.caller = caller;
    const { url = "/" } = request;
    const mark = url.indexOf("?");
    this.path = mark === -1 ? url : url.slice(0, mark);
    this.query = mark === -1 ? "" : url.slice(mark + 1);
    const { origin } = request.headers;
    const isListed = origin !== undefined && caller.refusal === undefined;
    this.#origin = isListed ? grantTo(origin) : [];
    this.#socket = request.socket;
    this.#socket.setTimeout(SILENCE_MS);
  }

  get method(): string {
    return this.#request.method ?? "";
  }

  get headers(): IncomingHttpHeaders {
    return this.#request.headers;
  }

  countOf(header: string): number {
    return this.#request.headersDistinct[header.toLowerCase()]?.length ?? 0;
  }

  get isCallerGone(): boolean {
    return this.#response.closed || this.#socket.destroyed;
  }

  get leaving(): AbortSignal {
    if (this.#leaving === undefined) {
      const leaving = new AbortController();
      this.#leaving = leaving;
      if (this.isCallerGone) leaving.abort(callerLeft());
      else {
        this.#response.once("close", () => {
          if (!this.#response.writableFinished) leaving.abort(callerLeft());
        });
      }
    }
    return this.#leaving.signal;
  }

  /** Its side of the connection may have ended: from one that is closed, nothing else is heard. */
  get ended(): AbortSignal {
    if (this.#ended === undefined) {
      const ended = new AbortController();
      this.#ended = ended;
      const end = (): void => ended.abort(callerLeft());
      const socket = this.#socket;
      if (this.isCallerGone || socket.readableEnded) end();
      else {
        socket.once("end", end);
        this.#response.once("close", () => {
          socket.off("end", end);
          if (!this.#response.writableFinished) end();
        });
      }
    }
    return this.#ended.signal;
  }

  get isAnswered(): boolean {
    return this.#response.headersSent;
  }

  answer(status: number, body: string): void {
    this.#write(status, JSON_HEADERS, `${body}\n`);
  }

  fail(problem: Problem): void {
    const headers = Object.entries(problem.headers).flat();
    this.#write(problem.status, [...PROBLEM_HEADERS, ...headers], problem.body);
  }

  answerEmpty(status: number, headers: readonly string[]): void {
    this.#response.writeHead(status, [...COMMON, ...this.#origin, ...headers]);
    this.#end(undefined);
  }

  begin(headers: readonly string[]): AnswerStream {
    this.#response.writeHead(200, [...NO_SNIFFING, ...this.#origin, ...headers]);
    this.#response.flushHeaders();
    return this.#response;
  }

  breakOff(): void {
    if (!this.#response.writableEnded) this.#response.destroy();
  }

  whenOver(onOver: (status: number) => void): void {
    this.#response.once("close", () => onOver(this.#response.statusCode));
  }

  async readJson(): Promise<unknown> {
    const { headers } = this.#request;
    const type = (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
    if (type !== "application/json") {
      throw new Problem(415, "INVALID_ARGUMENT", "the body must be application/json");
    }
    if (Number(headers["content-length"] ?? 0) > BODY_BYTES_MAX) throw tooLarge();
    const body = await this.#readBody(BODY_BYTES_MAX, tooLarge);
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(body);
      return JSON.parse(text) as unknown;
    } catch {
      throw new Problem(400, "INVALID_ARGUMENT", "the body is not JSON in UTF-8");
    }
  }

  /** A body in chunks may turn out to be empty. */
  async requireNoBody(): Promise<void> {
    const { headers } = this.#request;
    if (Number(headers["content-length"] ?? 0) > 0) throw noBody();
    if (headers["transfer-encoding"] !== undefined) await this.#readBody(0, noBody);
  }

  /**
   * Resolves to the body. Rejects as soon as it is too large; the rest is then read and dropped, so
   * that the caller is not cut off before it has read why.
   */
  #readBody(bytesMax: number, tooMuch: () => Problem): Promise<Buffer> {
    const request = this.#request;
    return new Promise((resolve, reject) => {
      let pieces: Buffer[] = [];
      let bytes = 0;
      request.on("data", (piece: Buffer) => {
        bytes += piece.length;
        if (bytes <= bytesMax) pieces.push(piece);
        else {
          pieces = [];
          reject(tooMuch());
        }
      });
      request.once("end", () => resolve(Buffer.concat(pieces)));
      // The connection broke off within the body.
      request.once("error", () => reject(callerLeft()));
      request.once("close", () => reject(callerLeft()));
    });
  }

  #write(status: number, headers: readonly string[], body: string): void {
    const length = String(Buffer.byteLength(body));
    this.#response.writeHead(status, [...headers, ...this.#origin, "Content-Length", length]);
    this.#end(this.#request.method === "HEAD" ? undefined : body);
  }

  #end(body: string | undefined): void {
    // After the listener of the server, which would set the time for pages.
    this.#response.end(body, () => this.#socket.setTimeout(KEEP_ALIVE_MS));
  }
}

function grantTo(origin: string): readonly string[] {
  return [
    ...["Access-Control-Allow-Origin", origin],
    ...["Access-Control-Expose-Headers", "Retry-After"],
    ...["Vary", "Origin"],
  ];
}

function callerLeft(): DOMException {
  return new DOMException("the caller has left", "AbortError");
}

function tooLarge(): Problem {
  const sentence = `the body has more than ${BODY_BYTES_MAX} bytes`;
  return new Problem(413, "INVALID_ARGUMENT", sentence);
}

function noBody(): Problem {
  return badRequest("this request takes no body: its parameters stand in the query");
}
