/**
 * The options of `holdfast server`. Their defaults for tuning repeat those of the node itself,
 * which is not loaded for a reference page; a test holds them against each other.
 */
import type { LogFormat } from "../output/node-log.js";
import { formatSize } from "../output/sizes.js";
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

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const MIB = 2 ** 20;
const TIB = 2 ** 40;

/** What `--snapshot-log-size` is at least when it is not given. */
export const SNAPSHOT_LOG_BYTES = 64 * MIB;

const IDENTITY = {
  id: requiredOption(nodeIdKind, "number of this node, for ever"),
  data: requiredOption(textKind("directory"), "where this node keeps its log"),
  initialCluster: option(
    nodeAddressesKind("members"),
    "all founding nodes with their peer addresses, the same on each: 1=host:port,2=host:port,…",
  ),
  join: option(
    endpointsKind,
    "instead, for a node that was added: any nodes of the cluster, separated by commas",
  ),
  clusterName: option(textKind("name"), "makes clusters with equal members different ones", {
    defaultText: "holdfast",
  }),
};

/** Of what starts nodes. The nodes check the origins themselves. */
export const ALLOW_ORIGIN = option(
  textsKind("origin"),
  "web pages that may connect, as https://ops.example; may be repeated",
  { defaultText: "none" },
);

const ADDRESSES = {
  listen: optionWithDefault(hostPortKind, "where clients connect", {
    host: "127.0.0.1",
    port: 7411,
  }),
  advertise: option(endpointKind, "what clients are told to connect to", {
    defaultText: "ws:// and --listen",
  }),
  peerListen: option(hostPortKind, "where the other nodes connect", {
    defaultText: "this node's address in --initial-cluster",
  }),
  peerAddress: option(
    {
      ...nodeAddressesKind("id=host:port"),
      merge: (before, next) => [...before, ...next],
    },
    "where this node dials that peer instead (proxies, NAT); may be repeated",
  ),
  allowHost: option(
    textsKind("name"),
    "host names by which this node may be asked for besides its own; may be repeated",
    { defaultText: "IP addresses, localhost, those of --listen and --advertise" },
  ),
  allowOrigin: ALLOW_ORIGIN,
  insecure: switchOption(
    "allow listening beyond this machine without encryption and authentication",
  ),
};

const KEEPING = {
  audit: switchOption("keep the history of locks in the data directory"),
  auditKeep: option(durationKind(MINUTE_MS, 36_500 * DAY_MS), "for how long", {
    defaultText: "30d",
  }),
  changesMax: optionWithDefault(
    wholeNumberKind(1, 100_000_000),
    "changes of locks kept in memory, for watches and the history",
    131_072,
  ),
  changesSize: optionWithDefault(
    sizeKind(64 * 1_024, TIB),
    "what these may take in memory",
    32 * MIB,
  ),
  watchesMax: optionWithDefault(
    wholeNumberKind(1, 1_000_000),
    "watches that the clients of this node may have",
    4_096,
  ),
  snapshotLogSize: option(
    sizeKind(MIB, TIB),
    "take a snapshot when so much log was applied since the last one",
    { defaultText: `${formatSize(SNAPSHOT_LOG_BYTES)}, or twice the last one if that is more` },
  ),
  trailingLogSize: optionWithDefault(
    sizeKind(64 * 1_024, TIB),
    "so much log before a snapshot is kept, for followers that are only slow",
    16 * MIB,
  ),
};

const PROCESS = {
  electionTimeout: optionWithDefault(
    durationKind(50, MINUTE_MS),
    "silence of the leader after which another is elected; the same on all nodes",
    600,
  ),
  heartbeatInterval: optionWithDefault(
    durationKind(5, 30 * SECOND_MS),
    "how often a leader that has nothing to say is heard",
    100,
  ),
  logFormat: optionWithDefault<LogFormat>(
    choiceKind("format", ["text", "json"]),
    "how log lines look: text or json",
    "text",
  ),
  trace: option(
    textKind("file"),
    "write a line of JSON for every transition of the protocol; -: standard error",
  ),
  stopOnStdinEnd: switchOption(
    "stop when standard input ends: ties the node to the process that started it",
    { reach: "flag" },
  ),
};

export const SERVER_OPTIONS = { ...IDENTITY, ...ADDRESSES, ...KEEPING, ...PROCESS };
