/**
 * The port that clients connect to: WebSocket at `/v1`, and plain HTTP. It decides which clients
 * may connect and when a connection ends. Frames are read in `requests.ts` and written in
 * `connection.ts`. It must know nothing of locks.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { assert } from "../../errors/index.js";
import { SUBPROTOCOL } from "../../protocol/index.js";
import { answerBadInput } from "../bad-input.js";
import { type BoundedLog, boundedLog } from "../bounded-log.js";
import { CLOSE_TRY_AGAIN } from "../close-socket.js";
import { DoorEntrance } from "../http/door-entrance.js";
import {
  answerHttp,
  bearerOf,
  browserOf,
  judgeHost,
  judgeUpgrade,
  TURN_OPTIONS,
} from "../http/http.js";
import { KnownHosts } from "../http/known-hosts.js";
import { PageOrigins } from "../http/page-origins.js";
import { RequestTurns } from "../http/request-turns.js";
import {
  closeServer,
  type HttpServer,
  type ListenAddress,
  listenOn,
  type RequestRefusal,
  refuseUpgrade,
} from "../listen.js";
import { HttpInputs } from "../meter/http-input.js";
import { InputMeter } from "../meter/input-meter.js";
import { AccountedInput, MeteredInput } from "../meter/metered-input.js";
import { type PortLimits, UNCOUNTED_LIMITS } from "../port-limits.js";
import { startTicker, type Ticker } from "../ticker.js";
import { type HandshakeCounts, SecurePort } from "../tls/secure-port.js";
import type { TransportTls } from "../tls/transport.js";
import type {
  ClientGateway,
  GatewayEvents,
  HttpDoor,
  InProcessCaller,
  InProcessEvents,
  InProcessLink,
  PageCaller,
  Pages,
  PortLoad,
  Traffic,
} from "../types.js";
import { answerBadHandshakes, takeWebSockets, type UpgradeListener } from "../upgrades.js";
import { ClientCertificates } from "./client-certificates.js";
import { ClientPlaces } from "./client-places.js";
import type { ClientSocket } from "./client-socket.js";
import { GatewayConnection, Outbound } from "./connection.js";
import { descriptorLimit } from "./descriptor-limit.js";
import { InProcessSocket } from "./in-process-socket.js";
import { GatewayLiveness } from "./liveness.js";
import { LocalPort } from "./local-port.js";
import { GATEWAY_DEFAULTS, type GatewayOptions, type GatewayTuning } from "./options.js";
import { ReportedNames } from "./reported-names.js";
import { GatewayRequests, UNHEARD_BYTES } from "./requests.js";
import { GatewaySocket } from "./socket.js";
import {
  AddressTally,
  addressGroup,
  limitsFor,
  type SocketLimits,
  socketLimitsOf,
} from "./socket-limits.js";

const STOPPING = "this node is stopping";
const AWAY: RequestRefusal = { status: 503, code: "UNAVAILABLE", text: STOPPING };

/** `port` is the bound port, 0 before `start`; `traffic` counts from the start. */
export type StartableGateway = ClientGateway & {
  readonly port: number;
  readonly traffic: Traffic;
  readonly load: PortLoad;
  /** `undefined` without TLS. */
  readonly handshakes: HandshakeCounts | undefined;
};

/** What a port with TLS has besides its server. */
interface Security {
  readonly port: SecurePort;
  readonly certificates: ClientCertificates;
}

/** What handles a connection from its beginning to its end. Made by `start`. */
interface ConnectionParts {
  readonly pages: Pages;
  readonly webSockets: ReturnType<typeof createWebSockets>;
  readonly requests: GatewayRequests;
  readonly liveness: GatewayLiveness;
}

/** Creates the gateway; `start` listens. */
export function createGateway(options: GatewayOptions): StartableGateway {
  const { listen, tls, onRefused = () => {}, limits = UNCOUNTED_LIMITS, door } = options;
  const { meter = new InputMeter({ ...options, limits }) } = options;
  const tuning = { ...GATEWAY_DEFAULTS, ...options };
  const turns = new RequestTurns(options.onFailed ?? thrown);
  return new Gateway(listen, tuning, tls, onRefused, limits, meter, door, turns);
}

class Gateway implements StartableGateway {
  port = 0;
  readonly #listen: ListenAddress;
  readonly #tuning: GatewayTuning;
  readonly #tls: TransportTls | undefined;
  readonly #log: BoundedLog;
  readonly #limits: SocketLimits;
  readonly #meter: InputMeter;
  readonly #inputs = new HttpInputs();
  readonly #places: ClientPlaces;
  readonly #door: DoorEntrance | undefined;
  readonly #turns: RequestTurns;
  readonly #outbound: Outbound;
  readonly #connections = new Set<GatewayConnection>();
  /** Counts every socket, including those that never send anything. */
  readonly #socketAddresses = new AddressTally();
  readonly #knownHosts: KnownHosts;
  readonly #origins: PageOrigins;
  readonly #reported = new ReportedNames();
  #http: HttpServer | undefined;
  #security: Security | undefined;
  #parts: ConnectionParts | undefined;
  #local: LocalPort | undefined;
  #requests: GatewayRequests | undefined;
  #sockets = 0;
  #droppedTotal = 0;
  #ticker: Ticker | undefined;
  #lastId = 0;
  #isDraining = false;
  #isClosed = false;
  /** Removes a connection from all records, once. Set by `start`. */
  #onGone: (connection: GatewayConnection) => void = () => undefined;

  constructor(
    listen: ListenAddress,
    tuning: GatewayTuning,
    tls: TransportTls | undefined,
    onRefused: (reason: string) => void,
    portLimits: PortLimits,
    meter: InputMeter,
    door: HttpDoor | undefined,
    turns: RequestTurns,
  ) {
    this.#turns = turns;
    this.#listen = listen;
    this.#tuning = tuning;
    this.#tls = tls;
    this.#log = boundedLog(onRefused);
    this.#meter = meter;
    const { connectionsMax, addressConnectionsMax, descriptorsMax = descriptorLimit() } = tuning;
    this.#limits = socketLimitsOf(connectionsMax, descriptorsMax, addressConnectionsMax);
    this.#places = new ClientPlaces(this.#limits, portLimits);
    this.#outbound = new Outbound(tuning);
    this.#knownHosts = new KnownHosts(tuning.allowedHosts);
    const { allowedOrigins, pageOrigins } = tuning;
    this.#door =
      door &&
      new DoorEntrance({
        ...{ door, allowedOrigins, places: this.#places, knownHosts: this.#knownHosts },
        onRefused: (refusal) => this.#tell(refusal),
      });
    const isEncrypted = tls !== undefined;
    this.#origins = new PageOrigins(allowedOrigins, this.#knownHosts, pageOrigins, isEncrypted);
  }

  get traffic(): Traffic {
    return this.#outbound.meter;
  }

  get handshakes(): HandshakeCounts | undefined {
    return this.#security?.port.handshakes;
  }

  get load(): PortLoad {
    const { socketsMax, connectionsMax, ofAddress } = this.#limits;
    return {
      sockets: this.#sockets,
      socketsMax,
      connectionsMax,
      addressConnectionsMax: ofAddress.connectionsMax,
      unfinishedBytes: this.#meter.unfinished.bytes,
      input: this.#meter.totals,
      heldInputs: this.#meter.heldCount,
      refusedTotal: this.#places.refusedTotal + this.#droppedTotal,
    };
  }

  async start(http: Pages, awayReason: string): Promise<void> {
    assert(this.#http === undefined, () => "gateway started twice");
    const parts = this.#createParts(http, sendingAway(awayReason));
    const { liveness } = parts;
    this.#parts = parts;
    const server = this.#createServer((request, socket, head) => {
      this.#onUpgrade(request, socket, head, parts);
    });
    this.#meterPort(server);
    this.#turns.serve(server, (request, response) => {
      const input = this.#inputs.of(request.socket);
      const answered = this.#door?.take(request, response, this.#security?.certificates, input);
      if (answered !== undefined) return answered;
      const refusal = this.#security?.certificates.judgePage(request.socket);
      this.#answerPage(request, response, http, this.#callerOf(request), refusal);
      return undefined;
    });
    server.maxConnections = this.#limits.socketsMax;
    server.on("drop", () => this.#noteDropped("all addresses together"));
    server.on("connection", (socket) => this.#countSocket(socket));
    // For clients that stop reading a page; `ws` removes the timeout from the sockets it takes
    // over.
    server.setTimeout(this.#tuning.handshakeTimeoutMs);
    this.#http = server;
    this.port = await listenOn(server, this.#listen);
    server.on("error", (error) => {
      this.#log(`cannot accept client connections: ${error.message}`);
    });
    if (this.#isClosed) return;
    this.#ticker = startTicker(liveness.tickMs, () => {
      liveness.tick();
      this.#security?.port.tick();
    });
  }

  async listenLocal(directory: string): Promise<void> {
    const parts = this.#parts;
    assert(parts !== undefined, () => "the local socket before the port");
    const { handshakeTimeoutMs } = this.#tuning;
    const port = await LocalPort.open(directory, handshakeTimeoutMs, this.#turns, {
      onServer: (server) => {
        const inputOf = (socket: Socket) => new MeteredInput(this.#meter, socket, "", true);
        this.#inputs.meter(server, "connection", inputOf);
      },
      onRequest: (request, response) => {
        const answered = this.#door?.takeLocal(request, response);
        if (answered !== undefined) return answered;
        this.#answerPage(request, response, parts.pages, { isTrusted: true }, undefined);
        return undefined;
      },
      onUpgrade: (request, socket, head) => {
        if (!this.#mayUpgrade(request, socket, undefined, undefined)) return;
        parts.webSockets.handleUpgrade(request, socket, head, (webSocket) => {
          webSocket.stream = socket;
          webSocket.isLocal = true;
          this.#accept(webSocket, parts);
        });
      },
    });
    port.onError((error) => this.#log(`the local socket: ${error.message}`));
    if (this.#isClosed) await port.close();
    else this.#local = port;
  }

  #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, parts: ConnectionParts): void {
    const security = this.#security;
    const refusal = security?.certificates.judgeClient(socket);
    const address = addressOf(request);
    if (!this.#mayUpgrade(request, socket, refusal, address)) return;
    parts.webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.stream = socket;
      if (security !== undefined) {
        webSocket.isEncrypted = true;
        webSocket.certifiedName = security.certificates.nameOf(socket);
      }
      const connection = this.#accept(webSocket, parts);
      security?.port.endBy(socket, (reason) => {
        parts.requests.breach(connection, 1008, reason);
      });
    });
  }

  #answerPage(
    request: IncomingMessage,
    response: ServerResponse,
    pages: Pages,
    caller: PageCaller,
    problem: RequestRefusal | undefined,
  ): void {
    const refusal = problem ?? judgeHost(request, this.#knownHosts);
    if (refusal !== undefined) this.#tell(refusal);
    answerHttp(request, response, pages, caller, refusal);
  }

  #meterPort(server: HttpServer): void {
    const security = this.#security;
    const event = security === undefined ? "connection" : "secureConnection";
    this.#inputs.meter(server, event, (socket) => {
      const identity = security?.certificates.nameOf(socket);
      const address = addressGroup(socket.remoteAddress);
      return new MeteredInput(this.#meter, socket, address, false, identity);
    });
  }

  #createServer(onUpgrade: UpgradeListener): HttpServer {
    const tls = this.#tls;
    if (tls === undefined) {
      const server = createServer(TURN_OPTIONS);
      takeWebSockets(server, onUpgrade);
      answerBadInput(server, (address) =>
        this.#log(`${address} speaks TLS: this port does not (ws://, http://)`),
      );
      return server;
    }
    const certificates = new ClientCertificates(tls, this.#log);
    const { handshakeTimeoutMs } = this.#tuning;
    const options = { ...TURN_OPTIONS, handshakeTimeout: handshakeTimeoutMs };
    const server = createSecureServer({ ...options, ...tls.serverOptions("client") });
    takeWebSockets(server, onUpgrade);
    answerBadInput(server);
    const port = new SecurePort(tls, "client", server, handshakeTimeoutMs, {
      onSecured: (socket, shown) => certificates.meet(socket, shown),
      onFailed: this.#log,
    });
    this.#security = { port, certificates };
    return port.server;
  }

  #callerOf(request: IncomingMessage): PageCaller {
    const { socket } = request;
    const certificates = this.#security?.certificates;
    return {
      isTrusted: false,
      certifiedNode: certificates?.nodeOf(socket),
      certifiedName: certificates?.nameOf(socket),
      token: bearerOf(request),
      browser: browserOf(request, this.#knownHosts),
    };
  }

  #createParts(pages: Pages, events: GatewayEvents): ConnectionParts {
    const webSockets = createWebSockets(this.#tuning.frameBytesMax);
    const requests = new GatewayRequests(events, this.#log);
    const liveness = new GatewayLiveness(this.#tuning, {
      onNewcomerTimeout(connection) {
        requests.breach(connection, 1008, "no request arrived in time");
      },
      onIdle(connection) {
        connection.close(1000, "idle: no session, no watch and no request");
      },
    });
    this.#requests = requests;
    this.#onGone = (connection) => {
      if (!this.#connections.delete(connection)) return;
      connection.leave();
      liveness.remove(connection);
      connection.input.leave();
      if (connection.hasPlace) {
        this.#places.leave(connection.address);
      }
      requests.events.onClosed(connection);
    };
    return { pages, webSockets, requests, liveness };
  }

  /** Closes a socket beyond the limit before it sends anything: it could only be sent a refusal. */
  #countSocket(socket: Socket): void {
    const address = addressGroup(socket.remoteAddress);
    const { socketsMax } = limitsFor(this.#limits, address);
    if (this.#socketAddresses.count(address) >= socketsMax && this.#places.isLimitOf(address)) {
      socket.destroy();
      this.#noteDropped(`the address ${address}`);
      return;
    }
    this.#sockets += 1;
    this.#socketAddresses.add(address);
    socket.once("close", () => {
      this.#sockets -= 1;
      this.#socketAddresses.remove(address);
    });
  }

  #noteDropped(source: string): void {
    this.#droppedTotal += 1;
    if (this.#reported.isNew(source)) this.#log(`too many connections from ${source}`);
  }

  serve(events: GatewayEvents): void {
    assert(this.#requests !== undefined, () => "gateway serves before it is started");
    this.#requests.events = events;
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
    for (const connection of this.#connections) connection.close(1001, STOPPING);
    this.#security?.port.close();
    const served = this.#http === undefined ? undefined : closeServer(this.#http);
    await Promise.all([this.#local?.close(), served]);
    // Every socket is gone; report the end of each connection before `close` resolves.
    for (const connection of this.#connections) this.#onGone(connection);
  }

  /** @param address `undefined`: of the local socket, for which there is always a place */
  #mayUpgrade(
    request: IncomingMessage,
    socket: Duplex,
    problem: RequestRefusal | undefined,
    address: string | undefined,
  ): boolean {
    // Its answers would stand between frames, and frames could stop it from being read.
    if (!this.#turns.isIdle(socket)) {
      socket.destroy();
      return false;
    }
    // Any host name will do here: a browser always sends the page's origin with an upgrade, and
    // that is checked.
    const refusal =
      problem ?? judgeUpgrade(request, (origin, host) => this.#origins.mayConnect(origin, host));
    if (refusal !== undefined) {
      refuseUpgrade(socket, refusal);
      this.#tell(refusal);
    } else if (this.#isClosed || this.#isDraining) {
      refuseUpgrade(socket, AWAY);
    } else {
      const full = address === undefined ? undefined : this.#places.refuse(address);
      if (full === undefined) return true;
      refuseUpgrade(socket, { status: 503, code: "BUSY", text: full });
    }
    return false;
  }

  #tell({ stranger, text }: RequestRefusal): void {
    if (stranger !== undefined && this.#reported.isNew(stranger)) this.#log(text);
  }

  /** A connection that is known from now on; its client is not heard yet. */
  #admit(socket: ClientSocket, input: AccountedInput, parts: ConnectionParts): GatewayConnection {
    this.#lastId += 1;
    const connection = new GatewayConnection(this.#lastId, input, socket, this.#outbound);
    this.#connections.add(connection);
    parts.liveness.add(connection);
    return connection;
  }

  connectInProcess(caller: InProcessCaller, events: InProcessEvents): InProcessLink {
    const parts = this.#parts;
    assert(parts !== undefined, () => "a client in the process before the port");
    const socket = new InProcessSocket(caller, events, () => {
      if (this.#isClosed || this.#isDraining) socket.close(CLOSE_TRY_AGAIN, STOPPING);
      else this.#acceptInProcess(socket, caller, parts);
    });
    return socket.link;
  }

  #acceptInProcess(
    socket: InProcessSocket,
    { address, isLocal }: InProcessCaller,
    parts: ConnectionParts,
  ): void {
    const { requests } = parts;
    const input = new AccountedInput(this.#meter, address, isLocal);
    const connection = this.#admit(socket, input, parts);
    socket.receive({
      get identity() {
        return input.identity;
      },
      onFrame: (frame) => {
        connection.isHeard = true;
        this.#outbound.meter.received(frame.length);
        if (!connection.isOpen) return;
        requests.read(connection, frame, true);
        if (connection.isOpen) requests.events.onReceived(connection, frame.length);
      },
      onPong: () => {
        connection.isHeard = true;
      },
      onClosed: () => this.#onGone(connection),
    });
    requests.events.onConnection(connection);
  }

  #accept(socket: GatewaySocket, parts: ConnectionParts): GatewayConnection {
    const { requests } = parts;
    const { stream } = socket;
    const input = stream === undefined ? undefined : this.#inputs.takeOver(stream);
    assert(input !== undefined, () => "a client that is not metered");
    const connection = this.#admit(socket, input, parts);
    input.isHandledAtOnce = true;
    input.cutOffUnfinished = (reason) => requests.cutOff(connection, CLOSE_TRY_AGAIN, reason);
    const onControlFrame = (): void => {
      connection.isHeard = true;
      connection.controlFrames += 1;
      if (connection.controlFrames <= this.#tuning.controlFramesMax) return;
      requests.breach(connection, 1008, "too many pings or pongs");
    };
    if (!connection.isLocal) {
      connection.hasPlace = true;
      this.#places.take(input.address);
    }
    // This runs after the listener of `ws`, which by then has delivered every whole message.
    stream?.on("data", (chunk: Buffer) => {
      const { isBetweenMessages } = socket;
      if (isBetweenMessages) input.keeps(0);
      else input.keepsPiece(chunk.length);
      if (!connection.isOpen) return;
      const cost = isBetweenMessages ? chunk.length : chunk.length + UNHEARD_BYTES;
      requests.events.onReceived(connection, cost);
    });
    socket.on("message", (data, isBinary) => {
      connection.isHeard = true;
      input.keeps(0);
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
      this.#log(`client connection ${connection.id} closed: ${error.message}`);
    });
    socket.on("close", () => {
      this.#onGone(connection);
    });
    requests.events.onConnection(connection);
    return connection;
  }
}

function createWebSockets(frameBytesMax: number) {
  const webSockets = new WebSocketServer<typeof GatewaySocket>({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: frameBytesMax,
    // This gateway answers pings itself: `ws` would cut off a flood of them without a reason.
    autoPong: false,
    maxFragments: 1_024,
    maxBufferedChunks: 16 << 10,
    handleProtocols: () => SUBPROTOCOL,
    WebSocket: GatewaySocket,
  });
  answerBadHandshakes(webSockets);
  return webSockets;
}

/** Until `serve` is called, tells clients to try again later. */
function sendingAway(reason: string): GatewayEvents {
  return {
    onConnection: (connection) => connection.close(CLOSE_TRY_AGAIN, reason),
    onAttach: () => {},
    onCommand: () => {},
    onInvalidCommand: () => {},
    onQuery: () => {},
    onOperation: () => {},
    onReceived: () => {},
    onClosed: () => {},
  };
}

function thrown(error: unknown): never {
  throw error;
}

function addressOf(request: IncomingMessage): string {
  return addressGroup(request.socket.remoteAddress);
}
