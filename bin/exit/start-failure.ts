/**
 * Why a node did not start, in one line that says what to do. The common causes are a port that is
 * taken, a directory that cannot be used and a second node on the same directory.
 */
import { HoldfastError, OptionError } from "../../src/errors/index.js";
import type { NodeOptions } from "../../src/server/index.js";
import { formatHostPort } from "../text/addresses.js";
import { sayFlag } from "../text/option-spelling.js";
import { EXIT } from "./exit-codes.js";
import { Failure, failureOf, systemCodeOf } from "./failure.js";

const DIRECTORY_REASONS: Readonly<Record<string, string>> = Object.freeze({
  EACCES: "permission denied",
  EPERM: "permission denied",
  ENOTDIR: "a part of the path is not a directory",
  EEXIST: "it is not a directory",
  EISDIR: "a directory is where a file should be",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EMFILE: "too many open files",
  ENOENT: "it does not exist and cannot be created",
  EIO: "the disk reports an error",
  ELOOP: "too many symbolic links",
  ENAMETOOLONG: "the path is too long",
});

type NodeAddresses = Pick<NodeOptions, "listen" | "peerListen" | "dataDirectory">;

/** Explains what `startNode` threw. */
export function startFailure(error: unknown, options: NodeAddresses): Failure {
  const code = systemCodeOf(error);
  const address = addressOf(error, options);
  if (code === "EADDRINUSE") {
    return failed(`${address} is taken: another process listens there`, error);
  }
  if (code === "EADDRNOTAVAIL")
    return failed(`${address} is not an address of this machine`, error);
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return failed(`${address} cannot be resolved`, error);
  }
  if (code === "EACCES" && isListening(error)) {
    return failed(`${address} needs permissions that this user does not have`, error);
  }
  return directoryFailure(error, options.dataDirectory);
}

/** Explains why a data directory cannot be used. */
export function directoryFailure(error: unknown, dataDirectory: string): Failure {
  const reason = directoryReason(error);
  if (reason !== undefined) {
    return failed(`the data directory ${dataDirectory} cannot be used: ${reason}`, error);
  }
  if (error instanceof HoldfastError && error.code !== "INTERNAL") {
    const exitCode = error.code === "INVALID_ARGUMENT" ? EXIT.usage : EXIT.failed;
    const message = error instanceof OptionError ? error.messageIn(sayFlag) : error.message;
    return new Failure(exitCode, message, { cause: error });
  }
  return failureOf(error);
}

/** What to do about a full disk, after the sentence that names it. */
export const MAKE_ROOM =
  "make room on it and start again (a new cluster can be elsewhere: --data DIRECTORY)";

/** `: make room …` for an error of a full disk, "" for any other. */
export function adviceOn(error: unknown): string {
  return ["ENOSPC", "EDQUOT"].includes(systemCodeOf(error)) ? `: ${MAKE_ROOM}` : "";
}

/** What is wrong with a file or directory, for errors of the file system. */
export function directoryReason(error: unknown): string | undefined {
  return DIRECTORY_REASONS[systemCodeOf(error)];
}

function isListening(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "listen";
}

/** Which of the node's two addresses the error is about. */
function addressOf(error: unknown, { listen, peerListen }: NodeAddresses): string {
  const port = error instanceof Error && "port" in error ? error.port : undefined;
  if (listen !== undefined && port === listen.port)
    return `client address ${formatHostPort(listen)}`;
  if (peerListen !== undefined && port === peerListen.port)
    return `peer address ${formatHostPort(peerListen)}`;
  return "the address";
}

function failed(message: string, cause: unknown): Failure {
  return new Failure(EXIT.failed, message, { cause });
}
