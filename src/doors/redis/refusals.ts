/**
 * What a client is answered when its command is not carried out. What the door does not know or
 * cannot keep is refused with a sentence, never answered as if it had been done. What may have been
 * done and is not known to have been is not a refusal: the connection is closed, because a reply
 * would be a claim.
 */
import { HoldfastError } from "../../errors/index.js";

/** Where everything that is refused is listed. */
const PAGE = "docs/reference/redis-port.md";

/** An error of one command. Its message is the error's text, after the code. */
export class RefusedCommand extends Error {
  override readonly name = "RefusedCommand";
  /** The first word of the error; clients look at some of them. */
  readonly code: string;
  /** Its sentence alone. */
  readonly reason: string;

  constructor(message: string, code = "NOHOLDFAST") {
    super(code === "NOHOLDFAST" ? `${message}; see ${PAGE}` : message);
    this.code = code;
    this.reason = message;
  }
}

/** A script that is not answered for what it is or does. */
export class RefusedScript extends RefusedCommand {}

/** What a command ended with, if not with a reply. */
export type Failure =
  | { readonly kind: "error"; readonly code: string; readonly message: string }
  /** The outcome is not known, or this node cannot serve the connection any more. */
  | { readonly kind: "close"; readonly reason: string };

const READ_ONLY = "You can't write against a read only replica. The cluster has no leader in reach";

const SIGN_IN_FIRST = "Authentication required.";

/** @param isKnown whether the connection has shown who it is */
export function failureOf(error: unknown, isKnown: boolean): Failure {
  if (error instanceof RefusedCommand) return refused(error.code, error.message);
  // What the SDK says of arguments, which here come from a client.
  if (error instanceof RangeError) return refused("ERR", error.message);
  if (!(error instanceof HoldfastError)) throw error;
  const { code, message } = error;
  switch (code) {
    case "FORBIDDEN":
      return isKnown
        ? refused("NOPERM", `this identity has no permission for that: ${message}`)
        : refused("NOAUTH", SIGN_IN_FIRST);
    case "UNAUTHENTICATED":
      return refused("NOAUTH", SIGN_IN_FIRST);
    case "QUOTA":
    case "DISK_FULL":
      return refused("OOM", `command not allowed: ${message}`);
    case "BUSY":
    case "TOO_MANY_IN_FLIGHT":
    case "QUEUE_FULL":
      return refused("TRYAGAIN", message);
    case "WRONG_KIND":
      return refused("WRONGTYPE", "Operation against a key holding the wrong kind of value");
    case "INVALID_ARGUMENT":
    case "LIMIT_MISMATCH":
    case "COMPACTED":
      return refused("ERR", message);
    case "UNAVAILABLE":
      return error.details["indeterminate"] === false
        ? refused("READONLY", READ_ONLY)
        : { kind: "close", reason: message };
    default:
      return { kind: "close", reason: message };
  }
}

function refused(code: string, message: string): Failure {
  return { kind: "error", code, message };
}

export function notSignedIn(): RefusedCommand {
  return new RefusedCommand(SIGN_IN_FIRST, "NOAUTH");
}

/** The errors of Redis itself for commands that are malformed. */
export function wrongArity(command: string): RefusedCommand {
  return new RefusedCommand(
    `wrong number of arguments for '${command.toLowerCase()}' command`,
    "ERR",
  );
}

export function syntaxError(): RefusedCommand {
  return new RefusedCommand("syntax error", "ERR");
}

export function notAnInteger(): RefusedCommand {
  return new RefusedCommand("value is not an integer or out of range", "ERR");
}
