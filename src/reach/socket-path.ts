/**
 * The socket in the data directory of a node, through which the user of that directory speaks as
 * `local`. The system takes only short paths for sockets, and Node.js cuts longer ones without a word,
 * so on Linux a long one is reached through the open directory. Never returns a path that would be cut.
 */
import { closeSync, constants, openSync } from "node:fs";
import { platform } from "node:process";
import { HoldfastError } from "../errors/index.js";

export const LOCAL_SOCKET_NAME = "local.sock";
/** Without the zero at the end; macOS and the BSDs have four bytes less than Linux. */
const PATH_BYTES_MAX = platform === "linux" ? 107 : 103;

/** A path to a directory, short enough for its sockets until `close`. */
export interface SocketDirectory {
  readonly path: string;
  close(): void;
}

/**
 * @param longest the longest name in the directory that will be used
 * @throws {HoldfastError} `UNAVAILABLE` if there is no such path; and errors of the file system
 */
export function openSocketDirectory(directory: string, longest: string): SocketDirectory {
  const bytes = Buffer.byteLength(`${directory}/${longest}`);
  if (bytes <= PATH_BYTES_MAX) return { path: directory, close: () => {} };
  if (platform !== "linux") {
    const message =
      `the path of a socket in ${directory} would have ${bytes} bytes, ` +
      `and this system takes ${PATH_BYTES_MAX}`;
    throw new HoldfastError("UNAVAILABLE", message, { details: { directory, bytes } });
  }
  const descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  return { path: `/proc/self/fd/${descriptor}`, close: () => closeSync(descriptor) };
}
