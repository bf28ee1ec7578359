/**
 * Makes the data directory of a founding node of a restored cluster, whose log begins after a
 * snapshot. It is made next to its place under another name and moved there when it is durable, so
 * that it is complete or absent whatever happens.
 */
import { basename, dirname, join, resolve } from "node:path";
import { HoldfastError } from "../../errors/index.js";
import { errnoOf, type FileSystem, makeDirectories, removeTree } from "../file-system.js";
import type { LogStore } from "../log-store.js";
import { nodeFileSystem } from "../node-file-system.js";
import type { SnapshotManifest } from "../snapshots/snapshot-store.js";
import { NODE_STORAGE_PORTS, type StoragePorts } from "../storage-ports.js";
import { type OpenStore, openDataDirectory } from "./data-directory.js";
import { explained } from "./directory-layout.js";

/** The means of making a directory, if they are not the machine's. */
export interface RestoringMeans {
  /** Default: the machine's. */
  readonly fileSystem?: FileSystem;
  /** Default: `level`. A store outside its path must be a different one for each path. */
  readonly openStore?: OpenStore;
  readonly ports?: StoragePorts;
}

export interface RestoredDirectoryOptions extends RestoringMeans {
  /** Must be missing or empty; missing parents are made. */
  readonly path: string;
  readonly nodeId: number;
  /** 32 lower-case hex digits. */
  readonly clusterId: string;
  readonly segmentBytes: number;
  /** The manifest that the chunks must match. */
  readonly manifest: SnapshotManifest;
  readonly chunks: () => Iterable<Uint8Array>;
  /** Aborts the restore; then nothing is left. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Fails with `INVALID_ARGUMENT` if the directory is not empty, `UNAVAILABLE` if it cannot be used,
 * `DISK_FULL`, or the signal's reason. Then nothing has changed.
 */
export async function makeRestoredDirectory(options: RestoredDirectoryOptions): Promise<void> {
  const path = resolve(options.path);
  const { fileSystem = nodeFileSystem, ports = NODE_STORAGE_PORTS } = options;
  await demandVacant(path, fileSystem);
  const suffix = Buffer.from(ports.randomBytes(6)).toString("hex");
  const name = `.${basename(path)}.restoring-${suffix}`;
  const temporary = join(dirname(path), name);
  try {
    await makeDirectories(fileSystem, dirname(path));
    await fill(temporary, options);
    options.signal?.throwIfAborted();
    await moveInto(fileSystem, temporary, path);
  } catch (error) {
    await removeTree(fileSystem, temporary);
    throw options.signal?.aborted === true ? options.signal.reason : explained(path, error);
  }
}

/** Fails with `INVALID_ARGUMENT` unless the directory is missing or empty. */
export async function demandVacant(
  path: string,
  fileSystem: FileSystem = nodeFileSystem,
): Promise<void> {
  let names: string[];
  try {
    names = await fileSystem.list(path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return;
    throw explained(path, error);
  }
  const [first] = names;
  if (first === undefined) return;
  const message = `${path} is not empty, it has "${first}": a restored node needs a fresh directory`;
  throw new HoldfastError("INVALID_ARGUMENT", message, { details: { path } });
}

async function fill(path: string, options: RestoredDirectoryOptions): Promise<void> {
  const { manifest, chunks, signal } = options;
  const directory = await openDataDirectory({ ...options, path, origin: "initial" });
  try {
    const writer = await directory.snapshots.create(manifest);
    for (const chunk of chunks()) {
      signal?.throwIfAborted();
      await writer.append(chunk);
    }
    const { checksum } = await writer.finish(manifest.configuration);
    if (checksum !== manifest.checksum) {
      throw new HoldfastError("INTERNAL", `the snapshot became ${checksum} on its way to the disk`);
    }
    await beginAfter(directory.log, manifest);
  } finally {
    await directory.close();
  }
}

/** As if the snapshot had been received from a leader. */
async function beginAfter(
  log: LogStore,
  { index, term, checksum }: SnapshotManifest,
): Promise<void> {
  const seq = log.boot.lastSeq + 1;
  await new Promise<void>((resolve, reject) => {
    log.start({ onDurable: () => resolve(), onFailure: reject });
    const isDurable = log.append({
      seq,
      hardState: { term, vote: 0 },
      truncateFrom: undefined,
      snapshot: { index, term, checksum, isReset: true, keepFrom: index + 1 },
      entries: [],
    });
    if (isDurable) resolve();
  });
}

/** Replaces an empty directory; one that is not empty any more stays. */
async function moveInto(fileSystem: FileSystem, temporary: string, path: string): Promise<void> {
  const wasThere = await removeEmpty(fileSystem, path);
  try {
    await fileSystem.rename(temporary, path);
  } catch (error) {
    if (wasThere) await fileSystem.makeDirectory(path);
    throw error;
  }
  await fileSystem.syncDirectory(dirname(path));
}

async function removeEmpty(fileSystem: FileSystem, path: string): Promise<boolean> {
  try {
    await fileSystem.removeDirectory(path);
    return true;
  } catch (error) {
    const code = errnoOf(error);
    if (code === "ENOENT") return false;
    if (code !== "EBUSY") throw error;
    const message = `${path} is a mount point: name a directory below it`;
    throw new HoldfastError("INVALID_ARGUMENT", message, { details: { path } });
  }
}
