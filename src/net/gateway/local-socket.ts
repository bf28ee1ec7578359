/**
 * The file of the socket in a node's data directory. Anyone who can open it has every right, so it
 * has mode 0600 from the moment when it can be found: it is made in a directory that only this user
 * can enter, and moved from there. That replaces the socket of a process that was killed; one on
 * which a process still answers is left alone.
 */
import { chmod, lstat, mkdir, rename, rm, unlink } from "node:fs/promises";
import type { Server } from "node:http";
import { connect } from "node:net";
import { HoldfastError } from "../../errors/index.js";
import { LOCAL_SOCKET_NAME, openSocketDirectory } from "../../reach/index.js";

/** A directory, and the name of the socket in it. */
const MAKING_NAME = `${LOCAL_SOCKET_NAME}.tmp`;
const MADE_NAME = "s";

export class LocalSocket {
  readonly path: string;
  readonly #inode: bigint;

  private constructor(path: string, inode: bigint) {
    this.path = path;
    this.#inode = inode;
  }

  /**
   * Makes `server` listen on the socket of that directory.
   *
   * @throws {HoldfastError} `UNAVAILABLE` if another process serves it or its path is too long; and
   *   errors of the file system
   */
  static async listen(server: Server, directory: string): Promise<LocalSocket> {
    const path = `${directory}/${LOCAL_SOCKET_NAME}`;
    const short = openSocketDirectory(directory, `${MAKING_NAME}/${MADE_NAME}`);
    const making = `${short.path}/${MAKING_NAME}`;
    try {
      if (await isServed(`${short.path}/${LOCAL_SOCKET_NAME}`)) {
        throw new HoldfastError("UNAVAILABLE", `another process serves ${path}`);
      }
      await rm(making, { recursive: true, force: true });
      await mkdir(making, { mode: 0o700 });
      await listenAt(server, `${making}/${MADE_NAME}`);
      await chmod(`${making}/${MADE_NAME}`, 0o600);
      const { ino } = await lstat(`${making}/${MADE_NAME}`, { bigint: true });
      await rename(`${making}/${MADE_NAME}`, path);
      return new LocalSocket(path, ino);
    } catch (error) {
      server.close();
      throw error;
    } finally {
      await rm(making, { recursive: true, force: true });
      short.close();
    }
  }

  /** Removes the file, unless it is of another process by now. */
  async remove(): Promise<void> {
    try {
      const { ino } = await lstat(this.path, { bigint: true });
      if (ino === this.#inode) await unlink(this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}

/** Whether a process accepts connections there. */
function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

function listenAt(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
