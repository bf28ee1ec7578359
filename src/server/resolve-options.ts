/**
 * Checks the options of a node and completes them with the defaults. Every refusal names the option
 * and its value, and where two options contradict each other, both values.
 */
import { HoldfastError } from "../errors.js";
import { CLIENT_FRAME_BYTES_MAX, PEER_FRAME_BYTES_MAX } from "../protocol/index.js";
import { computeClusterId } from "./cluster-id.js";
import {
  type HostPort,
  NODE_TUNING_DEFAULTS,
  type NodeOptions,
  type NodeTuning,
} from "./options.js";
import type { Logger } from "./ports.js";

const NODE_ID_MAX = 2 ** 32 - 1;
const PORT_MAX = 65_535;
const MEMBERS_MAX = 15;
const CLUSTER_NAME_LENGTH_MAX = 128;
const ADVERTISE_LENGTH_MAX = 1_024;
/** What a frame holds besides the bytes of its entries. */
const FRAME_OVERHEAD_BYTES = 64 << 10;
const UNSPECIFIED_HOSTS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);
/** Milliseconds may have fractions; what counts bytes, entries or messages is whole. */
const FRACTIONAL: ReadonlySet<string> = new Set([
  "electionTimeoutMs",
  "heartbeatIntervalMs",
  "closedPeerDelayMs",
]);

export interface ResolvedOptions {
  readonly id: number;
  readonly dataDirectory: string;
  readonly listen: HostPort;
  /** `undefined`: `ws://` and the address that was bound. */
  readonly advertise: string | undefined;
  readonly peerListen: HostPort;
  readonly members: readonly { readonly id: number; readonly address: HostPort }[];
  /** Every other member, with the address at which this node dials it. */
  readonly peers: ReadonlyMap<number, HostPort>;
  readonly clusterId: string;
  readonly tuning: NodeTuning;
  readonly log: Logger;
}

/** Throws `INVALID_ARGUMENT`. */
export function resolveOptions(options: NodeOptions): ResolvedOptions {
  const { id, listen, peerListen, advertise, initialCluster, dataDirectory } = options;
  const clusterName = options.clusterName ?? "holdfast";
  check(isNodeId(id), () => `id ${id} is not a whole number from 1 to ${NODE_ID_MAX}`);
  check(dataDirectory.length > 0, () => "dataDirectory is empty");
  check(
    clusterName.length > 0 && clusterName.length <= CLUSTER_NAME_LENGTH_MAX,
    () => `clusterName has ${clusterName.length} characters, not 1 to ${CLUSTER_NAME_LENGTH_MAX}`,
  );
  checkAddress("listen", listen, 0);
  checkAddress("peerListen", peerListen, 0);
  checkExposure("listen", listen, options.insecure === true);
  checkExposure("peerListen", peerListen, options.insecure === true);
  checkAdvertise(advertise, listen);
  checkMembers(options);
  return {
    id,
    dataDirectory,
    listen,
    advertise,
    peerListen,
    members: initialCluster,
    peers: peersOf(options),
    clusterId: computeClusterId(clusterName, initialCluster),
    tuning: resolveTuning(options.tuning ?? {}),
    log: options.log ?? (() => {}),
  };
}

/** Completes `tuning` with the defaults. Throws `INVALID_ARGUMENT`. */
export function resolveTuning(tuning: Partial<NodeTuning>): NodeTuning {
  for (const [name, value] of Object.entries(tuning)) {
    check(name in NODE_TUNING_DEFAULTS, () => `tuning has no option ${name}`);
    check(
      Number.isFinite(value) && value > 0 && (FRACTIONAL.has(name) || Number.isInteger(value)),
      () => `${name} ${value} is not a ${FRACTIONAL.has(name) ? "" : "whole "}number above 0`,
    );
  }
  const all: NodeTuning = Object.freeze({ ...NODE_TUNING_DEFAULTS, ...tuning });
  const atMost = (name: keyof NodeTuning, limit: number, what: string): void =>
    check(all[name] <= limit, () => `${name} ${all[name]} is more than ${what} ${limit}`);
  atMost("heartbeatIntervalMs", all.electionTimeoutMs / 2, "half of electionTimeoutMs, which is");
  atMost("closedPeerDelayMs", all.electionTimeoutMs, "electionTimeoutMs");
  atMost("batchBytesMax", all.uncommittedBytesMax, "uncommittedBytesMax");
  atMost("appendBytesMax", all.inflightBytesMax, "inflightBytesMax");
  const frameRoom = PEER_FRAME_BYTES_MAX - FRAME_OVERHEAD_BYTES;
  atMost("batchBytesMax", frameRoom - CLIENT_FRAME_BYTES_MAX, "what a frame between nodes holds,");
  atMost("appendBytesMax", frameRoom - all.batchBytesMax, "what a frame holds beside one batch,");
  atMost("batchBytesMax", all.segmentBytes / 2, "half of segmentBytes, which is");
  return all;
}

function checkMembers({ id, initialCluster, peerAddresses }: NodeOptions): void {
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
  for (const [peer, address] of peerAddresses ?? []) {
    check(ids.has(peer) && peer !== id, () => `peerAddresses names node ${peer}, which is no peer`);
    checkAddress(`peerAddresses, node ${peer}:`, address, 1);
  }
}

function peersOf({ id, initialCluster, peerAddresses }: NodeOptions): Map<number, HostPort> {
  const peers = new Map<number, HostPort>();
  for (const member of initialCluster) {
    if (member.id === id) continue;
    peers.set(member.id, peerAddresses?.get(member.id) ?? member.address);
  }
  return peers;
}

function checkAddress(name: string, { host, port }: HostPort, portMin: number): void {
  check(host.length > 0, () => `${name} has an empty host`);
  check(
    Number.isInteger(port) && port >= portMin && port <= PORT_MAX,
    () => `${name} port ${port} is not from ${portMin} to ${PORT_MAX}`,
  );
}

function checkExposure(name: string, address: HostPort, isInsecure: boolean): void {
  check(
    isInsecure || isLoopback(address.host),
    () =>
      `${name} ${formatAddress(address)} is open to other machines, without encryption or ` +
      "authentication: say so with insecure, or listen on 127.0.0.1",
  );
}

function checkAdvertise(advertise: string | undefined, listen: HostPort): void {
  if (advertise === undefined) {
    check(
      !UNSPECIFIED_HOSTS.has(listen.host),
      () => `advertise is missing: clients cannot connect to listen ${formatAddress(listen)}`,
    );
    return;
  }
  const isUrl = URL.canParse(advertise) && /^wss?:$/.test(new URL(advertise).protocol);
  check(
    isUrl && advertise.length <= ADVERTISE_LENGTH_MAX,
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
