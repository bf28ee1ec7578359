/**
 * Makes the data directory of a node whose log begins behind a snapshot: that of a founding member of
 * a cluster which is restored. It is made beside its place, under another name, and moved there when
 * all of it is durable, so that it is there wholly or not at all, whatever happens meanwhile.
 */
import { basename, dirname, join, resolve } from "node:path";
import { HoldfastError } from "../../errors.js";
import { errnoOf, type FileSystem, makeDirectories, removeTree } from "../file-system.js";
import type { LogStore } from "../log/log-store.js";
import { nodeFileSystem } from "../node-file-system.js";
import type { SnapshotManifest } from "../snapshots/store.js";
import { NODE_STORAGE_PORTS, type StoragePorts } from "../storage-ports.js";
import { type OpenStore, openDataDirectory } from "./data-directory.js";
import { explained } from "./directory-layout.js";

/** What a directory is made with, where it is not what the machine has. */
export interface RestoringMeans {
  /** Default: the machine's. */
  readonly fileSystem?: FileSystem;
  /** Default: `level`. A store that does not lie in its path must be another one for each path. */
  readonly openStore?: OpenStore;
  readonly ports?: StoragePorts;
}

export interface RestoredDirectoryOptions extends RestoringMeans {
  /** Must be missing or empty; what is above it is made when it is missing. */
  readonly path: string;
  readonly nodeId: number;
  /** 32 lower-case hex digits. */
  readonly clusterId: string;
  readonly segmentBytes: number;
  /** What the chunks must turn out to be. */
  readonly manifest: SnapshotManifest;
  readonly chunks: () => Iterable<Uint8Array>;
  /** Gives it up: nothing is left then. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Fails with `INVALID_ARGUMENT` when there is something in the directory, `UNAVAILABLE` when it may
 * not be used, `DISK_FULL`, or the signal's reason. Then nothing has changed.
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

/** Fails with `INVALID_ARGUMENT` unless nothing is there, or an empty directory. */
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
    await beginBehind(directory.log, manifest);
  } finally {
    await directory.close();
  }
}

/** As if the snapshot had been received from a leader. */
async function beginBehind(
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

/** An empty directory gives way; what came into it meanwhile keeps it. */
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
