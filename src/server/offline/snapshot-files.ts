/**
 * Snapshots of clusters in files: written from what a cluster gives, read to see what is in them, and
 * made the beginning of a new cluster (decision 17). A restore happens without any cluster: every
 * founding node makes its own directory, and equal files and options make equal ones. Which files
 * these are, and what is told of it, is not known here.
 */
import { createHash } from "node:crypto";
import { HoldfastError } from "../../errors.js";
import { type LockTable, TableRestore } from "../../lockfsm/index.js";
import { LOCK_DELAY_MS_MAX, type SettingView, TTL_MS_MAX } from "../../protocol/index.js";
import { decodeConfiguration, encodeConfiguration, isVoter } from "../../raft/index.js";
import {
  demandVacant,
  makeRestoredDirectory,
  type RestoringMeans,
  type SavedSnapshot,
  SnapshotDigest,
  SnapshotFileEncoder,
  SnapshotFileReader,
  type SnapshotManifest,
} from "../../storage/index.js";
import { foundingConfiguration } from "../node/addresses.js";
import { demandFounders } from "../node/resolve-options.js";
import { type Founder, NODE_TUNING_DEFAULTS } from "../options.js";

/** A holder's lease may have so long to go, and what it began then so long to come to its end. */
export const QUIET_MS_DEFAULT = TTL_MS_MAX + LOCK_DELAY_MS_MAX;
/**
 * Added to the index: more entries than a cluster makes after a snapshot in years, so that what
 * followed its changes up to some index never takes the new cluster's for the next ones.
 */
const INDEX_JUMP = 2 ** 40;
const RESTORE_ID_LENGTH_MAX = 128;
const SESSIONS_PER_PAGE = 1_000;

/** What a cluster says of a snapshot, and its chunks. */
export interface OfferedSnapshot extends Pick<SnapshotManifest, "index" | "term" | "checksum"> {
  readonly clusterId: string;
  readonly nodeId: number;
  readonly chunkCount: number;
  readonly byteLength: number;
  /** Hex digits. */
  readonly configuration: string;
  readonly wallMs: number;
  readonly version: string;
  chunks(): AsyncIterable<Uint8Array>;
}

/**
 * Hands the bytes of a file to `write`, in order and one call at a time. `onProgress` hears how many
 * of how many are written. Resolves to their number. Fails as `offered.chunks` and `write` do, and
 * with `INVALID_ARGUMENT` when the chunks are not what was offered.
 */
export async function writeSnapshotFile(
  offered: OfferedSnapshot,
  write: (bytes: Uint8Array) => Promise<void>,
  onProgress: (bytes: number, of: number) => void,
): Promise<number> {
  const { index, term, checksum, chunkCount, byteLength, clusterId, nodeId, version } = offered;
  const configuration = Uint8Array.from(Buffer.from(offered.configuration, "hex"));
  const manifest = { index, term, checksum, chunkCount, byteLength, configuration };
  const saved = { manifest, clusterId, nodeId, version, savedWallMs: offered.wallMs };
  const encoder = new SnapshotFileEncoder(saved);
  let bytes = 0;
  const put = async (part: Uint8Array): Promise<void> => {
    await write(part);
    bytes += part.length;
    onProgress(bytes, encoder.byteLength);
  };
  await put(encoder.begin());
  for await (const chunk of offered.chunks()) await put(encoder.chunk(chunk));
  await put(encoder.end());
  return bytes;
}

/** What is in a file; times in milliseconds. */
export interface SnapshotContents {
  readonly clusterId: string;
  readonly nodeId: number;
  readonly version: string;
  readonly savedWallMs: number;
  readonly index: number;
  readonly term: number;
  /** Of chunks and manifest; 64 hex digits. */
  readonly checksum: string;
  /** Of the file. */
  readonly bytes: number;
  readonly members: readonly MemberOfSnapshot[];
  /** Cluster time. */
  readonly stamp: number;
  readonly sessions: number;
  readonly keys: number;
  readonly holds: number;
  readonly waiters: number;
  readonly closings: number;
  readonly nextToken: number;
  /** The longest lease of any session; 0: there is none. */
  readonly leaseMsMax: number;
  /** How long the cluster, restored itself, would have opened no session yet. */
  readonly quietMs: number;
  readonly settings: readonly SettingView[];
}

export interface MemberOfSnapshot {
  readonly id: number;
  readonly role: "voter" | "learner";
  readonly address: string;
}

/** Reads and checks all of a file. Fails with `INVALID_ARGUMENT` and `details.problem`. */
export async function inspectSnapshotFile(
  source: AsyncIterable<Uint8Array>,
): Promise<SnapshotContents> {
  const { saved, table, fileBytes } = await readTable(source);
  return contentsOf(saved, table, fileBytes);
}

export interface RestoreOptions {
  readonly id: number;
  /** Missing or empty. */
  readonly dataDirectory: string;
  /** The founding members of the new cluster with the addresses they listen on for peers. */
  readonly initialCluster: readonly Founder[];
  /** 1 to 128 characters that no restore had before; the same on each node. */
  readonly restoreId: string;
  /** For how long no session is opened; `undefined`: the old leases are over. */
  readonly quietMs: number | undefined;
  /** No token will be below it; 0: only what follows from the snapshot and the clock. */
  readonly tokenFloor: number;
  readonly signal?: AbortSignal | undefined;
  /** Of the log; default: that of `holdfast server`. */
  readonly segmentBytes?: number;
  /** Default: the machine's. */
  readonly means?: RestoringMeans;
}

export interface RestoredNode {
  readonly contents: SnapshotContents;
  /** Of the new cluster; equal on all nodes for which the same was said of the same file. */
  readonly clusterId: string;
  /** Of the first entry behind it. */
  readonly index: number;
  readonly quietMs: number;
  readonly tokenFloor: number;
}

/**
 * Makes the data directory of one founding node out of a file. Fails with `INVALID_ARGUMENT` for
 * options and files that will not do, and as `makeRestoredDirectory` does; then nothing has changed.
 */
export async function restoreSnapshotFile(
  source: AsyncIterable<Uint8Array>,
  options: RestoreOptions,
): Promise<RestoredNode> {
  const { id, dataDirectory, initialCluster, restoreId, signal } = options;
  const { segmentBytes = NODE_TUNING_DEFAULTS.segmentBytes, means = {} } = options;
  demandFounders(id, initialCluster);
  demandRestoreId(restoreId);
  await demandVacant(dataDirectory, means.fileSystem);
  const { saved, table, fileBytes } = await readTable(source, signal);
  const contents = contentsOf(saved, table, fileBytes);
  demandRoomBehind(saved.manifest);
  const quietMs = quietMsFor(contents, options.quietMs);
  const founded = table.refounded({
    index: saved.manifest.index + INDEX_JUMP,
    quietMs,
    tokenFloor: options.tokenFloor,
    // 0 would say that there was no cluster before.
    savedWallMs: Math.max(1, saved.savedWallMs),
  });
  const manifest = manifestOf(founded, saved.manifest.term, initialCluster);
  const clusterId = restoredClusterId(restoreId, manifest);
  await makeRestoredDirectory({
    ...means,
    path: dataDirectory,
    nodeId: id,
    clusterId,
    segmentBytes,
    manifest,
    chunks: () => founded.snapshot(),
    signal,
  });
  const { index } = manifest;
  return { contents, clusterId, index, quietMs, tokenFloor: founded.nextToken };
}

/** No log of any cluster gets there: it is not what a node wrote. */
function demandRoomBehind({ index, term }: SnapshotManifest): void {
  if (Number.isSafeInteger(2 * (index + INDEX_JUMP)) && Number.isSafeInteger(2 * term)) return;
  const message = `the snapshot is damaged: it is of entry ${index} of term ${term}`;
  throw new HoldfastError("INVALID_ARGUMENT", message, { details: { problem: "damaged" } });
}

function demandRestoreId({ length }: string): void {
  if (length >= 1 && length <= RESTORE_ID_LENGTH_MAX) return;
  const message = `restoreId has ${length} characters, not 1 to ${RESTORE_ID_LENGTH_MAX}`;
  throw new HoldfastError("INVALID_ARGUMENT", message);
}

/** A shorter one than leases that are known of would let two hold one lock. */
function quietMsFor({ leaseMsMax, quietMs }: SnapshotContents, asked: number | undefined): number {
  if (asked === undefined) return 0;
  if (asked < leaseMsMax) {
    const message =
      `quietTime ${asked} ms is shorter than the lease of ${leaseMsMax} ms that a session in the ` +
      "snapshot has";
    throw new HoldfastError("INVALID_ARGUMENT", message);
  }
  return Math.max(asked, quietMs);
}

async function readTable(
  source: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<{ saved: SavedSnapshot; table: LockTable; fileBytes: number }> {
  const reader = new SnapshotFileReader(source);
  const saved = await reader.begin();
  const restore = new TableRestore();
  let failure: unknown;
  for await (const chunk of reader.chunks()) {
    signal?.throwIfAborted();
    try {
      if (failure === undefined) restore.add(chunk);
    } catch (error) {
      // If the file is damaged, that is why, and its end will tell.
      failure = error;
    }
  }
  if (failure !== undefined) throw ofTheTable(failure);
  return { saved, table: tableOf(restore), fileBytes: reader.fileBytes };
}

function tableOf(restore: TableRestore): LockTable {
  try {
    const finishing = restore.finish();
    for (;;) {
      const step = finishing.next();
      if (step.done === true) return step.value;
    }
  } catch (error) {
    throw ofTheTable(error);
  }
}

/** The digests were right: it was not damaged on its way, but saved by another version. */
function ofTheTable(error: unknown): unknown {
  if (!(error instanceof HoldfastError) || error.code !== "INTERNAL") return error;
  const problem = "formatVersion" in error.details ? "newerFormat" : "damaged";
  const message = `the table in the snapshot cannot be read: ${error.message}`;
  return new HoldfastError("INVALID_ARGUMENT", message, { cause: error, details: { problem } });
}

/** Known before it is written: the cluster's id follows from it. */
function manifestOf(
  table: LockTable,
  term: number,
  founders: readonly Founder[],
): SnapshotManifest {
  const digest = new SnapshotDigest();
  for (const chunk of table.snapshot()) digest.add(chunk);
  const configuration = encodeConfiguration(foundingConfiguration(founders));
  return digest.manifestOf({ index: table.index, term }, configuration);
}

/**
 * Nodes that would begin with something else, be it one token, belong to another cluster and refuse
 * each other. No founding of a cluster without a snapshot has it: a node with an empty directory
 * cannot pass for one that was restored.
 */
function restoredClusterId(restoreId: string, { checksum }: SnapshotManifest): string {
  const told = JSON.stringify(["holdfast restored cluster", 1, restoreId, checksum]);
  return createHash("sha256").update(told).digest("hex").slice(0, 32);
}

function contentsOf(saved: SavedSnapshot, table: LockTable, bytes: number): SnapshotContents {
  const { manifest, clusterId, nodeId, version, savedWallMs } = saved;
  const { index, term, checksum } = manifest;
  const { sessions, keys, holds, waiters, closings } = table.counts();
  const { stamp, nextToken, quietMs } = table;
  return {
    ...{ clusterId, nodeId, version, savedWallMs, index, term, checksum, bytes },
    members: membersIn(manifest),
    ...{ stamp, sessions, keys, holds, waiters, closings, nextToken },
    leaseMsMax: leaseMsMaxIn(table),
    quietMs,
    settings: table.settings(),
  };
}

function membersIn({ configuration }: SnapshotManifest): readonly MemberOfSnapshot[] {
  const decoded = decodeConfiguration(configuration);
  if (decoded === undefined) {
    throw new HoldfastError(
      "INVALID_ARGUMENT",
      "the snapshot is damaged: its members make no sense",
    );
  }
  return decoded.addresses.map(({ id, address }) => {
    return { id, role: isVoter(decoded, id) ? "voter" : "learner", address };
  });
}

function leaseMsMaxIn(table: LockTable): number {
  let longestMs = 0;
  for (let after: number | null = 0; after !== null; ) {
    const { sessions, next }: ReturnType<LockTable["listSessions"]> = table.listSessions(
      after,
      SESSIONS_PER_PAGE,
    );
    for (const { ttlMs } of sessions) longestMs = Math.max(longestMs, ttlMs);
    after = next;
  }
  return longestMs;
}
