/**
 * A request to the HTTP door of a simulated node, and its answer: path, query, headers and body of it
 * are real, and only the connection is not. A caller leaves by the network, or says that it will ask for
 * nothing more and goes on listening.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import type { AnswerStream, Exchange } from "../../../../src/doors/http/exchange.js";
import type { Problem } from "../../../../src/doors/http/problems.js";
import type { HttpCaller } from "../../../../src/net/index.js";
import type { SocketEnding } from "../network/node-socket.js";
import type { Wire } from "../network/wire.js";

export interface HttpWords {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON; `undefined`: none. */
  readonly body: unknown;
  /** From where it comes. */
  readonly address: string;
}

export interface HttpTold {
  readonly status: number;
  readonly text: string;
}

export class ServedExchange implements Exchange {
  readonly caller: HttpCaller;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  /** What was answered, whether or not it was heard. */
  told: HttpTold | undefined;
  isCallerGone = false;
  readonly #body: unknown;
  readonly #life: ProcessLife;
  readonly #wire: Wire<HttpTold | SocketEnding>;
  readonly #leaving = new AbortController();
  readonly #ended = new AbortController();

  constructor(words: HttpWords, life: ProcessLife, wire: Wire<HttpTold | SocketEnding>) {
    const { method, path, query, headers, body, address } = words;
    this.method = method;
    this.path = path;
    this.query = query;
    this.headers = headers;
    this.#body = body;
    this.#life = life;
    this.#wire = wire;
    const identity = { certifiedName: undefined, token: undefined, identify: () => {} };
    const way = { isEncrypted: false, isLocal: false, address, refusal: undefined };
    this.caller = { ...identity, ...way };
  }

  get isAnswered(): boolean {
    return this.told !== undefined;
  }

  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }

  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** The caller says nothing more. */
  end(): void {
    this.#ended.abort(callerLeft());
  }

  leave(): void {
    this.isCallerGone = true;
    this.#ended.abort(callerLeft());
    if (!this.isAnswered) this.#leaving.abort(callerLeft());
  }

  countOf(header: string): number {
    return this.headers[header.toLowerCase()] === undefined ? 0 : 1;
  }

  async readJson(): Promise<unknown> {
    return this.#body;
  }

  async requireNoBody(): Promise<void> {}

  answer(status: number, body: string): void {
    this.#tell({ status, text: body });
  }

  fail({ status, body }: Problem): void {
    this.#tell({ status, text: body });
  }

  answerEmpty(status: number): void {
    this.#tell({ status, text: "" });
  }

  begin(): AnswerStream {
    throw new Error("nobody watches by HTTP in the simulator");
  }

  breakOff(): void {}

  whenOver(): void {}

  #tell(told: HttpTold): void {
    if (this.isAnswered) throw new Error("a request is answered twice");
    this.told = told;
    if (!this.isCallerGone && this.#life.mayAct()) this.#wire.send(told);
  }
}

function callerLeft(): DOMException {
  return new DOMException("the caller has left", "AbortError");
}
