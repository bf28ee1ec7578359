/**
 * A request that cannot be carried out here; the message says in one line what and why: a missing
 * right, a port in use, a file that is not a history. Nothing is skipped silently instead.
 */
import { UsageError } from "../../lab/command-line.js";

export class RefusedError extends UsageError {
  override readonly name = "RefusedError";
}
