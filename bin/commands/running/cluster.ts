/**
 * `holdfast cluster`: a local cluster of real processes in the foreground. Prints its endpoints
 * when there is a leader, reports nodes that die, and leaves nothing running however it ends:
 * stopped, interrupted during the start, or killed (see `node-process.ts`).
 */
import type { Command } from "commander";
import type { NodeStatus, TlsOptions } from "../../../src/index.js";
import { leaderOf, type NodeReport } from "../../cluster/node-report.js";
import { certificateVariables } from "../../config/certificate-files.js";
import { examplesText } from "../../config/command-options.js";
import { Configuration } from "../../config/configuration.js";
import { addOptions } from "../../config/flags.js";
import type { Ending, Finish } from "../../exit/ending.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure, systemCodeOf } from "../../exit/failure.js";
import { type ClientFiles, ClusterCertificates } from "../../local-cluster/cluster-certificates.js";
import {
  drawClusterName,
  noteIn,
  prepareDirectory,
} from "../../local-cluster/cluster-directory.js";
import {
  type ClusterFlags,
  redisRules,
  requireClusterOptions,
} from "../../local-cluster/cluster-options.js";
import {
  type ClusterPlan,
  consecutivePorts,
  HOST,
  planCluster,
} from "../../local-cluster/cluster-plan.js";
import { LocalCluster } from "../../local-cluster/local-cluster.js";
import { localReports } from "../../local-cluster/local-reports.js";
import { findFreePorts, isPortFree } from "../../local-cluster/ports.js";
import { CLUSTER_OPTIONS } from "../../options/option-table.js";
import { note, print, printJson, styled } from "../../output/terminal.js";
import { onUnplannedExit } from "../../output/unplanned-exit.js";
import { StopRequest } from "../../run/stop-request.js";
import { DEFAULT_ENDPOINTS, formatHostPort } from "../../text/addresses.js";
import { variableOf } from "../../text/option-spelling.js";
import { exportLines, shellWord } from "../../text/shell-word.js";
import { ControlPort } from "../../tour/control-port.js";
import { Tour } from "../../tour/tour.js";

const NODES_DEFAULT = 3;
const PEER_PORT_DEFAULT = 7511;
const REDIS_PORT_DEFAULT = 7611;
const RENEWED = "renewed certificates that had expired or were about to";

/** The width of a terminal, less the indent. */
const EXAMPLE_COLUMNS = 78;

type AccessState = NonNullable<NodeStatus["access"]>["state"];

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast cluster", "three nodes, data in .holdfast, ports from 7411"],
  ["holdfast cluster --restart", "restart nodes that die"],
  ["holdfast cluster --tls", "with TLS and certificates of its own"],
  ["holdfast cluster --redis", "serve lock clients of Redis too"],
  [
    "holdfast cluster --data /tmp/locks --port 0 --peer-port 0 --json",
    "on free ports, for scripts",
  ],
];

const NOTES = `
Ctrl-C stops all nodes in order. Started again with the same --data, the cluster
continues where it stopped; its size, its peer ports and its random cluster id
stay as in the first start and are stored in DIRECTORY/cluster.json. The nodes
end with this process even if it is killed. Their logs are DIRECTORY/n1.log and
so on; the logs of the previous run are n1.log.previous and so on.
With --tls the first start makes DIRECTORY/certs: a private CA (ca.crt, ca.key),
certificates for the nodes, and one for clients (client-local.crt and .key).
Later starts use them again and renew them 30 days before they expire. The same
data can be started with and without --tls in turn.
With --json one line is printed when the cluster is ready:
  {"endpoints":["ws://…"],"leader":1,"nodes":[{"id":1,"pid":4711,
   "endpoint":"ws://…","log":"…"}],"access":{"state":"open","identities":0},
   "tls":false}
With --redis each node has its address for Redis clients: "redis":"host:port",
and with --redis-sentinel-port also for a sentinel: "redisSentinel":"host:port".
access: what clients may do that do not sign in, as "holdfast status" shows it:
open, partlyOpen or closed (secured). With --tls it ends with the files of a
client:
   …,"ca":"…/ca.crt","cert":"…/client-local.crt","certKey":"…"}`;

export function defineCluster(command: Command, finish: Finish): void {
  command.addHelpText("before", examplesText(EXAMPLES));
  addOptions(command, CLUSTER_OPTIONS);
  command
    .addHelpText("after", NOTES)
    .action(async () =>
      finish(await runCluster(Configuration.of(command).settle(CLUSTER_OPTIONS))),
    );
}

async function runCluster(flags: ClusterFlags): Promise<Ending> {
  const stop = new StopRequest({ watchesStdin: flags.stopOnStdinEnd === true });
  const plan = await makePlan(flags);
  const certificates = flags.tls ? await ClusterCertificates.open(plan) : undefined;
  await requireFreePorts(plan, certificates?.access ?? {});
  if (stop.signal.aborted) return stop.ending;
  prepareDirectory(plan);
  const renewed = (await certificates?.complete()) ?? [];
  if (renewed.length > 0) note(`${RENEWED}: ${renewed.join(", ")}`);
  // For people who look at a page; not for scripts, nor for what must be signed in to.
  const control = flags.json === true || flags.tls ? undefined : await ControlPort.open();
  const cluster = new LocalCluster(plan, {
    restart: flags.restart === true,
    argumentsOf: (nodeId) => [
      ...(control === undefined ? [] : [`--dashboard-control=127.0.0.1:${control.port}`]),
      ...(flags.allowOrigin ?? []).map((origin) => `--allow-origin=${origin}`),
      ...(certificates?.serverArguments(nodeId) ?? []),
      ...(flags.requireClientCert ? ["--require-client-cert"] : []),
      ...redisRules(flags),
    ],
    access: certificates?.access ?? {},
  });
  // Also when a second signal asks for an immediate end.
  onUnplannedExit(() => cluster.kill());
  let tour: Tour | undefined;
  try {
    const reports = await cluster.start(stop.signal);
    if (flags.json === true) printDocument(plan, reports, certificates?.clientFiles);
    else announce(plan, reports, clientVariables(plan, flags, certificates?.clientFiles));
    tour = offerTour(plan, reports, cluster, control);
    if (flags.json !== true) print("\nCtrl-C stops it.");
  } catch (error) {
    control?.close();
    await cluster.stop();
    if (stop.signal.aborted) return stop.ending;
    throw error;
  }
  cluster.watch();
  const reason = await Promise.race([stop.requested, cluster.empty.then(() => "empty" as const)]);
  if (reason === "empty") throw new Failure(EXIT.failed, "no node is left");
  if (flags.json !== true) note("stopping");
  control?.close();
  await tour?.end();
  await cluster.stop();
  // A stop that was asked for is a success, but Ctrl-C also ends the script around it.
  return stop.ending === "SIGINT" ? "SIGINT" : EXIT.done;
}

/** Only in a cluster that is open to everybody: its page may then stop and start nodes. */
function offerTour(
  plan: ClusterPlan,
  reports: readonly NodeReport[],
  cluster: LocalCluster,
  control: ControlPort | undefined,
): Tour | undefined {
  if (control === undefined) return undefined;
  if (leaderOf(reports)?.access?.state !== "open") {
    control.close();
    return undefined;
  }
  const { endpoints, nodes } = plan;
  const tour = new Tour({ cluster, endpoints, nodeIds: nodes.map(({ id }) => id) });
  const pages = endpoints.map((endpoint) => endpoint.replace(/^ws:/, "http:"));
  control.admit(tour, pages);
  print("");
  print("A tour in a browser, which kills and pauses nodes of this cluster:");
  print(`  ${pages[0]}/#/tour?control=${control.key}`);
  return tour;
}

async function makePlan(flags: ClusterFlags): Promise<ClusterPlan> {
  requireClusterOptions(flags);
  const made = noteIn(flags.data);
  const known = made?.peerPorts;
  const nodes = flags.nodes ?? known?.length ?? NODES_DEFAULT;
  if (known !== undefined && known.length !== nodes) {
    throw new Failure(
      EXIT.usage,
      `--nodes ${nodes}: the data in ${flags.data} belongs to a cluster of ${known.length}`,
    );
  }
  if (known !== undefined && (flags.peerPort ?? 0) !== 0 && flags.peerPort !== known[0]) {
    throw new Failure(
      EXIT.usage,
      `--peer-port ${flags.peerPort}: the data in ${flags.data} belongs to a cluster with the ` +
        `peer ports ${known.join(", ")}`,
    );
  }
  const free = await findFreePorts(HOST, 4 * nodes);
  const clientPorts =
    flags.port === 0 ? free.slice(0, nodes) : consecutivePorts("--port", flags.port, nodes);
  const peerPorts =
    known ??
    (flags.peerPort === 0
      ? free.slice(nodes, 2 * nodes)
      : consecutivePorts("--peer-port", flags.peerPort ?? PEER_PORT_DEFAULT, nodes));
  const clusterName = made?.clusterName ?? drawClusterName();
  const scheme = flags.tls ? "wss" : "ws";
  const further = (option: string, first: number | undefined, spare: number[]): number[] => {
    if (flags.redis !== true || first === undefined) return [];
    return first === 0 ? spare : consecutivePorts(option, first, nodes);
  };
  const redisPort = flags.redisPort ?? (flags.port === 0 ? 0 : REDIS_PORT_DEFAULT);
  return planCluster(
    ...([flags.data, clusterName, clientPorts, peerPorts, scheme] as const),
    further("--redis-port", redisPort, free.slice(2 * nodes, 3 * nodes)),
    further("--redis-sentinel-port", flags.redisSentinelPort, free.slice(3 * nodes)),
  );
}

/** Which option chooses each port of a node. */
const PORT_FLAGS = {
  listen: "--port",
  peerListen: "--peer-port",
  redisListen: "--redis-port",
  redisSentinelListen: "--redis-sentinel-port",
} as const;

async function requireFreePorts(plan: ClusterPlan, access: TlsOptions): Promise<void> {
  for (const node of plan.nodes) {
    const { id, listen, endpoint } = node;
    for (const name of Object.keys(PORT_FLAGS) as (keyof typeof PORT_FLAGS)[]) {
      const address = node[name];
      if (address === undefined) continue;
      const { host, port } = address;
      if (await isFree(host, port, id)) continue;
      const [report] = await localReports(port === listen.port ? [node] : [], access);
      const owner =
        report?.isReachable && report.endpoint === endpoint
          ? `a Holdfast node runs there (pid ${report.pid}): is this cluster already started?`
          : "another process listens there, perhaps this cluster itself";
      const isFixed = name === "peerListen" && noteIn(plan.directory) !== undefined;
      const other = isFixed ? "the data fix the peer ports" : `${PORT_FLAGS[name]} chooses others`;
      throw new Failure(EXIT.failed, `port ${port} of node ${id} is taken: ${owner} (${other})`);
    }
  }
}

/** Fails for a port that no other process has but this user may not use either. */
async function isFree(host: string, port: number, id: number): Promise<boolean> {
  try {
    return await isPortFree(host, port);
  } catch (error) {
    if (systemCodeOf(error) !== "EACCES") throw error;
    const message = `port ${port} of node ${id} needs permissions that this user does not have`;
    throw new Failure(EXIT.failed, message, { cause: error });
  }
}

/** The line of `--json`. `files` is set with TLS. */
function printDocument(
  plan: ClusterPlan,
  reports: readonly NodeReport[],
  files: ClientFiles | undefined,
): void {
  const nodes = plan.nodes.map((node) => {
    const { id, endpoint, logFile, redisListen, redisSentinelListen } = node;
    const redis = redisListen && { redis: formatHostPort(redisListen) };
    const sentinel = redisSentinelListen && { redisSentinel: formatHostPort(redisSentinelListen) };
    return { id, pid: pidAt(endpoint, reports), endpoint, log: logFile, ...redis, ...sentinel };
  });
  const leader = leaderOf(reports);
  const { access = null } = leader ?? {};
  const tls = files !== undefined;
  printJson({ endpoints: plan.endpoints, leader: leader?.id ?? 0, nodes, access, tls, ...files });
}

function announce(
  plan: ClusterPlan,
  reports: readonly NodeReport[],
  variables: Readonly<Record<string, string>>,
): void {
  const leader = leaderOf(reports);
  const size = plan.nodes.length;
  print(`Holdfast runs: ${size === 1 ? "one node" : `${size} nodes`}, data in ${plan.directory}`);
  for (const { id, endpoint } of plan.nodes) {
    const role = id === leader?.id ? styled("green", "leader", process.stdout) : "";
    print(`  node ${id}  ${endpoint}  pid ${pidAt(endpoint, reports)}  ${role}`.trimEnd());
  }
  // Under `npm start` and `npx` the shell probably does not know the command.
  const prefix = process.env["npm_command"] === undefined ? "" : "npx ";
  print("");
  for (const line of redisLines(plan)) print(line);
  for (const line of closedLines(plan, prefix, leader?.access?.state)) print(line);
  print(`See it in a browser: ${(plan.endpoints[0] ?? "").replace(/^ws/, "http")}/`);
  print("");
  print("Take a lock from another shell:");
  for (const [name, value] of Object.entries(variables)) {
    for (const line of exportLines(name, value, EXAMPLE_COLUMNS)) print(`  ${line}`);
  }
  print(`  ${prefix}holdfast run demo -- sh -c 'echo "token $HOLDFAST_TOKEN"; sleep 10'`);
  print(`  ${prefix}holdfast inspect demo`);
}

/** Where lock clients of Redis are served. */
function redisLines({ nodes }: ClusterPlan): string[] {
  const addresses = nodes.flatMap(({ redisListen }) => redisListen ?? []).map(formatHostPort);
  if (addresses.length === 0) return [];
  const sentinels = nodes
    .flatMap(({ redisSentinelListen }) => redisSentinelListen ?? [])
    .map((address) => `Sentinel only: ${formatHostPort(address)}`);
  return [
    "Lock clients of Redis, by any of these addresses or with all of them as sentinels (master",
    `name mymaster): ${addresses.join(", ")}`,
    ...sentinels,
    "",
  ];
}

/** How to come in, if not everybody may. */
function closedLines(
  { nodes }: ClusterPlan,
  prefix: string,
  state: AccessState | undefined,
): string[] {
  if (state === undefined || state === "open") return [];
  const what = state === "closed" ? "secured" : "partly open";
  return [
    `The cluster is ${what}: commands need an access token (HOLDFAST_ACCESS_TOKEN_FILE).`,
    "On this machine --local may do everything:",
    `  ${prefix}holdfast access ls --local ${shellWord(nodes[0]?.dataDirectory ?? "")}`,
    "",
  ];
}

/** What other commands need in their environment to find the cluster. */
function clientVariables(
  { endpoints }: ClusterPlan,
  { requireClientCert }: ClusterFlags,
  files: ClientFiles | undefined,
): Record<string, string> {
  const isDefault = endpoints.join() === DEFAULT_ENDPOINTS.slice(0, endpoints.length).join();
  const found = isDefault ? {} : { [variableOf("endpoints")]: endpoints.join(",") };
  if (files === undefined) return found;
  const needed = requireClientCert ? files : { ...files, cert: undefined, certKey: undefined };
  return { ...found, ...certificateVariables(needed) };
}

function pidAt(endpoint: string, reports: readonly NodeReport[]): number {
  const report = reports.find((one) => one.endpoint === endpoint);
  return report?.isReachable ? report.pid : 0;
}
