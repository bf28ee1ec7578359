/**
 * The contracts of `net` with the driver: links to peers, connections of clients. Types only.
 */
import type {
  AttachCommand,
  Operation,
  Query,
  ServerMessage,
  SessionCommand,
} from "../protocol/index.js";
import type { Message, NodeId } from "../raft/index.js";

/** What travels between nodes of one group. */
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
      readonly reason: "notLeader" | "busy" | "diskFull";
    }
  /**
   * The leader has little room, or has enough again (`none`): while it lasts, the receiver is to take
   * no strong commands from its clients. Said again and again while it lasts.
   */
  | { readonly type: "pressure"; readonly lack: "none" | "busy" | "diskFull" }
  /** Whether clients wait at the sender, so that it wants every advance of the commit index at once. */
  | { readonly type: "commitInterest"; readonly isInterested: boolean }
  /** Asks the leader of `term` for an index that a read begun before this message may trust. */
  | { readonly type: "readBarrier"; readonly id: number; readonly term: number }
  /** `index` 0: refused, this node does not lead that term. */
  | { readonly type: "readIndex"; readonly id: number; readonly index: number }
  /** The leader of `term` has a snapshot for the receiver. `epoch`: of the leader's connection. */
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
   * The receiver holds every chunk before `next`: send on from there. `chunkCount` as `next`: it
   * has all of them. Repeated with every chunk that became durable.
   */
  | { readonly type: "snapshotProgress"; readonly checksum: string; readonly next: number }
  /** The receiver cannot use it. `reason`: for people, cut to 1,024 bytes on its way. */
  | { readonly type: "snapshotRefused"; readonly checksum: string; readonly reason: string }
  /**
   * Who belongs to the cluster as of entry `index`, which the sender has applied: a node that was away
   * while members changed talks to these until its own log tells it. Encoded as in an offer.
   */
  | { readonly type: "members"; readonly index: number; readonly configuration: Uint8Array }
  /** An operator's request (`protocol`, ops 70 …) for the leader of `term`, its bytes as they came. */
  | {
      readonly type: "operation";
      readonly id: number;
      readonly term: number;
      readonly request: Uint8Array;
    }
  /** `status`: as in an answer to a client. `text`: its payload as JSON, at most 64 KiB. */
  | {
      readonly type: "operationReply";
      readonly id: number;
      readonly status: number;
      readonly text: string;
    };

export interface OfferedSnapshot {
  readonly index: number;
  readonly term: number;
  /** 64 lower-case hex digits, 32 bytes on the wire. */
  readonly checksum: string;
  readonly chunkCount: number;
  readonly byteLength: number;
  /** In force at `index`, encoded by the core's `encodeConfiguration`. */
  readonly configuration: Uint8Array;
}

/** Told to the other side in the handshake of a link. */
export interface PeerIdentity {
  readonly nodeId: NodeId;
  /** 32 lower-case hex digits. */
  readonly clusterId: string;
  /** 16 lower-case hex digits: which directory it has; another one is another birth. */
  readonly birth: string;
  /** Whether that was made for a founder, or for a node that is told everything by the others. */
  readonly origin: "initial" | "joined";
  /** How often it was started on that directory. */
  readonly incarnation: number;
  /** What clients are told to connect to. */
  readonly advertise: string;
}

/** What is remembered of a node, of one that was removed too. */
export interface KnownPeer {
  /** The highest that was met. */
  readonly incarnation: number;
  /** Of the directories on which it came, the newest last; never empty. */
  readonly births: readonly string[];
}

/** Where a peer is dialed. */
export interface PeerAddress {
  readonly host: string;
  readonly port: number;
}

export interface PeerEvents {
  /** The outgoing link to `peer` stands. Epochs rise, process-wide. */
  onUp(peer: NodeId, epoch: number): void;
  /** `closed`: the other process ended it; else it fell silent or was never heard again. */
  onDown(peer: NodeId, epoch: number, closed: boolean): void;
  /** In order per peer. Byte fields are the receiver's to keep. */
  onMessage(peer: NodeId, group: number, message: PeerMessage): void;
  /** Told by a handshake, in either direction: first met, restarted since, or with a new endpoint. */
  onPeerIdentity(identity: PeerIdentity): void;
  /**
   * A link was refused: wrong cluster, wrong node, no member, an older process than one met before,
   * a member on another directory, a second process under our id. One line for the log.
   */
  onRefused(reason: string): void;
}

/**
 * Links to all peers. Each node dials each other node and sends only on what it dialed itself, so
 * that every directed link is one connection. Messages of a turn leave together at `flush`.
 */
export interface PeerLinks {
  /** Listens and begins to dial. Rejects when the address cannot be had. */
  start(events: PeerEvents): Promise<void>;
  /**
   * Exactly these are dialed and admitted from now on; links to others are closed after what waits
   * was flushed, and `onDown` is called for those that stood. A peer whose address changed is dialed
   * anew. May be called before `start`. Never holds this node itself.
   */
  setPeers(peers: ReadonlyMap<NodeId, PeerAddress>): void;
  /** Dropped silently when the link is down: the protocol above repeats what matters. */
  send(peer: NodeId, group: number, message: PeerMessage): void;
  flush(): void;
  /**
   * Bytes for `peer` that the kernel has not taken yet, those of this turn included; 0 while the
   * link is down. Everything sent later arrives behind them, heartbeats too, so whoever sends chunks
   * of a snapshot waits until this is small, keeps few of them unanswered (the kernel and the wire
   * hold some as well), and sends them behind what else a turn has to say.
   */
  bufferedBytes(peer: NodeId): number;
  close(): Promise<void>;
}

/** One client's connection, as the driver sees it. */
export interface ClientConnection {
  readonly id: number;
  /** Kept by the driver: 0 before it attached a session, and after that session ended. */
  session: number;
  attachEpoch: number;
  /** Watches that it has, kept by the driver: with one it may stay without a session. */
  watchCount: number;
  /** What was said and the kernel has not taken yet, this turn included. */
  readonly bufferedBytes: number;
  /** Encoded at once into the frame of this turn, which leaves at `flush` of the gateway. */
  send(message: ServerMessage): void;
  /** Flushes, then closes with a WebSocket close code and a reason of at most 123 bytes. */
  close(code: number, reason: string): void;
}

export interface GatewayEvents {
  /** The driver answers with `hello`. */
  onConnection(connection: ClientConnection): void;
  onAttach(connection: ClientConnection, command: AttachCommand, bytes: Uint8Array): void;
  /** `bytes`: the command as it came, a copy the driver may keep. */
  onCommand(connection: ClientConnection, command: SessionCommand, bytes: Uint8Array): void;
  /**
   * A command with a value that is not allowed: to be refused in its place among the others.
   * `id`: the attempt of one that attaches, the sequence of the others.
   */
  onInvalidCommand(connection: ClientConnection, op: number, id: number): void;
  onQuery(connection: ClientConnection, query: Query): void;
  /** `bytes`: the request as it came, a copy the driver may keep. Needs no session. */
  onOperation(connection: ClientConnection, operation: Operation, bytes: Uint8Array): void;
  onClosed(connection: ClientConnection): void;
}

/** WebSocket messages, and their bytes without what WebSocket adds, since the node was started. */
export interface Traffic {
  readonly framesSent: number;
  readonly bytesSent: number;
  readonly framesReceived: number;
  readonly bytesReceived: number;
}

/** How full the client port is. */
export interface PortLoad {
  /** Sockets of any kind that are open. */
  readonly sockets: number;
  readonly socketsMax: number;
  /** Clients that may be connected, and from one address. */
  readonly connectionsMax: number;
  readonly addressConnectionsMax: number;
  /** What is kept of messages that have not come to their end. */
  readonly unfinishedBytes: number;
  /** Sockets and upgrades that were refused since the start because there was no place. */
  readonly refusedTotal: number;
}

/** One answer of the HTTP pages that share the client port. */
export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export interface ClientGateway {
  /**
   * Listens: `http` answers plain requests by path. Until `serve` every client is closed at once,
   * with close code 1013 and `awayReason`. Rejects when the address cannot be had.
   */
  start(http: (path: string) => HttpAnswer, awayReason: string): Promise<void>;
  /** After `start`: `events` hear of clients from now on. */
  serve(events: GatewayEvents): void;
  /** One frame per connection with anything to say. */
  flush(): void;
  /**
   * No client may connect any more, upgrades are answered with HTTP status 503; who is connected
   * stays, and pages are served, until `close`.
   */
  drain(): void;
  /** Stops accepting, says goodbye to every client (close code 1001), frees the port. */
  close(): Promise<void>;
}
