/**
 * From an open data directory to a driver that is ready to start, in the same way in production and
 * in simulation. The table is restored only from the snapshot that the log names (consensus rule
 * 20). The members are the ones in that snapshot, or the founders, or unknown until a leader sends
 * them.
 */
import { assert, OptionError } from "../../errors/index.js";
import { LockTable } from "../../lockfsm/index.js";
import type { PeerIdentity } from "../../net/index.js";
import { type Configuration, decodeConfiguration, Raft, type Random } from "../../raft/index.js";
import { AuditStore, type DataDirectory, type SnapshotManifest } from "../../storage/index.js";
import type { AuditRetention } from "../reads/audit.js";
import { restoreAtBoot } from "../snapshots/restore-at-boot.js";
import { Driver } from "./driver.js";
import type { DriverOptions, DriverPorts } from "./driver-ports.js";
import { TracedRaft, type TraceLine } from "./raft-trace.js";

export interface DriverWorld extends Omit<DriverPorts, "raft" | "table"> {
  /** Seeds the election timeouts. */
  readonly random: Random;
  /** Holds the effects of everything up to the snapshot that the log names. Default: empty. */
  readonly table?: LockTable;
  /** Receives a line for every transition of the core. Default: no lines are made. */
  readonly trace?: TraceLine | undefined;
}

export interface AssembledDriver {
  readonly driver: Driver;
  readonly raft: Raft;
  readonly table: LockTable;
}

export interface BootOptions
  extends Omit<
    DriverOptions,
    "configuration" | "incarnation" | "nodeId" | "clusterId" | "knownPeers"
  > {
  /** The members that founded the cluster; `undefined` if they are not known. */
  readonly founders: Configuration | undefined;
  /** How much history of locks is kept in the directory; `undefined`: it is not written. */
  readonly audit?: AuditRetention | undefined;
}

export type BootWorld = Omit<
  DriverWorld,
  "log" | "snapshots" | "named" | "table" | "audit" | "notePeer"
>;

/** A node that joined, until a leader sends it the members. */
const NO_MEMBERS: Configuration = Object.freeze({
  voters: [],
  outgoing: [],
  learners: [],
  addresses: [],
});

/**
 * Fails with `INTERNAL` and `details.corrupt` if the snapshot is damaged, and with
 * `INVALID_ARGUMENT` if a founding node is started without the founders.
 */
export async function bootDriver(
  options: BootOptions,
  world: BootWorld,
  directory: DataDirectory,
): Promise<AssembledDriver> {
  const { identity, log, snapshots } = directory;
  const table = new LockTable();
  const manifest = await namedSnapshot(directory);
  const pause = () => new Promise<void>((resolve) => world.scheduler.soon(resolve));
  if (manifest !== undefined) await restoreAtBoot(snapshots, manifest, table, pause);
  const configuration =
    manifest === undefined ? firstConfiguration(options, directory) : configurationOf(manifest);
  const { founders: _, audit: auditOptions, ...rest } = options;
  const knownPeers = directory.knownPeers();
  const notePeer = (peer: PeerIdentity): void => directory.notePeer(peer);
  const audit = await openAudit(directory, auditOptions);
  return assembleDriver(
    { ...rest, ...identity, knownPeers, configuration },
    { ...world, log, snapshots, named: manifest, table, audit, notePeer },
  );
}

/** Puts core, table and driver of one group together. */
export function assembleDriver(options: DriverOptions, world: DriverWorld): AssembledDriver {
  const { nodeId, configuration, tuning } = options;
  const { log, random, trace, table = new LockTable() } = world;
  const boot = { ...log.boot, snapshotIndex: log.boot.snapshot?.index ?? 0, configuration };
  const config = { id: nodeId, ...tuning };
  const raft =
    trace === undefined
      ? new Raft(config, boot, random)
      : new TracedRaft(config, boot, random, trace);
  const driver = new Driver(options, { ...world, raft, table });
  return { driver, raft, table };
}

async function openAudit(
  { store: ordered }: DataDirectory,
  options: AuditRetention | undefined,
): Promise<DriverPorts["audit"]> {
  if (options === undefined) return undefined;
  const store = new AuditStore(ordered);
  await store.load();
  return { store, ...options };
}

async function namedSnapshot({
  log,
  snapshots,
}: DataDirectory): Promise<SnapshotManifest | undefined> {
  const named = log.boot.snapshot;
  if (named === undefined) return undefined;
  const stored = await snapshots.list();
  const manifest = stored.find(({ checksum }) => checksum === named.checksum);
  // Opening the directory has checked that it exists.
  assert(manifest !== undefined, () => `the snapshot of entry ${named.index} is gone`);
  return manifest;
}

function firstConfiguration({ founders }: BootOptions, { identity }: DataDirectory): Configuration {
  if (identity.origin === "joined") return NO_MEMBERS;
  if (founders !== undefined) return founders;
  const why = "the data directory is a founding member's and has no snapshot yet";
  throw new OptionError("INVALID_ARGUMENT", (say) => `${say("initialCluster")} is missing: ${why}`);
}

function configurationOf({ index, configuration }: SnapshotManifest): Configuration {
  const decoded = decodeConfiguration(configuration);
  assert(decoded !== undefined, () => `the snapshot of entry ${index} has unreadable members`);
  return decoded;
}
