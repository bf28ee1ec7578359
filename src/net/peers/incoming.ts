/**
 * The links that peers dialed to this node. They are only read: nothing is ever sent on them after
 * the answer to the hello but answers to pings. There is at most one per peer. A newer link ends the
 * older one, so that messages from one peer never come from two connections at once.
 *
 * Anyone can connect here. A connection that has not sent a hello is a stranger: it has a few
 * seconds to send one, whatever else it sends, and learns nothing about the cluster. A web page
 * does not even get that far: no request of HTTP begins like a link.
 */
import { createServer, type Server, type Socket } from "node:net";
import {
  createServer as createSecureServer,
  type Server as SecureServer,
  type TLSSocket,
} from "node:tls";
import type { NodeId } from "../../raft/index.js";
import { type BoundedLog, boundedLog } from "../bounded-log.js";
import { type ListenAddress, listenOn } from "../listen.js";
import { lastAnswer } from "../problem.js";
import { networkOf, Strangers } from "../strangers.js";
import { type HandshakeCounts, SecurePort, type ShownCertificate } from "../tls/secure-port.js";
import type { TransportTls } from "../tls/transport.js";
import type { PeerIdentity } from "../types.js";
import { decodePeerFrame, type PeerDelivery } from "./decoder.js";
import { PeerFrameError } from "./frame-cursor.js";
import { encodeHello, PEER_CLOSE, type PeerCloseCode } from "./hello.js";
import { FRAME, FROM_DIALER, foreignLanguage, LINK_PREFACE } from "./link-frame.js";
import { LinkSocket } from "./link-socket.js";
import { SILENT_TICKS_MAX } from "./options.js";
import type { LinkContext } from "./outgoing.js";

/**
 * Connections of any kind: links of members, strangers, and those that a burst adds before the
 * evicted ones are closed. The system refuses any beyond it.
 */
const SOCKETS_MAX = 256;
const HANDSHAKE_TIMEOUT_MS = 5_000;
const NOT_HERE = Buffer.from(
  lastAnswer({
    ...{ status: 400, code: "INVALID_ARGUMENT" },
    detail: "this port is for the other nodes of the cluster, which do not speak HTTP",
  }),
);

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
  /** Set once it is read; with TLS, after its handshake. */
  socket: LinkSocket | undefined;
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
  readonly #server: Server;
  readonly #secure: SecurePort<SecureServer> | undefined;
  readonly #links = new Set<Incoming>();
  readonly #byPeer = new Map<NodeId, Incoming>();
  /** All connections that have not become links. */
  readonly #strangers: Strangers<Incoming>;

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
    const { tls } = context;
    this.#secure = tls === undefined ? undefined : this.#createSecurePort(tls);
    this.#server = this.#secure?.server ?? createServer();
    this.#server.maxConnections = SOCKETS_MAX;
    this.#server.on("connection", (stream) => this.#meet(stream));
  }

  async listen(address: ListenAddress): Promise<number> {
    const port = await listenOn(this.#server, address);
    this.#server.on("error", (error) => {
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
    for (const link of this.#links) {
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
    for (const link of this.#links) this.#end(link, PEER_CLOSE.goingAway, "stopping");
    this.#secure?.close();
    if (!this.#server.listening) return;
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #createSecurePort(tls: TransportTls): SecurePort<SecureServer> {
    const options = { handshakeTimeout: HANDSHAKE_TIMEOUT_MS, ...tls.serverOptions("peer") };
    return new SecurePort(tls, "peer", createSecureServer(options), HANDSHAKE_TIMEOUT_MS, {
      onSecured: (stream, shown) => this.#certify(tls, stream, shown),
      onFailed: (reason) => this.#log(`peer link refused: ${reason}`),
    });
  }

  /** Finds the connection that came as a plain socket. Only a node of the cluster goes on. */
  #certify(tls: TransportTls, stream: TLSSocket, shown: ShownCertificate | undefined): void {
    const ends = endsOf(stream);
    const link = [...this.#links].find((candidate) => candidate.ends === ends);
    const found = shown === undefined ? "no certificate" : tls.nodeOf(shown.certificate);
    const problem = shown?.problem ?? (typeof found === "string" ? `has ${found}` : undefined);
    if (link === undefined || problem !== undefined || typeof found === "string") {
      stream.destroy();
      if (link !== undefined) this.#log(`peer link from ${link.remote} refused: it ${problem}`);
      return;
    }
    link.certified = found;
    this.#open(link, stream);
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
    this.#links.add(link);
    stream.on("error", () => stream.destroy());
    stream.once("close", () => {
      this.#forget(link);
      this.#strangers.delete(link);
      this.#links.delete(link);
    });
    this.#addStranger(link);
    if (this.#secure === undefined) this.#open(link, stream);
  }

  #addStranger(link: Incoming): void {
    this.#strangers.add(link)?.stream.destroy();
  }

  /** Reads the connection; with TLS, what is decrypted of it. */
  #open(link: Incoming, stream: Socket): void {
    link.stream = stream;
    const socket = new LinkSocket(stream, {
      onFrame: (kind, body) => {
        if (link.peer === 0) {
          this.#greet(link, socket, body);
          return;
        }
        link.silentTicks = 0;
        if (kind === FRAME.ping) socket.pong();
        else {
          this.#context.meter.received(body.length);
          this.#read(link, body);
        }
      },
      onForeign: (first) => this.#turnAway(link, socket, first),
      onBad: (code, reason) => this.#refuse(link, code, reason),
      onEnd: () => this.#forget(link),
    });
    link.socket = socket;
  }

  /** The connection is not a link. */
  #turnAway(link: Incoming, socket: LinkSocket, first: number): void {
    const { closeGraceMs } = this.#context.tuning;
    const language = foreignLanguage(first);
    this.#forget(link);
    if (language === "HTTP") socket.answerForeign(NOT_HERE, closeGraceMs);
    // A client of TLS finds that this is not TLS.
    else if (language === "TLS") socket.answerForeign(LINK_PREFACE, closeGraceMs);
    else socket.destroy();
    const what =
      language === "TLS"
        ? "it speaks TLS, this node plain text"
        : `it speaks ${language ?? "something else"}, this port is for nodes`;
    this.#log(`peer link from ${link.remote} refused: ${what}`);
  }

  #greet(link: Incoming, socket: LinkSocket, hello: Uint8Array): void {
    const { identities } = this.#context;
    const admitted = identities.admit(hello, 0, link.certified);
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
    socket.accept(FROM_DIALER);
    socket.greet(encodeHello(identities.own, peer));
    this.#onPeer(peer);
  }

  #read(link: Incoming, frame: Uint8Array): void {
    const { identities, events } = this.#context;
    let deliveries: PeerDelivery[];
    try {
      deliveries = decodePeerFrame(frame, link.peer, identities.own.nodeId);
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
    else link.socket.close(code, reason, this.#context.tuning.closeGraceMs);
    if (wasPeer) this.#addStranger(link);
  }

  /** Stops reading from this connection. */
  #forget(link: Incoming): void {
    if (!link.isOpen) return;
    link.isOpen = false;
    if (this.#byPeer.get(link.peer) === link) this.#byPeer.delete(link.peer);
  }
}

/** Both ends of a connection: what was decrypted has the same as the socket that it came from. */
function endsOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}
