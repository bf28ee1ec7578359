/**
 * The options of one node: one interface with a line per field, one frozen object of defaults.
 */
import type { TlsVersion } from "../net/index.js";
import type { Logger, LogLevel } from "./ports.js";

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export interface Founder {
  readonly id: number;
  readonly address: HostPort;
}

export type NodeAccess = "required" | "open";

/**
 * What the clients of one identity, or from one address, may have and ask for at one node. 0: no
 * limit.
 */
export interface ClientLimits {
  readonly connectionsMax: number;
  /** Keepalives do not count, and what gives something back is counted but never refused. */
  readonly commandsPerSecondMax: number;
  /** In lines of holds and waiters; see `reads/query-answers.ts`. */
  readonly readCostPerSecondMax: number;
  readonly watchesMax: number;
  /** Memory for messages that have begun and not ended. */
  readonly unfinishedBytesMax: number;
}

export interface NodeOptions {
  /** This node's number, 1 … 2^32 − 1, for ever. */
  readonly id: number;
  /** Belongs to this node alone; created if it is missing. */
  readonly dataDirectory: string;
  /** Where clients connect. Port 0 picks a free one. */
  readonly listen: HostPort;
  /** The URL that clients are given for this node. Default: `ws://`, with TLS `wss://`, and `listen`. */
  readonly advertise?: string;
  /** Where peers connect. */
  readonly peerListen: HostPort;
  /**
   * The founding members, each with the address on which it listens for peers; the same on each of
   * them. Needed until the node has a snapshot of its own; later changes of the members do not
   * affect it.
   */
  readonly initialCluster?: readonly Founder[];
  /**
   * Endpoints of members of the cluster to which this node was added. Needed until a leader has
   * sent it the members. Not together with `initialCluster`.
   */
  readonly join?: readonly string[];
  /**
   * Resolves to an access token for `join`, which a closed cluster needs unless this node has a TLS
   * certificate; called at each attempt. It is sent through TLS or to this machine only.
   */
  readonly joinToken?: () => Promise<string | undefined>;
  /** Addresses at which this node dials a peer instead (proxies, NAT). */
  readonly peerAddresses?: ReadonlyMap<number, HostPort>;
  /** Separates clusters whose members are the same. Certificates name it. Default "holdfast". */
  readonly clusterName?: string;
  /**
   * PEM files: the certificate of this node, which names `holdfast://CLUSTER/node/ID`, with
   * intermediates after it; its key; and the authorities of the nodes. All three turn TLS on, on both
   * ports and in both directions between nodes. They are read again when they change.
   */
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsCa?: string;
  /** A PEM file with the authorities of clients, which are then asked for certificates. */
  readonly clientCa?: string;
  /** Whether clients without a certificate are refused. Default false. */
  readonly requireClientCert?: boolean;
  /** Default "1.3". */
  readonly tlsMinVersion?: TlsVersion;
  /** Where `/livez`, `/readyz` and `/metrics` are served in plain text too. Default: nowhere. */
  readonly healthListen?: HostPort;
  /** Where lock clients of Redis are served, with TLS as `listen`. Port 0 picks a free one. Default: nowhere. */
  readonly redisListen?: HostPort;
  /** The address that Redis clients are given for this node. Default: `redisListen`. */
  readonly redisAdvertise?: HostPort;
  /**
   * Where the node is a sentinel and nothing else, for Redis clients that tell sentinels from masters. They
   * are given the host of `redisAdvertise` or `redisListen`, with the port of this. Port 0 picks a free
   * one. Default: nowhere; `redisListen` answers as a sentinel, too.
   */
  readonly redisSentinelListen?: HostPort;
  /**
   * Redis clients may take locks without an expiry, if the setting `endlessLeases` allows it too.
   * Default false.
   */
  readonly redisAllowEndless?: boolean;
  /** DEL and EXPIRE of Redis clients end and move the lock of any value. Default false. */
  readonly redisAllowUnproven?: boolean;
  /**
   * Redis clients that ask again and again for a lock, with one value, are granted it in the order in
   * which they came. For clients that choose a random value for each lock only. Default false.
   */
  readonly redisFair?: boolean;
  /**
   * Each node confirms a lock once, as if it were a server of its own, so that clients of Redlock that
   * count the nodes of this cluster get their majority. For clients that choose a new value for each
   * acquire only: two programs with one value would both get the lock. Default false.
   */
  readonly redisRedlock?: boolean;
  /**
   * `required`: `anonymous` may do nothing at this node while the cluster is open, that is, while it may
   * do everything. Kept in the data directory, until `open` takes it back. Default: what the directory
   * says, otherwise "open".
   */
  readonly access?: NodeAccess;
  /** Allows listening beyond loopback where any program could take locks. Default false. */
  readonly insecure?: boolean;
  /**
   * Web pages that may connect, by origin as browsers send it: `https://ops.example`,
   * `http://localhost:3000`. Clients that are not web pages send no origin and need no entry.
   * Default: none.
   */
  readonly allowedOrigins?: readonly string[];
  /**
   * Host names by which clients and scrapers may address this node, in addition to IP addresses,
   * `localhost`, and the hosts of `listen` and `advertise`. Default: none.
   */
  readonly allowedHosts?: readonly string[];
  /**
   * Whether the client port serves the page for browsers, whose pages may then connect. Default true.
   */
  readonly dashboard?: boolean;
  /**
   * The loopback address of the process that started this node and that its page may ask to stop and
   * start nodes: for clusters to try out. Default: none.
   */
  readonly dashboardControl?: HostPort;
  /** Whether what exceeds a limit of clients is refused or only counted. Default "enforce". */
  readonly limits?: "enforce" | "observe";
  /** Limits of the clients of each identity. Defaults: `clientLimits` in `limits/defaults.ts`. */
  readonly identityLimits?: Partial<ClientLimits>;
  /** Limits of the clients from each address; in IPv6, from each network of 64 bits. */
  readonly addressLimits?: Partial<ClientLimits>;
  /** Whether the history of locks is written into the data directory. Default false. */
  readonly audit?: boolean;
  /** How long it is kept there. 1 minute – 100 years. Default 30 days. */
  readonly auditKeepMs?: number;
  /**
   * What its records may take there, in bytes; the oldest ones go before their age. 1 MiB – 1 PiB.
   * Default 4 GiB.
   */
  readonly auditBytesMax?: number;
  /**
   * Prefixes of keys whose waits and holds `/metrics` shows apart, each as a value of the label
   * `prefix`; all other keys are `other`. At most 20 of 1 – 512 bytes, each once. Default: none.
   */
  readonly metricsPrefixes?: readonly string[];
  /** Receives a line of JSON for every transition of the core; `-` is standard error. */
  readonly traceFile?: string;
  /** Ends a start that waits for other nodes. */
  readonly signal?: AbortSignal;
  readonly tuning?: Partial<NodeTuning>;
  readonly log?: Logger;
  /** Lines of a lower level are not logged. Operators can change it for a while. Default "info". */
  readonly logLevel?: LogLevel;
}

export interface NodeTuning {
  readonly electionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  readonly closedPeerDelayMs: number;
  readonly uncommittedBytesMax: number;
  readonly inflightBytesMax: number;
  readonly inflightMessagesMax: number;
  readonly appendBytesMax: number;
  /** Delay before entries are sent to voters that no majority needs; 0: none. */
  readonly spareDelayMs: number;
  /** Entries that may be proposed and uncommitted before commands wait to be batched. */
  readonly pipelineEntriesMax: number;
  /** Bytes of commands collected for one entry. */
  readonly batchBytesMax: number;
  /** Entries applied in one slice of the loop. */
  readonly applySliceEntriesMax: number;
  readonly segmentBytes: number;
  /** A snapshot is taken when more bytes of entries than this were applied since the last one … */
  readonly snapshotLogBytes: number;
  /**
   * … and more than this many times the bytes of that one, so that a large table is not always
   * being written. 0 if only `snapshotLogBytes` is given.
   */
  readonly snapshotSizeFactor: number;
  /** Bytes of one chunk of a snapshot, which is written and sent as a unit. */
  readonly snapshotChunkBytes: number;
  /** Bytes of the log before a snapshot that are kept for followers that are only slow. */
  readonly trailingLogBytes: number;
  /** Changes of locks that are kept in memory, for watches and the history. */
  readonly changesMax: number;
  /** Memory that these may use, in bytes. */
  readonly changeBytesMax: number;
  /** Watches of the clients of this node; any further watch is refused with `QUOTA`. */
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
  // One command from each of a thousand clients. A new command waits for a few entries, so not
  // more.
  batchBytesMax: 64 << 10,
  applySliceEntriesMax: 256,
  segmentBytes: 16 << 20,
  snapshotLogBytes: 64 << 20,
  snapshotSizeFactor: 2,
  snapshotChunkBytes: 256 << 10,
  trailingLogBytes: 16 << 20,
  // Some seconds at the highest rates, so that a watch can go on at another node after a change of
  // leader.
  changesMax: 128 << 10,
  changeBytesMax: 32 << 20,
  watchesMax: 4_096,
});

/** A node that runs in this process. */
export interface RunningNode {
  readonly id: number;
  readonly endpoint: string;
  /** The port clients connect to, once it is known. */
  readonly clientPort: number;
  readonly peerPort: number;
  /** The port of Redis clients; 0 if it serves none. */
  readonly redisPort: number;
  /** The port that is a sentinel only; 0 if there is none. */
  readonly redisSentinelPort: number;
  /** Resolves when the node has ended: with the error that ended it, or undefined after `stop`. */
  readonly ended: Promise<Error | undefined>;
  /** Reads the TLS files again now. Does nothing without TLS. */
  reloadTls(): Promise<void>;
  /** Hands leadership over, sends clients to other nodes, and closes the files. */
  stop(): Promise<void>;
}
