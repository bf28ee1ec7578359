/**
 * The links that peers dialed to this node. They are only read: nothing is ever sent on them after
 * the answer to the hello. There is at most one per peer. A newer link ends the older one, so that
 * messages from one peer never come from two connections at once.
 *
 * Anyone can connect here. A connection that has not sent a hello is a stranger: it has a few
 * seconds to send one, whatever else it sends, and learns nothing about the cluster. A web page
 * does not even get that far.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { type WebSocket, WebSocketServer } from "ws";
import { PEER_FRAME_BYTES_MAX } from "../../protocol/index.js";
import type { NodeId } from "../../raft/index.js";
import { answerBadInput } from "../bad-input.js";
import { type BoundedLog, boundedLog } from "../bounded-log.js";
import { closeSocket } from "../close-socket.js";
import {
  closeServer,
  type HttpServer,
  type ListenAddress,
  listenOn,
  pathOf,
  refuseUpgrade,
} from "../listen.js";
import { ownBytes } from "../own-bytes.js";
import { PROBLEM_TYPE, problemText } from "../problem.js";
import { networkOf, Strangers } from "../strangers.js";
import { type HandshakeCounts, SecurePort, type ShownCertificate } from "../tls/secure-port.js";
import type { TransportTls } from "../tls/transport.js";
import type { PeerIdentity } from "../types.js";
import { answerBadHandshakes, takeWebSockets } from "../upgrades.js";
import { decodePeerFrame, type PeerDelivery } from "./decoder.js";
import { PeerFrameError } from "./frame-cursor.js";
import { encodeHello, PEER_CLOSE, PEER_SUBPROTOCOL, type PeerCloseCode } from "./hello.js";
import { SILENT_TICKS_MAX } from "./options.js";
import type { LinkContext } from "./outgoing.js";

/**
 * Connections of any kind: links of members, strangers, and those that a burst adds before the
 * evicted ones are closed. The system refuses any beyond it.
 */
const SOCKETS_MAX = 256;
const NOT_HERE = "this port is for the other nodes of the cluster";
/**
 * A request and a hello are smaller; before its hello, no more than this is kept of a connection.
 */
const STRANGER_BYTES_MAX = 16 << 10;
const HTTP_LIMITS = {
  maxHeaderSize: 8 << 10,
  headersTimeout: 5_000,
  requestTimeout: 5_000,
  connectionsCheckingInterval: 5_000,
} as const;
/**
 * For a client that stops reading its answer; `ws` removes the timeout from the sockets it takes
 * over.
 */
const HTTP_IDLE_MS = 5_000;

/** One connection, from the moment it is accepted. */
interface Incoming {
  /** What is read: with TLS, once its handshake has ended, what was decrypted. */
  stream: Socket;
  /** The node that its certificate names; 0 before, and without TLS. */
  certified: NodeId;
  /** As `endsOf` names them. */
  readonly ends: string;
  readonly remote: string;
  readonly network: string;
  /** Set once it is a WebSocket. */
  socket: WebSocket | undefined;
  /** 0 until its hello has been accepted. */
  peer: NodeId;
  /** The birth of the directory that `peer` says it has. */
  birth: string;
  /** Ticks since it was last heard, or, of a stranger, since it connected. */
  silentTicks: number;
  /** Whether anything is still read from it. */
  isOpen: boolean;
}

export class IncomingLinks {
  readonly #context: LinkContext;
  readonly #log: BoundedLog;
  readonly #onPeer: (peer: NodeId) => void;
  readonly #http: HttpServer;
  readonly #secure: SecurePort | undefined;
  readonly #webSockets: WebSocketServer;
  /** All connections, by their sockets. */
  readonly #links = new Map<Duplex, Incoming>();
  /** Those among them whose handshake has ended, by what was decrypted. */
  readonly #secured = new WeakMap<Duplex, Incoming>();
  readonly #byPeer = new Map<NodeId, Incoming>();
  /** All connections that have not become links. */
  readonly #strangers: Strangers<Incoming>;
  #isClosed = false;

  /**
   * Calls `onPeer` when an acceptable peer has connected, so it can be dialed too, or when someone
   * has connected who can be believed only after this node has dialed that peer. `isOfMember` says
   * whether a member was reached in that network.
   */
  constructor(
    context: LinkContext,
    onPeer: (peer: NodeId) => void,
    isOfMember: (network: string) => boolean,
  ) {
    this.#context = context;
    this.#log = boundedLog((reason) => context.events.onRefused(reason));
    this.#onPeer = onPeer;
    this.#strangers = new Strangers(context.tuning.strangersMax, isOfMember);
    this.#webSockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: PEER_FRAME_BYTES_MAX,
      handleProtocols: () => PEER_SUBPROTOCOL,
    });
    answerBadHandshakes(this.#webSockets);
    const { tls } = context;
    this.#secure = tls === undefined ? undefined : this.#createSecurePort(tls);
    this.#http = this.#secure?.server ?? this.#createPlainServer();
    this.#http.maxConnections = SOCKETS_MAX;
    this.#http.setTimeout(HTTP_IDLE_MS);
    this.#http.on("connection", (stream) => this.#meet(stream));
  }

  async listen(address: ListenAddress): Promise<number> {
    const port = await listenOn(this.#http, address);
    this.#http.on("error", (error) => {
      this.#log(`cannot accept peer connections: ${error.message}`);
    });
    return port;
  }

  get handshakes(): HandshakeCounts | undefined {
    return this.#secure?.handshakes;
  }

  /** Ends connections that fell silent or never sent a hello. */
  tick(): void {
    this.#secure?.tick();
    for (const link of this.#links.values()) {
      link.silentTicks += 1;
      if (link.silentTicks > SILENT_TICKS_MAX) this.#end(link, PEER_CLOSE.silent, "silent");
    }
  }

  /** Ends the links of nodes that are no longer members. */
  endRemoved(): void {
    const { identities } = this.#context;
    for (const [peer, link] of this.#byPeer) {
      if (!identities.isMember(peer)) this.#end(link, PEER_CLOSE.removed, "no longer a member");
    }
  }

  /** Ends the link of a node that claimed to be that peer and has another directory. */
  endOther({ nodeId, birth }: PeerIdentity): void {
    const link = this.#byPeer.get(nodeId);
    if (link === undefined || link.birth === birth) return;
    this.#end(link, PEER_CLOSE.replaced, "the peer has another directory");
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const link of this.#links.values()) this.#end(link, PEER_CLOSE.goingAway, "stopping");
    this.#secure?.close();
    await closeServer(this.#http);
  }

  #createPlainServer(): HttpServer {
    const server = createServer(HTTP_LIMITS, answerRequest);
    takeWebSockets(server, (request, stream, head) => this.#upgrade(request, stream, head));
    answerBadInput(server, (address) => {
      this.#log(`peer link from ${address} refused: it speaks TLS, this node plain text`);
    });
    return server;
  }

  #createSecurePort(tls: TransportTls): SecurePort {
    const options = { ...HTTP_LIMITS, handshakeTimeout: HTTP_IDLE_MS };
    const server = createSecureServer({ ...options, ...tls.serverOptions("peer") }, answerRequest);
    takeWebSockets(server, (request, stream, head) => this.#upgrade(request, stream, head));
    answerBadInput(server);
    return new SecurePort(tls, "peer", server, HTTP_IDLE_MS, {
      onSecured: (stream, shown) => this.#certify(tls, stream, shown),
      onFailed: (reason) => this.#log(`peer link refused: ${reason}`),
    });
  }

  /** Finds the connection that came as a plain socket. Only a node of the cluster goes on. */
  #certify(tls: TransportTls, stream: TLSSocket, shown: ShownCertificate | undefined): void {
    const ends = endsOf(stream);
    const link = [...this.#links.values()].find((candidate) => candidate.ends === ends);
    const found = shown === undefined ? "no certificate" : tls.nodeOf(shown.certificate);
    const problem = shown?.problem ?? (typeof found === "string" ? `has ${found}` : undefined);
    if (link === undefined || problem !== undefined || typeof found === "string") {
      stream.destroy();
      if (link !== undefined) this.#log(`peer link from ${link.remote} refused: it ${problem}`);
      return;
    }
    link.certified = found;
    link.stream = stream;
    this.#secured.set(stream, link);
    this.#secure?.endBy(stream, (reason) => this.#refuse(link, PEER_CLOSE.certificate, reason));
  }

  #meet(stream: Socket): void {
    const { remoteAddress, remotePort } = stream;
    const remote = `${remoteAddress}:${remotePort}`;
    const network = networkOf(remoteAddress);
    const initial = { socket: undefined, peer: 0, birth: "", silentTicks: 0, isOpen: true };
    const link: Incoming = {
      ...{ stream, certified: 0, ends: endsOf(stream) },
      ...{ remote, network, ...initial },
    };
    this.#links.set(stream, link);
    stream.once("close", () => {
      this.#forget(link);
      this.#strangers.delete(link);
      this.#links.delete(stream);
    });
    this.#addStranger(link);
  }

  #addStranger(link: Incoming): void {
    this.#strangers.add(link)?.stream.destroy();
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const link = this.#linkOf(stream);
    if (link === undefined) {
      stream.destroy();
    } else if (pathOf(request.url) !== "/peer") {
      refuse(stream, 404, "peers connect to /peer");
    } else if (request.headers.origin !== undefined) {
      refuse(stream, 403, "web pages may not connect to this port");
      this.#log(`a web page tried to open a peer link from ${link.remote}`);
    } else if (!offersProtocol(request)) {
      refuse(stream, 400, `the subprotocol ${PEER_SUBPROTOCOL} is missing`);
    } else if (this.#isClosed) {
      refuse(stream, 503, "stopping");
    } else {
      this.#webSockets.handleUpgrade(request, stream, head, (socket) => this.#open(link, socket));
    }
  }

  #linkOf(stream: Duplex): Incoming | undefined {
    return this.#secure === undefined ? this.#links.get(stream) : this.#secured.get(stream);
  }

  #open(link: Incoming, socket: WebSocket): void {
    link.socket = socket;
    const { stream } = link;
    const onData = (): void => {
      if (link.peer !== 0) stream.off("data", onData);
      else if (stream.bytesRead > STRANGER_BYTES_MAX) stream.destroy();
    };
    stream.on("data", onData);
    socket.on("message", (data, isBinary) => {
      if (!link.isOpen) return;
      if (!isBinary) this.#refuse(link, PEER_CLOSE.badFrame, "text instead of a binary frame");
      else if (link.peer === 0) this.#greet(link, socket, data as Buffer);
      else {
        link.silentTicks = 0;
        this.#context.meter.received((data as Buffer).length);
        this.#read(link, data as Buffer);
      }
    });
    socket.on("ping", () => {
      if (link.peer !== 0) link.silentTicks = 0;
    });
    // `ws` reports this after it has closed the socket with a fitting code.
    socket.on("error", (error) => {
      if (!link.isOpen) return;
      this.#log(`peer link from ${link.remote}: ${error.message}`);
    });
  }

  #greet(link: Incoming, socket: WebSocket, data: Buffer): void {
    const { identities } = this.#context;
    const admitted = identities.admit(data, 0, link.certified);
    if ("code" in admitted) {
      const { code, reason, detail, unproven } = admitted;
      this.#refuse(link, code, reason, detail);
      if (unproven !== undefined) this.#onPeer(unproven);
      return;
    }
    const peer = admitted.nodeId;
    const older = this.#byPeer.get(peer);
    if (older !== undefined)
      this.#end(older, PEER_CLOSE.replaced, "a newer link replaces this one");
    link.peer = peer;
    link.birth = admitted.birth;
    link.silentTicks = 0;
    this.#strangers.delete(link);
    this.#byPeer.set(peer, link);
    socket.send(encodeHello(identities.own, peer));
    this.#onPeer(peer);
  }

  #read(link: Incoming, data: Buffer): void {
    const { identities, events } = this.#context;
    let deliveries: PeerDelivery[];
    try {
      deliveries = decodePeerFrame(ownBytes(data), link.peer, identities.own.nodeId);
    } catch (error) {
      if (!(error instanceof PeerFrameError)) throw error;
      const code = error.isDamaged ? PEER_CLOSE.damaged : PEER_CLOSE.badFrame;
      this.#refuse(link, code, error.message);
      return;
    }
    for (const { group, message } of deliveries) {
      if (!link.isOpen) return;
      events.onMessage(link.peer, group, message);
    }
  }

  #refuse(link: Incoming, code: PeerCloseCode, reason: string, detail = reason): void {
    const { peer, remote } = link;
    this.#end(link, code, reason);
    const whose = peer === 0 ? `from ${remote}` : `of node ${peer}`;
    this.#log(`peer link ${whose} refused: ${detail}`);
  }

  /** Ends a connection. While it is closing, it counts as a stranger. */
  #end(link: Incoming, code: PeerCloseCode, reason: string): void {
    if (!link.isOpen) return;
    const wasPeer = link.peer !== 0;
    this.#forget(link);
    if (link.socket === undefined) link.stream.destroy();
    else closeSocket(link.socket, code, reason, this.#context.tuning.closeGraceMs);
    if (wasPeer) this.#addStranger(link);
  }

  /** Stops reading from this connection. */
  #forget(link: Incoming): void {
    if (!link.isOpen) return;
    link.isOpen = false;
    if (this.#byPeer.get(link.peer) === link) this.#byPeer.delete(link.peer);
  }
}

function answerRequest(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(404, { "Content-Type": PROBLEM_TYPE });
  response.end(problemText({ status: 404, code: "INVALID_ARGUMENT", detail: NOT_HERE }));
}

function refuse(stream: Duplex, status: number, text: string): void {
  const code = status === 403 ? "FORBIDDEN" : status === 503 ? "UNAVAILABLE" : "INVALID_ARGUMENT";
  refuseUpgrade(stream, { status, code, text });
}

/** Both ends of a connection: what was decrypted has the same as the socket that it came from. */
function endsOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}

function offersProtocol({ headers }: IncomingMessage): boolean {
  const offered = headers["sec-websocket-protocol"]?.split(",") ?? [];
  return offered.some((name) => name.trim() === PEER_SUBPROTOCOL);
}
