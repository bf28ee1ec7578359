/**
 * The table of all configurable options. Flags, environment variables, keys of a file, `holdfast
 * config print` and the reference page are made from it and from nothing else.
 */
import { DEFAULT_ENDPOINTS } from "../text/addresses.js";
import { CERTIFICATE_OPTIONS } from "./certificate-options.js";
import {
  type OptionDefinitions,
  option,
  optionWithDefault,
  switchOption,
} from "./option-definition.js";
import { durationKind, endpointsKind, textKind, wholeNumberKind } from "./option-kinds.js";
import { RESTORE_OPTIONS } from "./restore-options.js";
import { LEASE_OPTIONS, RUN_OPTIONS } from "./run-options.js";
import { SERVER_OPTIONS } from "./server-options.js";
import { TOKEN_OPTIONS } from "./token-options.js";

export { LEASE_OPTIONS, RESTORE_OPTIONS, RUN_OPTIONS, SERVER_OPTIONS };

const HOUR_MS = 3_600_000;
const PORT_MAX = 65_535;
const LOCAL_NODES_MAX = 7;

export const FILE_OPTIONS = {
  config: option(textKind("file"), "a JSON file with options", { reach: "outsideFiles" }),
};

export const CONNECTION_OPTIONS = {
  endpoints: optionWithDefault(
    endpointsKind,
    "nodes to connect to, separated by commas",
    DEFAULT_ENDPOINTS,
    { defaultText: "ws://127.0.0.1:7411 to :7413" },
  ),
  connectTimeout: optionWithDefault(
    durationKind(1, HOUR_MS),
    "how long to look for a node that serves",
    10_000,
  ),
  local: option(
    textKind("directory"),
    "data directory of a node on this machine: connect through its socket, with every permission",
    { reach: "flag" },
  ),
  ca: option(textKind("file"), "the CA of the cluster, for wss:// endpoints", {
    defaultText: "those that Node.js trusts",
  }),
  cert: option(textKind("file"), "certificate of this client, for wss:// endpoints"),
  // Not `key`: HOLDFAST_KEY is the key of the lock under which `run` starts a command.
  certKey: option(textKind("file"), "its private key"),
  ...TOKEN_OPTIONS,
};

const { redisAllowEndless, redisAllowUnproven, redisFair, redisRedlock, allowOrigin } =
  SERVER_OPTIONS;

export const CLUSTER_OPTIONS = {
  nodes: option(wholeNumberKind(1, LOCAL_NODES_MAX), "number of nodes", {
    defaultText: "as in the data, or 3",
  }),
  data: optionWithDefault(textKind("directory"), "where the nodes keep their data", ".holdfast"),
  port: optionWithDefault(
    wholeNumberKind(0, PORT_MAX),
    "client port of the first node; 0: any free ports",
    7411,
  ),
  peerPort: option(wholeNumberKind(0, PORT_MAX), "peer port of the first node; 0: any free ports", {
    defaultText: "as in the data, or 7511",
  }),
  redis: switchOption("serve lock clients of Redis too"),
  redisPort: option(
    wholeNumberKind(0, PORT_MAX),
    "with --redis: port for Redis clients of the first node; 0: any free ports",
    { defaultText: "7611, or any with --port 0" },
  ),
  redisSentinelPort: option(
    wholeNumberKind(0, PORT_MAX),
    "with --redis: port of the first node that is a sentinel only; 0: any free ports",
    { defaultText: "nowhere" },
  ),
  redisAllowEndless,
  redisAllowUnproven,
  redisFair,
  redisRedlock,
  allowOrigin,
  tls: switchOption("TLS on all ports, with a private CA in certs in the data directory"),
  requireClientCert: {
    ...SERVER_OPTIONS.requireClientCert,
    description: "with --tls: refuse clients without a certificate",
  },
  restart: switchOption("restart nodes that die"),
  json: switchOption("print one line of JSON when the cluster is ready", { reach: "flag" }),
  stopOnStdinEnd: switchOption("stop when standard input ends", { reach: "flag" }),
};

const { wait, priority, ttl, maxHold, killGrace, conflictExitCode, quiet } = RUN_OPTIONS;

/** A campaign is a run with the election's lock. */
export const ELECT_OPTIONS = {
  wait,
  priority,
  ttl,
  maxHold,
  killGrace,
  conflictExitCode,
  quiet,
};

export interface OptionSection {
  readonly title: string;
  /** The command that has these options; `undefined`: all commands but those in `without`. */
  readonly command: string | undefined;
  readonly without?: readonly string[];
  readonly options: OptionDefinitions;
}

export const OPTION_TABLE: readonly OptionSection[] = [
  {
    title: "Every command",
    command: undefined,
    options: FILE_OPTIONS,
  },
  {
    title: "Commands that connect to a cluster",
    command: undefined,
    without: ["server", "cluster", "cert"],
    options: CONNECTION_OPTIONS,
  },
  { title: "holdfast run", command: "run", options: RUN_OPTIONS },
  { title: "holdfast elect", command: "elect", options: ELECT_OPTIONS },
  { title: "holdfast lease", command: "lease", options: LEASE_OPTIONS },
  { title: "holdfast server", command: "server", options: SERVER_OPTIONS },
  { title: "holdfast cluster", command: "cluster", options: CLUSTER_OPTIONS },
  { title: "holdfast snapshot restore", command: "snapshot", options: RESTORE_OPTIONS },
  { title: "holdfast cert", command: "cert", options: CERTIFICATE_OPTIONS },
];

/** The options of a command, including those that it shares with others. */
export function sectionsFor(name: string): readonly OptionSection[] {
  return OPTION_TABLE.filter(({ command, without }) =>
    command === undefined ? without?.includes(name) !== true : command === name,
  );
}
