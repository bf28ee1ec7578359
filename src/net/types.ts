/**
 * The contracts between `net` and the driver: links to peers, connections of clients. Types only.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { ErrorCode } from "../errors/index.js";
import type {
  AttachCommand,
  Operation,
  Query,
  ServerMessage,
  SessionCommand,
} from "../protocol/index.js";
import type { Message, NodeId, NodeOrigin } from "../raft/index.js";
import type { PartyKind } from "./meter/loop-shares.js";

/** Why a leader takes no more. */
export const LACKS = ["busy", "diskFull"] as const;
export type Lack = (typeof LACKS)[number];
/** Why forwarded records were not proposed. */
export const FORWARD_REFUSALS = ["notLeader", ...LACKS] as const;
/** What a leader says it lacks. */
export const PRESSURES = ["none", ...LACKS] as const;

/** The messages between nodes of one group. */
export type PeerMessage =
  | { readonly type: "raft"; readonly message: Message }
  /** Records (`protocol/batch.ts`) for the leader of `term`. `id` rises per sender. */
  | {
      readonly type: "forward";
      readonly id: number;
      readonly term: number;
      readonly records: Uint8Array;
    }
  /** The batch `id` was not proposed. */
  | {
      readonly type: "forwardRefused";
      readonly id: number;
      readonly reason: (typeof FORWARD_REFUSALS)[number];
    }
  /**
   * The leader has little room, or has enough again (`none`). Until then the receiver must not
   * accept strong commands from its clients. Repeated for as long as it is true.
   */
  | { readonly type: "pressure"; readonly lack: (typeof PRESSURES)[number] }
  /**
   * Whether clients are waiting at the sender, which then wants every advance of the commit index
   * at once.
   */
  | { readonly type: "commitInterest"; readonly isInterested: boolean }
  /**
   * Asks the leader of `term` for an index that is safe for a read that began before this message.
   */
  | { readonly type: "readBarrier"; readonly id: number; readonly term: number }
  /** `index` 0 is a refusal: this node does not lead that term. */
  | { readonly type: "readIndex"; readonly id: number; readonly index: number }
  /**
   * The leader of `term` has a snapshot for the receiver. `epoch` belongs to the leader's
   * connection.
   */
  | {
      readonly type: "snapshotOffer";
      readonly term: number;
      readonly epoch: number;
      readonly snapshot: OfferedSnapshot;
    }
  /** One chunk of the snapshot that `checksum` names, numbered from 0. */
  | {
      readonly type: "snapshotChunk";
      readonly checksum: string;
      readonly number: number;
      readonly bytes: Uint8Array;
    }
  /**
   * The receiver has every chunk before `next`, and the sender continues from there. If `next`
   * equals `chunkCount`, it has all of them. Repeated for every chunk that has become durable.
   */
  | { readonly type: "snapshotProgress"; readonly checksum: string; readonly next: number }
  /** The receiver cannot use the snapshot. `reason` is for people and is cut to 1,024 bytes. */
  | { readonly type: "snapshotRefused"; readonly checksum: string; readonly reason: string }
  /**
   * The members of the cluster as of entry `index`, which the sender has applied. A node that was
   * away while members changed talks to these until its own log has the change. Encoded as in an
   * offer.
   */
  | { readonly type: "members"; readonly index: number; readonly configuration: Uint8Array }
  /**
   * An operator's request (`protocol`, ops 70 …) for the leader of `term`, with its bytes
   * unchanged, and the number of the credential by which it came.
   */
  | {
      readonly type: "operation";
      readonly id: number;
      readonly term: number;
      readonly credential: number;
      readonly request: Uint8Array;
    }
  /** `status` is as in an answer to a client. `text` is its payload as JSON, at most 64 KiB. */
  | {
      readonly type: "operationReply";
      readonly id: number;
      readonly status: number;
      readonly text: string;
    }
  /** Asks a member how it is; only points and events after that wall time of its own. */
  | { readonly type: "vitals"; readonly id: number; readonly after: number }
  /** `text` is a `VitalsView` as JSON, at most `VITALS_TEXT_BYTES_MAX` bytes. */
  | { readonly type: "vitalsReply"; readonly id: number; readonly text: string };

export interface OfferedSnapshot {
  readonly index: number;
  readonly term: number;
  /** 64 lower-case hex digits, 32 bytes on the wire. */
  readonly checksum: string;
  readonly chunkCount: number;
  readonly byteLength: number;
  /** The configuration in force at `index`, encoded by the core's `encodeConfiguration`. */
  readonly configuration: Uint8Array;
}

/** What a node sends to the other side in the handshake of a link. */
export interface PeerIdentity {
  readonly nodeId: NodeId;
  /** 32 lower-case hex digits. */
  readonly clusterId: string;
  /**
   * 16 lower-case hex digits that identify its data directory; another directory has another birth.
   */
  readonly birth: string;
  /**
   * Whether the directory was made for a founder, or for a node that receives everything from the
   * others.
   */
  readonly origin: NodeOrigin;
  /** How often the node has been started on that directory. */
  readonly incarnation: number;
  /** The endpoint that clients are told to connect to. */
  readonly advertise: string;
  /** `host:port` that Redis clients are told to connect to; absent if the node serves none. */
  readonly redisAddress?: string | undefined;
}

/** What is remembered of a node, even after its removal. */
export interface KnownPeer {
  /** The highest one that was seen. */
  readonly incarnation: number;
  /** The births of its directories, the newest last; never empty. */
  readonly births: readonly string[];
}

/** The address at which a peer is dialed. */
export interface PeerAddress {
  readonly host: string;
  readonly port: number;
}

export interface PeerEvents {
  /** The outgoing link to `peer` is up. Epochs rise, process-wide. */
  onUp(peer: NodeId, epoch: number): void;
  /**
   * The link is down. `closed` says that the other process ended it; otherwise the peer fell silent
   * or disappeared.
   */
  onDown(peer: NodeId, epoch: number, closed: boolean): void;
  /** The peer answered a ping on the outgoing link. */
  onRoundTrip?(peer: NodeId, tookMs: number): void;
  /** Messages arrive in order per peer. The receiver may keep byte fields. */
  onMessage(peer: NodeId, group: number, message: PeerMessage): void;
  /**
   * A handshake, in either direction, showed a new fact: first contact, a restart or a new
   * endpoint.
   */
  onPeerIdentity(identity: PeerIdentity): void;
  /**
   * A link was refused: wrong cluster, wrong node, not a member, an older process than one seen
   * before, a member on another directory, a second process under our id. One line for the log.
   */
  onRefused(reason: string): void;
}

/**
 * Links to all peers. Each node dials each other node and sends only on links that it dialed, so
 * every directed link is one connection. Messages of a turn are sent together at `flush`.
 */
export interface PeerLinks {
  /**
   * Listens and begins to dial.
   * @throws {HoldfastError} `UNAVAILABLE` when the address cannot be bound
   */
  start(events: PeerEvents): Promise<void>;
  /**
   * Sets the peers that are dialed and admitted from now on. Links to others are closed after their
   * waiting messages are flushed, and `onDown` is called for those that were up. A peer whose
   * address changed is dialed again. Can be called before `start`. `peers` must not contain this
   * node itself.
   */
  setPeers(peers: ReadonlyMap<NodeId, PeerAddress>): void;
  /**
   * Sends at the next `flush`. Dropped silently while the link is down: the protocol above repeats
   * what matters.
   */
  send(peer: NodeId, group: number, message: PeerMessage): void;
  flush(): void;
  /**
   * Bytes for `peer` that the kernel has not taken yet, including bytes of this turn; 0 while the
   * link is down. Everything sent later, heartbeats too, arrives after them. So the sender of a
   * snapshot waits until this is small, keeps few chunks unanswered (the kernel and the wire hold
   * some as well), and sends chunks after the other messages of a turn.
   */
  bufferedBytes(peer: NodeId): number;
  close(): Promise<void>;
}

/** One client's connection, as the driver sees it. */
export interface ClientConnection {
  readonly id: number;
  /** Set by the driver: 0 before it has attached a session, and after that session has ended. */
  session: number;
  attachEpoch: number;
  /** The number of its watches, set by the driver: with one it may stay without a session. */
  watchCount: number;
  /** Bytes sent that the kernel has not taken yet, including this turn's. */
  readonly bufferedBytes: number;
  /** The name in the client's certificate, if that was verified and is for this cluster. */
  readonly certifiedName: string | undefined;
  /** Whether the connection is one of TLS. */
  readonly isEncrypted: boolean;
  /** Whether it came through the socket in the node's directory. */
  readonly isLocal: boolean;
  /** What it comes from, as `addressGroup` has it; "" if it is not known. */
  readonly address: string;
  /** The identity that is limited with it, set by the driver; "": none. */
  limitedIdentity: string;
  /** As whom its requests are made, said by the driver; `undefined`: as a stranger. */
  identify(identity: string | undefined): void;
  /** What the driver keeps with it, so that it need not look for that; nothing else looks at it. */
  attachment: unknown;
  /**
   * Encodes a message at once into the frame of this turn, which is sent at `flush` of the gateway.
   */
  send(message: ServerMessage): void;
  /**
   * Flushes, then closes with a WebSocket close code and a reason of at most 123 bytes of UTF-8.
   */
  close(code: number, reason: string): void;
  /**
   * Reads nothing more from the client until `resume`. What was read with the current bytes still
   * comes.
   */
  pause(): void;
  resume(): void;
}

/** For whom a door of the node connects: what it knows of its own caller. */
export interface InProcessCaller {
  /** As `ClientConnection` has them. */
  readonly address: string;
  readonly certifiedName: string | undefined;
  readonly isEncrypted: boolean;
  readonly isLocal: boolean;
}

/** What a client in the node's process hears. Never called from within a call of the link. */
export interface InProcessEvents {
  onOpen(): void;
  /** `frame` is only valid during the call. */
  onFrame(frame: Uint8Array): void;
  /** Once, unless the client has closed the link itself. */
  onClose(code: number, reason: string): void;
}

/** The end of a connection that a client in the node's process has. */
export interface InProcessLink {
  /** Sends one frame. The caller may reuse the bytes when this returns. */
  send(frame: Uint8Array): void;
  /** Ends the connection. Nothing is heard of it any more. */
  close(): void;
  /** As whom the driver has heard it; `undefined`: it has not said. */
  readonly identity: string | undefined;
}

export interface GatewayEvents {
  /** The driver answers with `hello`. */
  onConnection(connection: ClientConnection): void;
  onAttach(connection: ClientConnection, command: AttachCommand, bytes: Uint8Array): void;
  /** `bytes` is the command as it arrived, a copy that the driver may keep. */
  onCommand(connection: ClientConnection, command: SessionCommand, bytes: Uint8Array): void;
  /**
   * A command has an invalid value. The driver must refuse it in its place among the others. `id`
   * is the attempt of a command that attaches, and the sequence of any other.
   */
  onInvalidCommand(connection: ClientConnection, op: number, id: number): void;
  onQuery(connection: ClientConnection, query: Query): void;
  /** `bytes` is the request as it arrived, a copy that the driver may keep. Needs no session. */
  onOperation(connection: ClientConnection, operation: Operation, bytes: Uint8Array): void;
  /**
   * `bytes` were read, or something that costs as much; all requests that end in them have been
   * passed on.
   */
  onReceived(connection: ClientConnection, bytes: number): void;
  onClosed(connection: ClientConnection): void;
}

/**
 * Frames and their bytes, without what is before the payload, since the node was started.
 */
export interface Traffic {
  readonly framesSent: number;
  readonly bytesSent: number;
  readonly framesReceived: number;
  readonly bytesReceived: number;
}

/** What was received, and for how long the loop worked on it, by the kind of party it was from. */
export type MeterTotals = Readonly<
  Record<PartyKind, { readonly bytes: number; readonly requests: number; readonly loopMs: number }>
>;

/** The load and the limits of the client port. */
export interface PortLoad {
  /** Open sockets of any kind. */
  readonly sockets: number;
  readonly socketsMax: number;
  /** Limits on connected clients: in total, and from one address. */
  readonly connectionsMax: number;
  readonly addressConnectionsMax: number;
  /** Bytes of memory that unfinished messages occupy. */
  readonly unfinishedBytes: number;
  /** The input of all doors, by whose it was. */
  readonly input: MeterTotals;
  /** Connections that wait because their party is over its share of the loop. */
  readonly heldInputs: number;
  /** Sockets and upgrades refused since the start because there was no place. */
  readonly refusedTotal: number;
}

/** Who asks for a page, as far as the connection and the header prove it. */
export interface PageCaller {
  /** It came by a port of the operator's own, and needs no rights. */
  readonly isTrusted: boolean;
  /** The node that its certificate names; whether that is a member is not checked. */
  readonly certifiedNode?: NodeId | undefined;
  /** The name in its client certificate. */
  readonly certifiedName?: string | undefined;
  /** What it showed in `Authorization: Bearer`; not checked. */
  readonly token?: string | undefined;
  /** Its browser would show a page, and can unpack gzip. Only of the client port. */
  readonly browser?: PageBrowser | undefined;
}

/** What a browser that asks for a page says of itself. */
export interface PageBrowser {
  readonly wantsHtml: boolean;
  readonly takesGzip: boolean;
  /** The host and port by which it knows this node, if that is one of its names. */
  readonly host: string | undefined;
}

/** Answers a request for a page by its path. */
export type Pages = (path: string, caller: PageCaller) => HttpAnswer;

/** One answer of the HTTP pages that share the client port. */
export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** Sent in place of `body`. */
  readonly bytes?: Uint8Array | undefined;
  /** In addition to those that every answer has, or in place of them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Who asks the HTTP door, as far as the connection and the header prove it. */
export interface HttpCaller extends InProcessCaller {
  /** What it showed in `Authorization: Bearer`; not checked. */
  readonly token: string | undefined;
  /** Why nothing may be done for it: its host name, its origin or its certificate, or no place. */
  readonly refusal: HttpRefusal | undefined;
  /** The door has found out who it is: what else comes by its connection costs that identity. */
  identify(identity: string | undefined): void;
}

/** Why a request is refused before anything is done for it. */
export interface HttpRefusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly text: string;
}

/**
 * Answers every request under `/v1/` on the client port and the local socket. If a request comes from
 * a web page and is not refused, the page is of a listed origin. The promise resolves when the answer
 * is written. If it rejects, which it should not, the connection ends.
 */
export interface HttpDoor {
  onRequest(request: IncomingMessage, response: ServerResponse, caller: HttpCaller): Promise<void>;
}

export interface ClientGateway {
  /**
   * Listens; `http` answers plain requests. Until `serve`, every client is closed at once,
   * with close code 1013 and `awayReason`.
   * @throws {HoldfastError} `UNAVAILABLE` when the address cannot be bound
   */
  start(http: Pages, awayReason: string): Promise<void>;
  /**
   * Serves the same on the socket in that directory, whose clients are `isLocal`. Must follow `start`.
   * @throws {HoldfastError} `UNAVAILABLE` if another process serves it or its path is too long; and
   *   errors of the file system
   */
  listenLocal(directory: string): Promise<void>;
  /**
   * Connects a client in this process, which the driver sees like any other. It takes no place of the
   * clients of the port: its door limits its callers. Refused, through `onClose`, with code 1013
   * before `serve` and while the node stops.
   */
  connectInProcess(caller: InProcessCaller, events: InProcessEvents): InProcessLink;
  /** Must follow `start`. From now on `events` receives the requests of clients. */
  serve(events: GatewayEvents): void;
  /** Sends one frame to each connection that has messages. */
  flush(): void;
  /**
   * Refuses further clients: upgrades are answered with HTTP status 503. Connected clients stay,
   * and pages are served, until `close`.
   */
  drain(): void;
  /** Stops accepting, closes every client with close code 1001, frees the port. */
  close(): Promise<void>;
}
