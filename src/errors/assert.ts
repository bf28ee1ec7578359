/**
 * Assertions that stay on in production. A broken invariant is a programmer error: it stops the
 * process (or fails the simulation) and must never be caught.
 */

/** A broken invariant. Never caught inside Holdfast. */
export class InvariantError extends Error {
  override readonly name = "InvariantError";
}

/**
 * Throws `InvariantError` unless `condition` is true. The message is a function so that a hot path
 * builds no string; it should contain the numbers that were compared.
 */
export function assert(condition: boolean, message: () => string): asserts condition {
  if (!condition) throw new InvariantError(message());
}

/** For the default branch of an exhaustive switch. */
export function unreachable(value: never): never {
  throw new InvariantError(`unreachable: ${String(value)}`);
}
