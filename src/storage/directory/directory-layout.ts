/**
 * The contents of a data directory:
 *
 *   mark         to which node it belongs, how often it was opened, up to where the log is durable,
 *                and what is known of the peers
 *   VERSION      the version of the model; made after the mark, never changes
 *   log/         the segments
 *   store/       the ordered store, whose lock guards everything
 *   access       whether the cluster was closed, and whether this node must treat it as closed
 *   local.sock   where the user of the directory speaks to the node, while that runs
 *   recovering   exists while the directory is being set aside, and names the set-aside directory
 *   set-aside-N/ data that were set aside: evidence, never read again
 *
 * If a directory cannot be used, nothing in it is changed, and one error says why.
 */
import { HoldfastError } from "../../errors/index.js";
import { MODEL_VERSION } from "../../protocol/index.js";
import { corruption } from "../corruption.js";
import {
  createAtomically,
  diskFailure,
  errnoOf,
  type FileSystem,
  isDiskFailure,
  isNoSpace,
  readWhole,
} from "../file-system.js";
import { MARK_FILE_NAME, readMark } from "../mark/mark-file.js";
import { nodeFileSystem } from "../node-file-system.js";
import { ACCESS_FILE_NAME } from "./access-file.js";

export const VERSION_FILE_NAME = "VERSION";
export const LOG_NAME = "log";
export const STORE_NAME = "store";
export const RECOVERING_FILE_NAME = "recovering";

/** The version of the log and the snapshots as well: a version that reads one reads all. */
const VERSION = `holdfast data ${MODEL_VERSION}\n`;
const SET_ASIDE_NAME = /^set-aside-([1-9]\d*)$/;
/** What a directory without VERSION may contain: the traces of an interrupted first start. */
const FIRST_START_NAMES: ReadonlySet<string> = new Set([
  `${VERSION_FILE_NAME}.tmp`,
  `${MARK_FILE_NAME}.tmp`,
  `${RECOVERING_FILE_NAME}.tmp`,
  STORE_NAME,
  ACCESS_FILE_NAME,
  `${ACCESS_FILE_NAME}.tmp`,
  // Left by a process that was killed.
  "local.sock",
  "local.sock.tmp",
  // Made by the file system itself at the root of a volume.
  "lost+found",
]);
/** Names that a data directory has and other directories probably do not. */
const OWN_NAMES: ReadonlySet<string> = new Set([MARK_FILE_NAME, LOG_NAME, RECOVERING_FILE_NAME]);

/**
 * `new`: empty, or a first start was interrupted. `made`: it has a VERSION that this version knows.
 * `altered`: it was a data directory, but has no VERSION or an invalid one.
 */
export type DirectoryState = "new" | "made" | "altered";

export function setAsideNameOf(number: number): string {
  return `set-aside-${number}`;
}

/** The number of a set-aside directory by its name; `undefined` for other names. */
export function setAsideNumberOf(name: string): number | undefined {
  const digits = SET_ASIDE_NAME.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export function demandNodeId(nodeId: number): void {
  if (!Number.isInteger(nodeId) || nodeId < 1 || nodeId > 0xffff_ffff) {
    throw new HoldfastError("INVALID_ARGUMENT", `node id ${nodeId} is not 1 … 2^32 − 1`);
  }
}

export function demandClusterId(clusterId: string): void {
  if (!/^[0-9a-f]{32}$/.test(clusterId)) {
    throw new HoldfastError("INVALID_ARGUMENT", `cluster id "${clusterId}" is not 32 hex digits`);
  }
}

/**
 * Reads what there is. Fails with `INVALID_ARGUMENT` among other people's files, and with
 * `UNAVAILABLE` for a layout that only another version knows.
 */
export async function stateOf(fileSystem: FileSystem, path: string): Promise<DirectoryState> {
  const names = await fileSystem.list(path);
  const isOwn = names.some((name) => OWN_NAMES.has(name));
  if (!names.includes(VERSION_FILE_NAME)) {
    if (isOwn) return (await isUnopened(fileSystem, path, names)) ? "new" : "altered";
    const foreign = names.find(
      (name) => !FIRST_START_NAMES.has(name) && setAsideNumberOf(name) === undefined,
    );
    if (foreign === undefined) return "new";
    const message = `${path} is not a data directory and is not empty: it has "${foreign}"`;
    throw new HoldfastError("INVALID_ARGUMENT", message);
  }
  const version = (await readWhole(fileSystem, `${path}/${VERSION_FILE_NAME}`)).toString("latin1");
  if (version === VERSION) return "made";
  if (isOwn && !/^holdfast data \d+\n$/.test(version)) return "altered";
  const found = JSON.stringify(version.slice(0, 40).trim());
  const message =
    `${path} has the layout ${found}, and this version of Holdfast reads "${VERSION.trim()}": ` +
    "start the version that wrote it, or begin with an empty directory";
  throw new HoldfastError("UNAVAILABLE", message);
}

/** Whether the only thing in it is a mark under which no node has started. */
async function isUnopened(
  fileSystem: FileSystem,
  path: string,
  names: readonly string[],
): Promise<boolean> {
  if (names.some((name) => OWN_NAMES.has(name) && name !== MARK_FILE_NAME)) return false;
  return (await incarnationIn(fileSystem, path)) === 0;
}

/** The number of starts, if a mark can be read. */
async function incarnationIn(fileSystem: FileSystem, path: string): Promise<number | undefined> {
  try {
    return (await readMark(fileSystem, path))?.mark.incarnation;
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    return undefined;
  }
}

/**
 * Whether it contains nothing yet that a node could have vouched for. Fails as `stateOf` does, and
 * with `UNAVAILABLE` without permission.
 */
export async function isFreshDirectory(
  path: string,
  fileSystem: FileSystem = nodeFileSystem,
): Promise<boolean> {
  try {
    return (await stateOf(fileSystem, path)) === "new";
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return true;
    throw explained(path, error);
  }
}

/**
 * To be called before anything is touched, including the store. Returns whether the directory was
 * made already. Fails as `stateOf` does, with a corruption error, and with `UNAVAILABLE` while the
 * directory is being set aside.
 */
export async function demandUsable(fileSystem: FileSystem, path: string): Promise<boolean> {
  if ((await fileSystem.list(path)).includes(RECOVERING_FILE_NAME)) {
    const message = `${path} was being recovered and that was cut short: recover it again`;
    throw new HoldfastError("UNAVAILABLE", message, { details: { path, isRecovering: true } });
  }
  const state = await stateOf(fileSystem, path);
  if (state !== "altered") return state === "made";
  const place = { file: `${path}/${VERSION_FILE_NAME}`, offset: 0, index: 0 };
  throw corruption(place, "the file is missing or altered");
}

export async function writeVersion(fileSystem: FileSystem, path: string): Promise<void> {
  await createAtomically(fileSystem, path, VERSION_FILE_NAME, Buffer.from(VERSION, "latin1"));
}

const EXPLANATIONS: Readonly<Record<string, string>> = {
  LEVEL_LOCKED: "it is in use by another process",
  ENOTDIR: "it is not a directory",
  EEXIST: "it is not a directory",
  EACCES: "no permission",
  EPERM: "no permission",
  EROFS: "the file system is read-only",
};

/** One clear error for anything that makes the directory unusable. */
export function explained(path: string, error: unknown): unknown {
  if (error instanceof HoldfastError || !(error instanceof Error)) return error;
  if (isDiskFailure(error)) return diskUnusable(path, error);
  // `level` wraps the original error.
  const cause = error.cause instanceof Error ? error.cause : error;
  const code = errnoOf(cause);
  if (code === undefined) return error;
  if (isNoSpace(cause)) {
    return new HoldfastError("DISK_FULL", `no room in the data directory ${path}`, { cause });
  }
  const explanation = EXPLANATIONS[code] ?? cause.message;
  const message = `cannot use the data directory ${path}: ${explanation}`;
  const details = code === "LEVEL_LOCKED" ? { path, isInUse: true } : { path };
  return new HoldfastError("UNAVAILABLE", message, { cause, details });
}

function diskUnusable(path: string, cause: Error): HoldfastError {
  const { message } = cause.message.startsWith("the disk failed")
    ? cause
    : diskFailure(cause.message, cause);
  const details = { path, hasDiskFailed: true };
  return new HoldfastError("UNAVAILABLE", `cannot use the data directory ${path}: ${message}`, {
    ...{ cause, details },
  });
}
