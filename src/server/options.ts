/**
 * The options of one node: one interface with a line per field, one frozen object of defaults.
 */
import type { Logger } from "./ports.js";

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export interface Founder {
  readonly id: number;
  readonly address: HostPort;
}

export interface NodeOptions {
  /** This node's number, 1 … 2^32 − 1, for ever. */
  readonly id: number;
  /** Belongs to this node alone; created when missing. */
  readonly dataDirectory: string;
  /** Where clients connect. Port 0 picks a free one. */
  readonly listen: HostPort;
  /** What clients are told to connect to. Default: `ws://` and `listen`. */
  readonly advertise?: string;
  /** Where peers connect. */
  readonly peerListen: HostPort;
  /**
   * The founding members with the address each listens on for peers; the same on every one of them.
   * Needed until the node has a snapshot of its own; later changes of the members do not touch it.
   */
  readonly initialCluster?: readonly Founder[];
  /**
   * Endpoints of members of a cluster to which this node was added. Needed until a leader has told it
   * who belongs to the cluster. Not together with `initialCluster`.
   */
  readonly join?: readonly string[];
  /** Where *this* node dials a peer instead (proxies, NAT). */
  readonly peerAddresses?: ReadonlyMap<number, HostPort>;
  /** Makes clusters with equal members different ones. Default "holdfast". */
  readonly clusterName?: string;
  /** Listening beyond loopback without TLS and authentication. Default false. */
  readonly insecure?: boolean;
  /**
   * Web pages that may connect, by origin as browsers send it: `https://ops.example`,
   * `http://localhost:3000`. Clients that are no web pages send none and need none. Default: none.
   */
  readonly allowedOrigins?: readonly string[];
  /**
   * Host names by which clients and scrapers may ask for this node, besides IP addresses,
   * `localhost`, and the hosts of `listen` and `advertise`. Default: none.
   */
  readonly allowedHosts?: readonly string[];
  /** Whether the history of locks is written into the data directory. Default false. */
  readonly audit?: boolean;
  /** How long it is kept there. 1 minute – 100 years. Default 30 days. */
  readonly auditKeepMs?: number;
  /** Takes a line of JSON for every transition of the core; `-` is standard error. */
  readonly traceFile?: string;
  /** Gives up a start that waits for others. */
  readonly signal?: AbortSignal;
  readonly tuning?: Partial<NodeTuning>;
  readonly log?: Logger;
}

export interface NodeTuning {
  readonly electionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  readonly closedPeerDelayMs: number;
  readonly uncommittedBytesMax: number;
  readonly inflightBytesMax: number;
  readonly inflightMessagesMax: number;
  readonly appendBytesMax: number;
  /** Entries leave for voters that are not needed for a majority so much later; 0: at once. */
  readonly spareDelayMs: number;
  /** Entries proposed and not committed, beyond which commands wait to be batched. */
  readonly pipelineEntriesMax: number;
  /** Bytes of commands collected for one entry. */
  readonly batchBytesMax: number;
  /** Entries applied in one slice of the loop. */
  readonly applySliceEntriesMax: number;
  readonly segmentBytes: number;
  /** A snapshot is taken when so many bytes of entries were applied since the last one. */
  readonly snapshotLogBytes: number;
  /**
   * … and so many times the bytes of that one, so that large tables do not spend their time on
   * snapshots. Counts for nothing where only `snapshotLogBytes` is given.
   */
  readonly snapshotSizeFactor: number;
  /** Bytes of one chunk of a snapshot, which is written and sent at once. */
  readonly snapshotChunkBytes: number;
  /** So much of the log before a snapshot is kept, for followers that are only slow. */
  readonly trailingLogBytes: number;
  /** Changes of locks that are kept in memory, for watches and the history. */
  readonly changesMax: number;
  /** What these may take in memory, in bytes. */
  readonly changeBytesMax: number;
  /** Watches of clients of this node; one more is refused with `QUOTA`. */
  readonly watchesMax: number;
}

export const NODE_TUNING_DEFAULTS: NodeTuning = Object.freeze({
  electionTimeoutMs: 600,
  heartbeatIntervalMs: 100,
  closedPeerDelayMs: 50,
  uncommittedBytesMax: 32 << 20,
  inflightBytesMax: 8 << 20,
  inflightMessagesMax: 64,
  appendBytesMax: 1 << 20,
  spareDelayMs: 20,
  pipelineEntriesMax: 4,
  // A command of each of a thousand clients. A newcomer waits for a few entries, hence no more.
  batchBytesMax: 64 << 10,
  applySliceEntriesMax: 256,
  segmentBytes: 16 << 20,
  snapshotLogBytes: 64 << 20,
  snapshotSizeFactor: 2,
  snapshotChunkBytes: 256 << 10,
  trailingLogBytes: 16 << 20,
  // Some seconds at the highest rates, so that a watch goes on elsewhere after a change of leader.
  changesMax: 128 << 10,
  changeBytesMax: 32 << 20,
  watchesMax: 4_096,
});

/** A node that runs in this process. */
export interface RunningNode {
  readonly id: number;
  readonly endpoint: string;
  /** The port clients connect to, once known. */
  readonly clientPort: number;
  readonly peerPort: number;
  /** Resolves when the node ended: with the error that ended it, or undefined after `stop`. */
  readonly ended: Promise<Error | undefined>;
  /** Hands leadership over, tells clients to go elsewhere, closes the files. */
  stop(): Promise<void>;
}
