/**
 * The contracts of this room with the driver: links to peers, connections of clients. Types only.
 */
import type { AttachCommand, Query, ServerMessage, SessionCommand } from "../protocol/index.js";
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
      readonly reason: "notLeader" | "busy";
    }
  /** Whether clients wait at the sender, so that it wants every advance of the commit index at once. */
  | { readonly type: "commitInterest"; readonly isInterested: boolean }
  /** Asks the leader of `term` for an index that a read begun before this message may trust. */
  | { readonly type: "readBarrier"; readonly id: number; readonly term: number }
  /** `index` 0: refused, this node does not lead that term. */
  | { readonly type: "readIndex"; readonly id: number; readonly index: number };

/** Told to the other side in the handshake of a link. */
export interface PeerIdentity {
  readonly nodeId: NodeId;
  /** 32 lower-case hex digits. */
  readonly clusterId: string;
  readonly incarnation: number;
  /** What clients are told to connect to. */
  readonly advertise: string;
}

export interface PeerEvents {
  /** The outgoing link to `peer` stands. Epochs rise, process-wide. */
  onUp(peer: NodeId, epoch: number): void;
  /** `closed`: the other process ended it; else it fell silent or was never heard again. */
  onDown(peer: NodeId, epoch: number, closed: boolean): void;
  /** In order per peer. Byte fields are the receiver's to keep. */
  onMessage(peer: NodeId, group: number, message: PeerMessage): void;
  /** Learned or changed in a handshake, in either direction. */
  onPeerIdentity(identity: PeerIdentity): void;
  /** A link was refused: wrong cluster, wrong node, a second process under our id. For the log. */
  onRefused(reason: string): void;
}

/**
 * Links to all peers. Each node dials each other node and sends only on what it dialed itself, so
 * that every directed link is one connection. Messages of a turn leave together at `flush`.
 */
export interface PeerLinks {
  /** Listens and begins to dial. Rejects when the address cannot be had. */
  start(events: PeerEvents): Promise<void>;
  /** Dropped silently when the link is down: the protocol above repeats what matters. */
  send(peer: NodeId, group: number, message: PeerMessage): void;
  flush(): void;
  close(): Promise<void>;
}

/** One client's connection, as the driver sees it. */
export interface ClientConnection {
  readonly id: number;
  /** Set by the driver when it attached; 0 before. Commands before that are a breach of protocol. */
  session: number;
  attachEpoch: number;
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
  onQuery(connection: ClientConnection, query: Query): void;
  onClosed(connection: ClientConnection): void;
  /** A client broke the protocol and was sent away, or one could not be accepted. For the log. */
  onRefused?(reason: string): void;
}

/** One answer of the HTTP pages that share the client port. */
export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export interface ClientGateway {
  /** `http` answers plain requests by path. Rejects when the address cannot be had. */
  start(events: GatewayEvents, http: (path: string) => HttpAnswer): Promise<void>;
  /** One frame per connection with anything to say. */
  flush(): void;
  /** Stops accepting, says goodbye to every client (close code 1001), frees the port. */
  close(): Promise<void>;
}
