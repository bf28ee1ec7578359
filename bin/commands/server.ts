/**
 * `holdfast server`: one node in the foreground until it is told to stop. Everything it has to say
 * goes to standard error as log lines; its last line, when it cannot start or go on, begins with
 * `holdfast: ` like every other command's. Flags win over their environment variables.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import { HoldfastError } from "../../src/errors.js";
import type { HostPort, NodeOptions, RunningNode } from "../../src/server/index.js";
import {
  formatHostPort,
  type NodeAddress,
  parseEndpoint,
  parseEndpoints,
  parseHostPort,
  parseNodeAddresses,
  parseNodeId,
} from "../addresses.js";
import { examplesText, explained } from "../command-options.js";
import { parseDuration } from "../durations.js";
import { EXIT } from "../exit-codes.js";
import { Failure } from "../failure.js";
import { exitNow } from "../last-resort.js";
import { createLogger, type LogFormat } from "../node-log.js";
import { startFailure } from "../start-failure.js";
import { StopRequest } from "../stop-request.js";
import { note } from "../terminal.js";

/** How long a stop that nobody supervises may take (see `--stop-on-stdin-end`). */
const UNATTENDED_STOP_MS_MAX = 10_000;
const AUDIT_KEEP_MS_MIN = 60_000;
const AUDIT_KEEP_MS_MAX = 100 * 365 * 86_400_000;

export interface ServerFlags {
  readonly id: number;
  readonly data: string;
  readonly listen: HostPort;
  readonly advertise?: string;
  readonly peerListen?: HostPort;
  readonly initialCluster?: readonly NodeAddress[];
  readonly join?: readonly string[];
  readonly peerAddress?: readonly NodeAddress[];
  readonly clusterName?: string;
  readonly insecure?: boolean;
  readonly audit?: boolean;
  readonly auditKeep?: number;
  readonly logFormat: LogFormat;
  readonly trace?: string;
  readonly stopOnStdinEnd?: boolean;
}

/** Switches: their variables may also say no. */
const SWITCH_VARIABLES = ["HOLDFAST_INSECURE", "HOLDFAST_AUDIT"] as const;
const MEMBERS = "1=a:7511,2=b:7511,3=c:7511";

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast server --id 1 --data n1 --initial-cluster 1=127.0.0.1:7511", "a cluster of one"],
  [`holdfast server --id 1 --data n1 --initial-cluster ${MEMBERS} \\`, "one of three,"],
  ["    --listen a:7411 --insecure", "on host a"],
  ["holdfast server --id 4 --data n4 --join ws://a:7411,ws://b:7411 \\", "a node that was added"],
  ["    --peer-listen d:7511 --listen d:7411 --insecure", "(holdfast member add 4 d:7511)"],
];

const NOTES = `
A node founds a cluster (--initial-cluster) or joins one (--join). Data that are there already say
by themselves to which cluster they belong.

Stopping: SIGTERM, SIGINT or SIGHUP stop the node in good order (exit code 0): a leader hands over
to another node first. A second one ends it at once.

Every option may also come from the environment: HOLDFAST_ID, HOLDFAST_DATA and so on.`;

export function defineServer(command: Command, finish: (exitCode: number) => void): void {
  tidyEnvironment();
  command.addHelpText("before", examplesText(EXAMPLES));
  addIdentityOptions(command);
  addAddressOptions(command);
  addAuditOptions(command);
  addProcessOptions(command);
  command
    .addHelpText("after", NOTES)
    .action(async () => finish(await serve(command.opts<ServerFlags>())));
}

function addIdentityOptions(command: Command): void {
  command
    .addOption(
      variableOption("--id <n>", "number of this node, for ever", "ID")
        .argParser(explained(parseNodeId))
        .makeOptionMandatory(),
    )
    .addOption(
      variableOption(
        "--data <directory>",
        "where this node keeps its log",
        "DATA",
      ).makeOptionMandatory(),
    )
    .addOption(
      variableOption(
        "--initial-cluster <members>",
        "all founding nodes with their peer addresses, the same on each: 1=host:port,2=host:port,…",
        "INITIAL_CLUSTER",
      ).argParser(explained(parseNodeAddresses)),
    )
    .addOption(
      variableOption(
        "--join <endpoints>",
        "instead, for a node that was added: any nodes of the cluster, separated by commas",
        "JOIN",
      ).argParser(explained(parseEndpoints)),
    )
    .addOption(
      variableOption(
        "--cluster-name <name>",
        "makes clusters with equal members different ones (default: holdfast)",
        "CLUSTER_NAME",
      ),
    );
}

function addAddressOptions(command: Command): void {
  command
    .addOption(
      variableOption("--listen <host:port>", "where clients connect", "LISTEN")
        .argParser(explained(parseHostPort))
        .default({ host: "127.0.0.1", port: 7411 }, "127.0.0.1:7411"),
    )
    .addOption(
      variableOption(
        "--advertise <url>",
        "what clients are told to connect to (default: ws:// and --listen)",
        "ADVERTISE",
      ).argParser(explained(parseEndpoint)),
    )
    .addOption(
      variableOption(
        "--peer-listen <host:port>",
        "where the other nodes connect (default: this node's address in --initial-cluster)",
        "PEER_LISTEN",
      ).argParser(explained(parseHostPort)),
    )
    .addOption(
      variableOption(
        "--peer-address <id=host:port>",
        "where this node dials that peer instead (proxies, NAT); may be repeated",
        "PEER_ADDRESS",
      ).argParser((text, before: readonly NodeAddress[] | undefined) => [
        ...(before ?? []),
        ...explained(parseNodeAddresses)(text),
      ]),
    )
    .addOption(
      variableOption(
        "--insecure",
        "allow listening beyond this machine without encryption and authentication",
        "INSECURE",
      ),
    );
}

function addAuditOptions(command: Command): void {
  command
    .addOption(
      variableOption("--audit", "keep the history of locks in the data directory", "AUDIT"),
    )
    .addOption(
      variableOption(
        "--audit-keep <duration>",
        "for how long, 1m to 36500d (default: 30d)",
        "AUDIT_KEEP",
      ).argParser(auditKeepArgument),
    );
}

function auditKeepArgument(text: string): number {
  const keepMs = parseDuration(text, AUDIT_KEEP_MS_MAX);
  if (keepMs === undefined || keepMs < AUDIT_KEEP_MS_MIN) {
    throw new InvalidArgumentError("A duration from 1m to 36500d is needed.");
  }
  return keepMs;
}

function addProcessOptions(command: Command): void {
  command
    .addOption(
      variableOption("--log-format <format>", "how log lines look", "LOG_FORMAT")
        .choices(["text", "json"])
        .default("text"),
    )
    .addOption(
      variableOption(
        "--trace <file>",
        "write a line of JSON for every transition of the protocol; -: standard error",
        "TRACE",
      ),
    )
    .addOption(
      new Option(
        "--stop-on-stdin-end",
        "stop when standard input ends: ties the node to the process that started it",
      ),
    );
}

function variableOption(flags: string, description: string, variable: string): Option {
  return new Option(flags, description).env(`HOLDFAST_${variable}`);
}

/** Empty variables count as not set, and a switch may also be switched off. */
function tidyEnvironment(): void {
  for (const [name, value] of Object.entries(process.env)) {
    if (name.startsWith("HOLDFAST_") && value === "") delete process.env[name];
  }
  for (const name of SWITCH_VARIABLES) {
    const value = process.env[name]?.toLowerCase();
    if (value === undefined || ["1", "true", "yes"].includes(value)) continue;
    if (!["0", "false", "no"].includes(value)) {
      throw new Failure(EXIT.usage, `${name}=${value}: true or false is needed`);
    }
    delete process.env[name];
  }
}

async function serve(flags: ServerFlags): Promise<number> {
  const stop = new StopRequest({
    watchesStdin: flags.stopOnStdinEnd === true,
    onStdinEnd: endUnattended,
  });
  const options = { ...nodeOptions(flags), signal: stop.signal };
  const { startNode } = await import("../../src/server/index.js");
  let node: RunningNode;
  try {
    node = await startNode(options);
  } catch (error) {
    // It waited for others, and nothing had been begun.
    if (stop.signal.aborted) return EXIT.done;
    throw startFailure(error, options);
  }
  const ended = await Promise.race([node.ended, stop.requested]);
  if (ended === "stop") {
    await node.stop();
    return EXIT.done;
  }
  if (ended === undefined) return EXIT.done;
  // A node that was removed from its cluster has nothing left to do, which is no fault of its own.
  const exitCode =
    ended instanceof HoldfastError && ended.code === "UNAVAILABLE" ? EXIT.failed : EXIT.internal;
  throw new Failure(exitCode, `node ${flags.id} ended: ${ended.message}`, { cause: ended });
}

/** Checks what only the command line can get wrong; the rest is the node's own to refuse. */
export function nodeOptions(flags: ServerFlags): NodeOptions {
  const { initialCluster, join, advertise, clusterName, peerAddress, trace } = flags;
  if (initialCluster !== undefined && join !== undefined) {
    throw new Failure(
      EXIT.usage,
      "--initial-cluster and --join exclude each other: a node founds a cluster or joins one",
    );
  }
  const peerListen = initialCluster === undefined ? joiningAddress(flags) : foundingAddress(flags);
  requireDistinctPorts(flags.listen, peerListen);
  const { audit, auditKeep } = flags;
  if (auditKeep !== undefined && audit !== true) {
    throw new Failure(EXIT.usage, "--audit-keep without --audit: there is nothing to keep");
  }
  return {
    id: flags.id,
    dataDirectory: flags.data,
    listen: flags.listen,
    peerListen,
    insecure: flags.insecure === true,
    log: createLogger(flags.logFormat),
    ...(initialCluster === undefined ? {} : { initialCluster }),
    ...(join === undefined ? {} : { join }),
    ...(advertise === undefined ? {} : { advertise }),
    ...(clusterName === undefined ? {} : { clusterName }),
    ...(trace === undefined ? {} : { traceFile: trace }),
    ...(audit === undefined ? {} : { audit }),
    ...(auditKeep === undefined ? {} : { auditKeepMs: auditKeep }),
    ...(peerAddress === undefined
      ? {}
      : { peerAddresses: new Map(peerAddress.map(({ id, address }) => [id, address])) }),
  };
}

/** Where peers connect: what this node is among the founders, if nothing else is said. */
function foundingAddress({ id, initialCluster = [], peerListen }: ServerFlags): HostPort {
  const self = initialCluster.find((member) => member.id === id);
  if (self !== undefined) return peerListen ?? self.address;
  const members = initialCluster.map((member) => member.id).join(", ");
  throw new Failure(
    EXIT.usage,
    `--id ${id} is not among the members of --initial-cluster (${members})`,
  );
}

function joiningAddress({ join, peerListen }: ServerFlags): HostPort {
  if (peerListen !== undefined) return peerListen;
  throw new Failure(
    EXIT.usage,
    join === undefined
      ? "--initial-cluster, to found a cluster, or --join, to join one, is needed"
      : "--peer-listen is needed with --join: the address given to holdfast member add",
  );
}

function requireDistinctPorts(listen: HostPort, peerListen: HostPort): void {
  if (listen.port === 0 || listen.port !== peerListen.port || listen.host !== peerListen.host) {
    return;
  }
  throw new Failure(
    EXIT.usage,
    `--listen and --peer-listen are both ${formatHostPort(listen)}: they need an address each`,
  );
}

/** With nobody left to send a second signal, a stop that hangs must end by itself. */
function endUnattended(): void {
  const timer = setTimeout(() => {
    note(`the node did not stop within ${UNATTENDED_STOP_MS_MAX} ms and is ended at once`);
    exitNow(EXIT.failed);
  }, UNATTENDED_STOP_MS_MAX);
  timer.unref();
}
