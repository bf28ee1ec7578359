import { UsageError } from "../lab/command-line.js";

/**
 * Something that was asked for cannot be done here, and its message says in one line what and why:
 * a missing right, a port in use, a file that is no history. Nothing is skipped in silence instead.
 */
export class RefusedError extends UsageError {
  override readonly name = "RefusedError";
}
