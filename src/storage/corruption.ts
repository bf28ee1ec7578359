/**
 * The one error for files that are not what was written. The code that finds the damage changes
 * nothing on disk: the files are evidence, and the only good copy of their contents is on other
 * nodes.
 */
import { HoldfastError } from "../errors/index.js";

/**
 * Where damage was found. `index`: the first entry that may be damaged; 0 if unknown. `file` is the
 * path, or `store` for the ordered store, where `offset` is 0.
 */
export interface DamagePlace {
  readonly file: string;
  readonly offset: number;
  readonly index: number;
}

/** `INTERNAL` with the details `{ corrupt: true, file, offset, index, reason }`. */
export function corruption(place: DamagePlace, reason: string): HoldfastError {
  const { file, offset, index } = place;
  const where = index === 0 ? `byte ${offset}` : `byte ${offset}, entry ${index}`;
  return new HoldfastError("INTERNAL", `corrupt: ${file} at ${where}: ${reason}`, {
    details: { corrupt: true, file, offset, index, reason },
  });
}

/** What an operator learns about damage. */
export interface DamageReport extends DamagePlace {
  readonly reason: string;
}

/** The damage that an error reports; `undefined` if it reports none. */
export function damageOf(error: unknown): DamageReport | undefined {
  if (!(error instanceof HoldfastError) || error.details["corrupt"] !== true) return undefined;
  const { file, offset, index, reason } = error.details;
  return {
    file: String(file),
    offset: Number(offset),
    index: Number(index),
    reason: String(reason),
  };
}
