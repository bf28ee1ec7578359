import { UsageError } from "../lab/command-line.js";

/**
 * A request that cannot be carried out here; the message says in one line what and why: a missing
 * right, a port in use, a file that is not a history. Nothing is skipped silently instead.
 */
export class RefusedError extends UsageError {
  override readonly name = "RefusedError";
}
