/**
 * The port that clients connect to: WebSocket at `/v1`, plain HTTP beside it. It decides who may
 * connect and when a connection ends; what is said on one is read in `gateway-requests.ts` and
 * written in `gateway-connection.ts`. It knows nothing of locks.
 */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { assert } from "../assert.js";
import { SUBPROTOCOL } from "../protocol/index.js";
import { GatewayConnection, Outbound } from "./gateway-connection.js";
import { answerHttp, HTTP_LIMITS, judgeUpgrade } from "./gateway-http.js";
import { GatewayLiveness } from "./gateway-liveness.js";
import { GATEWAY_DEFAULTS, type GatewayOptions, type GatewayTuning } from "./gateway-options.js";
import { GatewayRequests } from "./gateway-requests.js";
import { GatewaySocket } from "./gateway-socket.js";
import { closeServer, type ListenAddress, listenOn, refuseUpgrade } from "./listen.js";
import { RefusedOrigins } from "./refused-origins.js";
import { startTicker, type Ticker } from "./ticker.js";
import type { ClientGateway, GatewayEvents, HttpAnswer, Traffic } from "./types.js";

/** Sockets beyond `connectionsMax`, so that HTTP and the 503 of an upgrade still get through. */
const SPARE_SOCKETS = 256;

/** `port` is the bound one, 0 before; `traffic` counts from the start on. */
export type StartableGateway = ClientGateway & {
  readonly port: number;
  readonly traffic: Traffic;
};

/** Creates the gateway; `start` listens. */
export function createGateway(options: GatewayOptions): StartableGateway {
  return new Gateway(options.listen, { ...GATEWAY_DEFAULTS, ...options });
}

class Gateway implements StartableGateway {
  port = 0;
  readonly #listen: ListenAddress;
  readonly #tuning: GatewayTuning;
  readonly #outbound: Outbound;
  readonly #connections = new Set<GatewayConnection>();
  readonly #refusedOrigins = new RefusedOrigins();
  #http: Server | undefined;
  #ticker: Ticker | undefined;
  #lastId = 0;
  #isDraining = false;
  #isClosed = false;
  /** Takes a connection off the books, once. Set by `start`. */
  #onGone: (connection: GatewayConnection) => void = () => undefined;

  constructor(listen: ListenAddress, tuning: GatewayTuning) {
    this.#listen = listen;
    this.#tuning = tuning;
    this.#outbound = new Outbound(tuning);
  }

  get traffic(): Traffic {
    return this.#outbound.meter;
  }

  async start(events: GatewayEvents, http: (path: string) => HttpAnswer): Promise<void> {
    assert(this.#http === undefined, () => "gateway started twice");
    const liveness: GatewayLiveness = new GatewayLiveness(this.#tuning, (connection) => {
      requests.breach(connection, 1008, "nothing was asked for in time");
    });
    const requests = new GatewayRequests(events, (connection) => liveness.spoke(connection));
    this.#onGone = (connection) => {
      if (!this.#connections.delete(connection)) return;
      connection.leave();
      liveness.remove(connection);
      events.onClosed(connection);
    };
    const webSockets = new WebSocketServer<typeof GatewaySocket>({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: this.#tuning.frameBytesMax,
      // Pings are answered here: `ws` would cut off a flood of them without a word.
      autoPong: false,
      maxFragments: 1_024,
      maxBufferedChunks: 16 << 10,
      handleProtocols: () => SUBPROTOCOL,
      WebSocket: GatewaySocket,
    });
    const server = createServer(HTTP_LIMITS, (request, response) => {
      answerHttp(request, response, http);
    });
    server.maxConnections = this.#tuning.connectionsMax + SPARE_SOCKETS;
    // For readers of pages that stop reading; `ws` lifts it from the sockets it takes over.
    server.setTimeout(this.#tuning.handshakeTimeoutMs);
    server.on("upgrade", (request, socket, head) => {
      if (!this.#mayUpgrade(request, socket, events)) return;
      webSockets.handleUpgrade(request, socket, head, (webSocket) => {
        webSocket.stream = socket;
        this.#accept(webSocket, events, requests, liveness);
      });
    });
    this.#http = server;
    this.port = await listenOn(server, this.#listen);
    server.on("error", (error) => {
      events.onRefused?.(`cannot accept client connections: ${error.message}`);
    });
    if (!this.#isClosed) this.#ticker = startTicker(liveness.tickMs, () => liveness.tick());
  }

  flush(): void {
    this.#outbound.flush();
  }

  drain(): void {
    this.#isDraining = true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#ticker?.stop();
    for (const connection of this.#connections) connection.close(1001, "this node is stopping");
    if (this.#http !== undefined) await closeServer(this.#http);
    // Every socket is gone; the driver hears of each connection before it hears that all is closed.
    for (const connection of this.#connections) this.#onGone(connection);
  }

  #mayUpgrade(request: IncomingMessage, socket: Duplex, events: GatewayEvents): boolean {
    const refusal = judgeUpgrade(request, this.#tuning.allowedOrigins);
    if (refusal !== undefined) {
      refuseUpgrade(socket, refusal.status, refusal.text);
      const { origin, text } = refusal;
      if (origin !== undefined && this.#refusedOrigins.isNew(origin)) events.onRefused?.(text);
    } else if (this.#isClosed || this.#isDraining) {
      refuseUpgrade(socket, 503, "this node is stopping");
    } else if (this.#connections.size >= this.#tuning.connectionsMax) {
      refuseUpgrade(socket, 503, `connectionsMax (${this.#tuning.connectionsMax}) is reached`);
    } else return true;
    return false;
  }

  #accept(
    socket: GatewaySocket,
    events: GatewayEvents,
    requests: GatewayRequests,
    liveness: GatewayLiveness,
  ): void {
    this.#lastId += 1;
    const connection = new GatewayConnection(this.#lastId, socket, this.#outbound);
    const onControlFrame = (): void => {
      connection.isHeard = true;
      connection.controlFrames += 1;
      if (connection.controlFrames <= this.#tuning.controlFramesMax) return;
      requests.breach(connection, 1008, "too many pings or pongs");
    };
    this.#connections.add(connection);
    liveness.add(connection);
    socket.on("message", (data, isBinary) => {
      connection.isHeard = true;
      this.#outbound.meter.received((data as Buffer).length);
      if (connection.isOpen) requests.read(connection, data as Buffer, isBinary);
    });
    socket.on("ping", (data) => {
      onControlFrame();
      connection.pong(data);
    });
    socket.on("pong", onControlFrame);
    socket.on("error", (error) => {
      // `ws` has sent the close frame already.
      connection.leaveSoon();
      events.onRefused?.(`client connection ${connection.id} closed: ${error.message}`);
    });
    socket.on("close", () => {
      this.#onGone(connection);
    });
    events.onConnection(connection);
  }
}
