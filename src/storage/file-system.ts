/**
 * The port to the file system, as small as the log needs it. Two implementations: `nodeFileSystem`
 * and `MemoryFileSystem`, which the simulator uses as its disk.
 *
 * There is no unsynced write: when a write returns or resolves, it is durable. A name, however, is
 * durable only after `syncDirectory`. Failures are errors with a `code` like Node's (`ENOSPC`,
 * `EACCES`, …). Paths are joined with "/".
 */

export interface File {
  /**
   * Writes all chunks from `position` on and resolves when they are durable. The chunks must not
   * change until then. After a failure, any part of them may be on the disk.
   */
  write(chunks: readonly Uint8Array[], position: number): Promise<void>;
  /** Whether `writeNow` should be used for this many bytes: a quick disk and a small write. */
  isQuickFor(bytes: number): boolean;
  /** Like `write`, but synchronous: blocks the loop, and throws what `write` would reject with. */
  writeNow(chunks: readonly Uint8Array[], position: number): void;
  /**
   * Fills `target` from `position` on; resolves to the bytes read, which are fewer only at the end.
   */
  read(target: Uint8Array, position: number): Promise<number>;
  /** In bytes. */
  size(): Promise<number>;
  close(): Promise<void>;
}

/** `create` requires that the file does not exist; `read` promises not to write. */
export type OpenMode = "read" | "write" | "create";

export interface FileSystem {
  open(path: string, mode: OpenMode): Promise<File>;
  /**
   * Replaces `to` if it is a file. Also moves directories, to a free name. A move between two
   * directories is durable when both were synced; a crash before that leaves either name.
   */
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  /** The names in a directory, in no particular order. */
  list(path: string): Promise<string[]>;
  /** Fails with `EEXIST` if the name is taken; the parent must exist. */
  makeDirectory(path: string): Promise<void>;
  /** Fails with `ENOTEMPTY` if anything is in it. */
  removeDirectory(path: string): Promise<void>;
  /** Makes the names in a directory durable, after create, rename, unlink and remove. */
  syncDirectory(path: string): Promise<void>;
}

/** The `code` of a failed call, or `undefined` if the value has none. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

const NO_SPACE_CODES: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** Whether a call failed because there is no space, which may change while the process runs. */
export function isNoSpace(error: unknown): boolean {
  return NO_SPACE_CODES.has(errnoOf(error) ?? "");
}

/** Whether the device failed to read, write or sync, which says nothing about the data on it. */
export function isDiskFailure(error: unknown): boolean {
  return errnoOf(error) === "EIO";
}

/** An error that says that the device failed. */
export function diskFailure(what: string, cause: unknown): Error {
  return Object.assign(new Error(`the disk failed: ${what}`, { cause }), { code: "EIO" });
}

/** Reads a whole file. Throws if the file shrinks in the meantime. */
export async function readWhole(fileSystem: FileSystem, path: string): Promise<Buffer> {
  const file = await fileSystem.open(path, "read");
  try {
    const content = Buffer.alloc(await file.size());
    const read = await file.read(content, 0);
    if (read !== content.length)
      throw new Error(`${path}: ${read} of ${content.length} bytes read`);
    return content;
  } finally {
    await file.close();
  }
}

/** Creates `path` with `content` so that after a crash the file is complete or absent. */
export async function createAtomically(
  fileSystem: FileSystem,
  directory: string,
  name: string,
  content: Uint8Array,
): Promise<void> {
  const temporary = `${directory}/${name}.tmp`;
  await removeIfPresent(fileSystem, temporary);
  const file = await fileSystem.open(temporary, "create");
  try {
    await file.write([content], 0);
  } finally {
    await file.close();
  }
  await fileSystem.rename(temporary, `${directory}/${name}`);
  await fileSystem.syncDirectory(directory);
}

export async function removeIfPresent(fileSystem: FileSystem, path: string): Promise<void> {
  try {
    await fileSystem.unlink(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

/** Removes a directory and everything in it. A missing one is not an error. */
export async function removeTree(fileSystem: FileSystem, path: string): Promise<void> {
  let names: string[];
  try {
    names = await fileSystem.list(path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return;
    throw error;
  }
  for (const name of names) {
    try {
      await fileSystem.unlink(`${path}/${name}`);
    } catch (error) {
      // A directory: Linux reports the first, other systems the second.
      if (!["EISDIR", "EPERM"].includes(errnoOf(error) ?? "")) throw error;
      await removeTree(fileSystem, `${path}/${name}`);
    }
  }
  await fileSystem.removeDirectory(path);
}

/** Makes a directory and its missing parents. It is durable then, even if it existed before. */
export async function makeDirectories(fileSystem: FileSystem, path: string): Promise<void> {
  const parent = parentOf(path);
  try {
    await fileSystem.makeDirectory(path);
  } catch (error) {
    const code = errnoOf(error);
    if (code === "EEXIST") return syncName(fileSystem, parent);
    if (code !== "ENOENT" || parent === path) throw error;
    await makeDirectories(fileSystem, parent);
    await fileSystem.makeDirectory(path);
  }
  await fileSystem.syncDirectory(parent);
}

/**
 * A process that died between making a directory and syncing its name leaves one that is visible
 * but lost with the next loss of power. A process that may not read the parent has made nothing in
 * it.
 */
async function syncName(fileSystem: FileSystem, parent: string): Promise<void> {
  try {
    await fileSystem.syncDirectory(parent);
  } catch (error) {
    if (!["EACCES", "EPERM"].includes(errnoOf(error) ?? "")) throw error;
  }
}

function parentOf(path: string): string {
  const trimmed = path.replace(/\/+$/, "");
  if (trimmed === "" && path !== "") return "/";
  const slash = trimmed.lastIndexOf("/");
  if (slash < 0) return ".";
  return slash === 0 ? "/" : trimmed.slice(0, slash);
}
