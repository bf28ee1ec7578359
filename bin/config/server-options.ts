/**
 * The options of `holdfast server`. The defaults for tuning repeat those of the node itself, which
 * is not loaded for a reference page; a test compares them.
 */
import type { LogLevel } from "../../src/index.js";
import type { LogFormat } from "../output/node-log.js";
import { formatSize } from "../text/sizes.js";
import { clientLimitsKind } from "./client-limits-kind.js";
import { option, optionWithDefault, requiredOption, switchOption } from "./option-definition.js";
import {
  choiceKind,
  durationKind,
  endpointKind,
  endpointsKind,
  hostPortKind,
  nodeAddressesKind,
  nodeIdKind,
  sizeKind,
  textKind,
  textsKind,
  wholeNumberKind,
} from "./option-kinds.js";
import { JOIN_TOKEN_OPTIONS } from "./token-options.js";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const MIB = 2 ** 20;
const TIB = 2 ** 40;

const CLIENT_LIMITS_DEFAULT = "reads=500000, commands none; of the rest three quarters";

/** The smallest default of `--snapshot-log-size`. */
export const SNAPSHOT_LOG_BYTES = 64 * MIB;

const IDENTITY = {
  id: requiredOption(nodeIdKind, "id of this node; never changes"),
  data: requiredOption(textKind("directory"), "directory for the data of this node"),
  initialCluster: option(
    nodeAddressesKind("members"),
    "all founding nodes and their peer addresses, the same on each node: 1=host:port,2=…",
  ),
  join: option(
    endpointsKind,
    "for a node that was added: any nodes of the cluster, separated by commas",
  ),
  ...JOIN_TOKEN_OPTIONS,
  clusterName: option(
    textKind("name"),
    "distinguishes clusters with the same members; certificates name it",
    { defaultText: "holdfast" },
  ),
};

/** For commands that start nodes. The nodes check the origins themselves. */
export const ALLOW_ORIGIN = option(
  textsKind("origin"),
  "origin of web pages that can connect, such as https://ops.example; can be repeated",
  { defaultText: "none" },
);

const ADDRESSES = {
  listen: optionWithDefault(hostPortKind, "address for clients", {
    host: "127.0.0.1",
    port: 7411,
  }),
  advertise: option(endpointKind, "the URL that clients are told", {
    defaultText: "ws:// (with TLS wss://) and --listen",
  }),
  peerListen: option(hostPortKind, "address for the other nodes", {
    defaultText: "this node's address in --initial-cluster",
  }),
  peerAddress: option(
    {
      ...nodeAddressesKind("id=host:port"),
      merge: (before, next) => [...before, ...next],
    },
    "address at which this node dials a peer instead (proxies, NAT); can be repeated",
  ),
  allowHost: option(
    textsKind("name"),
    "additional host names of this node in requests; can be repeated",
    { defaultText: "IP addresses, localhost, the hosts of --listen and --advertise" },
  ),
  allowOrigin: ALLOW_ORIGIN,
  dashboard: optionWithDefault<"on" | "off">(
    choiceKind("mode", ["on", "off"]),
    "serve the page for browsers on --listen (on), or not (off)",
    "on",
  ),
  dashboardControl: option(
    hostPortKind,
    "the process of this machine that the page may ask to stop nodes: set by holdfast cluster",
    { defaultText: "none" },
  ),
  healthListen: option(hostPortKind, "address for /livez, /readyz and /metrics in plain text", {
    defaultText: "nowhere",
  }),
  access: option(
    choiceKind("mode", ["required", "open"]),
    "required: clients without a name may do nothing here while the cluster is open; open: they may",
    { defaultText: "that of the last start, or open" },
  ),
  insecure: switchOption(
    "allow listening beyond this machine without encryption, or to clients without a name",
  ),
};

/** What the port does for its clients: the same for all nodes of a cluster. */
export const REDIS_RULES = {
  redisAllowEndless: switchOption(
    "Redis clients may take locks without an expiry, if the setting endlessLeases allows it too",
  ),
  redisAllowUnproven: switchOption(
    "DEL and EXPIRE of Redis clients count for the lock of any value, without a proof",
  ),
  redisFair: switchOption(
    "grant locks in order to Redis clients that ask repeatedly with one random value",
  ),
  redisRedlock: switchOption(
    "let each node confirm a lock once, for clients of Redlock with a new value for each acquire",
  ),
};

const REDIS = {
  redisListen: option(hostPortKind, "address for lock clients of Redis, with TLS as --listen", {
    defaultText: "nowhere",
  }),
  redisAdvertise: option(hostPortKind, "the address that Redis clients are told", {
    defaultText: "--redis-listen",
  }),
  redisSentinelListen: option(
    hostPortKind,
    "address that is a sentinel only, for Redis clients that tell sentinels from masters",
    { defaultText: "nowhere" },
  ),
  ...REDIS_RULES,
};

const TLS = {
  tlsCert: option(
    textKind("file"),
    "PEM file with the certificate of this node; turns TLS on, with --tls-key and --tls-ca",
  ),
  tlsKey: option(textKind("file"), "PEM file with its private key"),
  tlsCa: option(textKind("file"), "PEM file with the CAs of the nodes"),
  tlsMinVersion: option(
    choiceKind("version", ["1.2", "1.3"]),
    "the oldest version of TLS that is accepted: 1.2 or 1.3",
    { defaultText: "1.3" },
  ),
  clientCa: option(
    textKind("file"),
    "PEM file with the CAs of clients, which are then asked for certificates",
  ),
  requireClientCert: switchOption("refuse clients without a certificate"),
};

const LIMITS = {
  limits: optionWithDefault<"enforce" | "observe">(
    choiceKind("mode", ["enforce", "observe"]),
    "refuse what exceeds the next two options (enforce) or only count it (observe)",
    "enforce",
  ),
  identityLimit: option(
    clientLimitsKind,
    "what clients of one identity may have and do at this node; can be repeated",
    { defaultText: CLIENT_LIMITS_DEFAULT },
  ),
  addressLimit: option(
    clientLimitsKind,
    "the same for clients from one address, except this machine; can be repeated",
    { defaultText: "the same" },
  ),
};

const KEEPING = {
  audit: switchOption("keep the history of locks in the data directory"),
  auditKeep: option(durationKind(MINUTE_MS, 36_500 * DAY_MS), "how long the audit is kept", {
    defaultText: "30d",
  }),
  auditMaxSize: option(
    sizeKind(MIB, 1_024 * TIB),
    "what the audit may take: its oldest records go before their age",
    { defaultText: "4GiB" },
  ),
  changesMax: optionWithDefault(
    wholeNumberKind(1, 100_000_000),
    "number of changes kept in memory, for watches and the history",
    131_072,
  ),
  changesSize: optionWithDefault(sizeKind(64 * 1_024, TIB), "memory for these changes", 32 * MIB),
  watchesMax: optionWithDefault(
    wholeNumberKind(1, 1_000_000),
    "maximum number of watches of this node's clients",
    4_096,
  ),
  snapshotLogSize: option(
    sizeKind(MIB, TIB),
    "take a snapshot after this much log has been applied since the last one",
    { defaultText: `${formatSize(SNAPSHOT_LOG_BYTES)}, or twice the last one if that is more` },
  ),
  trailingLogSize: optionWithDefault(
    sizeKind(64 * 1_024, TIB),
    "how much log is kept before a snapshot, for slow followers",
    16 * MIB,
  ),
};

const PROCESS = {
  metricsPrefix: option(
    textsKind("prefix"),
    "prefix of keys that is measured apart in /metrics, such as orders/; at most 20, can be repeated",
    { defaultText: "none" },
  ),
  electionTimeout: optionWithDefault(
    durationKind(50, MINUTE_MS),
    "silence of the leader after which another one is elected; the same on all nodes",
    600,
  ),
  heartbeatInterval: optionWithDefault(
    durationKind(5, 30 * SECOND_MS),
    "time between heartbeats of an idle leader",
    100,
  ),
  logFormat: optionWithDefault<LogFormat>(
    choiceKind("format", ["text", "json"]),
    "format of log lines: text or json",
    "text",
  ),
  logLevel: optionWithDefault<LogLevel>(
    choiceKind("level", ["debug", "info", "warn", "error"]),
    "log lines of this level and above; holdfast log-level changes it for a while",
    "info",
  ),
  trace: option(
    textKind("file"),
    "write a JSON line for every transition of the protocol; -: standard error",
  ),
  stopOnStdinEnd: switchOption(
    "stop when standard input ends, which ties the node to the process that started it",
    { reach: "flag" },
  ),
};

export const SERVER_OPTIONS = {
  ...IDENTITY,
  ...ADDRESSES,
  ...REDIS,
  ...TLS,
  ...LIMITS,
  ...KEEPING,
  ...PROCESS,
};
