/**
 * Connects to the socket in the data directory of a node. Anyone who can open it is `local`:
 * nothing is proved beyond that, so nothing is sent that could be stolen.
 */
import { statSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { basename, dirname, join } from "node:path";
import { LOCAL_SOCKET_NAME, openSocketDirectory, readPage } from "../../reach/index.js";
import { localAddress } from "./endpoints.js";
import type { Page } from "./platform.js";

/** The host that requests name; the address is not looked up. */
export const LOCAL_URL = "ws://localhost/v1";
const PAGE_URL = "http://localhost";

const ONLY_ITS_USER = "only the user who runs the node may use its socket: try again as that user";

const PROBLEMS: Readonly<Record<string, string>> = Object.freeze({
  ENOENT: "there is no such socket: is the node running, and is this its data directory?",
  ECONNREFUSED: "no process serves this socket: the node was killed",
  EACCES: ONLY_ITS_USER,
  EPERM: ONLY_ITS_USER,
  ENOTSOCK: "this file is not a socket",
  ENOTDIR: "a part of the path is not a directory",
});

/** `path` leads to the socket or to its directory. Throws errors of the file system. */
export function connectLocal(path: string): Socket {
  const socketPath = statSync(path).isDirectory() ? join(path, LOCAL_SOCKET_NAME) : path;
  const name = basename(socketPath);
  const directory = openSocketDirectory(dirname(socketPath), name);
  const socket = connect(`${directory.path}/${name}`);
  let isOpen = true;
  const close = (): void => {
    if (isOpen) directory.close();
    isOpen = false;
  };
  socket.once("connect", close);
  socket.once("close", close);
  return socket;
}

/** Whether another user would be let in. */
export function isForbidden({ code }: Error & { readonly code?: string }): boolean {
  return code === "EACCES" || code === "EPERM";
}

/** Why there is no connection, in a sentence; `undefined` for reasons that speak for themselves. */
export function localProblem(error: Error & { readonly code?: string }): string | undefined {
  return PROBLEMS[error.code ?? ""];
}

/** The page of an address on a local socket. Rejects like `readPage`. */
export async function readLocalPage(url: string, signal: AbortSignal): Promise<Page> {
  const { path, page } = localAddress(url);
  try {
    return await readPage(PAGE_URL + page, signal, undefined, undefined, () => connectLocal(path));
  } catch (error) {
    const problem = localProblem(error as Error);
    throw problem === undefined ? error : new Error(problem, { cause: error });
  }
}
