/**
 * All options of one node: a new option is one row here, and the place that uses it. From the rows
 * follow the types and defaults, what the node refuses, the flags, variables and keys of files of
 * `holdfast server` with their help, and `docs/reference/options.md`. Every command loads this table
 * when it starts, so that it may import nothing of the node.
 */
import { LOG_LEVELS } from "../protocol/log-level.js";
import { judgeHostName, judgeOrigin } from "./judges.js";
import {
  choice,
  clientLimits,
  duration,
  endpoint,
  endpoints,
  hostPort,
  nodeAddresses,
  nodeId,
  onOff,
  size,
  text,
  texts,
  wholeNumber,
} from "./kinds.js";
import { internal, row, toggle, tuning } from "./rows.js";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const KIB = 2 ** 10;
const MIB = 2 ** 20;
const GIB = 2 ** 30;
const TIB = 2 ** 40;
/** Each is a set of series in `/metrics`. */
const METRICS_PREFIXES_MAX = 20;
const CLUSTER_NAME_LENGTH_MAX = 128;

/** For internals, which nobody types. Milliseconds and factors may have fractions. */
const amount = duration(1, Number.MAX_SAFE_INTEGER);
const bytes = size(1, Number.MAX_SAFE_INTEGER);
const count = wholeNumber(1, Number.MAX_SAFE_INTEGER);

const withRedis = { needs: { options: ["redisListen"], because: "nothing is served to Redis" } };
const TLS_FILES = ["tlsCert", "tlsKey", "tlsCa"] as const;

const TLS_TOGETHER = { options: TLS_FILES, because: "TLS needs all three" };
const withTls = { needs: { options: TLS_FILES, because: "TLS is off" } };

const IDENTITY = {
  id: row(nodeId, "id of this node; never changes", { isRequired: true }),
  /** Belongs to this node alone; created if it is missing. */
  dataDirectory: row(text("directory"), "directory for the data of this node", {
    isRequired: true,
    flag: "data",
  }),
  /** Needed until the node has a snapshot of its own; later changes of members do not affect it. */
  initialCluster: row(
    nodeAddresses("members", false),
    "all founding nodes and their peer addresses, the same on each node: 1=host:port,2=…",
  ),
  /** Needed until a leader has sent this node the members. */
  join: row(endpoints, "for a node that was added: any nodes of the cluster, separated by commas", {
    excludes: { option: "initialCluster", because: "a node founds a cluster or joins one" },
  }),
  clusterName: row(
    text("name", CLUSTER_NAME_LENGTH_MAX),
    "distinguishes clusters with the same members; certificates name it",
    { defaultValue: "holdfast" },
  ),
};

const ADDRESSES = {
  listen: row(hostPort(0), "address for clients", {
    defaultValue: { host: "127.0.0.1", port: 7411 },
    listensFor: "clients",
  }),
  advertise: row(endpoint, "the URL that clients are given", {
    defaultText: "ws:// (with TLS wss://) and --listen",
  }),
  peerListen: row(hostPort(0), "address for the other nodes", {
    defaultText: "this node's address in --initial-cluster",
    listensFor: "peers",
  }),
  peerAddresses: row(
    nodeAddresses("id=host:port", true),
    "address at which this node dials a peer instead (proxies, NAT); can be repeated",
    { flag: "peerAddress" },
  ),
  allowedHosts: row(
    texts("name", judgeHostName),
    "additional host names of this node in requests; can be repeated",
    {
      flag: "allowHost",
      defaultText: "IP addresses, localhost, the hosts of --listen and --advertise",
    },
  ),
  /** Clients that are not web pages send no origin and need no entry. */
  allowedOrigins: row(
    texts("origin", judgeOrigin),
    "origin of web pages that can connect, such as https://ops.example; can be repeated",
    { flag: "allowOrigin", defaultText: "none" },
  ),
  dashboard: row(onOff, "serve the dashboard on --listen (on), or not (off)", {
    defaultValue: true,
  }),
  dashboardControl: row(
    hostPort(1),
    "the process of this machine that the dashboard may ask to stop nodes: set by holdfast cluster",
    { defaultText: "none" },
  ),
  healthListen: row(hostPort(0), "address for /livez, /readyz and /metrics in plain text", {
    defaultText: "nowhere",
    listensFor: "scrapers",
  }),
  /** Kept in the data directory, until "open" takes it back. */
  access: row(
    choice("mode", ["required", "open"]),
    "required: clients without a name may do nothing here while the cluster is open; open: they may",
    { defaultText: "the mode of the last start, or open" },
  ),
  insecure: toggle(
    "allow listening beyond this machine without encryption, or to clients without a name",
  ),
};

/** What the port does for its clients, which must not differ between the nodes of a cluster. */
const REDIS_RULES = {
  redisAllowEndless: toggle(
    "Redis clients may take locks without an expiry, if the setting endlessLeases allows it too",
    withRedis,
  ),
  redisAllowUnproven: toggle(
    "DEL and EXPIRE of Redis clients count for the lock of any value, without a proof",
    withRedis,
  ),
  /** For clients that choose a random value for each lock only. */
  redisFair: toggle(
    "grant locks in order to Redis clients that ask repeatedly with one random value",
    {
      ...withRedis,
      excludes: {
        option: "redisRedlock",
        because: "a waiter has one place, not one at each node",
      },
    },
  ),
  /**
   * Clients of Redlock count the nodes of this cluster, and so get their majority. Two programs with
   * one value would both get the lock.
   */
  redisRedlock: toggle(
    "let each node confirm a lock once, for clients of Redlock with a new value for each acquire",
    withRedis,
  ),
};

const REDIS = {
  redisListen: row(hostPort(0), "address for lock clients of Redis, with TLS as --listen", {
    defaultText: "nowhere",
    listensFor: "clients",
  }),
  redisAdvertise: row(hostPort(1), "the address that Redis clients are given", {
    ...withRedis,
    defaultText: "--redis-listen",
  }),
  /** Its clients are given the host of `redisAdvertise` or `redisListen`, with the port of this. */
  redisSentinelListen: row(
    hostPort(0),
    "address that is a sentinel only, for Redis clients that distinguish sentinels from masters",
    { ...withRedis, defaultText: "nowhere", listensFor: "clients" },
  ),
  ...REDIS_RULES,
};

/** The files are read again when they change. */
const TLS = {
  /** Names `holdfast://CLUSTER/node/ID`; intermediates come after it. */
  tlsCert: row(
    text("file"),
    "PEM file with the certificate of this node; turns TLS on, with --tls-key and --tls-ca",
    { needs: TLS_TOGETHER },
  ),
  tlsKey: row(text("file"), "PEM file with its private key", { needs: TLS_TOGETHER }),
  tlsCa: row(text("file"), "PEM file with the CAs of the nodes", { needs: TLS_TOGETHER }),
  tlsMinVersion: row(
    choice("version", ["1.2", "1.3"]),
    "the oldest version of TLS that is accepted: 1.2 or 1.3",
    { ...withTls, defaultValue: "1.3" },
  ),
  clientCa: row(
    text("file"),
    "PEM file with the CAs of clients, which are then asked for certificates",
    withTls,
  ),
  requireClientCert: toggle("refuse clients without a certificate", {
    needs: { options: [...TLS_FILES, "clientCa"], because: "no certificate could be verified" },
  }),
};

/** Where nothing is said, `clientLimits` in `src/server/limits/defaults.ts` decides. */
const LIMITS = {
  limits: row(
    choice("mode", ["enforce", "observe"]),
    "refuse what exceeds the next two options (enforce) or only count it (observe)",
    { defaultValue: "enforce" },
  ),
  identityLimits: row(
    clientLimits,
    "what clients of one identity may have and do at this node; can be repeated",
    {
      flag: "identityLimit",
      defaultText: "reads=500000, commands none; of the rest three quarters",
    },
  ),
  /** In IPv6, an address is a network of 64 bits. */
  addressLimits: row(
    clientLimits,
    "what clients from one address may have and do, except this machine; can be repeated",
    { flag: "addressLimit", defaultText: "the same" },
  ),
};

const withAudit = { needs: { options: ["audit"], because: "there is nothing to keep" } };

const KEEPING = {
  audit: toggle("keep the history of locks in the data directory"),
  auditKeepMs: row(duration(MINUTE_MS, 36_500 * DAY_MS), "how long the audit is kept", {
    ...withAudit,
    flag: "auditKeep",
    defaultValue: 30 * DAY_MS,
  }),
  auditBytesMax: row(
    size(MIB, 1_024 * TIB),
    "what the audit may take: its oldest records go before their age",
    { ...withAudit, flag: "auditMaxSize", defaultValue: 4 * GIB },
  ),
  // Some seconds at the highest rates, so that a watch can go on at another node after a change of
  // leader.
  changesMax: tuning(
    wholeNumber(1, 100_000_000),
    "number of changes kept in memory, for watches and the history",
    128 * KIB,
  ),
  changeBytesMax: tuning(size(64 * KIB, TIB), "memory for these changes", 32 * MIB, {
    flag: "changesSize",
  }),
  /** Any further watch is refused with `QUOTA`. */
  watchesMax: tuning(
    wholeNumber(1, 1_000_000),
    "maximum number of watches of this node's clients",
    4_096,
  ),
  /** If it is given, `snapshotSizeFactor` is 0 unless that is given too. */
  snapshotLogBytes: tuning(
    size(MIB, TIB),
    "take a snapshot after this much log has been applied since the last one",
    64 * MIB,
    {
      flag: "snapshotLogSize",
      defaultText: "64MiB, or twice the last one if that is more",
    },
  ),
  trailingLogBytes: tuning(
    size(64 * KIB, TIB),
    "how much log is kept before a snapshot, for slow followers",
    16 * MIB,
    {
      flag: "trailingLogSize",
      atMost: [{ option: "snapshotLogBytes", because: "a snapshot would free nothing" }],
    },
  ),
};

const PROCESS = {
  metricsPrefixes: row(
    texts("prefix", () => undefined, METRICS_PREFIXES_MAX),
    "prefix of keys that is measured apart in /metrics, such as orders/; at most 20, can be repeated",
    { flag: "metricsPrefix", defaultText: "none" },
  ),
  electionTimeoutMs: tuning(
    duration(50, MINUTE_MS),
    "silence of the leader after which another one is elected; the same on all nodes",
    600,
    { flag: "electionTimeout" },
  ),
  heartbeatIntervalMs: tuning(
    duration(20, 30 * SECOND_MS),
    "time between heartbeats of an idle leader",
    100,
    {
      flag: "heartbeatInterval",
      atMost: [
        {
          option: "electionTimeoutMs",
          isHalf: true,
          because: "followers would not wait that long",
        },
      ],
    },
  ),
  /** Operators can change it for a while. */
  logLevel: row(
    choice("level", LOG_LEVELS),
    "log lines of this level and above; holdfast log-level changes it for a while",
    { defaultValue: "info" },
  ),
  traceFile: row(
    text("file"),
    "write a JSON line for every transition of the protocol; -: standard error",
    { flag: "trace" },
  ),
};

const INTERNALS = {
  closedPeerDelayMs: internal(amount, 50, [{ option: "electionTimeoutMs" }]),
  uncommittedBytesMax: internal(bytes, 32 * MIB),
  inflightBytesMax: internal(bytes, 8 * MIB),
  inflightMessagesMax: internal(count, 64),
  appendBytesMax: internal(bytes, MIB, [{ option: "inflightBytesMax" }]),
  /** Delay before entries are sent to voters that no majority needs; 0: none. */
  spareDelayMs: internal(duration(0, Number.MAX_SAFE_INTEGER), 20, [
    { option: "heartbeatIntervalMs" },
  ]),
  /** Entries that may be proposed and uncommitted before commands wait to be batched. */
  pipelineEntriesMax: internal(count, 4),
  /**
   * Bytes of commands collected for one entry: one command from each of a thousand clients. A new
   * command waits for a few entries, so not more.
   */
  batchBytesMax: internal(bytes, 64 * KIB, [
    { option: "uncommittedBytesMax" },
    { option: "segmentBytes", isHalf: true },
  ]),
  /** Entries applied in one slice of the loop. */
  applySliceEntriesMax: internal(count, 256),
  segmentBytes: internal(bytes, 16 * MIB),
  /**
   * A snapshot is taken only when the log since the last one is this many times as large as that
   * one, so that a large table is not always being written. 0 if only `snapshotLogBytes` is given.
   */
  snapshotSizeFactor: internal(amount, 2),
  /** Bytes of one chunk of a snapshot, which is written and sent as a unit. */
  snapshotChunkBytes: internal(bytes, 256 * KIB),
};

export const NODE_OPTIONS = {
  ...IDENTITY,
  ...ADDRESSES,
  ...REDIS,
  ...TLS,
  ...LIMITS,
  ...KEEPING,
  ...PROCESS,
  ...INTERNALS,
};

/** The names of the options that all nodes serving one kind of Redis clients must share. */
export const REDIS_RULE_NAMES = Object.keys(REDIS_RULES) as readonly (keyof typeof REDIS_RULES)[];
