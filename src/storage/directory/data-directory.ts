/**
 * Opens the data directory of one node, whose files `directory-layout.ts` lists, and creates it at
 * the first start. It belongs to one node of one cluster forever. Its parts must agree: the mark
 * with the log, the log with its snapshot. If the directory cannot be used, nothing in it is
 * changed.
 */
import { setTimeout as delay } from "node:timers/promises";
import { HoldfastError } from "../../errors/index.js";
import type { NodeOrigin } from "../../raft/index.js";
import { corruption, damageOf } from "../corruption.js";
import { type FileSystem, makeDirectories } from "../file-system.js";
import { LOCK_NAME, openLevelStore } from "../level-store.js";
import type { FileLog } from "../log/file-log.js";
import { type LogContents, readLog } from "../log/log-reader.js";
import { openFileLog } from "../log/open-file-log.js";
import { SEGMENT_BASE_BYTES } from "../log/segment-base.js";
import type { LogStore, LogWrites, NodeIdentity } from "../log-store.js";
import type { KnownPeers, NotedPeer } from "../mark/known-peers.js";
import { drawBirth, identityIn, MARK_FILE_NAME, MarkFile, newMark } from "../mark/mark-file.js";
import { LOOK_MS } from "../mark/mark-schedule.js";
import { nodeFileSystem } from "../node-file-system.js";
import type { OrderedStore } from "../ordered-store.js";
import type { SnapshotStore } from "../snapshots/snapshot-store.js";
import { openSnapshotStore, type StoredSnapshots } from "../snapshots/stored-snapshots.js";
import { NODE_STORAGE_PORTS, type StoragePorts } from "../storage-ports.js";
import {
  demandClusterId,
  demandNodeId,
  demandUsable,
  explained,
  LOG_NAME,
  STORE_NAME,
  writeVersion,
} from "./directory-layout.js";

export interface DataDirectoryOptions {
  /** Created if it is missing. */
  readonly path: string;
  /** 1 … 2^32 − 1. Must be the one for which the directory was made. */
  readonly nodeId: number;
  /**
   * 32 lower-case hex digits. Used only when the directory is made; later the stored one counts.
   */
  readonly clusterId: string;
  /** Used only when the directory is made; later the stored one counts. Default: `initial`. */
  readonly origin?: NodeOrigin;
  /** The size of a segment of the log, zeros included; at least `SEGMENT_BYTES_MIN`. */
  readonly segmentBytes: number;
  /** Default: the machine's. */
  readonly fileSystem?: FileSystem;
  /** Default: `level`. */
  readonly openStore?: OpenStore;
  readonly ports?: StoragePorts;
}

/**
 * Opens the ordered store, and with it takes the lock of the directory. With `mustExist`, a missing
 * store is damage and none is created. If the lock may have kept no process out, `outlast` runs
 * under it first: when that resolves, every process that had the directory before has ended.
 */
export type OpenStore = (
  path: string,
  mustExist: boolean,
  outlast?: () => Promise<void>,
) => Promise<OrderedStore>;

export interface DataDirectory {
  readonly identity: NodeIdentity;
  readonly log: LogStore;
  /** What `log` has written so far. */
  logWrites(): LogWrites;
  /** Contains the snapshot that the log names, and at first no other. */
  readonly snapshots: SnapshotStore;
  readonly store: OrderedStore;
  /** Messages for operators about this opening (a torn tail was cut, …), one line each. */
  readonly notices: readonly string[];
  /** Every peer that was noted. */
  knownPeers(): KnownPeers;
  /**
   * A peer came with this identity. Durable before a later `log.syncMark()` resolves. Changes
   * nothing unless its incarnation is higher than the noted one.
   */
  notePeer(peer: NotedPeer): void;
  /**
   * Closes the log, then the store, and with it releases the lock. Rejects as the log's `close`
   * does; the lock is released even then.
   */
  close(): Promise<void>;
}

/** Room for the base record of a segment and some records after it. */
export const SEGMENT_BYTES_MIN = 4 * (SEGMENT_BASE_BYTES + 64);

/** A process that lost its directory writes nothing after this time, unless it was suspended. */
const OUTLAST_MS = 3 * LOOK_MS;

/**
 * Opens the directory, creates it at the first start, and raises the incarnation durably.
 *
 * Fails with `INVALID_ARGUMENT` (options, another node's directory, a directory with other files),
 * `UNAVAILABLE` (used by another process, or without the lock that would show it; not a directory;
 * no permission; a layout that this version does not know; an interrupted recovery; the cause is
 * kept), `DISK_FULL`, or `INTERNAL` if files are damaged, which `damageOf` recognises.
 */
export async function openDataDirectory(options: DataDirectoryOptions): Promise<DataDirectory> {
  demandNodeId(options.nodeId);
  demandClusterId(options.clusterId);
  demandSegmentBytes(options.segmentBytes);
  const { path, fileSystem = nodeFileSystem, openStore = openLevelStore } = options;
  let store: OrderedStore | undefined;
  try {
    await makeDirectories(fileSystem, path);
    const storePath = `${path}/${STORE_NAME}`;
    // A directory that was made has a store, which became durable first.
    const mustExist = await demandUsable(fileSystem, path);
    if (mustExist) await demandMark(path, fileSystem);
    else await makeDirectories(fileSystem, storePath);
    const notices: string[] = [];
    const opening = openStore(storePath, mustExist, async () => {
      await outlast(options, fileSystem);
      notices.push(
        `${storePath}/LOCK was made by hand; waited for a process that may have had the data`,
      );
    });
    store = await opening.catch(async (error: unknown) => {
      if (mustExist || damageOf(error) === undefined) throw error;
      await emptyStore(fileSystem, storePath);
      return openStore(storePath, mustExist);
    });
    return await openLocked(options, fileSystem, store, notices);
  } catch (error) {
    await store?.close();
    throw explained(path, error);
  }
}

/**
 * `level` does not sync the first files that it makes, so a loss of power during a first start may
 * leave a store that cannot be opened. Nothing was ever written to it. The lock is not removed.
 */
async function emptyStore(fileSystem: FileSystem, path: string): Promise<void> {
  for (const name of await fileSystem.list(path)) {
    if (name !== LOCK_NAME) await fileSystem.unlink(`${path}/${name}`);
  }
}

function demandSegmentBytes(segmentBytes: number): void {
  if (Number.isInteger(segmentBytes) && segmentBytes >= SEGMENT_BYTES_MIN) return;
  const message = `segmentBytes ${segmentBytes} is below ${SEGMENT_BYTES_MIN}`;
  throw new HoldfastError("INVALID_ARGUMENT", message);
}

/**
 * A process that had the directory before finds in the mark that it has lost it, and ends. If it
 * was writing the mark at that moment, the mark is replaced once more.
 */
async function outlast(
  { path, nodeId }: DataDirectoryOptions,
  fileSystem: FileSystem,
): Promise<void> {
  for (let taken = 0; ; ) {
    const mark = await MarkFile.open(fileSystem, path);
    try {
      demandNode(path, mark, nodeId);
      const { current } = mark;
      if (current.incarnation === taken) return;
      taken = current.incarnation + 1;
      await mark.write({ ...current, incarnation: taken });
    } finally {
      await mark.close();
    }
    await delay(OUTLAST_MS);
  }
}

async function openLocked(
  options: DataDirectoryOptions,
  fileSystem: FileSystem,
  store: OrderedStore,
  notices: readonly string[],
): Promise<DataDirectory> {
  const { path } = options;
  if (!(await demandUsable(fileSystem, path))) await makeFresh(options, fileSystem);
  await makeDirectories(fileSystem, `${path}/${LOG_NAME}`);
  // A process that died may have left names that were never synced.
  await fileSystem.syncDirectory(path);
  const mark = await MarkFile.open(fileSystem, path);
  let parts: Parts;
  try {
    parts = await openMarked(options, fileSystem, store, mark);
  } catch (error) {
    await mark.close();
    throw error;
  }
  const { log, snapshots } = parts;
  try {
    // What the log names is durable now. Until then a loss of power could have brought back an older
    // record, and the snapshot that it names.
    await snapshots.settle(log.boot.snapshot);
  } catch (error) {
    await log.close();
    throw error;
  }
  return assembled({ ...parts, notices: [...notices, ...parts.notices] });
}

/** The mark is made before VERSION, so a directory with VERSION and no mark has lost the mark. */
async function demandMark(path: string, fileSystem: FileSystem): Promise<void> {
  if ((await fileSystem.list(path)).includes(MARK_FILE_NAME)) return;
  const place = { file: `${path}/${MARK_FILE_NAME}`, offset: 0, index: 0 };
  throw corruption(place, "the mark is missing");
}

/** An existing mark was made by an interrupted first start, and is kept. */
async function makeFresh(
  { path, nodeId, clusterId, origin = "initial", ports }: DataDirectoryOptions,
  fileSystem: FileSystem,
): Promise<void> {
  if (!(await fileSystem.list(path)).includes(MARK_FILE_NAME)) {
    const birth = drawBirth((ports ?? NODE_STORAGE_PORTS).randomBytes);
    const mark = newMark({ nodeId, clusterId, birth, origin, incarnation: 0 });
    await MarkFile.create(fileSystem, path, mark);
  }
  await writeVersion(fileSystem, path);
}

async function openMarked(
  { path, nodeId, segmentBytes, ports = NODE_STORAGE_PORTS }: DataDirectoryOptions,
  fileSystem: FileSystem,
  store: OrderedStore,
  mark: MarkFile,
): Promise<Parts> {
  demandNode(path, mark, nodeId);
  const found = mark.current;
  const directory = `${path}/${LOG_NAME}`;
  const contents = await readLog(fileSystem, directory, found);
  const named = contents.boot.snapshot;
  const snapshots = openSnapshotStore(store);
  if (named !== undefined) await snapshots.demand(named);
  const notices = noticesOf(path, mark, contents);
  // Nothing that existed before was changed up to here.
  const identity = { ...identityIn(found), incarnation: found.incarnation + 1 };
  await mark.write({ ...found, ...identity });
  const log = await openFileLog({ fileSystem, directory, segmentBytes, ports, mark, contents });
  return { identity, log, snapshots, store, notices };
}

function demandNode(path: string, { current }: MarkFile, nodeId: number): void {
  if (current.nodeId === nodeId) return;
  const message = `${path} belongs to node ${current.nodeId}, this is node ${nodeId}`;
  const details = { path, expected: nodeId, found: current.nodeId };
  throw new HoldfastError("INVALID_ARGUMENT", message, { details });
}

function noticesOf(path: string, mark: MarkFile, { last, boot }: LogContents): string[] {
  const notices: string[] = [];
  if (mark.intactSlots < 2) notices.push(`${path}/mark: one of two copies was damaged; rewritten`);
  if (last?.torn !== undefined) {
    const where = `${last.path}: a write cut short at byte ${last.end}`;
    notices.push(
      `${where} after entry ${boot.baseIndex + boot.entries.length} was dropped (${last.torn})`,
    );
  }
  return notices;
}

type Parts = Pick<DataDirectory, "identity" | "store" | "notices"> & {
  readonly log: FileLog;
  readonly snapshots: StoredSnapshots;
};

function assembled(parts: Parts): DataDirectory {
  const { log, store } = parts;
  let closing: Promise<void> | undefined;
  return {
    ...parts,
    logWrites: () => log.writes,
    knownPeers: () => log.mark.peers,
    notePeer: (peer) => log.mark.notePeer(peer),
    close: () => {
      closing ??= log.close().finally(() => store.close());
      return closing;
    },
  };
}
