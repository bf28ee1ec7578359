/**
 * Something that was asked for cannot be done here, and its message says in one line what and why:
 * a name that does not exist, a missing right, a port in use, a file that is no history. Nothing is
 * skipped in silence instead.
 */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
}
