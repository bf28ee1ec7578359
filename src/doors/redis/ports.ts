/**
 * What the Redis door needs from the node in whose process it lives. Types only. It has no other way
 * to the cluster than the clients of the SDK that it is given.
 */
import type { Client } from "../../client/index.js";

/** What a connection has shown of who it is. */
export interface Caller {
  /** An access token; not checked. */
  readonly token: string | undefined;
  /** The name in its client certificate, which is verified. */
  readonly certifiedName: string | undefined;
  readonly address: string;
  readonly isEncrypted: boolean;
}

/** A client of the SDK that speaks for one identity, as far as the door uses it. */
export type LockClient = Pick<
  Client,
  "leases" | "inspect" | "keysPage" | "watch" | "whoAmI" | "closed"
>;

/** A client that is shared by all connections of its identity, until this one gives it back. */
export interface HeldClient {
  readonly client: LockClient;
  /** The name of the identity. */
  readonly identity: string;
  release(): void;
}

export interface Callers {
  /**
   * Rejects with `UNAUTHENTICATED` for a token that the cluster does not know, and with `UNAVAILABLE`
   * if that cannot be found out.
   */
  clientOf(caller: Caller): Promise<HeldClient>;
}

/** What has happened at the door since the node started. */
export interface DoorCounts {
  connections: number;
  commandsTotal: number;
  /** Commands that were answered with an error. */
  refusedTotal: number;
  /** Connections that the door closed for what they did. */
  cutOffTotal: number;
  /** Kinds of locks that are refused at the take, because their clients could not end them. */
  unendableKinds: number;
}

/** The node, as the door must present it. */
export interface DoorNode {
  readonly id: number;
  readonly version: string;
  /** Names the cluster to clients that ask a sentinel. */
  readonly clusterName: string;
  /** Has contact with a quorum, is not stopping, and its cluster is not in the quiet time of a restore. */
  readonly isServing: boolean;
  /** Everybody may do everything. */
  readonly isOpen: boolean;
  /** Who has not signed in may do something. */
  readonly admitsAnonymous: boolean;
  /** 0 while none is known that has contact with a quorum. */
  readonly leader: number;
  /** Where each member serves Redis clients, this one included; absent: nowhere. */
  readonly redisAddresses: ReadonlyMap<number, string>;
  /** Where members are sentinels only; absent: nowhere. */
  readonly sentinelAddresses: ReadonlyMap<number, string>;
  readonly electionTimeoutMs: number;
}
