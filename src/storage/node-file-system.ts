/**
 * The file system of the machine, over `node:fs`.
 *
 * On Linux a file is opened with O_DSYNC, so that one system call writes and syncs; elsewhere each
 * write is followed by fdatasync (which libuv turns into F_FULLFSYNC on macOS). A write that the
 * kernel cuts short is continued; a write that fails is never repeated. It uses callbacks instead
 * of `fs.promises`, because every command waits for a write of the log.
 */
import * as fs from "node:fs";
import { assert } from "../errors/index.js";
import { errnoOf, type File, type FileSystem, type OpenMode } from "./file-system.js";
import { WritePace } from "./write-pace.js";

const { O_CREAT, O_DSYNC, O_EXCL, O_RDONLY, O_RDWR } = fs.constants;
const FLAGS: Readonly<Record<OpenMode, number>> = {
  read: O_RDONLY,
  write: O_RDWR,
  create: O_RDWR | O_CREAT | O_EXCL,
};
/** No other user may read the data of a lock service. */
const FILE_PERMISSIONS = 0o600;
const DIRECTORY_PERMISSIONS = 0o700;

function bytesOf(chunks: readonly Uint8Array[]): number {
  let total = 0;
  for (const chunk of chunks) total += chunk.length;
  return total;
}

/** The rest of `chunks` without the first `written` bytes. */
function chunksAfter(chunks: readonly Uint8Array[], written: number): Uint8Array[] {
  const rest: Uint8Array[] = [];
  let skip = written;
  for (const chunk of chunks) {
    if (skip >= chunk.length) skip -= chunk.length;
    else {
      rest.push(skip === 0 ? chunk : chunk.subarray(skip));
      skip = 0;
    }
  }
  return rest;
}

/** Makes everything written to a file durable, like `fs.fdatasync`. */
export type SyncFile = (fd: number, done: (error: Error | null) => void) => void;

class NodeFile implements File {
  readonly #fd: number;
  /** `undefined`: every write is synced by itself. */
  readonly #syncFile: SyncFile | undefined;
  readonly #pace: WritePace;

  constructor(fd: number, syncFile: SyncFile | undefined, pace: WritePace) {
    this.#fd = fd;
    this.#syncFile = syncFile;
    this.#pace = pace;
  }

  write(chunks: readonly Uint8Array[], position: number): Promise<void> {
    return new Promise((resolve, reject) => this.#writeSome(chunks, position, resolve, reject));
  }

  #writeSome(
    chunks: readonly Uint8Array[],
    position: number,
    resolve: () => void,
    reject: (error: Error) => void,
  ): void {
    const total = bytesOf(chunks);
    const done = (error: Error | null, written: number): void => {
      if (error !== null) reject(error);
      else if (written === total) this.#sync(resolve, reject);
      else if (written === 0) reject(new Error(`a write of ${total} bytes wrote nothing`));
      else this.#writeSome(chunksAfter(chunks, written), position + written, resolve, reject);
    };
    const only = chunks.length === 1 ? chunks[0] : undefined;
    if (only !== undefined) fs.write(this.#fd, only, 0, only.length, position, done);
    else fs.writev(this.#fd, chunks as Uint8Array[], position, done);
  }

  isQuickFor(bytes: number): boolean {
    // A separate sync takes a device's time (F_FULLFSYNC on macOS), so it is never quick.
    return this.#syncFile === undefined && this.#pace.isQuickFor(bytes, performance.now());
  }

  writeNow(chunks: readonly Uint8Array[], position: number): void {
    assert(this.#syncFile === undefined, () => "writeNow on a file that needs a separate sync");
    const beganMs = performance.now();
    const total = bytesOf(chunks);
    let rest = chunks;
    for (let at = 0; at < total; rest = chunksAfter(chunks, at)) {
      const only = rest.length === 1 ? rest[0] : undefined;
      const written =
        only === undefined
          ? fs.writevSync(this.#fd, rest as Uint8Array[], position + at)
          : fs.writeSync(this.#fd, only, 0, only.length, position + at);
      if (written === 0) throw new Error(`a write of ${total} bytes wrote nothing`);
      at += written;
    }
    const endedMs = performance.now();
    this.#pace.onWritten(endedMs - beganMs, endedMs);
  }

  #sync(resolve: () => void, reject: (error: Error) => void): void {
    if (this.#syncFile === undefined) resolve();
    else this.#syncFile(this.#fd, (error) => (error === null ? resolve() : reject(error)));
  }

  async read(target: Uint8Array, position: number): Promise<number> {
    let filled = 0;
    while (filled < target.length) {
      const read = await this.#readSome(target, filled, position + filled);
      if (read === 0) break;
      filled += read;
    }
    return filled;
  }

  #readSome(target: Uint8Array, from: number, position: number): Promise<number> {
    return new Promise((resolve, reject) =>
      fs.read(this.#fd, target, from, target.length - from, position, (error, read) =>
        error === null ? resolve(read) : reject(error),
      ),
    );
  }

  size(): Promise<number> {
    return new Promise((resolve, reject) =>
      fs.fstat(this.#fd, (error, stats) => (error === null ? resolve(stats.size) : reject(error))),
    );
  }

  close(): Promise<void> {
    return new Promise((resolve, reject) =>
      fs.close(this.#fd, (error) => (error ? reject(error) : resolve())),
    );
  }
}

function open(
  path: string,
  mode: OpenMode,
  syncFile: SyncFile | undefined,
  pace: WritePace,
): Promise<File> {
  const flags = FLAGS[mode] | (syncFile === undefined ? O_DSYNC : 0);
  return new Promise((resolve, reject) =>
    fs.open(path, flags, FILE_PERMISSIONS, (error, fd) =>
      error === null ? resolve(new NodeFile(fd, syncFile, pace)) : reject(error),
    ),
  );
}

const NAMES: Omit<FileSystem, "open"> = {
  rename: (from: string, to: string) => fs.promises.rename(from, to),
  unlink: (path: string) => fs.promises.unlink(path),
  list: (path: string) => fs.promises.readdir(path),
  makeDirectory: (path: string) => fs.promises.mkdir(path, { mode: DIRECTORY_PERMISSIONS }),
  removeDirectory: (path: string) => fs.promises.rmdir(path),
  async syncDirectory(path: string): Promise<void> {
    // Windows can neither open nor sync a directory; the journal of NTFS makes its rename durable.
    if (process.platform === "win32") return;
    const directory = await fs.promises.open(path, "r");
    try {
      await directory.sync();
    } catch (error) {
      // Some network file systems cannot sync a directory and say so; they do not need it.
      if (errnoOf(error) !== "EINVAL") throw error;
    } finally {
      await directory.close();
    }
  },
};

function fileSystemOf(syncFile: SyncFile | undefined): FileSystem {
  // One for all files, because they are nearly always on one disk.
  const pace = new WritePace();
  const opening = (path: string, mode: OpenMode): Promise<File> => open(path, mode, syncFile, pace);
  return Object.freeze({ ...NAMES, open: opening });
}

/** A file system that syncs after each write, like `nodeFileSystem` without O_DSYNC. */
export function fileSystemSyncedBy(syncFile: SyncFile): FileSystem {
  return fileSystemOf(syncFile);
}

const WRITES_ARE_SYNCED = process.platform === "linux" && O_DSYNC !== undefined;

/** The real one. */
export const nodeFileSystem = fileSystemOf(WRITES_ARE_SYNCED ? undefined : fs.fdatasync);
