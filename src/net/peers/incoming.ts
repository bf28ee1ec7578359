/**
 * The links that peers dialed to this node. They are only read: beyond the answer to the hello
 * nothing is ever sent on them. There is at most one per peer; a newer one ends the older, so that
 * messages of one peer never mix two connections.
 *
 * Anybody may knock here. Who has not said hello is a stranger, has a few seconds for it whatever
 * else it says, and is told nothing about the cluster; no web page gets as far as that.
 */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { PEER_FRAME_BYTES_MAX } from "../../protocol/index.js";
import type { NodeId } from "../../raft/index.js";
import { closeSocket } from "../close-socket.js";
import { closeServer, type ListenAddress, listenOn, pathOf, refuseUpgrade } from "../listen.js";
import { ownBytes } from "../own-bytes.js";
import type { PeerIdentity } from "../types.js";
import { decodePeerFrame, type PeerDelivery } from "./decoder.js";
import { encodeHello, PEER_CLOSE, PEER_SUBPROTOCOL, type PeerCloseCode } from "./hello.js";
import { SILENT_TICKS_MAX } from "./options.js";
import type { LinkContext } from "./outgoing.js";
import { PeerFrameError } from "./reader.js";
import { networkOf, Strangers } from "./strangers.js";

/**
 * Connections of any kind: those of members, strangers, and those that a burst brings before the
 * ones that give way are closed. Beyond it the system refuses them.
 */
const SOCKETS_MAX = 256;
/** A request and a hello are smaller; before it said hello, nothing larger is kept of a connection. */
const STRANGER_BYTES_MAX = 16 << 10;
/** Of the strangers that are refused within so many ticks so many are told; the rest is counted. */
const REFUSALS_TOLD_MAX = 16;
const REFUSAL_TICKS = 64;
const HTTP_LIMITS = {
  maxHeaderSize: 8 << 10,
  headersTimeout: 5_000,
  requestTimeout: 5_000,
  connectionsCheckingInterval: 5_000,
} as const;
/** For one that reads an answer here and then stops; `ws` lifts it from the sockets it takes over. */
const HTTP_IDLE_MS = 5_000;

/** One connection, from the moment it was taken. */
interface Incoming {
  readonly stream: Socket;
  readonly remote: string;
  readonly network: string;
  /** Once it is a WebSocket. */
  socket: WebSocket | undefined;
  /** 0 until it said who it is. */
  peer: NodeId;
  /** The directory that `peer` says it has. */
  birth: string;
  /** Since it was heard, or since it came while it is a stranger. */
  silentTicks: number;
  /** Whether anything is still taken from it. */
  isOpen: boolean;
}

export class IncomingLinks {
  readonly #context: LinkContext;
  readonly #onPeer: (peer: NodeId) => void;
  readonly #http: Server;
  readonly #webSockets: WebSocketServer;
  /** All connections. */
  readonly #links = new Map<Duplex, Incoming>();
  readonly #byPeer = new Map<NodeId, Incoming>();
  /** All others. */
  readonly #strangers: Strangers<Incoming>;
  #isClosed = false;
  #refusals = 0;
  #refusalTicks = 0;

  /**
   * `onPeer`: an acceptable peer has connected, so it can be dialed too; or somebody who can only
   * be believed when this node has dialed that peer. `isOfMember`: a member was reached there.
   */
  constructor(
    context: LinkContext,
    onPeer: (peer: NodeId) => void,
    isOfMember: (network: string) => boolean,
  ) {
    this.#context = context;
    this.#onPeer = onPeer;
    this.#strangers = new Strangers(context.tuning.strangersMax, isOfMember);
    this.#webSockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: PEER_FRAME_BYTES_MAX,
      handleProtocols: () => PEER_SUBPROTOCOL,
    });
    this.#http = createServer(HTTP_LIMITS, (_request, response) => {
      response.writeHead(404, { "Content-Type": "text/plain; charset=utf-8" });
      response.end("this port is for the other nodes of the cluster\n");
    });
    this.#http.maxConnections = SOCKETS_MAX;
    this.#http.setTimeout(HTTP_IDLE_MS);
    this.#http.on("connection", (stream) => this.#meet(stream));
    this.#http.on("upgrade", (request, stream, head) => this.#upgrade(request, stream, head));
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
    for (const link of this.#links.values()) {
      link.silentTicks += 1;
      if (link.silentTicks > SILENT_TICKS_MAX) this.#end(link, PEER_CLOSE.silent, "silent");
    }
    this.#refusalTicks += 1;
    if (this.#refusalTicks < REFUSAL_TICKS) return;
    const untold = this.#refusals - REFUSALS_TOLD_MAX;
    if (untold > 0) this.#context.events.onRefused(`${untold} more peer links were refused`);
    this.#refusals = 0;
    this.#refusalTicks = 0;
  }

  /** Strangers that try again and again must not fill the log. */
  #tellOfStranger(reason: string): void {
    this.#refusals += 1;
    if (this.#refusals <= REFUSALS_TOLD_MAX) this.#context.events.onRefused(reason);
  }

  /** Ends the links of nodes that are no members any more. */
  endRemoved(): void {
    const { directory } = this.#context;
    for (const [peer, link] of this.#byPeer) {
      if (!directory.isMember(peer)) this.#end(link, PEER_CLOSE.removed, "no member any more");
    }
  }

  /** Ends the link of somebody who said to be that peer and has another directory. */
  endOther({ nodeId, birth }: PeerIdentity): void {
    const link = this.#byPeer.get(nodeId);
    if (link === undefined || link.birth === birth) return;
    this.#end(link, PEER_CLOSE.replaced, "the peer has another directory");
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const link of this.#links.values()) this.#end(link, PEER_CLOSE.goingAway, "stopping");
    await closeServer(this.#http);
  }

  #meet(stream: Socket): void {
    const { remoteAddress, remotePort } = stream;
    const remote = `${remoteAddress}:${remotePort}`;
    const network = networkOf(remoteAddress);
    const unsaid = { socket: undefined, peer: 0, birth: "", silentTicks: 0, isOpen: true };
    const link: Incoming = { stream, remote, network, ...unsaid };
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
    const link = this.#links.get(stream);
    if (link === undefined) {
      stream.destroy();
    } else if (pathOf(request.url) !== "/peer") {
      refuseUpgrade(stream, 404, "peers connect to /peer");
    } else if (request.headers.origin !== undefined) {
      refuseUpgrade(stream, 403, "no web page connects to this port");
      this.#tellOfStranger(`a web page sought a peer link from ${link.remote}`);
    } else if (!offersProtocol(request)) {
      refuseUpgrade(stream, 400, `the subprotocol ${PEER_SUBPROTOCOL} is missing`);
    } else if (this.#isClosed) {
      refuseUpgrade(stream, 503, "stopping");
    } else {
      this.#webSockets.handleUpgrade(request, stream, head, (socket) => this.#open(link, socket));
    }
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
      if (!isBinary) this.#refuse(link, PEER_CLOSE.badFrame, "text in place of a binary frame");
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
    // Reported by `ws` after it has closed the socket with the fitting code.
    socket.on("error", (error) => {
      if (!link.isOpen) return;
      this.#context.events.onRefused(`peer link from ${link.remote}: ${error.message}`);
    });
  }

  #greet(link: Incoming, socket: WebSocket, data: Buffer): void {
    const { directory } = this.#context;
    const admitted = directory.admit(data, 0);
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
    socket.send(encodeHello(directory.own, peer));
    this.#onPeer(peer);
  }

  #read(link: Incoming, data: Buffer): void {
    const { directory, events } = this.#context;
    let deliveries: PeerDelivery[];
    try {
      deliveries = decodePeerFrame(ownBytes(data), link.peer, directory.own.nodeId);
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
    if (peer === 0) this.#tellOfStranger(`peer link from ${remote} refused: ${detail}`);
    else this.#context.events.onRefused(`peer link of node ${peer} refused: ${detail}`);
  }

  /** What is closing counts as a stranger until it is gone. */
  #end(link: Incoming, code: PeerCloseCode, reason: string): void {
    if (!link.isOpen) return;
    const wasPeer = link.peer !== 0;
    this.#forget(link);
    if (link.socket === undefined) link.stream.destroy();
    else closeSocket(link.socket, code, reason, this.#context.tuning.closeGraceMs);
    if (wasPeer) this.#addStranger(link);
  }

  /** From here on nothing is taken from this connection. */
  #forget(link: Incoming): void {
    if (!link.isOpen) return;
    link.isOpen = false;
    if (this.#byPeer.get(link.peer) === link) this.#byPeer.delete(link.peer);
  }
}

function offersProtocol({ headers }: IncomingMessage): boolean {
  const offered = headers["sec-websocket-protocol"]?.split(",") ?? [];
  return offered.some((name) => name.trim() === PEER_SUBPROTOCOL);
}
