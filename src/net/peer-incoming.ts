/**
 * The links that peers dialed to this node. They are only read: beyond the answer to the hello
 * nothing is ever sent on them. There is at most one per peer; a newer one ends the older, so that
 * messages of one peer never mix two connections.
 */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { PEER_FRAME_BYTES_MAX } from "../protocol/index.js";
import type { NodeId } from "../raft/index.js";
import { closeSocket } from "./close-socket.js";
import { closeServer, type ListenAddress, listenOn, pathOf, refuseUpgrade } from "./listen.js";
import { ownBytes } from "./own-bytes.js";
import { decodePeerFrame, type PeerDelivery } from "./peer-decoder.js";
import { encodeHello, PEER_CLOSE } from "./peer-hello.js";
import { SILENT_TICKS_MAX } from "./peer-options.js";
import type { LinkContext } from "./peer-outgoing.js";
import { PeerFrameError } from "./peer-reader.js";

/** Connections of any kind, those that never send a request included. */
const SOCKETS_MAX = 1_024;
const HTTP_LIMITS = {
  maxHeaderSize: 8 << 10,
  headersTimeout: 5_000,
  requestTimeout: 5_000,
  connectionsCheckingInterval: 5_000,
} as const;
/** For whoever reads an answer here and stops reading; `ws` lifts it from the sockets it takes over. */
const HTTP_IDLE_MS = 5_000;

/** One connection; `peer` is 0 until it said who it is. */
interface Incoming {
  readonly socket: WebSocket;
  readonly remote: string;
  peer: NodeId;
  silentTicks: number;
  isOpen: boolean;
}

export class IncomingLinks {
  readonly #context: LinkContext;
  readonly #onPeer: (peer: NodeId) => void;
  readonly #http: Server;
  readonly #webSockets: WebSocketServer;
  /** All connections, strangers and those on their way out included. */
  readonly #links = new Set<Incoming>();
  readonly #byPeer = new Map<NodeId, Incoming>();
  #strangers = 0;
  #isClosed = false;

  /** `onPeer`: an acceptable peer has connected, so it can be dialed too. */
  constructor(context: LinkContext, onPeer: (peer: NodeId) => void) {
    this.#context = context;
    this.#onPeer = onPeer;
    this.#webSockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: PEER_FRAME_BYTES_MAX,
    });
    this.#http = createServer(HTTP_LIMITS, (_request, response) => {
      response.writeHead(404, { "Content-Type": "text/plain; charset=utf-8" });
      response.end("this port is for the other nodes of the cluster\n");
    });
    this.#http.maxConnections = SOCKETS_MAX;
    this.#http.setTimeout(HTTP_IDLE_MS);
    this.#http.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
  }

  async listen(address: ListenAddress): Promise<number> {
    const port = await listenOn(this.#http, address);
    this.#http.on("error", (error) => {
      this.#context.events.onRefused(`cannot accept peer connections: ${error.message}`);
    });
    return port;
  }

  /** Gives up connections that fell silent or never said who they are. */
  tick(): void {
    for (const link of this.#links) {
      link.silentTicks += 1;
      if (link.silentTicks > SILENT_TICKS_MAX) this.#end(link, PEER_CLOSE.silent, "silent");
    }
  }

  /** Ends the links of nodes that are no members any more. */
  endRemoved(): void {
    const { directory } = this.#context;
    for (const [peer, link] of this.#byPeer) {
      if (directory.isMember(peer)) continue;
      this.#end(link, PEER_CLOSE.removed, `node ${peer} is no member any more`);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const link of this.#links) this.#end(link, PEER_CLOSE.goingAway, "stopping");
    await closeServer(this.#http);
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (pathOf(request.url) !== "/peer") {
      refuseUpgrade(socket, 404, "peers connect to /peer");
    } else if (this.#isClosed || this.#strangers >= this.#context.tuning.strangersMax) {
      refuseUpgrade(socket, 503, "too many connections without a hello, or stopping");
    } else {
      const remote = `${request.socket.remoteAddress}:${request.socket.remotePort}`;
      this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => {
        this.#accept(webSocket, remote);
      });
    }
  }

  #accept(socket: WebSocket, remote: string): void {
    const link: Incoming = { socket, remote, peer: 0, silentTicks: 0, isOpen: true };
    this.#links.add(link);
    this.#strangers += 1;
    socket.on("message", (data, isBinary) => {
      link.silentTicks = 0;
      if (!link.isOpen) return;
      if (!isBinary) this.#refuse(link, PEER_CLOSE.badFrame, "text in place of a binary frame");
      else if (link.peer === 0) this.#greet(link, data as Buffer);
      else {
        this.#context.meter.received((data as Buffer).length);
        this.#read(link, data as Buffer);
      }
    });
    socket.on("ping", () => {
      link.silentTicks = 0;
    });
    // Reported by `ws` after it has closed the socket with the fitting code.
    socket.on("error", (error) => {
      if (link.isOpen) this.#context.events.onRefused(`peer link from ${remote}: ${error.message}`);
    });
    socket.on("close", () => {
      this.#forget(link);
      this.#links.delete(link);
    });
  }

  #greet(link: Incoming, data: Buffer): void {
    const { directory } = this.#context;
    const admitted = directory.admit(data, 0);
    if ("code" in admitted) {
      this.#refuse(link, admitted.code, admitted.reason);
      return;
    }
    const peer = admitted.nodeId;
    const older = this.#byPeer.get(peer);
    if (older !== undefined)
      this.#end(older, PEER_CLOSE.replaced, "a newer link replaces this one");
    link.peer = peer;
    this.#strangers -= 1;
    this.#byPeer.set(peer, link);
    link.socket.send(encodeHello(directory.own, peer));
    this.#onPeer(peer);
  }

  #read(link: Incoming, data: Buffer): void {
    const { directory, events } = this.#context;
    let deliveries: PeerDelivery[];
    try {
      deliveries = decodePeerFrame(ownBytes(data), link.peer, directory.own.nodeId);
    } catch (error) {
      if (!(error instanceof PeerFrameError)) throw error;
      this.#refuse(link, PEER_CLOSE.badFrame, error.message);
      return;
    }
    for (const { group, message } of deliveries) {
      if (!link.isOpen) return;
      events.onMessage(link.peer, group, message);
    }
  }

  #refuse(link: Incoming, code: number, reason: string): void {
    const who = link.peer === 0 ? `from ${link.remote}` : `of node ${link.peer}`;
    this.#end(link, code, reason);
    this.#context.events.onRefused(`peer link ${who} refused: ${reason}`);
  }

  #end(link: Incoming, code: number, reason: string): void {
    if (!link.isOpen) return;
    this.#forget(link);
    closeSocket(link.socket, code, reason, this.#context.tuning.closeGraceMs);
  }

  /** From here on nothing is taken from this connection. */
  #forget(link: Incoming): void {
    if (!link.isOpen) return;
    link.isOpen = false;
    if (link.peer === 0) this.#strangers -= 1;
    else if (this.#byPeer.get(link.peer) === link) this.#byPeer.delete(link.peer);
  }
}
