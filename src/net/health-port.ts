/**
 * A port for probes and scrapers: `/livez`, `/readyz` and `/metrics` in plain text, for those that
 * speak no TLS or have no certificate. It answers nothing else, and no client connects here.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { answerBadInput } from "./bad-input.js";
import { type BoundedLog, boundedLog } from "./bounded-log.js";
import { addressGroup } from "./gateway/socket-limits.js";
import { answerHttp, HTTP_LIMITS, judgeHost } from "./http/http.js";
import { KnownHosts } from "./http/known-hosts.js";
import {
  closeServer,
  type ListenAddress,
  listenOn,
  pathOf,
  type RequestRefusal,
  refuseUpgrade,
} from "./listen.js";
import { HttpInputs } from "./meter/http-input.js";
import { InputMeter } from "./meter/input-meter.js";
import { MeteredInput } from "./meter/metered-input.js";
import { networkOf, type Stranger, Strangers } from "./strangers.js";
import type { PageCaller, Pages } from "./types.js";
import { takeWebSockets } from "./upgrades.js";

/** The port listens where the operator wants it to. */
const CALLER: PageCaller = Object.freeze({ isTrusted: true });
/** Beyond it the oldest of the address with the most is closed: a probe is always answered. */
const SOCKETS_KEPT_MAX = 64;
/** With those that are being closed. */
const SOCKETS_MAX = 4 * SOCKETS_KEPT_MAX;
/** How long a connection may be idle. */
const IDLE_MS = 10_000;
const PATHS: ReadonlySet<string> = new Set(["/livez", "/readyz", "/metrics"]);
const NOT_HERE: RequestRefusal = {
  status: 404,
  code: "INVALID_ARGUMENT",
  text: "this port has /livez, /readyz and /metrics: no client connects here",
};

export class HealthPort {
  readonly #server: Server;
  readonly #log: BoundedLog;

  /** `pages`: the pages of the client port. */
  constructor(
    allowedHosts: readonly string[],
    pages: Pages,
    onRefused: (reason: string) => void,
    meter = new InputMeter(),
  ) {
    this.#log = boundedLog(onRefused);
    const hosts = new KnownHosts(allowedHosts);
    this.#server = createServer(HTTP_LIMITS, (request, response) => {
      const unknown = PATHS.has(pathOf(request.url)) ? undefined : NOT_HERE;
      answerHttp(request, response, pages, CALLER, judgeHost(request, hosts) ?? unknown);
    });
    takeWebSockets(this.#server, (_request, socket) => refuseUpgrade(socket, NOT_HERE));
    answerBadInput(this.#server);
    this.#server.maxConnections = SOCKETS_MAX;
    this.#server.setTimeout(IDLE_MS);
    new HttpInputs().meter(this.#server, "connection", (socket) => {
      return new MeteredInput(meter, socket, addressGroup(socket.remoteAddress), false);
    });
    const strangers = new Strangers<Stranger & { readonly socket: Socket }>(
      SOCKETS_KEPT_MAX,
      () => false,
    );
    this.#server.on("connection", (socket) => {
      const one = { network: networkOf(socket.remoteAddress), socket };
      socket.once("close", () => strangers.delete(one));
      strangers.add(one)?.socket.destroy();
    });
  }

  /** Rejects with `UNAVAILABLE` when the address cannot be had. */
  async start(address: ListenAddress): Promise<void> {
    await listenOn(this.#server, address);
    this.#server.on("error", (error) => {
      this.#log(`cannot accept connections for health checks: ${error.message}`);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0;
  }

  close(): Promise<void> {
    return closeServer(this.#server);
  }
}
