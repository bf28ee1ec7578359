/**
 * The port by which the page of a local cluster asks the process of `holdfast cluster` for the tour:
 * HTTP on a loopback port, for the pages of this cluster's own nodes and for who has the secret. A
 * request needs the right `Host` (so that no other name leads here), the right `Origin` (so that no
 * other page asks) and the secret, which is drawn at each start and printed once. What is wrong with
 * a request is not said. It must never listen beyond loopback.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { HOST } from "../local-cluster/cluster-plan.js";

const SECRET_BYTES = 24;
const BODY_BYTES_MAX = 1_024;
const REQUEST_MS_MAX = 5_000;
const CONNECTIONS_MAX = 16;

/** What the port controls. `act` resolves to why it was not done; `undefined`: it is under way. */
export interface Controlled {
  state(): unknown;
  act(name: string): Promise<string | undefined>;
}

export class ControlPort {
  readonly #server: Server;
  readonly #secret = randomBytes(SECRET_BYTES).toString("base64url");
  #port = 0;
  /** Nobody is let in before that is set, nor after `close`. */
  #controlled: Controlled | undefined;
  #origins: ReadonlySet<string> = new Set();

  private constructor() {
    this.#server = createServer((request, response) => {
      // The request may have lost it by the time of a failure.
      const { socket } = request;
      this.#answer(request, response).catch(() => socket.destroy());
    });
    this.#server.requestTimeout = REQUEST_MS_MAX;
    this.#server.headersTimeout = REQUEST_MS_MAX;
    this.#server.maxConnections = CONNECTIONS_MAX;
  }

  /** Listens on a free loopback port, and lets nobody in yet. */
  static async open(): Promise<ControlPort> {
    const control = new ControlPort();
    control.#server.listen(0, HOST);
    await once(control.#server, "listening");
    control.#port = (control.#server.address() as AddressInfo).port;
    control.#server.unref();
    return control;
  }

  get port(): number {
    return this.#port;
  }

  /** What the page needs: the port and the secret. It is written into an address after `#`. */
  get key(): string {
    return `${this.port}.${this.#secret}`;
  }

  /** From now on the pages of these origins are let in. */
  admit(controlled: Controlled, origins: readonly string[]): void {
    this.#controlled = controlled;
    this.#origins = new Set(origins);
  }

  close(): void {
    this.#controlled = undefined;
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { origin, host } = request.headers;
    const controlled = this.#controlled;
    const isKnown = host === `${HOST}:${this.port}` && this.#origins.has(origin ?? "");
    if (controlled === undefined || !isKnown || origin === undefined) {
      refuse(response, 403);
      return;
    }
    response.setHeader("Access-Control-Allow-Origin", origin);
    response.setHeader("Vary", "Origin");
    response.setHeader("Cache-Control", "no-store");
    if (request.method === "OPTIONS") {
      // The question of a browser before the request itself, without the secret.
      response.setHeader("Access-Control-Allow-Headers", "authorization");
      response.setHeader("Access-Control-Allow-Methods", "GET, POST");
      response.writeHead(204).end();
      return;
    }
    if (!this.#hasSecret(request)) refuse(response, 401);
    else await this.#serve(controlled, request, response);
  }

  async #serve(
    controlled: Controlled,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    if (request.url === "/state" && request.method === "GET") {
      send(response, 200, controlled.state());
      return;
    }
    if (request.url !== "/act" || request.method !== "POST") {
      refuse(response, request.url === "/act" || request.url === "/state" ? 405 : 404);
      return;
    }
    const name = await bodyOf(request);
    if (name === undefined) {
      refuse(response, 413);
      return;
    }
    const problem = await controlled.act(name);
    send(response, problem === undefined ? 202 : 409, { problem: problem ?? null });
  }

  #hasSecret({ headers: { authorization = "" } }: IncomingMessage): boolean {
    const given = Buffer.from(authorization);
    const wanted = Buffer.from(`Bearer ${this.#secret}`);
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  }
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { Connection: "close" }).end();
}

function send(response: ServerResponse, status: number, document: unknown): void {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify(document));
}

/** `undefined`: it is longer than the name of any act, or broke off. */
function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  // By its events: to leave a loop over it would destroy the request before its answer is written.
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= BODY_BYTES_MAX) chunks.push(chunk);
      else resolve(undefined);
    });
    request.once("end", () => resolve(Buffer.concat(chunks).toString()));
    request.once("error", () => resolve(undefined));
    request.once("close", () => resolve(undefined));
  });
}
