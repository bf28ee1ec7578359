/**
 * The port to the file system, as small as the log needs it. Two implementations: `nodeFileSystem`
 * and `MemoryFileSystem`, which the simulator uses as its disk.
 *
 * There is no unsynced write: whatever resolves or returns is durable. A name, however, is durable only after
 * `syncDirectory`. Failures are errors with a `code` as Node gives them (`ENOSPC`, `EACCES`, …).
 * Paths are joined with "/".
 */

export interface File {
  /**
   * Writes all of all chunks from `position` on and resolves when they are durable. The chunks must
   * not change until then. After a failure any part of them may or may not be on the disk.
   */
  write(chunks: readonly Uint8Array[], position: number): Promise<void>;
  /** Whether `writeNow` is to be preferred for so many bytes: a quick disk, a small write. */
  isQuickFor(bytes: number): boolean;
  /** As `write`, but over when it returns; throws what `write` rejects with. Stops the loop. */
  writeNow(chunks: readonly Uint8Array[], position: number): void;
  /** Fills `target` from `position` on; resolves to the bytes read, fewer only at the end. */
  read(target: Uint8Array, position: number): Promise<number>;
  /** In bytes. */
  size(): Promise<number>;
  close(): Promise<void>;
}

/** `create` demands that the file does not exist yet; `read` promises not to write. */
export type OpenMode = "read" | "write" | "create";

export interface FileSystem {
  open(path: string, mode: OpenMode): Promise<File>;
  /**
   * Replaces `to` when it is a file. Moves directories too, to a name that is free. Between two
   * directories it is durable when both were synced, and a crash before leaves either name.
   */
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  /** The names in a directory, in no particular order. */
  list(path: string): Promise<string[]>;
  /** `EEXIST` when there is anything of that name; the parent must exist. */
  makeDirectory(path: string): Promise<void>;
  /** `ENOTEMPTY` when there is anything in it. */
  removeDirectory(path: string): Promise<void>;
  /** Makes the names in a directory durable: after create, rename, unlink and remove. */
  syncDirectory(path: string): Promise<void>;
}

/** The `code` of a failed call, or `undefined` when the value is no such error. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

const NO_SPACE_CODES: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** Whether a call failed because there is no room, which may change while the process lives. */
export function isNoSpace(error: unknown): boolean {
  return NO_SPACE_CODES.has(errnoOf(error) ?? "");
}

/** Whether the device failed to read, write or sync: of what lies on it nothing follows. */
export function isDiskFailure(error: unknown): boolean {
  return errnoOf(error) === "EIO";
}

/** Says of a failure of the device that it is one. */
export function diskFailure(what: string, cause: unknown): Error {
  return Object.assign(new Error(`the disk failed: ${what}`, { cause }), { code: "EIO" });
}

/** Reads a whole file. Throws when it shrinks meanwhile. */
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

/** Creates `path` with `content` so that after a crash it is there wholly or not at all. */
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

/** Removes a directory and all that is in it. Nothing happens when it is not there. */
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
      // A directory: Linux says the first, other systems the second.
      if (!["EISDIR", "EPERM"].includes(errnoOf(error) ?? "")) throw error;
      await removeTree(fileSystem, `${path}/${name}`);
    }
  }
  await fileSystem.removeDirectory(path);
}

/** Makes a directory and whatever is missing above it. It is durable then, whoever made it. */
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
 * A process that died between making a directory and syncing its name leaves one that everybody sees
 * and the next loss of power takes away. Who may not read the parent has not made anything in it.
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
