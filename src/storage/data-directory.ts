/**
 * The data directory of one node:
 *
 *   VERSION   the layout; never changes
 *   mark      whose it is, how often it was opened, up to where the log is durable
 *   log/      the segments
 *   store/    the ordered store, whose lock guards everything
 *
 * It belongs to one node of one cluster for ever. When it cannot be used, nothing in it is changed.
 */
import { HoldfastError } from "../errors.js";
import { corruption } from "./corruption.js";
import {
  createAtomically,
  errnoOf,
  type FileSystem,
  isNoSpace,
  makeDirectories,
  readWhole,
} from "./file-system.js";
import { openLevelStore } from "./level-store.js";
import { hasSegments, readLog } from "./log-reader.js";
import type { LogStore, NodeIdentity } from "./log-store.js";
import { MARK_FILE_NAME, MarkFile } from "./mark-file.js";
import { nodeFileSystem } from "./node-file-system.js";
import { openFileLog } from "./open-file-log.js";
import type { OrderedStore } from "./ordered-store.js";
import { SEGMENT_BASE_BYTES } from "./segment-base.js";
import { NODE_STORAGE_PORTS, type StoragePorts } from "./storage-ports.js";

export interface DataDirectoryOptions {
  /** Created when missing. */
  readonly path: string;
  /** 1 … 2^32 − 1. Must be the one the directory was made for. */
  readonly nodeId: number;
  /** 32 lower-case hex digits. Counts only when the directory is made; later the stored one. */
  readonly clusterId: string;
  /** The size of a segment of the log, zeros included; at least `SEGMENT_BYTES_MIN`. */
  readonly segmentBytes: number;
  /** Default: the machine's. */
  readonly fileSystem?: FileSystem;
  /** Opens the ordered store, and takes the lock with it. Default: `level`. */
  readonly openStore?: (path: string) => Promise<OrderedStore>;
  readonly ports?: StoragePorts;
}

export interface DataDirectory {
  readonly identity: NodeIdentity;
  readonly log: LogStore;
  readonly store: OrderedStore;
  /** What an operator should know about this opening (a torn tail was cut, …); a line each. */
  readonly notices: readonly string[];
  /** Closes the log, then the store, and with it gives the lock back. */
  close(): Promise<void>;
}

/** Room for the base record of a segment and some records behind it. */
export const SEGMENT_BYTES_MIN = 4 * (SEGMENT_BASE_BYTES + 64);

const VERSION_FILE_NAME = "VERSION";
const VERSION = "holdfast data 1\n";
/** What may lie in a directory without VERSION: the traces of a first start that was cut short. */
const FIRST_START_NAMES: ReadonlySet<string> = new Set([
  `${VERSION_FILE_NAME}.tmp`,
  "store",
  // Made by the file system itself at the root of a volume.
  "lost+found",
]);

/**
 * Opens the directory, makes it at the first start, and raises the incarnation durably.
 *
 * Fails with `INVALID_ARGUMENT` (options, another node's directory, a directory with other things
 * in it), `UNAVAILABLE` (in use by another process, not a directory, no permission, a layout this
 * version does not know; the cause is kept), `DISK_FULL`, or `INTERNAL` with
 * `details.corrupt` when files are damaged.
 */
export async function openDataDirectory(options: DataDirectoryOptions): Promise<DataDirectory> {
  demandValid(options);
  const { path, fileSystem = nodeFileSystem, openStore = openLevelStore } = options;
  let store: OrderedStore | undefined;
  try {
    await makeDirectories(fileSystem, path);
    await demandUsable(fileSystem, path);
    await makeDirectories(fileSystem, `${path}/store`);
    store = await openStore(`${path}/store`);
    return await openLocked(options, fileSystem, store);
  } catch (error) {
    await store?.close();
    throw explained(path, error);
  }
}

function demandValid({ nodeId, clusterId, segmentBytes }: DataDirectoryOptions): void {
  if (!Number.isInteger(nodeId) || nodeId < 1 || nodeId > 0xffff_ffff) {
    throw new HoldfastError("INVALID_ARGUMENT", `node id ${nodeId} is not 1 … 2^32 − 1`);
  }
  if (!/^[0-9a-f]{32}$/.test(clusterId)) {
    throw new HoldfastError("INVALID_ARGUMENT", `cluster id "${clusterId}" is not 32 hex digits`);
  }
  if (!Number.isInteger(segmentBytes) || segmentBytes < SEGMENT_BYTES_MIN) {
    const message = `segmentBytes ${segmentBytes} is below ${SEGMENT_BYTES_MIN}`;
    throw new HoldfastError("INVALID_ARGUMENT", message);
  }
}

/** Looks before anything is touched, the store included. Returns whether VERSION is there. */
async function demandUsable(fileSystem: FileSystem, path: string): Promise<boolean> {
  const names = await fileSystem.list(path);
  if (!names.includes(VERSION_FILE_NAME)) {
    const foreign = names.find((name) => !FIRST_START_NAMES.has(name));
    if (foreign === undefined) return false;
    if (foreign === MARK_FILE_NAME || foreign === "log") {
      throw corruption({ file: `${path}/VERSION`, offset: 0, index: 0 }, "the file is missing");
    }
    const message = `${path} is no data directory and is not empty: it has "${foreign}"`;
    throw new HoldfastError("INVALID_ARGUMENT", message);
  }
  const version = (await readWhole(fileSystem, `${path}/${VERSION_FILE_NAME}`)).toString("latin1");
  if (version !== VERSION) {
    const found = JSON.stringify(version.slice(0, 40).trim());
    const message = `${path} has the layout ${found}, which this version does not know`;
    throw new HoldfastError("UNAVAILABLE", message);
  }
  return true;
}

async function openLocked(
  options: DataDirectoryOptions,
  fileSystem: FileSystem,
  store: OrderedStore,
): Promise<DataDirectory> {
  const { path } = options;
  const log = `${path}/log`;
  if (!(await demandUsable(fileSystem, path))) {
    await createAtomically(fileSystem, path, VERSION_FILE_NAME, Buffer.from(VERSION, "latin1"));
  }
  await makeDirectories(fileSystem, log);
  // A process that died may have left names that were never synced.
  await fileSystem.syncDirectory(path);
  const mark = await openMark(options, fileSystem, log);
  try {
    return await openMarked(options, fileSystem, store, mark);
  } catch (error) {
    await mark.close();
    throw error;
  }
}

async function openMark(
  { path, nodeId, clusterId }: DataDirectoryOptions,
  fileSystem: FileSystem,
  log: string,
): Promise<MarkFile> {
  if (!(await fileSystem.list(path)).includes(MARK_FILE_NAME)) {
    if (await hasSegments(fileSystem, log)) {
      throw corruption({ file: `${path}/mark`, offset: 0, index: 0 }, "the file is missing");
    }
    const nothing = { incarnation: 0, seq: 0, index: 0, term: 0, firstSegment: 1, lastSegment: 0 };
    await MarkFile.create(fileSystem, path, { nodeId, clusterId, ...nothing });
  }
  return MarkFile.open(fileSystem, path);
}

async function openMarked(
  { path, nodeId, segmentBytes, ports = NODE_STORAGE_PORTS }: DataDirectoryOptions,
  fileSystem: FileSystem,
  store: OrderedStore,
  mark: MarkFile,
): Promise<DataDirectory> {
  const found = mark.current;
  if (found.nodeId !== nodeId) {
    const message = `${path} belongs to node ${found.nodeId}, this is node ${nodeId}`;
    const details = { path, expected: nodeId, found: found.nodeId };
    throw new HoldfastError("INVALID_ARGUMENT", message, { details });
  }
  const directory = `${path}/log`;
  const contents = await readLog(fileSystem, directory, found);
  const notices: string[] = [];
  if (mark.intactSlots < 2) notices.push(`${path}/mark: one of two copies was damaged; rewritten`);
  const { last } = contents;
  if (last?.torn !== undefined) {
    notices.push(`${last.path}: a write cut short at byte ${last.end} was dropped (${last.torn})`);
  }
  const { clusterId } = found;
  const identity = { nodeId, clusterId, incarnation: found.incarnation + 1 };
  await mark.write({ ...found, incarnation: identity.incarnation });
  const log = await openFileLog({ fileSystem, directory, segmentBytes, ports, mark, contents });
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= log.close().finally(() => store.close());
    return closing;
  };
  return { identity, log, store, notices, close };
}

const EXPLANATIONS: Readonly<Record<string, string>> = {
  LEVEL_LOCKED: "it is in use by another process",
  ENOTDIR: "it is not a directory",
  EEXIST: "it is not a directory",
  EACCES: "no permission",
  EPERM: "no permission",
  EROFS: "the file system is read-only",
};

/** One clear error for whatever keeps the directory from being opened. */
function explained(path: string, error: unknown): unknown {
  if (error instanceof HoldfastError || !(error instanceof Error)) return error;
  // `level` wraps what happened.
  const cause = error.cause instanceof Error ? error.cause : error;
  const code = errnoOf(cause);
  if (code === undefined) return error;
  if (isNoSpace(cause)) {
    return new HoldfastError("DISK_FULL", `no room in the data directory ${path}`, { cause });
  }
  const explanation = EXPLANATIONS[code] ?? cause.message;
  const message = `cannot use the data directory ${path}: ${explanation}`;
  return new HoldfastError("UNAVAILABLE", message, { cause, details: { path } });
}
