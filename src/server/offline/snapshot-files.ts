/**
 * Snapshots of clusters in files: writes them from what a cluster sends, reads them to show what
 * they contain, and makes new clusters from them (decision 17). A restore needs no cluster: every
 * founding node makes its own directory, and equal files and options make equal directories. This
 * code does not know where the files are or what is shown of them.
 */
import { createHash } from "node:crypto";
import { HoldfastError, OptionError } from "../../errors/index.js";
import { type LockTable, TableRestore } from "../../lockfsm/index.js";
import {
  LOCK_DELAY_MS_MAX,
  type MemberRole,
  type SettingView,
  TTL_MS_MAX,
} from "../../protocol/index.js";
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
import { durationText } from "../../views/index.js";
import { foundingConfiguration } from "../node/addresses.js";
import { demandFounders } from "../node/resolve-options.js";
import { type Founder, NODE_TUNING_DEFAULTS } from "../options.js";

/**
 * The longest lease of a session, and the longest lock delay after it. Longer leases of named owners
 * that are in the file keep their keys closed instead of the whole cluster.
 */
export const QUIET_MS_DEFAULT = TTL_MS_MAX + LOCK_DELAY_MS_MAX;
/**
 * Added to the index. It is more entries than a cluster makes in years after a snapshot, so that a
 * watcher that knows changes up to some index never takes changes of the new cluster for the next
 * ones.
 */
const INDEX_JUMP = 2 ** 40;
const NO_LONG_LEASES = Object.freeze({ count: 0, longestMs: 0, closedMs: 0 });
const RESTORE_ID_LENGTH_MAX = 128;
const SESSIONS_PER_PAGE = 1_000;

/** What a cluster says about a snapshot, and its chunks. */
export interface SnapshotSource extends Pick<SnapshotManifest, "index" | "term" | "checksum"> {
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
 * Passes the bytes of a file to `write`, in order and one call at a time. `onProgress` gets the
 * number of written bytes and of all bytes. Resolves to their number. Fails as `offered.chunks` and
 * `write` do, and with `INVALID_ARGUMENT` if the chunks are not those that were offered.
 */
export async function writeSnapshotFile(
  offered: SnapshotSource,
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

/** The contents of a file; times in milliseconds. */
export interface SnapshotContents {
  readonly clusterId: string;
  readonly nodeId: number;
  readonly version: string;
  readonly savedWallMs: number;
  readonly index: number;
  readonly term: number;
  /** The checksum of chunks and manifest; 64 hex digits. */
  readonly checksum: string;
  /** The size of the file. */
  readonly bytes: number;
  readonly members: readonly MemberOfSnapshot[];
  /** Cluster time. */
  readonly stamp: number;
  readonly sessions: number;
  readonly keys: number;
  readonly holds: number;
  readonly waiters: number;
  readonly cooldowns: number;
  /** Leases of named owners, among the holds; and the ones of them without end. */
  readonly leases: number;
  readonly endlessLeases: number;
  readonly nextToken: number;
  /** The longest lease of any session or named owner that has an end; 0 if there is none. */
  readonly leaseMsMax: number;
  /**
   * How long the cluster of the snapshot, if it was restored itself, would still open no session.
   */
  readonly quietMs: number;
  readonly settings: readonly SettingView[];
}

export interface MemberOfSnapshot {
  readonly id: number;
  readonly role: MemberRole;
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
  /**
   * How long no session is opened; "default": as long as any lease of a session can last;
   * `undefined`: all old leases have ended, including leases of named owners.
   */
  readonly quietMs: number | "default" | undefined;
  /** Without this, a cluster that allowed leases without end is not restored. Default: false. */
  readonly dropEndlessLeases?: boolean;
  /** No token will be below this; 0: only the snapshot and the clock decide. */
  readonly tokenFloor: number;
  readonly signal?: AbortSignal | undefined;
  /** The size of a segment of the log; default: the default of `holdfast server`. */
  readonly segmentBytes?: number;
  /** Default: the machine's. */
  readonly means?: RestoringMeans;
}

export interface RestoredNode {
  readonly contents: SnapshotContents;
  /** The id of the new cluster; equal on all nodes restored with equal options and files. */
  readonly clusterId: string;
  /** The index of the first entry after the snapshot. */
  readonly index: number;
  readonly quietMs: number;
  /** Leases of named owners in the file whose keys stay closed for longer than that. */
  readonly longLeases: ReturnType<LockTable["leasesBeyond"]>;
  readonly tokenFloor: number;
}

/**
 * Makes the data directory of one founding node from a file. Fails with `INVALID_ARGUMENT` for
 * unsuitable options and files, and as `makeRestoredDirectory` does; then nothing has changed.
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
  demandRoomAfter(saved.manifest);
  if (options.dropEndlessLeases !== true) demandNoEndlessLeases(contents);
  const quietMs = quietMsFor(contents, sessionLeaseMsMaxIn(table), options.quietMs);
  const longLeases = quietMs === 0 ? NO_LONG_LEASES : table.leasesBeyond(quietMs);
  const founded = table.refounded({
    index: saved.manifest.index + INDEX_JUMP,
    quietMs,
    tokenFloor: options.tokenFloor,
    // 0 would mean that there was no earlier cluster.
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
  return { contents, clusterId, index, quietMs, longLeases, tokenFloor: founded.nextToken };
}

/** No log of a cluster gets this long: no node wrote this. */
function demandRoomAfter({ index, term }: SnapshotManifest): void {
  if (Number.isSafeInteger(2 * (index + INDEX_JUMP)) && Number.isSafeInteger(2 * term)) return;
  const message = `the snapshot is damaged: it is of entry ${index} of term ${term}`;
  throw new HoldfastError("INVALID_ARGUMENT", message, { details: { problem: "damaged" } });
}

function demandRestoreId({ length }: string): void {
  if (length >= 1 && length <= RESTORE_ID_LENGTH_MAX) return;
  const problem = `has ${length} characters, not 1 to ${RESTORE_ID_LENGTH_MAX}`;
  throw new OptionError("INVALID_ARGUMENT", (say) => `${say("restoreId")} ${problem}`);
}

/** The owner of a lease without end may rely on it forever, so no quiet time is long enough. */
function demandNoEndlessLeases(contents: SnapshotContents): void {
  const { endlessLeases: count } = contents;
  const isAllowed = settingOf(contents, "endlessLeases") > 0;
  if (count === 0 && !isAllowed) return;
  const what =
    count === 0
      ? "the old cluster allowed leases without end and may have granted some after the snapshot"
      : `the snapshot has ${count} ${count === 1 ? "lease" : "leases"} without end`;
  throw new OptionError(
    "INVALID_ARGUMENT",
    (say) =>
      `${what}: their owners may rely on them forever, and the new cluster does not know them; ` +
      `make sure that none does, and restore with ${say("dropEndlessLeases")}`,
  );
}

function settingOf({ settings }: SnapshotContents, wanted: string): number {
  return settings.find(({ name }) => name === wanted)?.value ?? 0;
}

/** With a shorter time than a known lease of a session, two clients could hold one lock. */
function quietMsFor(
  { quietMs }: SnapshotContents,
  leaseMsMax: number,
  asked: RestoreOptions["quietMs"],
): number {
  if (asked === undefined) return 0;
  if (asked === "default") return Math.max(QUIET_MS_DEFAULT, quietMs);
  if (asked < leaseMsMax) {
    const lease = `the lease of ${durationText(leaseMsMax)} that a client in the snapshot has`;
    throw new OptionError(
      "INVALID_ARGUMENT",
      (say) => `${say("quietTime")} ${durationText(asked)} is shorter than ${lease}`,
    );
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
      // If the file is damaged, that is the cause, and its end will show it.
      failure = error;
    }
  }
  if (failure !== undefined) throw ofTheTable(failure);
  const table = tableOf(restore);
  demandTableOf(saved.manifest, table);
  return { saved, table, fileBytes: reader.fileBytes };
}

/** Entries that are not commands come after the last one that the table has seen, never before. */
function demandTableOf({ index }: SnapshotManifest, table: LockTable): void {
  if (table.index <= index) return;
  const message = `the snapshot is damaged: it is of entry ${index}, and its table of ${table.index}`;
  throw new HoldfastError("INVALID_ARGUMENT", message, { details: { problem: "damaged" } });
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

/** The digests were right: the table was not damaged, but saved by another version. */
function ofTheTable(error: unknown): unknown {
  if (!(error instanceof HoldfastError) || error.code !== "INTERNAL") return error;
  const problem = "formatVersion" in error.details ? "newerFormat" : "damaged";
  const message = `the table in the snapshot cannot be read: ${error.message}`;
  return new HoldfastError("INVALID_ARGUMENT", message, { cause: error, details: { problem } });
}

/** Known before it is written, because the cluster's id follows from it. */
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
 * Nodes whose beginnings differ, even by one token, belong to different clusters and refuse each
 * other. No cluster that was founded without a snapshot has this id, so a node with an empty
 * directory cannot pass for a restored one.
 */
function restoredClusterId(restoreId: string, { checksum }: SnapshotManifest): string {
  const told = JSON.stringify(["holdfast restored cluster", 1, restoreId, checksum]);
  return createHash("sha256").update(told).digest("hex").slice(0, 32);
}

function contentsOf(saved: SavedSnapshot, table: LockTable, bytes: number): SnapshotContents {
  const { manifest, clusterId, nodeId, version, savedWallMs } = saved;
  const { index, term, checksum } = manifest;
  const { sessions, keys, holds, waiters, cooldowns, leases, endlessLeases } = table.counts();
  const { stamp, nextToken, quietMs } = table;
  return {
    ...{ clusterId, nodeId, version, savedWallMs, index, term, checksum, bytes },
    members: membersIn(manifest),
    ...{ stamp, sessions, keys, holds, waiters, cooldowns, leases, endlessLeases, nextToken },
    leaseMsMax: Math.max(sessionLeaseMsMaxIn(table), table.leasesBeyond(0).longestMs),
    quietMs,
    settings: table.settings(),
  };
}

function membersIn({ configuration }: SnapshotManifest): readonly MemberOfSnapshot[] {
  const decoded = decodeConfiguration(configuration);
  if (decoded === undefined) {
    throw new HoldfastError(
      "INVALID_ARGUMENT",
      "the snapshot is damaged: its members cannot be read",
    );
  }
  return decoded.addresses.map(({ id, address }) => {
    return { id, role: isVoter(decoded, id) ? "voter" : "learner", address };
  });
}

function sessionLeaseMsMaxIn(table: LockTable): number {
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
