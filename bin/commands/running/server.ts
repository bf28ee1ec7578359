/**
 * `holdfast server`: one node in the foreground until it is stopped. It writes log lines to
 * standard error; its last line, if it cannot start or continue, begins with `holdfast: ` as for
 * every other command. Flags take precedence over their environment variables.
 */
import { readdirSync } from "node:fs";
import type { Command } from "commander";
import { HoldfastError } from "../../../src/errors/index.js";
import type { LogLevel, TokenSource } from "../../../src/index.js";
import type {
  ClientLimits,
  HostPort,
  NodeOptions,
  NodeTuning,
  RunningNode,
} from "../../../src/server/index.js";
import { accessTokenFrom } from "../../config/access-token.js";
import { examplesText } from "../../config/command-options.js";
import { Configuration } from "../../config/configuration.js";
import { addOptions } from "../../config/flags.js";
import { durationText } from "../../config/option-kinds.js";
import { SERVER_OPTIONS } from "../../config/option-table.js";
import { SNAPSHOT_LOG_BYTES } from "../../config/server-options.js";
import type { Finish } from "../../exit/ending.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure, systemCodeOf } from "../../exit/failure.js";
import { directoryFailure, startFailure } from "../../exit/start-failure.js";
import { createLogger, type LogFormat } from "../../output/node-log.js";
import { note } from "../../output/terminal.js";
import { exitNow } from "../../output/unplanned-exit.js";
import { StopRequest } from "../../run/stop-request.js";
import { formatHostPort, type NodeAddress } from "../../text/addresses.js";
import { formatSize } from "../../text/sizes.js";

/** How long an unsupervised stop may take (see `--stop-on-stdin-end`). */
const UNATTENDED_STOP_MS_MAX = 10_000;

/** The options of the table, settled; tuning options have their defaults. */
export interface ServerFlags {
  readonly id: number;
  readonly data: string;
  readonly listen: HostPort;
  readonly advertise?: string | undefined;
  readonly peerListen?: HostPort | undefined;
  readonly initialCluster?: readonly NodeAddress[] | undefined;
  readonly join?: readonly string[] | undefined;
  readonly peerAddress?: readonly NodeAddress[] | undefined;
  readonly clusterName?: string | undefined;
  readonly healthListen?: HostPort | undefined;
  readonly redisListen?: HostPort | undefined;
  readonly redisAdvertise?: HostPort | undefined;
  readonly redisAllowEndless?: boolean | undefined;
  readonly redisAllowUnproven?: boolean | undefined;
  readonly redisFair?: boolean | undefined;
  readonly redisRedlock?: boolean | undefined;
  readonly redisSentinelListen?: HostPort | undefined;
  readonly access?: "required" | "open" | undefined;
  readonly insecure?: boolean | undefined;
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  readonly tlsCa?: string | undefined;
  readonly tlsMinVersion?: "1.2" | "1.3" | undefined;
  readonly clientCa?: string | undefined;
  readonly requireClientCert?: boolean | undefined;
  readonly allowHost?: readonly string[] | undefined;
  readonly allowOrigin?: readonly string[] | undefined;
  readonly dashboard?: "on" | "off";
  readonly dashboardControl?: HostPort | undefined;
  readonly limits?: "enforce" | "observe" | undefined;
  readonly identityLimit?: Partial<ClientLimits> | undefined;
  readonly addressLimit?: Partial<ClientLimits> | undefined;
  readonly audit?: boolean | undefined;
  readonly auditKeep?: number | undefined;
  readonly auditMaxSize?: number | undefined;
  readonly metricsPrefix?: readonly string[] | undefined;
  readonly logFormat: LogFormat;
  readonly logLevel: LogLevel;
  readonly trace?: string | undefined;
  readonly stopOnStdinEnd?: boolean | undefined;
  readonly electionTimeout?: number | undefined;
  readonly heartbeatInterval?: number | undefined;
  readonly snapshotLogSize?: number | undefined;
  readonly trailingLogSize?: number | undefined;
  readonly changesMax?: number | undefined;
  readonly changesSize?: number | undefined;
  readonly watchesMax?: number | undefined;
}

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast server --id 1 --data n1 --initial-cluster 1=127.0.0.1:7511", "a cluster of one"],
  [
    "holdfast server --id 1 --data n1 --listen a:7411 --insecure \\\n" +
      "    --initial-cluster 1=a:7511,2=b:7511,3=c:7511",
    "one of three, on host a",
  ],
  [
    "holdfast server --id 4 --data n4 --join ws://a:7411,ws://b:7411 \\\n" +
      "    --peer-listen d:7511 --listen d:7411 --insecure",
    "after member add 4 d:7511",
  ],
  [
    "holdfast server --id 1 --data n1 --listen a:7411 \\\n" +
      "    --initial-cluster 1=a:7511,2=b:7511,3=c:7511 \\\n" +
      "    --tls-cert n1.pem --tls-key n1.key --tls-ca ca.pem \\\n" +
      "    --client-ca ca.pem --require-client-cert",
    "with TLS and known clients",
  ],
  ["holdfast server --config /etc/holdfast.json", "all options from a file"],
];

const NOTES = `
A node founds a cluster (--initial-cluster) or joins one (--join). A data
directory that is not empty determines its cluster by itself.

SIGTERM, SIGINT or SIGHUP stop the node in order (exit code 0): a leader first
hands leadership to another node. A second signal ends it at once. A node that
was removed from its cluster, or whose data directory another process has
opened, ends with exit code 1.

With TLS, SIGHUP does not stop the node: it reads its TLS files again, which it
also does when they change.

Options may also come from the environment or a JSON file, whose keys are their
names: initialCluster for --initial-cluster. "holdfast config print server"
shows which values would be used, and where they come from.`;

export function defineServer(command: Command, finish: Finish): void {
  command.addHelpText("before", examplesText(EXAMPLES));
  addOptions(command, SERVER_OPTIONS);
  command.addHelpText("after", NOTES).action(async () => {
    const configuration = Configuration.of(command);
    const flags = configuration.settle(SERVER_OPTIONS);
    finish(await serve(flags, joinTokenOf(configuration)));
  });
}

/** Reads no file before the node has to ask, because after it has joined the token may be gone. */
function joinTokenOf(configuration: Configuration): () => Promise<string | undefined> {
  let source: TokenSource | undefined;
  return async () => {
    source ??= accessTokenFrom(configuration);
    return typeof source === "function" ? source() : source;
  };
}

async function serve(
  flags: ServerFlags,
  joinToken: () => Promise<string | undefined>,
): Promise<number> {
  let node: RunningNode | undefined;
  const hasTls = flags.tlsCert !== undefined;
  const stop = new StopRequest({
    watchesStdin: flags.stopOnStdinEnd === true,
    onStdinEnd: endUnattended,
    ...(hasTls ? { onHangup: () => void node?.reloadTls() } : {}),
  });
  const options = { ...nodeOptions(flags), joinToken, signal: stop.signal };
  const { startNode } = await import("../../../src/server/index.js");
  try {
    node = await startNode(options);
  } catch (error) {
    // It was waiting for other nodes, and nothing had begun.
    if (stop.signal.aborted) return EXIT.done;
    throw startFailure(error, options);
  }
  const ended = await Promise.race([node.ended, stop.requested]);
  if (ended === "stop") {
    await node.stop();
    return EXIT.done;
  }
  if (ended === undefined) return EXIT.done;
  // The node is not at fault if it was removed from its cluster, if another process has its
  // directory, or if its disk failed.
  const isOwnFault = !(ended instanceof HoldfastError && ended.code === "UNAVAILABLE");
  const exitCode = isOwnFault && systemCodeOf(ended) !== "EIO" ? EXIT.internal : EXIT.failed;
  throw new Failure(exitCode, `node ${flags.id} ended: ${ended.message}`, { cause: ended });
}

/** Checks what only the command line can get wrong; the node itself refuses everything else. */
export function nodeOptions(flags: ServerFlags): NodeOptions {
  const { initialCluster, join, advertise, clusterName, peerAddress, trace } = flags;
  if (initialCluster !== undefined && join !== undefined) {
    throw new Failure(
      EXIT.usage,
      "--initial-cluster and --join exclude each other: a node founds a cluster or joins one",
    );
  }
  const peerListen = initialCluster === undefined ? joiningAddress(flags) : foundingAddress(flags);
  requireDistinctPorts(flags, peerListen);
  requireServerRelations(flags);
  const { audit, auditKeep, auditMaxSize, allowHost, allowOrigin, healthListen } = flags;
  const { limits, identityLimit, addressLimit, metricsPrefix } = flags;
  return {
    id: flags.id,
    dataDirectory: flags.data,
    listen: flags.listen,
    peerListen,
    insecure: flags.insecure === true,
    ...(flags.access === undefined ? {} : { access: flags.access }),
    log: createLogger(flags.logFormat),
    logLevel: flags.logLevel,
    tuning: tuningOf(flags),
    ...tlsOptions(flags),
    ...redisOptions(flags),
    ...(healthListen === undefined ? {} : { healthListen }),
    ...(initialCluster === undefined ? {} : { initialCluster }),
    ...(join === undefined ? {} : { join }),
    ...(advertise === undefined ? {} : { advertise }),
    ...(clusterName === undefined ? {} : { clusterName }),
    ...(trace === undefined ? {} : { traceFile: trace }),
    ...(allowHost === undefined ? {} : { allowedHosts: allowHost }),
    dashboard: flags.dashboard !== "off",
    ...(flags.dashboardControl === undefined ? {} : { dashboardControl: flags.dashboardControl }),
    ...(allowOrigin === undefined ? {} : { allowedOrigins: allowOrigin }),
    ...(limits === undefined ? {} : { limits }),
    ...(identityLimit === undefined ? {} : { identityLimits: identityLimit }),
    ...(addressLimit === undefined ? {} : { addressLimits: addressLimit }),
    ...(audit === undefined ? {} : { audit }),
    ...(auditKeep === undefined ? {} : { auditKeepMs: auditKeep }),
    ...(auditMaxSize === undefined ? {} : { auditBytesMax: auditMaxSize }),
    ...(metricsPrefix === undefined ? {} : { metricsPrefixes: metricsPrefix }),
    ...(peerAddress === undefined
      ? {}
      : { peerAddresses: new Map(peerAddress.map(({ id, address }) => [id, address])) }),
  };
}

/** The node checks which of them go together. */
function tlsOptions(flags: ServerFlags): Partial<NodeOptions> {
  const { tlsCert, tlsKey, tlsCa, clientCa, requireClientCert, tlsMinVersion } = flags;
  return {
    ...(tlsCert === undefined ? {} : { tlsCert }),
    ...(tlsKey === undefined ? {} : { tlsKey }),
    ...(tlsCa === undefined ? {} : { tlsCa }),
    ...(clientCa === undefined ? {} : { clientCa }),
    ...(tlsMinVersion === undefined ? {} : { tlsMinVersion }),
    ...(requireClientCert === true ? { requireClientCert } : {}),
  };
}

/** The node checks which of them go together. */
function redisOptions(flags: ServerFlags): Partial<NodeOptions> {
  const { redisListen, redisAdvertise, redisSentinelListen } = flags;
  return {
    ...(redisSentinelListen === undefined ? {} : { redisSentinelListen }),
    ...(redisListen === undefined ? {} : { redisListen }),
    ...(redisAdvertise === undefined ? {} : { redisAdvertise }),
    ...(flags.redisAllowEndless === true ? { redisAllowEndless: true } : {}),
    ...(flags.redisAllowUnproven === true ? { redisAllowUnproven: true } : {}),
    ...(flags.redisFair === true ? { redisFair: true } : {}),
    ...(flags.redisRedlock === true ? { redisRedlock: true } : {}),
  };
}

/** Contradictions that are wrong for any node, reported with both values. */
export function requireServerRelations(flags: Partial<ServerFlags>): void {
  const { audit, auditKeep, auditMaxSize, electionTimeout, heartbeatInterval } = flags;
  if (auditKeep !== undefined && audit !== true) {
    throw new Failure(
      EXIT.usage,
      `--audit-keep ${durationText(auditKeep)} without --audit: there is nothing to keep`,
    );
  }
  if (auditMaxSize !== undefined && audit !== true) {
    throw new Failure(
      EXIT.usage,
      `--audit-max-size ${formatSize(auditMaxSize)} without --audit: there is nothing to keep`,
    );
  }
  if (
    electionTimeout !== undefined &&
    heartbeatInterval !== undefined &&
    heartbeatInterval > electionTimeout / 2
  ) {
    throw new Failure(
      EXIT.usage,
      `--heartbeat-interval ${durationText(heartbeatInterval)} is more than half of ` +
        `--election-timeout ${durationText(electionTimeout)}: followers would not wait that long`,
    );
  }
  const { snapshotLogSize = SNAPSHOT_LOG_BYTES, trailingLogSize } = flags;
  if (trailingLogSize !== undefined && trailingLogSize > snapshotLogSize) {
    throw new Failure(
      EXIT.usage,
      `--trailing-log-size ${formatSize(trailingLogSize)} is more than --snapshot-log-size ` +
        `${formatSize(snapshotLogSize)}: a snapshot would free nothing`,
    );
  }
}

function tuningOf(flags: ServerFlags): Partial<NodeTuning> {
  const given: { -readonly [Name in keyof NodeTuning]?: NodeTuning[Name] | undefined } = {
    electionTimeoutMs: flags.electionTimeout,
    heartbeatIntervalMs: flags.heartbeatInterval,
    snapshotLogBytes: flags.snapshotLogSize,
    trailingLogBytes: flags.trailingLogSize,
    changesMax: flags.changesMax,
    changeBytesMax: flags.changesSize,
    watchesMax: flags.watchesMax,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** The peer address: by default, this node's address among the founders. */
function foundingAddress({ id, initialCluster = [], peerListen }: ServerFlags): HostPort {
  const self = initialCluster.find((member) => member.id === id);
  if (self !== undefined) return peerListen ?? self.address;
  const members = initialCluster.map((member) => member.id).join(", ");
  throw new Failure(
    EXIT.usage,
    `--id ${id} is not among the members of --initial-cluster (${members})`,
  );
}

function joiningAddress({ join, peerListen, data }: ServerFlags): HostPort {
  if (peerListen !== undefined) return peerListen;
  if (join === undefined) requireReadable(data);
  throw new Failure(
    EXIT.usage,
    join === undefined
      ? "give --initial-cluster to found a cluster, or --join to join one"
      : "--join requires --peer-listen: the address given to holdfast member add",
  );
}

/** What this user may not read can be the data of a node, which neither founds nor joins a cluster. */
function requireReadable(directory: string): void {
  try {
    readdirSync(directory);
  } catch (error) {
    if (systemCodeOf(error) !== "ENOENT") throw directoryFailure(error, directory);
  }
}

function requireDistinctPorts(flags: ServerFlags, peerListen: HostPort): void {
  const { listen, healthListen, redisListen, redisSentinelListen } = flags;
  const given = {
    "--listen": listen,
    "--peer-listen": peerListen,
    "--health-listen": healthListen,
    "--redis-listen": redisListen,
    "--redis-sentinel-listen": redisSentinelListen,
  };
  const flagByAddress = new Map<string, string>();
  for (const [flag, address] of Object.entries(given)) {
    if (address === undefined || address.port === 0) continue;
    const text = formatHostPort(address);
    const other = flagByAddress.get(text);
    if (other !== undefined) {
      const message = `${other} and ${flag} are both ${text}: each needs its own address`;
      throw new Failure(EXIT.usage, message);
    }
    flagByAddress.set(text, flag);
  }
}

/** There is no process left to send a second signal, so a stop that hangs must end by itself. */
function endUnattended(): void {
  const timer = setTimeout(() => {
    note(`the node did not stop within ${UNATTENDED_STOP_MS_MAX} ms and is ended at once`);
    exitNow(EXIT.failed);
  }, UNATTENDED_STOP_MS_MAX);
  timer.unref();
}
