/**
 * Checks the options of a node and fills in what follows from them. What one row of the table says
 * is checked by the table; here is what needs the protocol or several options at once. Every error
 * names the options and their values.
 */
import { isIP } from "node:net";
import { OptionError } from "../../errors/index.js";
import type { TlsVersion } from "../../net/index.js";
import {
  demand,
  demandRelations,
  demandShape,
  demandValue,
  demandValues,
  FUNCTION,
  type HostPort,
  judgeHostName,
  listeningAddresses,
  NODE_OPTION_ROWS,
  type NodeAddress,
  type NodeTuning,
  OBJECT,
  type SettledSettings,
  SIGNAL,
  tuningOf,
  withDefaults,
} from "../../node-options/index.js";
import {
  CLIENT_FRAME_BYTES_MAX,
  isValidPrefix,
  MEMBERS_MAX,
  PEER_FRAME_BYTES_MAX,
  SNAPSHOT_CHUNK_BYTES_MAX,
} from "../../protocol/index.js";
import type { BootOptions } from "../driver/boot.js";
import type { NodeMeans, NodeOptions } from "../options.js";
import type { NodeLogger } from "../ports.js";
import { OTHER_PREFIX } from "../vitals/lock-times.js";
import { computeClusterId } from "./cluster-id.js";

/** The bytes of a frame that are not the bytes of its entries. */
const FRAME_OVERHEAD_BYTES = 64 << 10;
const UNSPECIFIED_HOSTS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

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

export interface ResolvedOptions
  extends Omit<SettledSettings, keyof Derived>,
    Pick<NodeMeans, "joinToken" | "signal">,
    Derived {}

interface Derived {
  readonly peerListen: HostPort;
  readonly tuning: NodeTuning;
  readonly log: NodeLogger;
  /** `undefined`: everything is plain text. */
  readonly tls: ResolvedTls | undefined;
  /** `anonymous` may do nothing at this node while the cluster is open. */
  readonly isAccessRequired: boolean;
  /** `undefined`: the founders, from whom it follows, are not given. */
  readonly clusterId: string | undefined;
  /** Where to ask for a cluster to join; empty if not given. */
  readonly join: readonly string[];
  /** Addresses at which this node dials a peer instead of the one in the configuration. */
  readonly peerAddresses: ReadonlyMap<number, HostPort>;
  /** Web pages that may connect. */
  readonly allowedOrigins: readonly string[];
  /** Host names to which the client port answers. */
  readonly allowedHosts: readonly string[];
  /** How much of the audit is kept; `undefined`: there is no audit. */
  readonly audit: BootOptions["audit"];
  /** Prefixes of keys that are measured apart. */
  readonly metricsPrefixes: readonly string[];
}

/** What the data directory says, which may be missing. */
export interface Kept {
  readonly access: "required" | "open";
  /** Whether it has the data of a node. */
  readonly hasData: boolean;
}

const NOTHING_KEPT: Kept = Object.freeze({ access: "open", hasData: false });

/** Throws `INVALID_ARGUMENT` for what is wrong with an option by itself. */
export function demandOptions(options: NodeOptions): void {
  demand(OBJECT.fits(options), () => `the options must be ${OBJECT.words}`);
  const { joinToken, signal, log, tuning, ...given } = options;
  const shapes = { joinToken: FUNCTION, signal: SIGNAL, log: FUNCTION, tuning: OBJECT };
  for (const [name, value] of Object.entries({ joinToken, signal, log, tuning })) {
    if (value !== undefined) demandShape(name, shapes[name as keyof typeof shapes], value);
  }
  demandValues(given);
}

/** Throws `INVALID_ARGUMENT`. */
export function resolveOptions(options: NodeOptions, kept = NOTHING_KEPT): ResolvedOptions {
  demandOptions(options);
  const { joinToken, signal, log = () => {}, tuning: givenTuning = {}, ...given } = options;
  const tuning = resolveTuning(givenTuning);
  const settings = withDefaults(given);
  const { id, initialCluster, clusterName, join = [], access = kept.access } = settings;
  if (initialCluster !== undefined) demandFounders(id, initialCluster);
  const peerListen = settings.peerListen ?? ownAddressIn(settings, kept);
  demandRelations({ ...given, listen: settings.listen, peerListen });
  const tls = tlsOf(settings);
  const isAccessRequired = access === "required";
  demandKnownStrangers({ ...settings, peerListen }, tls, isAccessRequired);
  demandReachable(settings, tls !== undefined);
  demandPeers(settings);
  return {
    ...settings,
    ...(joinToken && { joinToken }),
    ...(signal && { signal }),
    ...{ log, peerListen, tls, isAccessRequired, join, tuning },
    clusterId: initialCluster && computeClusterId(clusterName, initialCluster),
    peerAddresses: new Map(settings.peerAddresses?.map(({ id, address }) => [id, address])),
    allowedOrigins: [...new Set(settings.allowedOrigins)],
    allowedHosts: hostsOf(settings),
    audit: settings.audit
      ? { keepMs: settings.auditKeepMs, bytesMax: settings.auditBytesMax }
      : undefined,
    metricsPrefixes: prefixesOf(settings),
  };
}

/** Completes `tuning` with the defaults. Throws `INVALID_ARGUMENT`. */
export function resolveTuning(given: Partial<NodeTuning>): NodeTuning {
  const tuning = tuningOf(given);
  demandRelations({ ...tuning });
  const atMost = (name: keyof NodeTuning, limit: number, what: string): void =>
    demand(
      tuning[name] <= limit,
      (say) => `${say(name, tuning[name])} is more than ${what} ${limit}`,
    );
  const frameRoom = PEER_FRAME_BYTES_MAX - FRAME_OVERHEAD_BYTES;
  const { batchBytesMax } = tuning;
  atMost("batchBytesMax", frameRoom - CLIENT_FRAME_BYTES_MAX, "what a frame between nodes holds,");
  atMost("appendBytesMax", frameRoom - batchBytesMax, "what a frame holds besides one batch,");
  atMost("snapshotChunkBytes", SNAPSHOT_CHUNK_BYTES_MAX / 2, "half of what a chunk may have,");
  return tuning;
}

/** Throws `INVALID_ARGUMENT`. */
export function demandFounders(id: number, initialCluster: readonly NodeAddress[]): void {
  for (const [name, value] of Object.entries({ id, initialCluster })) {
    const row = NODE_OPTION_ROWS.get(name);
    if (row !== undefined) demandValue(name, row, value);
  }
  const count = initialCluster.length;
  demand(
    count >= 1 && count <= MEMBERS_MAX,
    (say) => `${say("initialCluster")} has ${count} members, not 1 to ${MEMBERS_MAX}`,
  );
  const ids = initialCluster.map((member) => member.id);
  demand(
    ids.includes(id),
    (say) => `${say("id", id)} is not in ${say("initialCluster")} (${ids.join(", ")})`,
  );
}

/** The address of this node among the founders. */
function ownAddressIn(settings: SettledSettings, { hasData }: Kept): HostPort {
  const { id, initialCluster, join, dataDirectory } = settings;
  const own = initialCluster?.find((member) => member.id === id)?.address;
  if (own !== undefined) return own;
  throw new OptionError("INVALID_ARGUMENT", (say) => {
    const address = say("peerListen");
    if (join !== undefined) {
      return `${say("join")} requires ${address}: the address given to holdfast member add`;
    }
    return hasData
      ? `the data in ${dataDirectory} belong to a cluster already: give ${address}, ` +
          "the address of this node for the others"
      : `give ${say("initialCluster")} to found a cluster, or ${say("join")} to join one`;
  });
}

function tlsOf(settings: SettledSettings): ResolvedTls | undefined {
  const { tlsCert: cert, tlsKey: key, tlsCa: ca, clientCa, requireClientCert } = settings;
  // The table demands all three or none.
  if (cert === undefined || key === undefined || ca === undefined) return undefined;
  return {
    ...{ cluster: settings.clusterName, cert, key, ca, clientCa },
    ...{ requiresClientCert: requireClientCert, minVersion: settings.tlsMinVersion },
  };
}

/** What strangers could reach must be said to be open. The text says what is missing. */
function demandKnownStrangers(
  settings: SettledSettings,
  tls: ResolvedTls | undefined,
  isAccessRequired: boolean,
): void {
  if (settings.insecure) return;
  const knowsClients = isAccessRequired || tls?.requiresClientCert === true;
  for (const [name, address] of listeningAddresses(settings)) {
    const listensFor = NODE_OPTION_ROWS.get(name)?.listensFor;
    const isPlain = listensFor === "scrapers";
    const lacks = {
      encryption: tls === undefined && !isPlain,
      clients: listensFor === "clients" && !knowsClients,
    };
    if (isLoopback(address.host) || !(lacks.encryption || lacks.clients || isPlain)) continue;
    throw new OptionError("INVALID_ARGUMENT", (say) => {
      const certificates = `${say("tlsCert")}, ${say("tlsKey")} and ${say("tlsCa")}`;
      const proofs = `${say("clientCa")} and ${say("requireClientCert")}`;
      const missing = [
        ...(isPlain ? ["in plain text"] : []),
        ...(lacks.encryption ? [`without encryption (${certificates})`] : []),
        ...(lacks.clients ? [`to any client (${say("access")} required, or ${proofs})`] : []),
      ];
      const cure = isPlain ? "" : "add what is missing, ";
      return (
        `${say(name, address)} is open to other machines, ${missing.join(" and ")}: ` +
        `${cure}say so with ${say("insecure")}, or listen on 127.0.0.1`
      );
    });
  }
}

/**
 * Clients are given addresses to which they can connect, and in no other protocol than the node's.
 */
function demandReachable(settings: SettledSettings, hasTls: boolean): void {
  const { advertise, listen, redisListen, redisAdvertise, dashboardControl } = settings;
  demand(
    advertise !== undefined || !UNSPECIFIED_HOSTS.has(listen.host),
    (say) => `${say("advertise")} is missing: clients cannot connect to ${say("listen", listen)}`,
  );
  const endpoints = { advertise: advertise === undefined ? [] : [advertise], join: settings.join };
  for (const [name, urls = []] of Object.entries(endpoints)) {
    const plain = urls.find((url) => new URL(url).protocol !== "wss:");
    demand(
      plain === undefined || !hasTls,
      (say) => `${say(name, plain)} is plain text, and TLS is on: use wss://`,
    );
  }
  const { host } = redisAdvertise ?? redisListen ?? listen;
  demand(
    redisListen === undefined || judgeHostName(host) === undefined || isIP(host) !== 0,
    (say) => `${say("redisAdvertise")} has no host name: ${host}`,
  );
  demand(
    redisListen === undefined || !UNSPECIFIED_HOSTS.has(host),
    (say) =>
      `${say("redisAdvertise")} is missing: clients cannot connect to ` +
      say("redisListen", redisListen),
  );
  // Only a process of this machine may be the one that started a node.
  demand(
    dashboardControl === undefined || dashboardControl.host === "127.0.0.1",
    (say) => `${say("dashboardControl", dashboardControl)} is not an address of 127.0.0.1`,
  );
}

/** Peers may be added later, so only impossible ones are refused. */
function demandPeers({ id, peerAddresses = [] }: SettledSettings): void {
  demand(
    peerAddresses.every((peer) => peer.id !== id),
    (say) => `${say("peerAddresses")} names node ${id}, which is not a peer of itself`,
  );
}

/** Includes the names that the node has without the option. */
function hostsOf({ allowedHosts = [], listen, advertise }: SettledSettings): readonly string[] {
  const own = advertise === undefined ? [] : [new URL(advertise).hostname];
  return [...new Set([listen.host, ...own, ...allowedHosts])];
}

/** Each is a value of a label, and so is `other`: they must differ. */
function prefixesOf({ metricsPrefixes = [] }: SettledSettings): readonly string[] {
  for (const prefix of metricsPrefixes) {
    const problem = prefix === "" ? "it is empty" : isValidPrefix(prefix);
    demand(
      problem === undefined,
      (say) => `${say("metricsPrefixes", prefix)} is not a prefix of keys: ${problem}`,
    );
    demand(
      prefix !== OTHER_PREFIX,
      (say) => `${say("metricsPrefixes", prefix)} is what all other keys are`,
    );
  }
  return [...new Set(metricsPrefixes)];
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
