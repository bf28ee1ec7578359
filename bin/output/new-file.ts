/**
 * A file that appears whole or not at all: written in the same directory under another name,
 * synced, and only then renamed. It may contain private data, so only its owner may read it, unless
 * the caller gives another mode.
 */
import { randomBytes } from "node:crypto";
import { type FileHandle, link, lstat, open, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { EXIT } from "../exit/exit-codes.js";
import { Failure, failureOf, systemCodeOf } from "../exit/failure.js";
import { directoryReason } from "../exit/start-failure.js";

const OWNER_ONLY = 0o600;
/** Error codes of file systems that do not support hard links. */
const NO_LINKS: ReadonlySet<string> = new Set([
  "EPERM",
  "ENOSYS",
  "ENOTSUP",
  "EOPNOTSUPP",
  "EMLINK",
]);

export interface Target {
  /** Fails with exit code 1, in one line. One call at a time. */
  write(bytes: Uint8Array): Promise<void>;
  /** From now on the file exists under its name. */
  commit(): Promise<void>;
  /** Removes what was written; has no effect after `commit`. */
  discard(): Promise<void>;
}

export class NewFile implements Target {
  readonly #path: string;
  readonly #temporary: string;
  readonly #replaces: boolean;
  readonly #handle: FileHandle;
  #isOver = false;

  private constructor(path: string, temporary: string, replaces: boolean, handle: FileHandle) {
    this.#path = path;
    this.#temporary = temporary;
    this.#replaces = replaces;
    this.#handle = handle;
  }

  /** Fails with exit code 1 if something exists there, unless it is a file and may be replaced. */
  static async create(path: string, replaces: boolean, mode = OWNER_ONLY): Promise<NewFile> {
    await demandRoom(path, replaces);
    const name = `.${basename(path)}.saving-${randomBytes(6).toString("hex")}`;
    const temporary = join(dirname(path), name);
    try {
      return new NewFile(path, temporary, replaces, await open(temporary, "wx", mode));
    } catch (error) {
      throw fileFailure("write", path, error);
    }
  }

  async write(bytes: Uint8Array): Promise<void> {
    try {
      for (let at = 0; at < bytes.length; ) {
        at += (await this.#handle.write(bytes, at, bytes.length - at)).bytesWritten;
      }
    } catch (error) {
      throw fileFailure("write", this.#path, error);
    }
  }

  async commit(): Promise<void> {
    try {
      await this.#handle.sync();
      await this.#handle.close();
      if (this.#replaces) await rename(this.#temporary, this.#path);
      else await this.#nameAnew();
      this.#isOver = true;
      await syncDirectory(dirname(this.#path));
    } catch (error) {
      throw fileFailure("write", this.#path, error);
    }
  }

  async discard(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    // It may be closed already.
    await this.#handle.close().catch(() => undefined);
    await unlink(this.#temporary).catch(() => undefined);
  }

  /** The link fails if the name has been taken meanwhile. */
  async #nameAnew(): Promise<void> {
    try {
      await link(this.#temporary, this.#path);
    } catch (error) {
      if (!NO_LINKS.has(systemCodeOf(error))) throw error;
      await demandRoom(this.#path, false);
      await rename(this.#temporary, this.#path);
      return;
    }
    await unlink(this.#temporary);
  }
}

/** One line for an error of the file system. */
export function fileFailure(verb: "read" | "write", path: string, error: unknown): Failure {
  if (error instanceof Failure) return error;
  const code = systemCodeOf(error);
  if (code === "") return failureOf(error);
  const reason = code === "EEXIST" ? "it exists already" : reasonOf(verb, error);
  return new Failure(EXIT.failed, `cannot ${verb} ${path}: ${reason}`, { cause: error });
}

function reasonOf(verb: "read" | "write", error: unknown): string {
  const code = systemCodeOf(error);
  if (code === "ENOENT")
    return verb === "read" ? "there is no such file" : "there is no such directory";
  if (code === "EISDIR") return "it is a directory";
  return directoryReason(error) ?? code;
}

async function demandRoom(path: string, replaces: boolean): Promise<void> {
  let found: Awaited<ReturnType<typeof lstat>>;
  try {
    found = await lstat(path);
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return;
    throw fileFailure("write", path, error);
  }
  if (!replaces) throw new Failure(EXIT.failed, `${path} exists: --force replaces it`);
  if (found.isFile()) return;
  throw new Failure(EXIT.failed, `${path} is not a regular file and is not replaced`);
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
