/**
 * Checks the options of a node and fills in the defaults. Every error names the option and its
 * value, and if two options contradict each other, both values.
 */
import { isIP } from "node:net";
import { HoldfastError } from "../../errors/index.js";
import type { TlsVersion } from "../../net/index.js";
import {
  CLIENT_FRAME_BYTES_MAX,
  isValidPrefix,
  MEMBERS_MAX,
  PEER_FRAME_BYTES_MAX,
  SNAPSHOT_CHUNK_BYTES_MAX,
} from "../../protocol/index.js";
import type { BootOptions } from "../driver/boot.js";
import { demandLimits } from "../limits/defaults.js";
import {
  type ClientLimits,
  type Founder,
  type HostPort,
  NODE_TUNING_DEFAULTS,
  type NodeAccess,
  type NodeOptions,
  type NodeTuning,
} from "../options.js";
import type { Logger, LogLevel } from "../ports.js";
import { OTHER_PREFIX } from "../vitals/lock-times.js";
import { computeClusterId } from "./cluster-id.js";

const NODE_ID_MAX = 2 ** 32 - 1;
const PORT_MAX = 65_535;
const CLUSTER_NAME_LENGTH_MAX = 128;
const AUDIT_KEEP_MS_MIN = 60_000;
const AUDIT_KEEP_MS_MAX = 100 * 365 * 86_400_000;
const AUDIT_KEEP_MS_DEFAULT = 30 * 86_400_000;
const AUDIT_BYTES_MAX_MIN = 2 ** 20;
const AUDIT_BYTES_MAX_MAX = 2 ** 50;
const AUDIT_BYTES_MAX_DEFAULT = 4 * 2 ** 30;
/** Each is a set of series in `/metrics`. */
const METRICS_PREFIXES_MAX = 20;
const ADVERTISE_LENGTH_MAX = 1_024;
const ORIGIN_LENGTH_MAX = 1_024;
/**
 * A scheme, which may be a browser extension's, a host, and optionally a port; no path, no
 * wildcard.
 */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*]+$/;
/** In ASCII, as a request contains it. */
const HOST_NAME = /^[a-z0-9_]([a-z0-9_.-]{0,252}[a-z0-9_])?\.?$/i;
/** The bytes of a frame that are not the bytes of its entries. */
const FRAME_OVERHEAD_BYTES = 64 << 10;
const UNSPECIFIED_HOSTS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);
/** Milliseconds and factors may have fractions; numbers of bytes, entries and messages may not. */
const FRACTIONAL: ReadonlySet<string> = new Set([
  "electionTimeoutMs",
  "heartbeatIntervalMs",
  "closedPeerDelayMs",
  "snapshotSizeFactor",
  "spareDelayMs",
]);
const ZERO_IS_OFF: ReadonlySet<string> = new Set(["spareDelayMs"]);

/** How lock clients of Redis are served. */
export interface ResolvedRedis {
  readonly listen: HostPort;
  /** `undefined`: the address that the node listens on. */
  readonly advertise: HostPort | undefined;
  /** Where it is a sentinel only; `undefined`: nowhere. */
  readonly sentinelListen: HostPort | undefined;
  readonly allowsEndless: boolean;
  readonly allowsUnproven: boolean;
  readonly isFair: boolean;
  readonly isRedlock: boolean;
}

/** Where the TLS credentials lie, and how they are used. */
export interface ResolvedTls {
  readonly cluster: string;
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  readonly clientCa: string | undefined;
  readonly requiresClientCert: boolean;
  readonly minVersion: TlsVersion;
}

export interface ResolvedOptions {
  readonly id: number;
  readonly dataDirectory: string;
  readonly listen: HostPort;
  /** `undefined`: `ws://`, with TLS `wss://`, and the address that the node listens on. */
  readonly advertise: string | undefined;
  readonly peerListen: HostPort;
  readonly healthListen: HostPort | undefined;
  readonly clusterName: string;
  /** `undefined`: there is no port for them. */
  readonly redis: ResolvedRedis | undefined;
  /** `undefined`: everything is plain text. */
  readonly tls: ResolvedTls | undefined;
  /** `anonymous` may do nothing at this node while the cluster is open. */
  readonly isAccessRequired: boolean;
  /** The founders, and the id that follows from them; `undefined` if they are not given. */
  readonly founders: readonly Founder[] | undefined;
  readonly clusterId: string | undefined;
  /** Where to ask for a cluster to join; empty if not given. */
  readonly join: readonly string[];
  readonly joinToken: (() => Promise<string | undefined>) | undefined;
  /** Addresses at which this node dials a peer instead of the one in the configuration. */
  readonly peerAddresses: ReadonlyMap<number, HostPort>;
  /** Web pages that may connect. */
  readonly allowedOrigins: readonly string[];
  /** Whether the client port serves the page for browsers. */
  readonly servesPage: boolean;
  /** An origin to which the page may connect besides members; `undefined`: none. */
  readonly pageControl: string | undefined;
  /** Host names to which the client port answers. */
  readonly allowedHosts: readonly string[];
  /** Whether limits of clients are enforced, and those that were set. */
  readonly enforcesLimits: boolean;
  readonly identityLimits: Partial<ClientLimits>;
  readonly addressLimits: Partial<ClientLimits>;
  /** How much of the audit is kept; `undefined`: there is no audit. */
  readonly audit: BootOptions["audit"];
  /** Prefixes of keys that are measured apart. */
  readonly metricsPrefixes: readonly string[];
  readonly tuning: NodeTuning;
  readonly log: Logger;
  readonly logLevel: LogLevel;
  readonly traceFile: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * Throws `INVALID_ARGUMENT`. @param keptAccess what the data directory says of access
 */
export function resolveOptions(
  options: NodeOptions,
  keptAccess: NodeAccess = "open",
): ResolvedOptions {
  const { id, listen, peerListen, advertise, initialCluster, dataDirectory } = options;
  const join = options.join ?? [];
  const clusterName = options.clusterName ?? "holdfast";
  check(isNodeId(id), () => `id ${id} is not a whole number from 1 to ${NODE_ID_MAX}`);
  check(dataDirectory.length > 0, () => "dataDirectory is empty");
  check(
    clusterName.length > 0 && clusterName.length <= CLUSTER_NAME_LENGTH_MAX,
    () => `clusterName has ${clusterName.length} characters, not 1 to ${CLUSTER_NAME_LENGTH_MAX}`,
  );
  checkAddress("listen", listen, 0);
  checkAddress("peerListen", peerListen, 0);
  if (options.healthListen !== undefined) checkAddress("healthListen", options.healthListen, 0);
  const tls = resolveTls(options, clusterName);
  const { access = keptAccess } = options;
  check(
    access === "required" || access === "open",
    () => `access ${JSON.stringify(access)} is neither required nor open`,
  );
  const isAccessRequired = access === "required";
  checkExposures(options, tls, isAccessRequired);
  checkAdvertise(advertise, listen);
  check(
    tls === undefined || advertise === undefined || new URL(advertise).protocol === "wss:",
    () => `advertise ${advertise} would send clients to plain text, and TLS is on: use wss://`,
  );
  if (initialCluster !== undefined) demandFounders(id, initialCluster);
  checkJoin(join, initialCluster);
  for (const endpoint of tls === undefined ? [] : join) {
    check(
      endpoint.startsWith("wss:"),
      () => `join ${endpoint} is plain text, and TLS is on: use wss://`,
    );
  }
  checkPeerAddresses(options);
  return {
    id,
    dataDirectory,
    listen,
    advertise,
    peerListen,
    healthListen: options.healthListen,
    clusterName,
    redis: resolveRedis(options),
    tls,
    isAccessRequired,
    founders: initialCluster,
    clusterId:
      initialCluster === undefined ? undefined : computeClusterId(clusterName, initialCluster),
    join,
    joinToken: options.joinToken,
    peerAddresses: options.peerAddresses ?? new Map(),
    servesPage: options.dashboard ?? true,
    pageControl: resolvePageControl(options.dashboardControl),
    allowedOrigins: resolveOrigins(options.allowedOrigins ?? []),
    allowedHosts: resolveHosts(options),
    ...resolveLimits(options),
    audit: resolveAudit(options),
    metricsPrefixes: resolvePrefixes(options.metricsPrefixes ?? []),
    tuning: resolveTuning(options.tuning ?? {}),
    log: options.log ?? (() => {}),
    logLevel: options.logLevel ?? "info",
    traceFile: options.traceFile,
    signal: options.signal,
  };
}

function resolveRedis(options: NodeOptions): ResolvedRedis | undefined {
  const { redisListen, redisAdvertise, redisAllowEndless, redisAllowUnproven } = options;
  const { redisFair, redisRedlock, redisSentinelListen } = options;
  const switches = { redisAllowEndless, redisAllowUnproven, redisFair, redisRedlock };
  const rules = { redisAdvertise, redisSentinelListen, ...switches };
  if (redisListen === undefined) {
    for (const [name, value] of Object.entries(rules)) {
      check(value === undefined || value === false, () => `${name} without redisListen`);
    }
    return undefined;
  }
  check(
    redisFair !== true || redisRedlock !== true,
    () =>
      "redisFair and redisRedlock exclude each other: a waiter has one place, not one at each node",
  );
  checkAddress("redisListen", redisListen, 0);
  if (redisAdvertise !== undefined) checkAddress("redisAdvertise", redisAdvertise, 1);
  if (redisSentinelListen !== undefined)
    checkAddress("redisSentinelListen", redisSentinelListen, 0);
  const { host } = redisAdvertise ?? redisListen;
  check(HOST_NAME.test(host) || isIP(host) !== 0, () => `redisAdvertise has no host name: ${host}`);
  check(
    !UNSPECIFIED_HOSTS.has(host),
    () => `redisAdvertise is missing: clients cannot connect to ${formatAddress(redisListen)}`,
  );
  return {
    listen: redisListen,
    advertise: redisAdvertise,
    sentinelListen: redisSentinelListen,
    allowsEndless: redisAllowEndless ?? false,
    allowsUnproven: redisAllowUnproven ?? false,
    isFair: redisFair ?? false,
    isRedlock: redisRedlock ?? false,
  };
}

/** Only a process of this machine may be the one that started a node. */
function resolvePageControl(address: HostPort | undefined): string | undefined {
  if (address === undefined) return undefined;
  check(
    address.host === "127.0.0.1" && address.port > 0,
    () => "dashboardControl is an address of 127.0.0.1 with a port",
  );
  return `http://127.0.0.1:${address.port}`;
}

/**
 * Browsers send an origin in only one form, and it is compared literally: one that can never match
 * is refused.
 */
function resolveOrigins(origins: readonly string[]): readonly string[] {
  for (const origin of origins) {
    const shown = JSON.stringify(origin);
    check(
      origin !== "*" && origin !== "null",
      () => `allowedOrigins ${shown} would let the pages of any site in: name each origin`,
    );
    check(
      ORIGIN.test(origin) && origin.length <= ORIGIN_LENGTH_MAX,
      () =>
        `allowedOrigins ${shown} is no origin like https://ops.example or http://localhost:3000`,
    );
    const sent = /^https?:/.test(origin) && URL.canParse(origin) ? new URL(origin).origin : origin;
    check(
      sent === origin,
      () => `allowedOrigins ${shown} would never match: browsers send ${sent}`,
    );
  }
  return [...new Set(origins)];
}

/** Includes the names that the node has without it. */
function resolveHosts({ allowedHosts = [], listen, advertise }: NodeOptions): readonly string[] {
  for (const name of allowedHosts) {
    check(
      HOST_NAME.test(name),
      () => `allowedHosts ${JSON.stringify(name)} is no host name: no port, no path, no wildcard`,
    );
  }
  const own = advertise === undefined ? [] : [new URL(advertise).hostname];
  return [...new Set([listen.host, ...own, ...allowedHosts])];
}

function resolveLimits({
  limits = "enforce",
  identityLimits = {},
  addressLimits = {},
}: NodeOptions) {
  check(
    limits === "enforce" || limits === "observe",
    () => `limits ${JSON.stringify(limits)} is neither enforce nor observe`,
  );
  demandLimits("identityLimits", identityLimits);
  demandLimits("addressLimits", addressLimits);
  return { enforcesLimits: limits === "enforce", identityLimits, addressLimits };
}

/** Each is a value of a label, and so is `other`: they must differ. */
function resolvePrefixes(prefixes: readonly string[]): readonly string[] {
  const distinct = [...new Set(prefixes)];
  check(
    distinct.length <= METRICS_PREFIXES_MAX,
    () => `metricsPrefixes has ${distinct.length} prefixes, not at most ${METRICS_PREFIXES_MAX}`,
  );
  for (const prefix of distinct) {
    const shown = JSON.stringify(prefix);
    const problem = prefix === "" ? "it is empty" : isValidPrefix(prefix);
    check(problem === undefined, () => `metricsPrefixes ${shown} is no prefix of keys: ${problem}`);
    check(prefix !== OTHER_PREFIX, () => `metricsPrefixes ${shown} is what all other keys are`);
  }
  return distinct;
}

function resolveAudit(options: NodeOptions): BootOptions["audit"] {
  const { audit = false, auditKeepMs, auditBytesMax } = options;
  check(audit || auditKeepMs === undefined, () => "auditKeepMs without audit");
  check(audit || auditBytesMax === undefined, () => "auditBytesMax without audit");
  const keepMs = auditKeepMs ?? AUDIT_KEEP_MS_DEFAULT;
  check(
    Number.isInteger(keepMs) && keepMs >= AUDIT_KEEP_MS_MIN && keepMs <= AUDIT_KEEP_MS_MAX,
    () => `auditKeepMs ${keepMs} is not from ${AUDIT_KEEP_MS_MIN} to ${AUDIT_KEEP_MS_MAX}`,
  );
  const bytesMax = auditBytesMax ?? AUDIT_BYTES_MAX_DEFAULT;
  check(
    Number.isInteger(bytesMax) &&
      bytesMax >= AUDIT_BYTES_MAX_MIN &&
      bytesMax <= AUDIT_BYTES_MAX_MAX,
    () => `auditBytesMax ${bytesMax} is not from ${AUDIT_BYTES_MAX_MIN} to ${AUDIT_BYTES_MAX_MAX}`,
  );
  return audit ? { keepMs, bytesMax } : undefined;
}

/** Completes `tuning` with the defaults. Throws `INVALID_ARGUMENT`. */
export function resolveTuning(tuning: Partial<NodeTuning>): NodeTuning {
  for (const [name, value] of Object.entries(tuning)) {
    check(name in NODE_TUNING_DEFAULTS, () => `tuning has no option ${name}`);
    check(
      Number.isFinite(value) &&
        (value > 0 || (value === 0 && ZERO_IS_OFF.has(name))) &&
        (FRACTIONAL.has(name) || Number.isInteger(value)),
      () => `${name} ${value} is not a ${FRACTIONAL.has(name) ? "" : "whole "}number above 0`,
    );
  }
  // With a given length of the log, the size of the table does not lengthen it.
  const exact = tuning.snapshotLogBytes === undefined ? {} : { snapshotSizeFactor: 0 };
  const all: NodeTuning = Object.freeze({ ...NODE_TUNING_DEFAULTS, ...exact, ...tuning });
  const atMost = (name: keyof NodeTuning, limit: number, what: string): void =>
    check(all[name] <= limit, () => `${name} ${all[name]} is more than ${what} ${limit}`);
  atMost("heartbeatIntervalMs", all.electionTimeoutMs / 2, "half of electionTimeoutMs, which is");
  atMost("closedPeerDelayMs", all.electionTimeoutMs, "electionTimeoutMs");
  atMost("spareDelayMs", all.heartbeatIntervalMs, "heartbeatIntervalMs");
  atMost("batchBytesMax", all.uncommittedBytesMax, "uncommittedBytesMax");
  atMost("appendBytesMax", all.inflightBytesMax, "inflightBytesMax");
  const frameRoom = PEER_FRAME_BYTES_MAX - FRAME_OVERHEAD_BYTES;
  atMost("batchBytesMax", frameRoom - CLIENT_FRAME_BYTES_MAX, "what a frame between nodes holds,");
  atMost("appendBytesMax", frameRoom - all.batchBytesMax, "what a frame holds beside one batch,");
  atMost("batchBytesMax", all.segmentBytes / 2, "half of segmentBytes, which is");
  atMost("trailingLogBytes", all.snapshotLogBytes, "snapshotLogBytes");
  atMost("snapshotChunkBytes", SNAPSHOT_CHUNK_BYTES_MAX / 2, "half of what a chunk may have,");
  return all;
}

/** Throws `INVALID_ARGUMENT`. */
export function demandFounders(id: number, initialCluster: readonly Founder[]): void {
  check(isNodeId(id), () => `id ${id} is not a whole number from 1 to ${NODE_ID_MAX}`);
  const count = initialCluster.length;
  check(
    count >= 1 && count <= MEMBERS_MAX,
    () => `initialCluster has ${count} members, not 1 to ${MEMBERS_MAX}`,
  );
  const ids = new Set<number>();
  const addresses = new Set<string>();
  for (const member of initialCluster) {
    check(isNodeId(member.id), () => `initialCluster has a member with the id ${member.id}`);
    check(!ids.has(member.id), () => `initialCluster names node ${member.id} twice`);
    ids.add(member.id);
    checkAddress(`initialCluster, node ${member.id}:`, member.address, 1);
    const address = formatAddress(member.address);
    check(!addresses.has(address), () => `initialCluster has the address ${address} twice`);
    addresses.add(address);
  }
  check(ids.has(id), () => `id ${id} is not in initialCluster (${[...ids].join(", ")})`);
}

/** Peers may be added later, so only impossible ones are refused. */
function checkPeerAddresses({ id, peerAddresses }: NodeOptions): void {
  for (const [peer, address] of peerAddresses ?? []) {
    check(
      isNodeId(peer) && peer !== id,
      () => `peerAddresses names node ${peer}, which is no peer`,
    );
    checkAddress(`peerAddresses, node ${peer}:`, address, 1);
  }
}

function checkJoin(join: readonly string[], founders: readonly Founder[] | undefined): void {
  check(
    join.length === 0 || founders === undefined,
    () => "join and initialCluster exclude each other: a node founds a cluster or joins one",
  );
  for (const endpoint of join) {
    check(isEndpoint(endpoint), () => `join ${JSON.stringify(endpoint)} is no ws:// or wss:// URL`);
  }
}

function isEndpoint(text: string): boolean {
  return URL.canParse(text) && /^wss?:$/.test(new URL(text).protocol);
}

function checkAddress(name: string, { host, port }: HostPort, portMin: number): void {
  check(host.length > 0, () => `${name} has an empty host`);
  check(
    Number.isInteger(port) && port >= portMin && port <= PORT_MAX,
    () => `${name} port ${port} is not from ${portMin} to ${PORT_MAX}`,
  );
}

function resolveTls(options: NodeOptions, cluster: string): ResolvedTls | undefined {
  const { tlsCert, tlsKey, tlsCa, clientCa, requireClientCert = false, tlsMinVersion } = options;
  const given = { tlsCert, tlsKey, tlsCa };
  const missing = Object.entries(given).flatMap(([name, file]) => (file === undefined ? name : []));
  if (tlsCert === undefined || tlsKey === undefined || tlsCa === undefined) {
    check(
      missing.length === Object.keys(given).length,
      () => `TLS needs tlsCert, tlsKey and tlsCa together, without: ${missing.join(", ")}`,
    );
    const extra = { clientCa, requireClientCert: requireClientCert || undefined, tlsMinVersion };
    for (const [name, value] of Object.entries(extra)) {
      check(value === undefined, () => `${name} without TLS: give tlsCert, tlsKey and tlsCa too`);
    }
    return undefined;
  }
  check(
    clientCa !== undefined || !requireClientCert,
    () => "requireClientCert without clientCa: no certificate could be verified",
  );
  const minVersion = tlsMinVersion ?? "1.3";
  check(
    minVersion === "1.2" || minVersion === "1.3",
    () => `tlsMinVersion ${JSON.stringify(minVersion)} is neither 1.2 nor 1.3`,
  );
  return {
    ...{ cluster, cert: tlsCert, key: tlsKey, ca: tlsCa, clientCa },
    ...{ requiresClientCert: requireClientCert, minVersion },
  };
}

const ENCRYPTION = "without encryption (tlsCert, tlsKey and tlsCa)";
const KNOWN_CLIENTS = "to any client (access required, or clientCa and requireClientCert)";

/** What strangers could reach must be said to be open. The text says what is missing. */
function checkExposures(
  options: NodeOptions,
  tls: ResolvedTls | undefined,
  isAccessRequired: boolean,
): void {
  const { listen, peerListen, healthListen, redisListen, redisSentinelListen } = options;
  const { insecure = false } = options;
  const demand = (
    name: string,
    address: HostPort | undefined,
    missing: readonly string[],
    what: string,
  ): void => {
    check(
      insecure || missing.length === 0 || address === undefined || isLoopback(address.host),
      () =>
        `${name} ${formatAddress(address as HostPort)} is open to other machines, ` +
        `${missing.join(" and ")}: ${what}say so with insecure, or listen on 127.0.0.1`,
    );
  };
  const encryption = tls === undefined ? [ENCRYPTION] : [];
  const knowsClients = isAccessRequired || tls?.requiresClientCert === true;
  const add = "add what is missing, ";
  const missing = knowsClients ? encryption : [...encryption, KNOWN_CLIENTS];
  demand("listen", listen, missing, add);
  demand("peerListen", peerListen, encryption, add);
  demand("redisListen", redisListen, missing, add);
  demand("redisSentinelListen", redisSentinelListen, missing, add);
  demand("healthListen", healthListen, ["in plain text"], "");
}

function checkAdvertise(advertise: string | undefined, listen: HostPort): void {
  if (advertise === undefined) {
    check(
      !UNSPECIFIED_HOSTS.has(listen.host),
      () => `advertise is missing: clients cannot connect to listen ${formatAddress(listen)}`,
    );
    return;
  }
  check(
    isEndpoint(advertise) && advertise.length <= ADVERTISE_LENGTH_MAX,
    () => `advertise ${JSON.stringify(advertise)} is no ws:// or wss:// URL`,
  );
}

function isNodeId(id: number): boolean {
  return Number.isInteger(id) && id >= 1 && id <= NODE_ID_MAX;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** `host:port`, with brackets around IPv6. */
export function formatAddress({ host, port }: HostPort): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function check(condition: boolean, message: () => string): void {
  if (!condition) throw new HoldfastError("INVALID_ARGUMENT", message());
}
