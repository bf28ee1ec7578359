/**
 * The contents of a stopped node as a snapshot: all of its log, including entries that may not have
 * been committed. For a cluster that lost its majority, where no one can tell the two apart any
 * more. A restore keeps nothing by which one of them could give a lock a second holder. Changes
 * nothing in the directory but the count of its starts.
 */
import { stat } from "node:fs/promises";
import { assert, HoldfastError } from "../../errors/index.js";
import { LockTable, NOBODY } from "../../lockfsm/index.js";
import { BATCH_HEADER_BYTES, decodeBatchHeader, decodeCommands } from "../../protocol/index.js";
import { decodeConfiguration, type Entry, encodeConfiguration } from "../../raft/index.js";
import {
  type DataDirectory,
  damageOf,
  openDataDirectory,
  readIdentity,
  SnapshotDigest,
} from "../../storage/index.js";
import { NODE_TUNING_DEFAULTS } from "../options.js";
import { restoreAtBoot } from "../snapshots/restore-at-boot.js";
import { VERSION } from "../version.js";
import type { SnapshotSource } from "./snapshot-files.js";

/**
 * The members of a founder without a snapshot that saw no change: it knew them only from its
 * options.
 */
const NO_MEMBERS = { voters: [], outgoing: [], learners: [], addresses: [] };

interface Known {
  readonly table: LockTable;
  readonly index: number;
  readonly term: number;
  readonly configuration: Uint8Array;
  /** When the leader made the last entry; 0 if there is none after the snapshot. */
  readonly wallMs: number;
}

/**
 * Fails with `INVALID_ARGUMENT` if there is no data directory or it is empty, and with
 * `UNAVAILABLE` if a process uses it, permission is missing, or it is damaged.
 */
export async function snapshotOfDirectory(path: string): Promise<SnapshotSource> {
  const identity = await readIdentity(path);
  if (identity === undefined) {
    throw new HoldfastError("INVALID_ARGUMENT", `${path} is not the data directory of a node`);
  }
  const { nodeId, clusterId } = identity;
  // Read before the directory is opened, which writes the mark.
  const { mtimeMs } = await stat(`${path}/mark`);
  const { table, index, term, configuration, wallMs } = await knownIn(path, nodeId, clusterId);
  if (index === 0) {
    throw new HoldfastError("INVALID_ARGUMENT", `${path}: nothing was ever written to its log`);
  }
  const digest = new SnapshotDigest();
  for (const chunk of table.snapshot()) digest.add(chunk);
  const manifest = digest.manifestOf({ index, term }, configuration);
  return {
    ...manifest,
    configuration: Buffer.from(configuration).toString("hex"),
    ...{ clusterId, nodeId, version: VERSION },
    wallMs: Math.max(1, Math.floor(wallMs === 0 ? mtimeMs : wallMs)),
    async *chunks() {
      yield* table.snapshot();
    },
  };
}

async function knownIn(path: string, nodeId: number, clusterId: string): Promise<Known> {
  const { segmentBytes } = NODE_TUNING_DEFAULTS;
  try {
    const directory = await openDataDirectory({ path, nodeId, clusterId, segmentBytes });
    try {
      return await readAll(directory);
    } finally {
      await directory.close();
    }
  } catch (error) {
    const damage = damageOf(error);
    if (damage === undefined) throw error;
    const { file, offset, reason } = damage;
    const message = `the data are damaged: ${file}, byte ${offset}: ${reason}`;
    throw new HoldfastError("UNAVAILABLE", message, { cause: error });
  }
}

async function readAll({ log, snapshots }: DataDirectory): Promise<Known> {
  const { boot } = log;
  const table = new LockTable();
  const stored = await snapshots.list();
  const named = stored.find(({ checksum }) => checksum === boot.snapshot?.checksum);
  if (named !== undefined) await restoreAtBoot(snapshots, named, table);
  let { index, term } = named ?? { index: 0, term: 0 };
  let configuration = named?.configuration ?? encodeConfiguration(NO_MEMBERS);
  let wallMs = 0;
  for (const entry of boot.entries) {
    // Entries before the snapshot are kept for other nodes.
    if (entry.index <= index) continue;
    if (entry.kind === "command") wallMs = applyTo(table, entry);
    else if (entry.kind === "configuration") configuration = membersIn(entry);
    ({ index, term } = entry);
  }
  return { table, index, term, configuration, wallMs };
}

function applyTo(table: LockTable, { index, data }: Entry): number {
  const { stamp, wallMs } = decodeBatchHeader(data);
  const commands = decodeCommands(data, BATCH_HEADER_BYTES);
  table.apply({ index, stamp, wallMs, commands }, NOBODY);
  return wallMs;
}

function membersIn({ index, data }: Entry): Uint8Array {
  const decoded = decodeConfiguration(data);
  assert(decoded !== undefined, () => `entry ${index} is not a configuration`);
  return Uint8Array.from(data);
}
